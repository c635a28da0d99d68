"""The shares that an audit reports, each over the strata in which its property can occur."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from difficulty.audit.draw import Drawn
from difficulty.audit.estimate import Share, Stratum, share_of
from difficulty.schema import UNKNOWN_OUTCOMES, Outcome


@dataclass(frozen=True, kw_only=True)
class Checked:
    """One reply of the sample: where it belongs, what the person says, how it is graded now."""

    drawn: Drawn
    stratum: Outcome
    """The outcome whose replies it stands for."""
    human: str
    note: str
    outcome: Outcome | None
    """As graded now; null when the reply under this key is another one now, or gone."""
    reason: str

    @property
    def usable(self) -> bool:
        """Is there a verdict of the person on the reply as it is?"""
        return self.outcome is not None and self.human in ("right", "wrong")

    @property
    def graded(self) -> bool:
        """Has the grader a verdict too?"""
        return self.outcome not in (None, *UNKNOWN_OUTCOMES)


class Rates:
    """The shares, each from the strata in which its property can occur."""

    def __init__(
        self,
        checked: list[Checked],
        drawn_from: dict[Outcome, int],
        now: dict[Outcome, int],
        *,
        crossed: bool,
    ) -> None:
        self.rows = [row for row in checked if row.usable]
        self.drawn_from = drawn_from
        self.crossed = crossed
        """May a reply of one stratum have another outcome now?"""
        self.num_graded = sum(n for name, n in now.items() if name not in UNKNOWN_OUTCOMES)
        self.num_correct = now.get("correct", 0)

    def error(self) -> Share:
        """Grader and person differ, of all graded replies."""
        graded = [name for name in self.drawn_from if name not in UNKNOWN_OUTCOMES]
        return self._share(graded, false_credit, false_reject, of=self.num_graded)

    def false_credit(self) -> Share:
        """Wrong, of those graded correct."""
        return self._share(["correct"], false_credit, of=self.num_correct)

    def false_reject(self) -> Share:
        """Right, of those graded otherwise."""
        rest = [n for n in self.drawn_from if n not in ("correct", *UNKNOWN_OUTCOMES)]
        return self._share(rest, false_reject, of=self.num_graded - self.num_correct)

    def corrected(self) -> Share:
        """Right, of all graded replies."""
        graded = [name for name in self.drawn_from if name not in UNKNOWN_OUTCOMES]
        return self._share(graded, _right, of=self.num_graded)

    def _share(
        self, where: list[Outcome], *properties: Callable[[Checked], bool], of: int
    ) -> Share:
        strata = []
        for name, size in self.drawn_from.items():
            if name not in where and not self.crossed:
                continue
            rows = [row for row in self.rows if row.stratum == name]
            hits = sum(any(test(row) for test in properties) for row in rows)
            if size and name != "failed":
                strata.append(Stratum(size=size, checked=len(rows), hits=hits))
        return share_of(strata, of)


def false_credit(row: Checked) -> bool:
    """Graded correct though the person says wrong."""
    return row.outcome == "correct" and row.human == "wrong"


def false_reject(row: Checked) -> bool:
    """Graded otherwise though the person says right."""
    return row.graded and row.outcome != "correct" and row.human == "right"


def _right(row: Checked) -> bool:
    return row.graded and row.human == "right"
