"""What a run found, gathered once from its tables for the terminal, the page and ``--json``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difficulty import levels, store
from difficulty.audit.regrade import Regrade, load_regrade
from difficulty.audit.result import Audit, load_audit
from difficulty.collapse.forecast_json import read_forecast
from difficulty.collapse.whole import WholeForecast
from difficulty.export.shards import shards_of
from difficulty.export.write import export_file
from difficulty.report.reward_summary import (
    RewardSummary,
    reward_settings,
    reward_warnings,
    summarize_reward,
)
from difficulty.schema import OUTCOMES, UNKNOWN_OUTCOMES, Outcome
from difficulty.settings.run import RunSpec
from difficulty.trainers.find import EXPORTERS

TRUNCATED_SHARE = 0.05
"""Above this share of cut answers, levels say more about the token limit than about the model."""
LONG_ANSWER = 32
"""Tokens from which on equal answers are no coincidence at a temperature above 0."""
IDENTICAL_SHARE = 0.2
EXAMPLES_A_LEVEL = 2
TEXT_SHOWN = 600
REGRADE_LISTED = 200
"""Moved questions that the page lists; regrade.json has all."""


@dataclass(frozen=True, kw_only=True)
class LevelCount:
    """One row of the level table."""

    level: str
    num_questions: int
    share: float
    """Of all profiled questions, 0 to 1."""
    collapse: float | None
    """Forecast collapse rate of the level at the run's group size; null without questions."""
    kept: bool
    """Whether any question of it is kept."""
    num_kept: int
    """Questions of it in the selection, after all rules, quotas and caps."""


