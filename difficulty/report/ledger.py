"""Where every question of a run went: kept, or dropped by which rule, source by source."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from difficulty import store
from difficulty.errors import RunError
from difficulty.report.terminal import escape

COUNTS = """
    SELECT source, coalesce(drop_reason, 'kept'), count(*) FROM rows_of($selection)
    GROUP BY 1, 2 ORDER BY 1, 2
"""


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """Questions by source and fate; the sums are checked against the set."""

    sources: dict[str, dict[str, int]]
    """Source -> ``kept`` or a drop reason -> questions."""

    @property
    def reasons(self) -> list[str]:
        """``kept`` first, then the drop reasons that occur."""
        found = {reason for counts in self.sources.values() for reason in counts}
        return ["kept", *sorted(found - {"kept"})]

    def total(self, reason: str | None = None) -> int:
        """Questions of all sources with that fate; all questions without one."""
        return sum(
            count
            for counts in self.sources.values()
            for name, count in counts.items()
            if reason in (None, name)
        )


def read_ledger(run: store.RunFolder) -> Ledger:
    """The ledger of a finished selection.

    Raises:
        RunError: the selection does not account for each question exactly once.
    """
    parameters = {"selection": store.sql_path(run.selection)}
    sources: dict[str, dict[str, int]] = {}
    for source, reason, count in store.connect(run).execute(COUNTS, parameters).fetchall():
        sources.setdefault(source, {})[reason] = count
    ledger = Ledger(sources=sources)
    wanted = store.num_rows(run.questions)
    if ledger.total() != wanted:
        raise RunError(
            f"selection.parquet accounts for {ledger.total():,} of {wanted:,} questions. "
            f"Delete it and run difficulty select {run}"
        )
    return ledger


def print_ledger(ledger: Ledger, console: Console) -> None:
    """One row a source and one for their sum; each row and column adds up."""
    table = Table(title="questions", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("source")
    for reason in (*ledger.reasons, "all"):
        table.add_column(escape(reason), justify="right")
    for source, counts in ledger.sources.items():
        shown = [f"{counts.get(reason, 0):,}" for reason in ledger.reasons]
        table.add_row(escape(source), *shown, f"{sum(counts.values()):,}")
    if len(ledger.sources) > 1:
        sums = [f"{ledger.total(reason):,}" for reason in ledger.reasons]
        table.add_row("all", *sums, f"{ledger.total():,}", style="bold")
    console.print(table)
