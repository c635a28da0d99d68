"""What commands print: the summary of a run, what check, doctor, audit and regrade found."""

from __future__ import annotations

from typing import Any

from rich import markup
from rich.console import Console
from rich.table import Table

from difficulty.audit.cases import Agreement
from difficulty.audit.checks import (
    audit_details,
    audit_line,
    pass_rate_words,
    rate_table,
    regrade_lines,
    verdict_table,
)
from difficulty.audit.regrade import Regrade
from difficulty.audit.result import Audit
from difficulty.collapse.whole import WholeForecast
from difficulty.report.live import printable
from difficulty.report.reward_summary import reward_line
from difficulty.report.summary import LevelCount, Summary
from difficulty.sources.check import CheckedSet

BAR_WIDTH = 24


def escape(text: str) -> str:
    """Foreign text for the terminal: no markup of ours, no control characters of its own."""
    return markup.escape(printable(text))


def print_summary(summary: Summary, console: Console) -> None:
    """Levels, forecast, what was dropped and why, warnings, files."""
    console.print(
        f"\n[bold]{summary.num_questions:,} questions[/], {summary.num_samples:,} answers of "
        f"{escape(summary.model)}"
    )
    copies = summary.num_copies - summary.num_questions
    if copies:
        console.print(f"{copies:,} rows of the dataset ask what another row asks")
    console.print(_outcome_line(summary))
    if summary.reward is not None:
        console.print(escape(reward_line(summary.reward, summary.mean_reward)))
    console.print(level_table(summary))
    console.print(forecast_table(summary.forecast))
    _print_dropped(summary, console)
    if summary.audit is not None:
        console.print(escape(audit_line(summary.audit)))
        if summary.audit.stale:
            console.print(f"[yellow]![/] {escape(summary.audit.stale)}")
    if summary.regrade is not None:
        for line in regrade_lines(summary.regrade, summary.regrade_not_listed):
            console.print(escape(line))
    for text in summary.warnings:
        console.print(f"[yellow]![/] {escape(text)}")
    for file in summary.exports:
        console.print(f"{file.num_questions:,} questions for {file.trainer}: {escape(file.path)}")
    console.print(f"report: {escape(summary.run)}/report.html")


def _outcome_line(summary: Summary) -> str:
    counts = summary.outcomes.items()
    parts = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts if count]
    line = f"answers: {', '.join(parts)}"
    if not summary.set_aside:
        return line
    reasons = ", ".join(f"{reason} {rows:,}" for reason, rows in summary.set_aside.items())
    return f"{line}\nrows of the dataset set aside: {escape(reasons)}"


