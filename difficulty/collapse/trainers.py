"""How each trainer resamples groups that teach nothing, and what it does when that fails.

Read in the sources of ms-swift 4.6.0, verl 0.9.1, OpenRLHF 0.11.2, SkyRL 0.3.0, TRL 1.16.0 and
AReaL 1.0.4; NeMo-RL, open-instruct, slime and prime-rl, of which no package can be installed, as
their settings, tests and change logs of 2026 describe it. They move: look before relying on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from difficulty.collapse.fills import REDRAWS
from difficulty.errors import SettingsError

TRAIN_GROUPS = 96
"""Groups a step where neither the user nor the trainer's documents say: the medical-exam study's
768 answers in groups of 8."""
STEPS = 100
MOST_STATED_ROUNDS = 100
"""Batches a step that are forecast at most; no trainer's default is above 30."""

Kind = Literal["rounds", "replace", "once"]
Reading = Literal["after_sampling", "raw", "batches", "rejected", "passed", "none"]


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """One trainer's dynamic sampling, with its defaults."""

    name: str
    kind: Kind
    """``rounds``: whole batches until enough groups are usable; ``replace``: each rejected group by
    another, without a limit; ``once``: one batch, whatever it holds."""
    max_rounds: int | None = None
    """Batches that are looked at in a step; None: no limit."""
    rounds_name: str = ""
    """The trainer's own setting behind ``max_rounds``."""
    train_groups: int = TRAIN_GROUPS
    batch_ratio: int = 1
    """Groups generated in a batch for each one trained on."""
    own_batches: bool = False
    """May a generation batch be of another size than a training batch?"""
    redraw: str = "fresh"
    wasted: int = 0
    """Batches generated after the last one that is looked at, in a step that fails."""
    stops: bool = False
    """A step that fails ends the run."""
    one_pass: bool = False
    """A step takes no question twice: it ends where the set does."""
    tests: Literal["sum", "accuracy"] = "sum"
    """Whose spread decides about a group: the sum of all rewards, or correctness alone."""
    floored: bool = False
    """Its soft overlong penalty stays at -1 beyond the maximal length."""
    reading: Reading = "none"
    metric: str = ""
    metric_says: str = ""
    at_limit: str


NEVER_FAILS = "never fails: goes on until the batch is full"
TRAINERS: dict[str, Trainer] = {
    trainer.name: trainer
    for trainer in (
        Trainer(
            name="ms-swift",
            kind="rounds",
            max_rounds=3,
            rounds_name="max_resample_times",
            redraw="resamples",
            wasted=1,
            reading="after_sampling",
            metric="frac_reward_zero_std",
            metric_says="read after dynamic sampling: 0 in a step that filled, the first batch's "
            "raw collapse rate in one that did not; 0 does not say that nothing collapsed",
            at_limit="trains on the step's first batch as it is, collapsed groups included, after "
            "generating one more batch that is never looked at",
        ),
        Trainer(
            name="ms-swift-ray",
            kind="rounds",
            max_rounds=4,
            rounds_name="max_resample_times + 1",
            reading="after_sampling",
            metric="frac_reward_zero_std",
            metric_says="read after dynamic sampling: 0 in a step that filled, the first batch's "
            "raw collapse rate in one that did not; 0 does not say that nothing collapsed",
            at_limit="trains on the step's first batch as it is, collapsed groups included",
        ),
        Trainer(
            name="verl",
            kind="rounds",
            max_rounds=10,
            rounds_name="algorithm.filter_groups.max_num_gen_batches (0: no limit)",
            train_groups=512,
            batch_ratio=3,
            own_batches=True,
            stops=True,
            tests="accuracy",
            reading="batches",
            metric="train/num_gen_batches",
            metric_says="generation batches a step; rises as more groups collapse",
            at_limit="raises ValueError: the run ends (recipe of verl up to 0.7; verl-v1 has no "
            "limit)",
        ),
        Trainer(
            name="nemo-rl",
            kind="rounds",
            max_rounds=11,
            rounds_name="dynamic_sampling_max_gen_batches + 1",
            own_batches=True,
            stops=True,
            tests="accuracy",
            at_limit="raises ValueError: the run ends",
        ),
        Trainer(
            name="skyrl",
            kind="rounds",
            max_rounds=30,
            rounds_name="dynamic_sampling.max_sample_batches, with dynamic_sampling.type=filter",
            stops=True,
            at_limit="raises RuntimeError: the run ends",
        ),
        Trainer(
            name="open-instruct",
            kind="once",
            reading="raw",
            metric="batch/filtered_prompts_pct",
            metric_says="share of groups dropped: the raw collapse rate",
            at_limit="drops collapsed groups and trains on a smaller batch (active_sampling "
            "refills it instead)",
        ),
        Trainer(
            name="trl",
            kind="once",
            reading="raw",
            floored=True,
            metric="frac_reward_zero_std",
            metric_says='the raw collapse rate with scale_rewards "group" or "none"; with "batch" '
            "it is 0 or 1",
            at_limit="has no dynamic sampling: trains on every group, and collapsed ones teach "
            "nothing",
        ),
        Trainer(
            name="verl-v1",
            kind="replace",
            reading="rejected",
            metric="training/filter_groups/evicted_samples",
            metric_says="groups thrown away a step for equal rewards",
            at_limit=f"{NEVER_FAILS}, two groups for each rejected one; those still running then "
            "are finished and thrown away (up to a batch more). Tests the reward's sum unless "
            "filter_groups.metric is acc",
        ),
        Trainer(
            name="openrlhf",
            kind="replace",
            one_pass=True,
            tests="accuracy",
            own_batches=True,
            reading="passed",
            metric="dynamic_filtering_pass_rate",
            metric_says="100 x answers a group x share of usable groups: divide by the group size",
            at_limit="replaces each rejected question until the questions run out, then trains on "
            "a smaller batch; keeps groups whose mean score lies strictly inside the range",
        ),
        Trainer(
            name="slime",
            kind="replace",
            reading="rejected",
            metric="rollout/dynamic_filter/drop_zero_std_*",
            metric_says="groups dropped a step, one metric a reward value; add them up",
            at_limit=f"{NEVER_FAILS}; groups that finish early, with short answers, come first",
        ),
        Trainer(
            name="areal",
            kind="replace",
            at_limit=f"{NEVER_FAILS} with a filter of yours; with dynamic_bs=true it stops at the "
            "batch size and trains on fewer groups",
        ),
        Trainer(
            name="prime-rl",
            kind="replace",
            at_limit=f"{NEVER_FAILS}; 10 batches in a row without one usable group end the run",
        ),
    )
}
"""Name -> how it resamples."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A training run to be forecast."""

    trainer: Trainer
    train_groups: int
    """Usable groups that a step trains on."""
    gen_groups: int
    """Groups in a generation batch."""
    max_rounds: int | None
    """Generation batches that a step looks at; None: no limit."""
    steps: int
    group_size: int
    """Answers a group."""
    redraw: str
    defaults: tuple[str, ...]
    """What the user did not say and what was taken for it."""


