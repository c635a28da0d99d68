"""The dataset card of an export: what its files hold, how it was measured, what to expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from difficulty import levels, store
from difficulty.collapse.forecast_json import read_forecast
from difficulty.collapse.whole import SetRates
from difficulty.export.own_reward import graded_by
from difficulty.export.split import Split
from difficulty.settings.run import RunSpec

LICENCES = """
    SELECT source, list_sort(list(DISTINCT licence)) FROM (
        SELECT source, coalesce(json_extract_string(metadata, '$.license'),
                                json_extract_string(metadata, '$.licence')) AS licence
        FROM rows_of($questions))
    WHERE licence IS NOT NULL GROUP BY source ORDER BY source
"""
LICENCES_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Part:
    """The rows of one split, counted."""

    split: Split
    counts: Mapping[str, Mapping[str, int]]
    """Source -> level -> rows."""

    @property
    def rows(self) -> int:
        """Rows of the split."""
        return sum(count for levels in self.counts.values() for count in levels.values())


def front_matter(parts: list[Part]) -> str:
    """What Hub and ``datasets`` read: which files make which split."""
    lines = ["---", "configs:", "- config_name: default", "  data_files:"]
    for part in parts:
        name = "heldout" if part.split == "heldout" else "train"
        lines += [f"  - split: {name}", f"    path: {name}-*.parquet"]
    return "\n".join([*lines, "---", "", ""])


def shards_note(shards: list[Path]) -> str:
    """A sentence where the rows are in several files; empty for one."""
    if len(shards) < 2:
        return ""
    return (
        f"\nThe training rows are in {len(shards)} files, `{shards[0].name}` to "
        f"`{shards[-1].name}`: give the trainer all of them, in this order.\n"
    )


def card(run: store.RunFolder, spec: RunSpec, parts: list[Part]) -> str:
    """The facts of the set as Markdown, after the trainer's own part."""
    sections = [
        *(_counts(part) for part in parts),
        _measured(run, spec),
        _forecast(run, spec),
        _licences(run, [source for part in parts for source in part.counts]),
    ]
    return "\n" + "\n".join(section for section in sections if section)


def _counts(part: Part) -> str:
    title = {
        "train": "Training rows by source and level",
        "heldout": "Held-out rows by source and level",
        "control": "Control rows by source and level",
    }[part.split]
    note = ""
    if part.split == "control":
        note = (
            "\nThis is the **control**: as many questions of each source as the training set, "
            "drawn from everything profiled, whatever their level. If training on the kept "
            "questions is no better than training on these, the filter did not help.\n"
        )
    head = f"| source | {' | '.join(levels.LEVELS)} | all |"
    lines = [f"## {title}", note, head, "|---" * (len(levels.LEVELS) + 2) + "|"]
    totals = {level: sum(row.get(level, 0) for row in part.counts.values()) for level in LEVELS}
    for source, row in [*part.counts.items(), *([("all", totals)] if len(part.counts) > 1 else [])]:
        cells = [f"{row.get(level, 0):,}" for level in LEVELS]
        lines.append(f"| {safe(source)} | {' | '.join(cells)} | {sum(row.values()):,} |")
    return "\n".join([*lines, ""])


LEVELS = levels.LEVELS


def _measured(run: store.RunFolder, spec: RunSpec) -> str:
    sampling, selection = spec.sampling, spec.selection
    stamp = store.read_stamp(run.selection)
    facts = {
        "model": sampling.model,
        "dataset": spec.source.dataset,
        "answers a question (k)": sampling.k,
        "temperature, top-p, top-k, min-p": (
            f"{sampling.temperature}, {sampling.top_p}, {sampling.top_k}, {sampling.min_p}"
        ),
        "new tokens at most": f"{sampling.max_tokens:,}",
        "template, worked examples": f"{sampling.template}, {len(sampling.few_shot) // 2}",
        "graded by": graded_by(spec.grading),
        "rules": _rules(spec),
        "order, seed": f"{selection.order}, {selection.seed}",
        "group size in training (G)": selection.group_size,
        "selected": stamp.date if stamp else "unknown",
        "difficulty-profiler": store.VERSION,
    }
    lines = ["## How it was measured", "", "| | |", "|---|---|"]
    return "\n".join([*lines, *(f"| {key} | {safe(value)} |" for key, value in facts.items()), ""])


def _rules(spec: RunSpec) -> str:
    from difficulty.selection.rules import rule_settings

    settings = dict.fromkeys(rule_settings(spec.selection).values())
    return " ".join(text for text in settings if text != "--min-graded")


def _forecast(run: store.RunFolder, spec: RunSpec) -> str:
    if not run.forecast.exists():
        return ""
    found = read_forecast(run.forecast)
    lines = [
        f"## Forecast: share of groups of {found.group_size} that teach nothing",
        "",
        "| set | questions | collapse rate | 95 % interval |",
        "|---|---|---|---|",
    ]
    labels = ("everything profiled", "kept")
    lines += map(_forecast_row, labels, found.sets())
    return "\n".join([*lines, ""])


def _forecast_row(label: str, part: SetRates) -> str:
    if part.acr is None or part.low is None or part.high is None:
        return f"| {label} | {part.num_questions:,} | unknown | unknown |"
    interval = f"{part.low:.2f} to {part.high:.2f}"
    return f"| {label} | {part.num_questions:,} | {part.acr:.2f} | {interval} |"


def _licences(run: store.RunFolder, sources: list[str]) -> str:
    """The rows' own ``license`` column, if they have one; nothing is guessed."""
    connection = store.connect(run)
    parameters = {"questions": store.sql_path(run.questions)}
    known = dict(connection.execute(LICENCES, parameters).fetchall())
    lines = ["## Licence of the sources", "", "| source | licence |", "|---|---|"]
    for source in dict.fromkeys(sources):
        found = known.get(source, [])
        shown = ", ".join(found[:LICENCES_SHOWN]) + (", ..." if found[LICENCES_SHOWN:] else "")
        lines.append(f"| {safe(source)} | {safe(shown or 'not stated')} |")
    return "\n".join([*lines, ""])


def safe(value: object) -> str:
    """Foreign text in a table cell: one line, nothing that Markdown or HTML would act on."""
    text = " ".join(str(value).split())
    text = "".join(char if char.isprintable() else "?" for char in text)
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(char, entity)
    return "".join(f"\\{char}" if char in r"\`*_[]|!" else char for char in text)
