"""Progress of long work on standard error: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.markup import escape

PLAIN_EVERY_S = 10.0

Update = Callable[[int, str], None]
"""(units done so far, a short note) -> None."""


class Live:
    """Says one-line notes and shows progress; quiet for ``--json`` is the caller's choice."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, soft_wrap=True, highlight=False)

    def say(self, text: str) -> None:
        """One line; nothing in it is taken for markup."""
        self.console.print(escape(printable(text)))

    @contextlib.contextmanager
    def bar(self, label: str, total: int) -> Iterator[Update]:
        """Show progress of ``total`` units for the length of the block."""
        if self.console.is_terminal:
            with self._rich_bar(label, total) as update:
                yield update
        else:
            yield _plain_lines(self.say, label, total)

    @contextlib.contextmanager
    def _rich_bar(self, label: str, total: int) -> Iterator[Update]:
        from rich import progress

        columns = (
            progress.TextColumn("{task.description}"),
            progress.BarColumn(bar_width=24),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[note]}"),
        )
        with progress.Progress(*columns, console=self.console, transient=True) as shown:
            task = shown.add_task(label, total=total or None, note="")
            yield lambda done, note: shown.update(task, completed=done, note=escape(note))


def printable(text: str) -> str:
    """Text of datasets, models and servers without what could drive a terminal."""
    return "".join(
        char if char.isprintable() or char in "\n\t\u3000" else f"\\x{ord(char):02x}"
        for char in text
    )


def _plain_lines(say: Callable[[str], None], label: str, total: int) -> Update:
    """A line at most every ten seconds, for logs."""
    start = last = time.monotonic()

    def update(done: int, note: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < PLAIN_EVERY_S:
            return
        last = now
        say(f"{label}: {_how_far(done, total, now - start)}{note}")

    return update


def _how_far(done: int, total: int, seconds: float) -> str:
    """Nothing where the total is unknown, no guess at the time left before the first unit."""
    if not total:
        return ""
    left = f"{seconds * (total - done) / done:.0f} s left, " if done else ""
    return f"{done:,} of {total:,}, {left}"