@dataclass(frozen=True, kw_only=True)
class ExportFile:
    """A training file that was written."""

    trainer: str
    path: str
    num_questions: int
    keep_order: str | None
    """The trainer's setting that keeps the order; null: it always shuffles."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """One question of a level with the answers that put it there."""

    level: str
    kind: str
    prompt: str
    gold: str
    answers: list[tuple[str, str]]
    """(outcome, start of the answer's text)."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Everything the report shows."""

    run: str
    dataset: str
    model: str
    settings: dict[str, str]
    num_questions: int
    num_copies: int
    """Rows of the dataset behind the questions, duplicates included."""
    set_aside: dict[str, int]
    """Reason -> rows of the dataset."""
    outcomes: dict[Outcome, int]
    """Outcome -> samples; all outcomes, zeros included."""
    num_samples: int
    mean_reward: float | None
    """Of the answers whose reward is known; null if none is."""
    reward: RewardSummary | None
    """The user's own reward; null for the built-in grader alone."""
    levels: list[LevelCount]
    num_without_level: int
    level_moves: int
    """Questions whose level would be another if truncated answers were left out."""
    sources: dict[str, dict[str, int]]
    """Source -> level -> questions."""
    forecast: WholeForecast
    num_kept: int
    dropped: list[tuple[str, str, int]]
    """(source, reason, questions)."""
    exports: list[ExportFile]
    examples: list[Example]
    warnings: list[str]
    audit: Audit | None
    """The grader held against a person; null if nobody checked this run."""
    regrade: Regrade | None
    """What the last change of the grading rules did; null if there was none. Its list of questions
    is cut to ``REGRADE_LISTED``."""
    regrade_not_listed: int
    """Moved questions beyond that list."""


def summarize(run: store.RunFolder, spec: RunSpec) -> Summary:
    """Gather the summary of a finished run.

    Raises:
        RunError: a table is missing.
    """
    tables = (run.questions, run.set_aside, run.grades, run.profile, run.selection, run.forecast)
    for table in tables:
        store.content_hash(table)
    query = _Queries(run)
    forecast = read_forecast(run.forecast)
    num_questions = store.num_rows(run.questions)
    by_level = dict(query.rows("SELECT level, count(*) FROM profile GROUP BY 1"))
    kept = dict(query.rows("SELECT level, count(*) FROM selection WHERE keep GROUP BY 1"))
    counts = [
        _level_count(level, by_level, num_questions, forecast, kept.get(level, 0))
        for level in levels.LEVELS
    ]
    found = dict(query.rows("SELECT outcome, count(*) FROM grades GROUP BY 1"))
    outcomes = {name: found.get(name, 0) for name in OUTCOMES}
    num_kept = query.number("SELECT count(*) FROM selection WHERE keep")
    regrade, not_listed = _regrade(run)
    reward = summarize_reward(spec.grading, query.rows)
    return Summary(
        run=str(run),
        dataset=spec.source.dataset,
        model=spec.sampling.model,
        settings=_settings(run, spec),
        num_questions=num_questions,
        num_copies=query.number("SELECT sum(num_copies)::BIGINT FROM questions"),
        set_aside=dict(
            query.rows(
                "SELECT split_part(reason, ':', 1), count(*) FROM set_aside "
                "GROUP BY 1 ORDER BY 2 DESC, 1"
            )
        ),
        outcomes=outcomes,
        num_samples=sum(found.values()),
        mean_reward=query.rows("SELECT avg(reward) FROM grades")[0][0],
        reward=reward,
        levels=counts,
        num_without_level=by_level.get(None, 0),
        level_moves=query.number(
            "SELECT count(*) FROM profile WHERE level IS NOT NULL "
            "AND level IS DISTINCT FROM level_without_truncated"
        ),
        sources=_sources(query),
        forecast=forecast,
        num_kept=num_kept,
        dropped=query.rows(
            "SELECT source, drop_reason, count(*) FROM selection WHERE NOT keep "
            "GROUP BY 1, 2 ORDER BY 1, 2"
        ),
        exports=_exports(run, spec),
        examples=_examples(query),
        warnings=[
            *_warnings(outcomes, counts, forecast, num_kept),
            *reward_warnings(reward),
            *_identical_warning(query, spec.sampling.temperature),
        ],
        audit=load_audit(run),
        regrade=regrade,
        regrade_not_listed=not_listed,
    )


def _regrade(run: store.RunFolder) -> tuple[Regrade | None, int]:
    """The last change of rules with the first of its moved questions, and how many more moved."""
    found = load_regrade(run)
    if found is None:
        return None, 0
    listed = found.questions[:REGRADE_LISTED]
    return dataclasses.replace(found, questions=listed), len(found.questions) - len(listed)


class _Queries:
    """Short SQL over the tables of a run by name."""

    def __init__(self, run: store.RunFolder) -> None:
        self.connection = store.connect(run)
        for name in ("questions", "set_aside", "grades", "profile", "selection"):
            self._view(name, [getattr(run, name)])
        self._view("completions", run.completion_parts())

    def _view(self, name: str, paths: list[Path]) -> None:
        files = [store.sql_path(path) for path in paths]
        self.connection.from_parquet(files, hive_partitioning=False).create_view(name)

    def rows(self, sql: str) -> list[Any]:
        return self.connection.execute(sql).fetchall()

    def number(self, sql: str) -> int:
        return int(self.rows(sql)[0][0] or 0)


def _level_count(
    level: str, by_level: dict[Any, int], total: int, forecast: WholeForecast, num_kept: int
) -> LevelCount:
    count = by_level.get(level, 0)
    return LevelCount(
        level=level,
        num_questions=count,
        share=count / total,
        collapse=forecast.levels[level].acr,
        kept=num_kept > 0,
        num_kept=num_kept,
    )


def _settings(run: store.RunFolder, spec: RunSpec) -> dict[str, str]:
    sampling = spec.sampling
    parts = run.completion_parts()
    stamp = store.read_stamp(parts[0]) if parts else None
    model = (stamp.extra if stamp else {}).get("model") or {}
    return {
        "answers a question (k)": str(sampling.k),
        "group size in training (G)": str(spec.selection.group_size),
        "temperature, top-p, top-k": f"{sampling.temperature}, {sampling.top_p}, {sampling.top_k}",
        "new tokens at most": str(sampling.max_tokens),
        "stop": ", ".join(map(repr, sampling.stop)) or "none",
        "template, worked examples": f"{sampling.template}, {len(sampling.few_shot) // 2}",
        "keep rule": spec.selection.keep,
        "order": spec.selection.order,
        "grader": spec.grading.grader,
        **reward_settings(spec.grading),
        "vLLM": str(model.get("vllm_version") or "unknown"),
        "sampled": stamp.date if stamp else "",
    }


def _sources(query: _Queries) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    sql = "SELECT source, coalesce(level, 'none'), count(*) FROM profile GROUP BY ALL ORDER BY ALL"
    for source, level, count in query.rows(sql):
        found.setdefault(source, {})[level] = count
    return found


def _exports(run: store.RunFolder, spec: RunSpec) -> list[ExportFile]:
    paths = {name: export_file(run, name) for name in spec.export.trainers}
    return [
        ExportFile(
            trainer=name,
            path=str(path),
            num_questions=sum(map(store.num_rows, shards_of(path.parent, "train"))),
            keep_order=EXPORTERS[name].keep_order,
        )
        for name, path in paths.items()
        if path.exists()
    ]


def _examples(query: _Queries) -> list[Example]:
    sql = f"""
        WITH chosen AS (
            SELECT question_id, level FROM profile WHERE level IS NOT NULL
            QUALIFY {EXAMPLES_A_LEVEL} >=
                row_number() OVER (PARTITION BY level ORDER BY question_id))
        SELECT c.level, q.kind, left(q.prompt, {TEXT_SHOWN}), left(q.answer, 100),
               list((g.outcome, left(coalesce(t.text, t.error, ''), {TEXT_SHOWN}))
                    ORDER BY g.sample_index)
        FROM chosen AS c JOIN questions AS q USING (question_id)
        JOIN grades AS g USING (question_id)
        JOIN completions AS t USING (question_id, sample_index)
        GROUP BY question_id, c.level, q.kind, q.prompt, q.answer
        ORDER BY c.level, question_id
    """
    return [
        Example(
            level=level, kind=kind, prompt=prompt, gold=gold, answers=[_pair(a) for a in answers]
        )
        for level, kind, prompt, gold, answers in query.rows(sql)
    ]


def _pair(value: Any) -> tuple[str, str]:
    first, second = value.values() if isinstance(value, dict) else value
    return str(first), str(second)


def _identical_warning(query: _Queries, temperature: float) -> list[str]:
    """Independent draws of long answers are hardly ever alike to the byte."""
    sql = f"""
        SELECT count(*) FILTER (texts = 1), count(*) FROM (
            SELECT count(DISTINCT text) AS texts FROM completions WHERE text IS NOT NULL
            GROUP BY question_id HAVING count(*) > 1 AND avg(num_tokens) >= {LONG_ANSWER})
    """
    alike, all_long = query.rows(sql)[0]
    if temperature == 0 or all_long < 5 or alike <= IDENTICAL_SHARE * all_long:
        return []
    return [
        f"{alike:,} of {all_long:,} questions with long answers got the same answer to the byte "
        "each time: the draws are not independent. Check the server's cache and seeds"
    ]


def _warnings(
    outcomes: dict[Outcome, int], counts: list[LevelCount], forecast: WholeForecast, num_kept: int
) -> list[str]:
    texts = []
    total = sum(outcomes.values())
    truncated = outcomes["truncated"] / total
    if truncated > TRUNCATED_SHARE:
        texts.append(
            f"{truncated:.0%} of the answers were cut at the token limit and count as wrong. "
            "Profile again with a larger --max-tokens before trusting the levels"
        )
    unknown = sum(outcomes[name] for name in UNKNOWN_OUTCOMES)
    if unknown:
        texts.append(
            f"{unknown:,} of {total:,} answers are unknown ({outcomes['failed']:,} failed, "
            f"{outcomes['grader_error']:,} grader errors): they are in no pass rate"
        )
    for level, meaning in (
        ("L6", "too hard: no answer was right"),
        ("L1", "too easy: every answer was right"),
    ):
        count = next(c for c in counts if c.level == level)
        if count.share > 0.5:
            texts.append(
                f"{count.share:.0%} of the questions are {level} ({meaning}); most of a run on the "
                "whole set would teach this model nothing"
            )
    # Where the rules themselves keep none, the forecast says so.
    if num_kept == 0 and forecast.of_run is not None and forecast.of_run.num_by_rules:
        texts.append("no question was kept: there is no training set")
    return [*texts, *forecast.warnings]
