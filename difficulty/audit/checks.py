"""What is known of the grader, in words: a person's check of it, and what newer rules changed."""

from __future__ import annotations

from rich.table import Table

from difficulty.audit.draw import Sample, rules_of
from difficulty.audit.estimate import Share
from difficulty.audit.regrade import Regrade, describe
from difficulty.audit.result import Audit

LISTED = 10
"""Replies or questions that the terminal names; the files list all."""


def drawn_table(sample: Sample) -> Table:
    """Replies by outcome, and how many of each were drawn."""
    table = Table(title="drawn", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("outcome")
    for name in ("replies", "in the sheet"):
        table.add_column(name, justify="right")
    for row in sample.outcomes:
        table.add_row(row.outcome.replace("_", " "), f"{row.replies:,}", f"{row.drawn:,}")
    return table


def verdict_table(audit: Audit) -> Table:
    """What the person says, by the outcome that the grader gave."""
    table = Table(
        title=f"{_judge(audit)} and person", title_justify="left", show_edge=False, pad_edge=False
    )
    table.add_column("graded")
    for name in ("replies", "drawn", "right", "wrong", "?", "blank"):
        table.add_column(name, justify="right")
    for row in audit.outcomes:
        counts = (row.replies, row.drawn, row.right, row.wrong, row.unsure, row.blank)
        table.add_row(row.outcome.replace("_", " "), *(f"{count:,}" for count in counts))
    return table


def rate_table(audit: Audit) -> Table:
    """The grader's rates with their intervals."""
    table = Table(title="rates", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("rate", no_wrap=True)
    for name in ("estimate", "95 % interval", "seen", "checked", "of"):
        table.add_column(name, justify="right", no_wrap=name != "of")
    for name, of, share in rates(audit):
        table.add_row(
            name,
            percent(share.rate),
            percent_span(share),
            f"{share.found:,}",
            f"{share.checked:,}",
            f"{share.of:,} {of}",
        )
    return table


def rates(audit: Audit) -> list[tuple[str, str, Share]]:
    """The shares of an audit: name, the replies it is a share of, figures."""
    return [
        (f"{_judge(audit)} errors", "graded", audit.error),
        ("false credit", "graded correct", audit.false_credit),
        ("false reject", "graded otherwise", audit.false_reject),
        ("pass rate, corrected", "graded", audit.corrected),
    ]


def _judge(audit: Audit) -> str:
    return rules_of(audit.grader).partition(" ")[0]


def audit_line(audit: Audit) -> str:
    """The check in one sentence, with date and grader."""
    checked = f"{audit.checked:,} of {audit.drawn:,} sampled replies"
    if audit.checked < audit.drawn:
        checked += f" ({audit.unsure:,} unsure, {audit.blank:,} blank)"
    return (
        f"{rules_of(audit.grader)}, {checked} checked by a person on {audit.date[:10]}: errors "
        f"{_rate(audit.error)}, false credit {_rate(audit.false_credit)}, false reject "
        f"{_rate(audit.false_reject)}; {pass_rate_words(audit)}"
    )


def pass_rate_words(audit: Audit) -> str:
    """The pass rate before and after the correction."""
    return f"pass rate {percent(audit.pass_rate)} as graded, {_rate(audit.corrected)} corrected"


def _rate(share: Share) -> str:
    return f"{percent(share.rate)} ({percent_span(share)})"


def audit_details(audit: Audit) -> list[str]:
    """The replies on which grader and person differ, some of them."""
    lines = [
        f"{row.question_id}:{row.sample_index}: person {row.expected}, graded {row.got} "
        f"({row.reason}){' ' + row.note if row.note else ''}"
        for row in audit.disagree[:LISTED]
    ]
    if len(audit.disagree) > LISTED:
        lines.append(f"and {len(audit.disagree) - LISTED:,} more (audit.json lists all)")
    return lines


def regrade_lines(found: Regrade, not_listed: int = 0, listed: int = LISTED) -> list[str]:
    """What newer rules changed: counts, then some of the questions that moved."""
    lines = [f"{describe(found)} ({found.date[:10]})" if found.rules else describe(found)]
    lines += [f"  {move.before} -> {move.after}: {move.answers:,}" for move in found.verdicts]
    lines += [
        f"  {move.before or 'none'} -> {move.after or 'none'}: {move.questions:,} questions"
        for move in found.moves
    ]
    lines += [
        f"  {row.question_id}: {row.before or 'none'} -> {row.after or 'none'}"
        for row in found.questions[:listed]
    ]
    more = max(len(found.questions) - listed, 0) + not_listed
    if more:
        lines.append(f"  and {more:,} more (regrade.json lists all)")
    return lines if found.note is None else [*lines, f"  {found.note}"]


def percent(value: float | None) -> str:
    """One decimal, or a dash for what is unknown."""
    return "-" if value is None else f"{value:.1%}"


def percent_span(share: Share) -> str:
    """``low to high``."""
    if share.low is None or share.high is None:
        return "-"
    return f"{share.low:.1%} to {share.high:.1%}"
