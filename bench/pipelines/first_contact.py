"""``make demo`` where nobody has run it before: each situation in a fresh clone of this one.

``make first-contact`` tries all that this machine allows, some with
``python -m bench.pipelines.first_contact NAME...``; each installs everything (4 GB, about five
minutes). Sandboxes are made with unshare, debootstrap and uv where they are there; what is not
possible is skipped by name. KEEP names folders that the bare Debians see too, such as a package
index on disk.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALONE = ("unshare", "-rn", "sh", "-c", 'ip link set lo up; sysctl -qw $0; exec "$@"')
NO_IPV6 = "net.ipv6.conf.all.disable_ipv6=1"
DEAD_PROXY = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://192.0.2.1:9")


Situation = Callable[[Path], tuple["Place", int]]
"""Does its work in a scratch folder; gives the place and the exit code."""


class NotHereError(Exception):
    """Why this machine does not allow a situation."""


class Place:
    """A fresh clone in a scratch folder, and how commands are run in it."""

    def __init__(self, scratch: Path, name: str = "clone") -> None:
        self.folder = scratch / name
        self.log = scratch / "log"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(self.folder)], check=True)

    def start(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        """Begin a command in a session of its own, its output in the log."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def run(self, *command: str, **environment: str) -> int:
        """The exit code of a command."""
        return self.start(*command, **environment).wait()

    def stop(self, seconds: float, number: int) -> None:
        """Send a signal to all of a set-up that has run for so long."""
        process = self.start("make", "setup")
        time.sleep(seconds)
        os.killpg(process.pid, number)
        process.wait()

    def last_line(self) -> str:
        """What stands last in the log, make's own line left out."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [line for line in lines if line.strip() and not line.startswith("make: ")][-1]


def need(*programs: str) -> None:
    """Skip where a program is missing."""
    for program in programs:
        if shutil.which(program) is None:
            raise NotHereError(f"no {program} here")


def foreign_shell(scratch: Path) -> tuple[Place, int]:
    """A folder with blanks and other letters; the shell has another project's settings."""
    place = Place(scratch, "Мой проект ü 質問")
    (scratch / "torch.py").write_text("raise ImportError('the torch of another project')")
    code = place.run(
        *("make", "demo"),
        PYTHONPATH=str(scratch),
        PIP_USER="1",
        PIP_REQUIRE_VIRTUALENV="1",
        VIRTUAL_ENV="/elsewhere",
        CDPATH="/",
        LC_ALL="C",
    )
    return place, code


def offline(scratch: Path) -> tuple[Place, int]:
    """Once set up: no network, no IPv6, a dead proxy; set-up again, then the demo."""
    need("unshare", "ip", "sysctl")
    place = Place(scratch)
    if place.run("make", "model") == 0:
        (place.folder / "pyproject.toml").touch()
        return place, place.run(*ALONE, NO_IPV6, "make", "demo", **DEAD_PROXY)
    return place, 1


def offline_and_incomplete(scratch: Path) -> tuple[Place, int]:
    """Once set up: a package is missing and there is no network (has to fail, in one line)."""
    need("unshare", "ip", "sysctl")
    place = Place(scratch)
    place.run("make", "setup")
    place.run(".venv/bin/python", "-m", "pip", "uninstall", "-qy", "gguf")
    (place.folder / "pyproject.toml").touch()
    no_local_index = {"PIP_CONFIG_FILE": "/dev/null", "PIP_FIND_LINKS": ""}
    code = place.run(*ALONE, NO_IPV6, "make", "setup", **no_local_index)
    return place, 0 if code and "cannot be reached" in place.last_line() else 1


def interrupted(scratch: Path) -> tuple[Place, int]:
    """Set-up killed three times and interrupted once, at different moments, then the demo."""
    place = Place(scratch)
    for seconds in (2.0, 25.0, 50.0):
        place.stop(seconds, signal.SIGKILL)
    place.stop(15.0, signal.SIGINT)
    return place, place.run("make", "demo")


def old_pip(scratch: Path) -> tuple[Place, int]:
    """An environment made before, with the pip of Python 3.11.0."""
    place = Place(scratch)
    place.run("python3", "-m", "venv", ".venv")
    place.run(".venv/bin/python", "-m", "pip", "install", "-q", "pip==22.3")
    return place, place.run("make", "demo")


def memory(gib: int, target: str = "demo", *, container: bool = False) -> Situation:
    """A control group of so much memory; as in a container it is the one that is mounted."""

    def situation(scratch: Path) -> tuple[Place, int]:
        need("unshare")
        group = memory_group(gib)
        place = Place(scratch)
        enter = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
        if container:
            enter = 'echo $$ > "$0/cgroup.procs" && mount --bind "$0" "$1" && shift && exec "$@"'
        try:
            mount = [str(group.parent)] if container else []
            command = ("unshare", "-m", "sh", "-c", enter, str(group), *mount, "make", target)
            return place, place.run(*command)
        finally:
            group.rmdir()

    where = "a container" if container else "a control group"
    situation.__doc__ = f"{where[:1].upper()}{where[1:]} of {gib} GiB: make {target}."
    return situation


