"""``python -m tests``: the whole suite, its tests with an engine beside all others.

An engine takes a minute to start, on one core for the most part; two of them at a time would take
each other's memory. What the tests with an engine print follows that of the others.
"""

import subprocess
import sys
import tempfile

ENGINES = "engine or ray"


def pytest(marks, **more):
    command = [sys.executable, "-m", "pytest", "-m", marks, *sys.argv[1:]]
    return subprocess.Popen(command, **more)


def main():
    """Exit with 1 if either half fails."""
    with tempfile.TemporaryFile() as printed:
        halves = [pytest(ENGINES, stdout=printed, stderr=subprocess.STDOUT)]
        halves.append(pytest(f"not ({ENGINES})"))
        try:
            codes = [half.wait() for half in reversed(halves)]
        finally:
            for half in halves:
                half.terminate()
            printed.seek(0)
            sys.stdout.buffer.write(printed.read())
    sys.exit(1 if any(codes) else 0)


if __name__ == "__main__":
    main()
