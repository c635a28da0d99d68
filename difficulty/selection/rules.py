"""The rules of the selection: why a question is dropped.

A rule looks at a question's counts and at what follows from them, so that it is asked once for each
distinct ``QuestionFacts``, of which there are few however many questions there are; DuckDB joins
the answers to the profile (``decisions.py``). The forecast asks the same rules of counts that no
question has. Rules apply in the order of ``drop_rules``, then those that look at the whole set
(near duplicates, quotas, the maximum: ``query.py``); the first that drops a question names it. An
order never drops any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from difficulty.levels import LEVELS, beats_guessing, level_of, parse_keep
from difficulty.schema import PassRate
from difficulty.settings.selection import SelectionSpec, parse_band

TOO_FEW_GRADED = "too_few_graded"
OUTSIDE_BAND = "outside_pass_rate_band"
NOT_ABOVE_CHANCE = "not_above_chance"
OVER_MAX_COLLAPSE = "over_max_collapse"
NEAR_DUPLICATE = "near_duplicate"
OVER_QUOTA = "over_quota"
OVER_MAX_QUESTIONS = "over_max_questions"


@dataclass(frozen=True, kw_only=True)
class QuestionFacts:
    """All that the rules look at of one question, or of all questions alike in it."""

    num_graded: int
    num_correct: int
    level: str | None
    """Null: fewer answers were graded than a level needs."""
    collapse_probability: float | None = None
    """At the run's group size; null where it is not known."""
    above_chance: float | None = None
    """How surely it beats guessing; null where there is nothing to guess from."""
    overlap: str | None = None
    """Drop reason of the first evaluation set that asks the question too; null if none does."""


@dataclass(frozen=True, kw_only=True)
class DropRule:
    """A named condition under which a question is dropped."""

    reason: str
    setting: str
    """The option that asks for the rule, as a user would type it."""
    drops: Callable[[QuestionFacts], bool]
    told: Callable[[QuestionFacts, PassRate], str]
    """What it looked at, for the story of one question."""


def drop_rules(selection: SelectionSpec) -> list[DropRule]:
    """The rules that look at one question alone, in the order in which they apply."""
    overlaps = [
        DropRule(
            reason=reason,
            setting=f"--against {file}",
            drops=_overlaps(reason),
            told=_overlap_told(reason),
        )
        for file, reason in overlap_reasons(selection).items()
    ]
    return [*overlaps, _graded_rule(), *_level_rules(selection), *_measured_rules(selection)]


def first_reason(rules: Sequence[DropRule], facts: QuestionFacts) -> str | None:
    """The reason of the first rule that drops such a question; None if all keep it."""
    return next((rule.reason for rule in rules if rule.drops(facts)), None)


def _overlaps(reason: str) -> Callable[[QuestionFacts], bool]:
    return lambda facts: facts.overlap == reason


def _graded_rule() -> DropRule:
    return DropRule(
        reason=TOO_FEW_GRADED,
        setting="--min-graded",
        drops=lambda facts: facts.level is None,
        told=lambda facts, profile: (
            f"{facts.num_graded} of {profile.num_samples} answers are graded"
        ),
    )


def _level_rules(selection: SelectionSpec) -> list[DropRule]:
    kept, setting = parse_keep(selection.keep), f"--keep {selection.keep}"
    return [
        DropRule(
            reason=f"level_{level}",
            setting=setting,
            drops=_is_level(level, kept),
            told=lambda facts, _: f"level {facts.level or 'none'}",
        )
        for level in LEVELS
    ]


def _is_level(level: str, kept: tuple[str, ...]) -> Callable[[QuestionFacts], bool]:
    return lambda facts: facts.level == level and level not in kept


def _measured_rules(selection: SelectionSpec) -> list[DropRule]:
    """The rules of pass rate, guessing and collapse that the selection asks for."""
    rules = []
    if selection.pass_rate is not None:
        setting = f"--pass-rate {selection.pass_rate}"
        drops = _outside(*parse_band(selection.pass_rate))
        rules.append(DropRule(reason=OUTSIDE_BAND, setting=setting, drops=drops, told=_rate))
    if selection.above_chance is not None:
        setting = f"--above-chance {selection.above_chance}"
        drops = _less_sure_than(selection.above_chance)
        rules.append(DropRule(reason=NOT_ABOVE_CHANCE, setting=setting, drops=drops, told=_chance))
    if selection.max_collapse is not None:
        setting = f"--max-collapse {selection.max_collapse}"
        drops = _collapses_above(selection.max_collapse)
        rules.append(
            DropRule(reason=OVER_MAX_COLLAPSE, setting=setting, drops=drops, told=_collapse)
        )
    return rules


def _overlap_told(reason: str) -> Callable[[QuestionFacts, PassRate], str]:
    return lambda facts, _: "overlaps it" if facts.overlap == reason else "no overlap"


def _rate(_: QuestionFacts, profile: PassRate) -> str:
    return f"pass rate {number(profile.pass_rate)}"


