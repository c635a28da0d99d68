"""Runs one command and ends it, with everything it started, when the parent is gone.

``python -m difficulty.sampling.servers.guard COMMAND...`` with a pipe on standard input: the pipe
closes on any end of the parent, ``kill -9`` included. The guard leads a process group of its own,
so one signal reaches the command and all its workers.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

GRACE_S = 5.0


def main() -> None:
    """Run the command until it ends or standard input closes; then clear the group."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    parent_gone = threading.Event()
    threading.Thread(target=_wait_for_parent, args=(parent_gone, command), daemon=True).start()
    code = command.wait()
    if code < 0:  # a killed process leaves no word in the log, and our own code is lost below
        with contextlib.suppress(OSError):  # nobody may be there to read it
            os.write(1, f"ended by signal {-code}\n".encode())
    if parent_gone.is_set() or code != 0:
        _clear_group()
    sys.exit(code)


def _wait_for_parent(parent_gone: threading.Event, command: subprocess.Popen[bytes]) -> None:
    while os.read(0, 4096):  # empty: closed
        pass
    parent_gone.set()
    command.terminate()
    try:
        command.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        _clear_group()


def _clear_group() -> None:
    """End every process of the group, the guard itself included."""
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