def memory_group(gib: int) -> Path:
    """A new control group with that limit, of cgroup v1 or v2."""
    v1 = Path("/sys/fs/cgroup/memory")
    group = (v1 if v1.is_dir() else v1.parent) / f"first-contact-{os.getpid()}"
    limit = "memory.limit_in_bytes" if v1.is_dir() else "memory.max"
    try:
        group.mkdir()
        (group / limit).write_text(str(gib << 30))
    except OSError as error:
        raise NotHereError(f"no control group can be made ({error.strerror})") from error
    return group


def python(version: str) -> Situation:
    """A Python of this version, if pyenv or the path has one."""

    def situation(scratch: Path) -> tuple[Place, int]:
        found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
        name = str(found[-1]) if found else f"python{version}"
        need(name)
        place = Place(scratch)
        return place, place.run("make", "demo", PYTHON=name)

    situation.__doc__ = f"Python {version}."
    return situation


def debian(suite: str, python: str = "python3-venv") -> Situation:
    """A Debian with nothing but this package, make, ca-certificates and libnuma1."""

    def situation(scratch: Path) -> tuple[Place, int]:
        need("debootstrap", "unshare", "chroot", *(["uv"] if python == "python3" else []))
        root = scratch / suite
        packages = f"--include={python},make,ca-certificates,libnuma1"
        command = ["debootstrap", "--variant=minbase", packages, suite, str(root)]
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
            raise NotHereError("debootstrap cannot make it here")
        place = Place(scratch, f"{suite}/root/clone")
        files = ("/etc/resolv.conf", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
        for name in files:  # how this machine reaches the package index
            if Path(name).exists():
                shutil.copy(name, root / name[1:])
        if (Path.home() / ".config/pip").exists():
            shutil.copytree(Path.home() / ".config/pip", root / "root/.config/pip")
        if python == "python3":
            shutil.copy(str(shutil.which("uv")), root / "usr/bin/uv")
        script = (
            'for kept in /dev /proc /sys; do mount --rbind "$kept" "$0$kept"; done;'
            'for kept in $KEEP; do mkdir -p "$0$kept"; mount --rbind "$kept" "$0$kept"; done;'
            'exec chroot "$0" env HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin'
            ' sh -c "cd /root/clone; make demo"'
        )
        return place, place.run("unshare", "-m", "sh", "-c", script, str(root))

    situation.__doc__ = f"Bare Debian {suite}: {python}, make, ca-certificates and libnuma1" + (
        " (and uv)." if python == "python3" else "."
    )
    return situation


SITUATIONS: dict[str, Situation] = {
    "foreign-shell": foreign_shell,
    "offline": offline,
    "offline-incomplete": offline_and_incomplete,
    "interrupted": interrupted,
    "old-pip": old_pip,
    "python-3.12": python("3.12"),
    "python-3.13": python("3.13"),
    "python-3.14": python("3.14"),
    "debian-bookworm": debian("bookworm"),
    "debian-bookworm-uv": debian("bookworm", "python3"),
    "debian-trixie": debian("trixie"),
    "memory-8": memory(8),
    "memory-4": memory(4),
    "container-4": memory(4, container=True),
    "memory-8-test": memory(8, "test"),
}


def row(name: str) -> str:
    """Try one situation; give its row of the table."""
    begun, what = time.monotonic(), (SITUATIONS[name].__doc__ or "").splitlines()[0]
    with tempfile.TemporaryDirectory(prefix="first-contact-") as scratch:
        try:
            place, code = SITUATIONS[name](Path(scratch))
        except NotHereError as reason:
            return f"| {name} | {what} | skipped: {reason} | |"
        outcome = "works" if code == 0 else "**fails**"
        minutes = (time.monotonic() - begun) / 60
        return f"| {name} | {what} | {outcome}, {minutes:.1f} min | `{place.last_line()}` |"


def main() -> None:
    """Try the situations named, or all, one after the other."""
    names = sys.argv[1:] or list(SITUATIONS)
    unknown = [name for name in names if name not in SITUATIONS]
    if unknown:
        sys.exit(f"error: no such situation: {unknown[0]}. Choose from {', '.join(SITUATIONS)}")
    print("| name | situation | outcome | last line |\n|---|---|---|---|", flush=True)
    for name in names:
        print(row(name), flush=True)


if __name__ == "__main__":
    main()
