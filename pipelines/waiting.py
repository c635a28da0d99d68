"""What set-up and the model's fetching share: a line that moves, one at a time, pip with a log.

Standard library only: set-up runs before anything is installed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

LINE_SECONDS = 15.0
"""Between two lines where standard error is a file."""

NO_INDEX = re.compile(
    r"Temporary failure in name resolution|Name or service not known|Network is unreachable"
    r"|Connection refused|Connection reset by peer|No route to host|Cannot connect to proxy"
    r"|CERTIFICATE_VERIFY_FAILED|[Tt]imed out"
)


class SetupError(Exception):
    """What is wrong, what was found, what to do: one line for the user."""


def say(text: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


@contextlib.contextmanager
def one_line_ends() -> Iterator[None]:
    """Errors and Ctrl-C end in one line, with exit code 1 and 130."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)  # the next one must not break the ending
        raise KeyboardInterrupt

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) != signal.SIG_IGN:  # nohup
            signal.signal(each, interrupt)
    try:
        yield
    except SetupError as error:
        say(f"error: {error}")
        sys.exit(1)
    except OSError as error:
        say(f"error: a file cannot be written or read: {error}. Give it rights and room, run again")
        sys.exit(1)
    except KeyboardInterrupt:
        say("interrupted. Run the same command again to go on")
        sys.exit(130)


@contextlib.contextmanager
def moving(describe: Callable[[], str], *, line_seconds: float = LINE_SECONDS) -> Iterator[None]:
    """Show what is going on: one line rewritten on a terminal, else a line now and then."""
    stop, begun = threading.Event(), time.monotonic()
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def show() -> None:
        while not stop.wait(0.5 if terminal else line_seconds):
            minutes, seconds = divmod(int(time.monotonic() - begun), 60)
            text = f"  {minutes}:{seconds:02} {describe()}"
            if terminal:
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write(f"\r{text[:width]}\x1b[K")
                sys.stderr.flush()
            else:
                say(text)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        if terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextlib.contextmanager
def only_one(lock: Path) -> Iterator[int]:
    """Wait until nobody else is at it; gives the lock's descriptor, for children to hold too.

    A pip whose parent was killed works on: nobody may write beside it.
    """
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with moving(lambda: "waiting for another set-up in this folder to end"):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def pip_environment(scratch: Path) -> dict[str, str]:
    """Ours, without what makes pip install elsewhere, and with room for what it unpacks.

    Large wheels do not fit a /tmp that lies in memory.
    """
    elsewhere = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "PYTHONPATH", "PYTHONHOME")
    kept = {key: value for key, value in os.environ.items() if key not in elsewhere}
    fixed = {"PIP_USER": "0", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    here = {"TMPDIR": str(scratch.absolute()), "PYTHONUNBUFFERED": "1", "LC_MESSAGES": "C"}
    return {**kept, **fixed, **here, "PIP_PROGRESS_BAR": "off"}


def run_logged(command: list[str], *, log: Path, scratch: Path, lock: int) -> int:
    """Run to the end with all output in ``log``; give the exit code. Ends the child with us."""
    scratch.mkdir(exist_ok=True)
    with log.open("a") as out:
        out.write(f"\n$ {' '.join(command)}\n")
        out.flush()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=pip_environment(scratch),
            pass_fds=(lock,),
        )
        try:
            return process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
            shutil.rmtree(scratch, ignore_errors=True)


def tail(log: Path, start: int = 0, *, at_most: int = 16_384) -> list[str]:
    """The last lines of a log, none of them from before ``start``."""
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(start, end - at_most))
        return file.read().decode(errors="replace").splitlines()


def megabytes(folder: Path) -> int:
    """What the files in a folder weigh; they may vanish meanwhile."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(root) / name).lstat().st_size
    return total // 10**6


def failure(what: str, log: Path, start: int, code: int) -> SetupError:
    """The one line about a pip that failed, from what it wrote."""
    lines = tail(log, start, at_most=10**6)
    text = "\n".join(lines)
    unreachable = NO_INDEX.search(text)
    if "No space left on device" in text:
        return SetupError(f"{what} failed: the disk is full. Make room and run the same again")
    if unreachable:
        return SetupError(
            f"{what} failed: the package index cannot be reached ({unreachable[0]}). Check the"
            " network, or the settings https_proxy and PIP_INDEX_URL, and run the same again."
            f" Log: {log}"
        )
    if code in (-signal.SIGKILL, 128 + signal.SIGKILL):
        return SetupError(f"{what} failed: pip was killed. Is there memory enough? Log: {log}")
    last = [line for line in lines if line.lower().lstrip().startswith("error:")][-3:]
    for line in last:
        say(line)
    return SetupError(
        f"{what} failed: pip ended with {code}. Read {log}, then run the same command again"
    )
