"""One process a run folder: a lock file made atomically, with a heartbeat, good on NFS and Lustre.

``flock`` alone is not enough: network file systems may grant it on two machines at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from difficulty.errors import RunError

HEARTBEAT_S = 10.0
STALE_S = 90.0
"""Nine missed heartbeats: longer than a stalled network mount, shorter than a coffee."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run folder for the length of the block.

    Raises:
        RunError: another living process holds it, or the folder cannot be written.
    """
    path = folder / ".lock"
    token = _acquire(path)
    _remove_scratch(folder)
    stop = threading.Event()
    beat = threading.Thread(target=_beat, args=(path, stop), daemon=True)
    beat.start()
    try:
        yield
    finally:
        stop.set()
        beat.join()
        with contextlib.suppress(OSError):
            if path.read_text() == token:
                path.unlink()


def _remove_scratch(folder: Path) -> None:
    """What a killed process was writing when it died; we hold the lock, so nobody writes now."""
    for scratch in (*folder.glob(".*.writing-*"), *folder.glob("*/.*.writing-*")):
        with contextlib.suppress(OSError):
            scratch.unlink()


def _acquire(path: Path) -> str:
    """Make the lock file; returns its text, which nobody else's has."""
    pid = os.getpid()
    owner = {"host": socket.gethostname(), "pid": pid, "started": _start_time(pid)}
    text = json.dumps({**owner, "token": secrets.token_hex(8)})
    for _ in range(2):
        try:
            handle = _create(path)
        except OSError as error:
            raise RunError(
                f"cannot write {path.parent}: {error.strerror}. Choose another --run"
            ) from error
        if handle is None:
            _remove_if_stale(path)
            continue
        with os.fdopen(handle, "w") as file:
            file.write(text)
        return text
    raise RunError(f"{path.parent} is in use: the lock file changed hands. Try again")


def _create(path: Path) -> int | None:
    """Make the lock file in one step; None if it is there already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return None


def _remove_if_stale(path: Path) -> None:
    try:
        text = path.read_text()
        age = time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return
    owner = _owner(text)
    if _alive(owner, age):
        raise RunError(
            f"{path.parent} is in use by process {owner.get('pid', '?')} on "
            f"{owner.get('host', 'an unknown machine')}. Wait for it, or choose another --run"
        )
    _take_away(path, text)


def _take_away(path: Path, text: str) -> None:
    """Remove the stale lock that was read; one that somebody has made meanwhile is put back."""
    aside = path.with_name(f".lock-stale-{socket.gethostname()}-{os.getpid()}")
    try:
        path.rename(aside)  # one of several takers wins; the others find nothing
    except FileNotFoundError:
        return
    if aside.read_text() != text:
        aside.rename(path)
        return
    aside.unlink()


def _owner(text: str) -> dict[str, Any]:
    try:
        owner = json.loads(text)
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}


def _alive(owner: dict[str, Any], age_s: float) -> bool:
    if owner.get("host") != socket.gethostname():
        return age_s < STALE_S
    pid = owner.get("pid")
    if not isinstance(pid, int):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _zombie(pid) and owner.get("started") == _start_time(pid)


def _zombie(pid: int) -> bool:
    """Killed, but its parent has not looked: it holds nothing any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


def _start_time(pid: int) -> str:
    """Tells a process from a later one with the same number; empty where /proc is not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _beat(path: Path, stop: threading.Event) -> None:
    while not stop.wait(HEARTBEAT_S):
        with contextlib.suppress(OSError):
            os.utime(path)
