"""The forecast of a run whose rule for guessing keeps other counts at other numbers of options.

``--above-chance`` may keep 2 of 5 right with five options and drop it with four, so that counts
alone no longer say which questions are kept. Each number of options then gets a law of its own, and
the kept set's figures are their means, weighted with the questions kept. The means of the ends are
an interval that is at least as wide as needed, since not all parts err the same way at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from difficulty import levels, store
from difficulty.levels import guess_chance
from difficulty.selection.rules import counts_rule
from difficulty.settings.run import RunSpec, settings_through
from difficulty.store import RunFolder

if TYPE_CHECKING:
    from difficulty.collapse import Counts, Estimate
    from difficulty.collapse.forecast import Forecast

Rule = Callable[[int, int], bool]
ByGuess = dict[Fraction | None, "Counts"]

COUNTS = """
    SELECT kind, num_options, num_golds, num_graded, num_correct, count(*) AS num_questions
    FROM rows_of($profile) WHERE num_graded > 0 GROUP BY ALL ORDER BY ALL
"""
FIGURES = ("acr", "low", "high", "identified_low", "identified_high", "plug_in")
WIDE = 0.05
"""An identified set wider than this is warned of, as in the forecast of a single law."""


def read_by_guess(run: RunFolder) -> ByGuess:
    """Counts of right answers by the chance of a guess; None stands for no options."""
    from difficulty.collapse import Counts

    rows = store.connect(run).execute(COUNTS, {"profile": store.sql_path(run.profile)}).fetchall()
    found: dict[Fraction | None, list[tuple[int, int, int]]] = {}
    for kind, options, golds, graded, correct, questions in rows:
        guess = guess_chance(kind, options, golds)
        found.setdefault(guess, []).append((graded, correct, questions))
    return {guess: Counts.of(*zip(*counts, strict=True)) for guess, counts in found.items()}


def kept_questions(run: RunFolder, spec: RunSpec) -> int | None:
    """How many questions the selection of these very settings kept; None without one."""
    stamp = store.read_stamp(run.selection)
    if stamp is None or stamp.settings != settings_through(spec, "selection"):
        return None
    sql = "SELECT count(*) FROM rows_of($selection) WHERE keep"
    parameters = {"selection": store.sql_path(run.selection)}
    return int(store.connect(run).execute(sql, parameters).fetchall()[0][0])


def forecast_kept(counts: Counts, by_guess: ByGuess, spec: RunSpec) -> Forecast:
    """The forecast of the pool and of the questions that the run's rules keep.

    Args:
        counts: of the run, by source.
        by_guess: the same questions by the chance of a guess.
        spec: the rules and the group size.
    """
    from difficulty.collapse import forecast

    size, keep = spec.selection.group_size, levels.parse_keep(spec.selection.keep)
    rules = _rules(counts, by_guess, spec)
    same = _same_rule(by_guess, rules)
    if same is not None:
        return forecast(counts, group_size=size, keep=keep, keep_rule=same)

    def any_rule(graded: int, correct: int) -> bool:
        return any(rule(graded, correct) for rule in rules.values())

    found = forecast(counts, group_size=size, keep=keep, keep_rule=lambda *_: False)
    kept = _combined(by_guess, rules, keep, size)
    return dataclasses.replace(
        found,
        kept=kept,
        kept_rule=_kept(any_rule, keep),
        more_rule=any_rule,
        warnings=(*_warnings(kept, len(rules)), *found.warnings),
    )


def _rules(counts: Counts, by_guess: ByGuess, spec: RunSpec) -> dict[Fraction | None, Rule]:
    """What a question must meet beside its level, by the chance of a guess."""
    selection = spec.selection
    collapse = None
    if selection.max_collapse is not None:
        collapse = _collapse_of(counts, selection.group_size)
    min_graded = spec.bucket.min_graded or spec.sampling.k
    return {
        guess: counts_rule(selection, min_graded=min_graded, collapse=collapse, guess=guess)
        for guess in by_guess
    }


def _collapse_of(counts: Counts, group_size: int) -> Callable[[int, int], float]:
    """The posterior that the selection goes by, also for counts that no question happens to have.

    A law's chance to be kept sums over all counts that a question could have shown.
    """
    import numpy as np

    from difficulty.collapse import collapse_posterior
    from difficulty.collapse.collapse import collapse_probability
    from difficulty.collapse.mixture import fit_mixture

    known = dict(collapse_posterior(counts, group_size))
    law = fit_mixture(counts.classes())
    values = collapse_probability(law.grid, group_size)

    def collapse(graded: int, correct: int) -> float:
        if (graded, correct) not in known:
            pair = np.array([graded]), np.array([correct])
            known[graded, correct] = float(law.mean(values, *pair)[0])
        return known[graded, correct]

    return collapse


def _same_rule(by_guess: ByGuess, rules: dict[Fraction | None, Rule]) -> Rule | None:
    """The one rule that all questions go by, as far as their counts tell; None if they differ."""
    first, *others = rules.values()
    for counts in by_guess.values():
        classes = counts.classes()
        mask = classes.chosen(first)
        if any((classes.chosen(other) != mask).any() for other in others):
            return None
    return first


def _combined(
    by_guess: ByGuess, rules: dict[Fraction | None, Rule], keep: tuple[str, ...], size: int
) -> Estimate | None:
    from difficulty.collapse import Estimate
    from difficulty.collapse.estimate import Fits

    parts = []
    for guess, counts in by_guess.items():
        rule = rules[guess]
        found = Fits(counts.classes(), size).estimates({"kept": _kept(rule, keep)})
        parts += [*found.values()]
    total = sum(part.num_questions for part in parts)
    if not total:
        return None
    means = {
        name: sum(getattr(part, name) * part.num_questions for part in parts) / total
        for name in FIGURES
    }
    return Estimate(**means, num_questions=total, method="mixture")


def _kept(rule: Rule, keep: tuple[str, ...]) -> Rule:
    return lambda graded, correct: (
        levels.level_of(correct, graded) in keep and rule(graded, correct)
    )


def _warnings(kept: Estimate | None, num_parts: int) -> list[str]:
    if kept is None or kept.identified_high - kept.identified_low <= WIDE:
        return []
    width = kept.identified_high - kept.identified_low
    return [
        f"kept set: the samples leave its collapse rate open between {kept.identified_low:.2f} and "
        f"{kept.identified_high:.2f} (width {width:.2f}), however many questions there are; "
        f"above-chance keeps other counts at other numbers of options, and these are sums over "
        f"{num_parts} of them. A larger k narrows it"
    ]