def level_table(summary: Summary) -> Table:
    """Counts by level, with a bar and the collapse rate forecast for each."""
    table = Table(title="levels", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("level")
    table.add_column("questions", justify="right")
    table.add_column("share", justify="right")
    table.add_column("")
    table.add_column("collapse", justify="right")
    table.add_column("kept")
    for row in summary.levels:
        table.add_row(
            row.level,
            f"{row.num_questions:,}",
            f"{row.share:.0%}",
            bar(row.share),
            rate(row.collapse),
            kept_cell(row),
        )
    if summary.num_without_level:
        share = summary.num_without_level / summary.num_questions
        table.add_row("none", f"{summary.num_without_level:,}", f"{share:.0%}", bar(share), "", "")
    return table


def kept_cell(row: LevelCount) -> str:
    """How many questions of a level are kept; the word alone where all are."""
    if not row.num_kept:
        return ""
    return "kept" if row.num_kept == row.num_questions else f"{row.num_kept:,} kept"


def forecast_table(forecast: WholeForecast) -> Table:
    """Collapse rate before and after the filter, with its interval, what k leaves open, plug-in."""
    table = Table(
        title=f"forecast: share of groups of {forecast.group_size} that teach nothing",
        title_justify="left",
        show_edge=False,
        pad_edge=False,
    )
    for name in (
        "set",
        "questions",
        "collapse",
        "95 % interval",
        "left open by k",
        "plug-in",
    ):
        table.add_column(name, justify="left" if name == "set" else "right", no_wrap=True)
    note = kept_note(forecast)
    if note:
        table.caption, table.caption_justify = escape(note), "left"
    for label, part in zip(("all", "filtered"), forecast.sets(), strict=True):
        if part.num_questions:
            table.add_row(
                label,
                f"{part.num_questions:,}",
                rate(part.acr),
                span(part.low, part.high),
                span(part.identified_low, part.identified_high),
                rate(part.plug_in),
            )
    return table


def kept_note(forecast: WholeForecast) -> str | None:
    """What the number of filtered questions is, where quotas and caps leave fewer than rules do."""
    kept, run = forecast.kept.num_questions, forecast.of_run
    if run is None or run.num_by_rules == kept:
        return None
    return (
        f"filtered: {kept:,} questions are kept of the {run.num_by_rules:,} that levels "
        "and rates keep; quotas, caps and duplicates take the rest, as if drawn at random"
    )


def _print_dropped(summary: Summary, console: Console) -> None:
    console.print(f"kept {summary.num_kept:,} of {summary.num_questions:,} questions")
    if not summary.dropped:
        return
    reasons = sorted({reason for _, reason, _ in summary.dropped})
    table = Table(title="dropped", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("source")
    for reason in reasons:
        table.add_column(reason, justify="right")
    for source in sorted({source for source, _, _ in summary.dropped}):
        counts = {reason: count for name, reason, count in summary.dropped if name == source}
        table.add_row(escape(source), *(f"{counts.get(reason, 0):,}" for reason in reasons))
    console.print(table)


def bar(share: float) -> str:
    """A bar of up to ``BAR_WIDTH`` characters; anything above zero shows."""
    width = round(share * BAR_WIDTH)
    return "█" * max(width, 1 if share > 0 else 0)


def rate(value: float | None) -> str:
    """Two decimals, or a dash for what is unknown."""
    return "-" if value is None else f"{value:.2f}"


def span(low: float | None, high: float | None) -> str:
    """``low to high``."""
    return "-" if low is None or high is None else f"{low:.2f} to {high:.2f}"


def print_check(found: CheckedSet, console: Console) -> None:
    """What ``difficulty check`` found."""
    console.print(
        f"{found.questions:,} questions of {found.rows:,} rows in {escape(found.dataset)}"
    )
    for title, parts in (
        ("kinds", found.kinds),
        ("sources", found.sources),
        ("set aside", found.set_aside),
    ):
        counts = ", ".join(f"{name} {count:,}" for name, count in parts.items())
        console.print(f"{title}: {escape(counts or 'none')}")
    if found.duplicates:
        console.print(
            f"duplicates: {found.duplicates:,} rows ask what another row asks; questions with "
            f"golds that contradict each other: {found.conflicting_golds:,}"
        )
    if found.alternative_golds:
        console.print(
            f"questions with several right answers: {found.alternative_golds:,} (a gold that is "
            "a list means that any one of them is right)"
        )
    if found.equal_options:
        console.print(
            f"questions with two equal options: {found.equal_options:,} (only their labels "
            "tell them apart; correct the dataset or leave them out)"
        )
    if found.first_set_aside:
        console.print("first rows set aside (the first row of the dataset is row 0):")
    for row in found.first_set_aside:
        console.print(f"  row {row.row}: {escape(row.reason)}")
    if found.example is not None:
        console.print("\nthe first question as the model will see it:")
        for turn in found.example.messages:
            console.print(f"{turn['role']}: {escape(turn['content'])}")
        console.print(f"gold ({found.example.kind}): {escape(found.example.gold)}")
        unused = ", ".join(found.example.unused_columns) or "none"
        console.print(f"columns that only a reward of your own would read: {escape(unused)}")


def print_audit(found: Agreement, console: Console) -> None:
    """What ``difficulty audit-grader`` found."""
    console.print(
        f"{found.agree:,} of {found.cases:,} cases agree; false credit "
        f"{len(found.false_credit):,}, false reject {len(found.false_reject):,}"
    )
    for row in found.disagree:
        console.print(
            f"  {escape(row.id)}: expected {row.expected}, got {row.got} ({escape(row.reason)})"
        )


def print_doctor(found: dict[str, Any], console: Console) -> None:
    """What ``difficulty doctor`` found."""
    for name in ("python", "platform", "engine", "gpus", "cores", "memory_gib", "disk_free_gib"):
        console.print(f"{name.replace('_', ' '):<14} {escape(str(found[name]))}")
    for node in found["memory_nodes"]:
        room = f"{node['available_gib']} of {node['total_gib']} GiB for an engine"
        console.print(f"{'node ' + str(node['node']):<14} {room}")
    if found["memory_limit_gib"] is not None:
        console.print(f"{'control group':<14} {found['memory_limit_gib']} GiB below its limit")
    server = found["server"]
    if server is not None:
        whose = escape(server["model"] or "the smallest")
        context = f" with {server['context']:,} tokens of context" if server["context"] else ""
        unknown = " and ".join(server["unknown"])
        besides = f", besides its {unknown}, not known here" if unknown else ""
        console.print(f"{'a server':<14} {server['takes_gib']} GiB for {whose}{context}{besides}")
    for package, version in found["packages"].items():
        console.print(f"{package:<14} {version or '-'}")
    for text in found["missing"]:
        console.print(f"[yellow]![/] {escape(text)}")


REGRADE_SHOWN = 20


def print_regrade(found: Regrade | None, console: Console) -> None:
    """What ``difficulty grade --compare`` found."""
    if found is None:
        console.print("nothing to compare with: this run had no profile of the same answers yet")
        return
    for line in regrade_lines(found, listed=REGRADE_SHOWN):
        console.print(escape(line))


def print_audit_result(audit: Audit, console: Console) -> None:
    """What ``difficulty grade --audit-read`` found."""
    console.print(verdict_table(audit))
    console.print(rate_table(audit))
    console.print(pass_rate_words(audit))
    for line in audit_details(audit):
        console.print(f"  {escape(line)}")
    for text in audit.warnings:
        console.print(f"[yellow]![/] {escape(text)}")