def find_trainer(name: str) -> Trainer:
    """The trainer of that name.

    Raises:
        SettingsError: there is none; lists those there are.
    """
    if name not in TRAINERS:
        raise SettingsError(
            f"no forecast for trainer {name!r}. Choose one of {', '.join(TRAINERS)}"
        )
    return TRAINERS[name]


def plan_run(
    name: str,
    *,
    group_size: int = 8,
    train_groups: int | None = None,
    gen_groups: int | None = None,
    max_rounds: int | None = None,
    steps: int | None = None,
    redraw: str | None = None,
) -> Plan:
    """A run with what the user said and the trainer's defaults for the rest.

    Raises:
        SettingsError: an unknown trainer, a number below 1, or a setting the trainer does not have.
    """
    trainer = find_trainer(name)
    for option, value in (
        ("train-groups", train_groups), ("gen-groups", gen_groups), ("steps", steps)
    ):  # fmt: skip
        if value is not None and value < 1:
            raise SettingsError(f"{option} is too small: {value}. Use --{option} 1 or more")
    if redraw is not None and redraw not in REDRAWS:
        raise SettingsError(f"unknown redraw: {redraw!r}. Choose one of {', '.join(REDRAWS)}")
    _refuse_foreign(trainer, train_groups, gen_groups, max_rounds, redraw)
    needed = train_groups or trainer.train_groups
    batch = gen_groups or needed * trainer.batch_ratio
    rounds = trainer.max_rounds if max_rounds is None else max_rounds
    taken = [
        ("train-groups", train_groups, needed),
        ("gen-groups", gen_groups, batch if trainer.own_batches else None),
        (f"max-rounds ({trainer.rounds_name})", max_rounds, rounds),
        ("redraw", redraw, trainer.redraw if trainer.kind == "rounds" else None),
        ("steps", steps, STEPS),
    ]
    return Plan(
        trainer=trainer,
        train_groups=needed,
        gen_groups=batch,
        max_rounds=None if rounds is not None and rounds < 1 else rounds,
        steps=steps or STEPS,
        group_size=group_size,
        redraw=redraw or trainer.redraw,
        defaults=_defaults(taken),
    )


def _defaults(taken: Sequence[tuple[str, object, object]]) -> tuple[str, ...]:
    return tuple(f"{option} {value}" for option, stated, value in taken if stated is None and value)


def _refuse_foreign(
    trainer: Trainer,
    train_groups: int | None,
    gen_groups: int | None,
    max_rounds: int | None,
    redraw: str | None,
) -> None:
    if trainer.kind != "rounds":
        for option, value in (("max-rounds", max_rounds), ("redraw", redraw)):
            if value is not None:
                how = (
                    "looks at one batch a step, whatever it holds"
                    if trainer.kind == "once"
                    else "replaces single groups, not batches, without a limit"
                )
                raise SettingsError(f"{trainer.name} {how}: found --{option} {value}. Leave it out")
    if max_rounds is not None and max_rounds > MOST_STATED_ROUNDS:
        raise SettingsError(
            f"max-rounds is too large: {max_rounds}. Use at most {MOST_STATED_ROUNDS}"
            + (", or 0 for no limit" if trainer.name == "verl" else "")
        )
    if max_rounds is not None and max_rounds < 1 and trainer.name != "verl":
        raise SettingsError(
            f"max-rounds is too small: {max_rounds}. {trainer.name} looks at 1 batch or more"
        )
    same = train_groups or trainer.train_groups
    if gen_groups is not None and not trainer.own_batches and gen_groups != same:
        raise SettingsError(
            f"{trainer.name} generates as many groups as it trains on: found --gen-groups "
            f"{gen_groups} for {same}. Leave --gen-groups out"
        )