def _chance(facts: QuestionFacts, profile: PassRate) -> str:
    if facts.above_chance is None:
        return "nothing to guess from"
    return f"{number(facts.above_chance)} for {profile.num_options} options"


def _collapse(facts: QuestionFacts, _: PassRate) -> str:
    return f"collapse probability {number(facts.collapse_probability)}"


def number(value: float | None) -> str:
    """Three decimals, or a word for what is unknown."""
    return "unknown" if value is None else f"{value:.3f}"


def _outside(low: float, high: float) -> Callable[[QuestionFacts], bool]:
    return lambda facts: (
        facts.num_graded > 0 and not low <= facts.num_correct / facts.num_graded <= high
    )


def _less_sure_than(least: float) -> Callable[[QuestionFacts], bool]:
    return lambda facts: facts.above_chance is not None and facts.above_chance < least


def _collapses_above(most: float) -> Callable[[QuestionFacts], bool]:
    return lambda facts: (
        facts.collapse_probability is not None and facts.collapse_probability > most
    )


def counts_rule(
    selection: SelectionSpec,
    *,
    min_graded: int,
    collapse: Callable[[int, int], float] | None = None,
    guess: Fraction | None = None,
) -> Callable[[int, int], bool]:
    """``(num_graded, num_correct) ->`` do the rules beside the levels keep such a question?

    What the forecast needs to know of the choice. Quotas, caps, near duplicates and overlaps are
    taken to draw at random among equals.

    Args:
        selection: the rules.
        min_graded: graded answers that a level needs.
        collapse: ``(num_graded, num_correct) ->`` collapse probability, also of counts that no
            question has; for ``max_collapse``.
        guess: chance of a guess, for ``above_chance``; None for questions without options.
    """
    rules = [_graded_rule(), *_measured_rules(selection)]

    def keeps(graded: int, correct: int) -> bool:
        facts = QuestionFacts(
            num_graded=graded,
            num_correct=correct,
            level=None if graded < min_graded else level_of(correct, graded),
            collapse_probability=None if collapse is None else collapse(graded, correct),
            above_chance=surely_above(selection, correct, graded, guess),
        )
        return first_reason(rules, facts) is None

    return keeps


def surely_above(
    selection: SelectionSpec, num_correct: int, num_graded: int, guess: Fraction | None
) -> float | None:
    """How surely such counts beat guessing; None if no rule asks or there is nothing to guess."""
    if selection.above_chance is None or guess is None or not num_graded:
        return None
    return beats_guessing(num_correct, num_graded, guess)


def set_rules(selection: SelectionSpec) -> dict[str, str]:
    """Reason -> option of the rules that look at the set as a whole, in their order."""
    found = {}
    if selection.drop_near_duplicates:
        found[NEAR_DUPLICATE] = "--drop-near-duplicates"
    if selection.quotas:
        found[OVER_QUOTA] = " ".join(f"--quota {quota}" for quota in selection.quotas)
    if selection.max_questions is not None:
        found[OVER_MAX_QUESTIONS] = f"--max-questions {selection.max_questions}"
    return found


def rule_settings(selection: SelectionSpec) -> dict[str, str]:
    """Reason -> the option that asks for its rule, for all rules in the order they apply."""
    alone = {rule.reason: rule.setting for rule in drop_rules(selection)}
    return alone | set_rules(selection)


def why_empty(dropped: Counter[str], selection: SelectionSpec) -> str:
    """Which rule took the last questions, what the others took, and what to do.

    Args:
        dropped: questions by drop reason; all questions of the set.
        selection: the rules.
    """
    shown = ", ".join(f"{reason} {count:,}" for reason, count in dropped.most_common())
    order = rule_settings(selection)
    last = max((reason for reason in order if dropped[reason]), key=[*order].index)
    if last == TOO_FEW_GRADED:
        return (
            f"no question has enough graded answers ({shown}). "
            "Look at the failures (difficulty report), or lower --min-graded (difficulty bucket)"
        )
    if last.startswith("level_"):
        return (
            f"{selection.keep} dropped all questions ({shown}). "
            "Choose other levels (--keep), another model or another dataset"
        )
    return (
        f"{order[last]} dropped the last {dropped[last]:,} questions ({shown}). "
        "Loosen that rule, or forget all with difficulty select RUN --reset"
    )


def overlap_reasons(selection: SelectionSpec) -> dict[str, str]:
    """Evaluation set -> drop reason, in the order in which they were given; no two are alike."""
    found: dict[str, str] = {}
    for file in selection.against or ():
        reason = f"overlaps_{Path(file).stem}"
        same = sum(Path(other).stem == Path(file).stem for other in found)
        found[file] = f"{reason}-{same + 1}" if same else reason
    return found


def first_overlap(reasons: Mapping[str, str], files: Collection[str]) -> str:
    """Drop reason of a question that stands in these evaluation sets: that of the first given."""
    return next(reason for file, reason in reasons.items() if file in files)
