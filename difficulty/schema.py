"""Every noun of the pipeline: one row type a table (settings: ``settings/``).

A row type is a frozen dataclass; its Arrow schema is derived from the class (``arrow_schema``), so
that there is one place where a column is named. ``X | None`` means: null says that the value is
unknown or does not apply, and never that it is zero.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import types
import typing
from dataclasses import dataclass

if typing.TYPE_CHECKING:
    import pyarrow as pa

Kind = typing.Literal["choice", "multi", "numeric", "math", "text"]
KINDS: tuple[Kind, ...] = typing.get_args(Kind)

Outcome = typing.Literal["correct", "wrong", "no_answer", "truncated", "failed", "grader_error"]
OUTCOMES: tuple[Outcome, ...] = typing.get_args(Outcome)
REWARD_OF: dict[Outcome, float | None] = {
    "correct": 1.0,
    "wrong": 0.0,
    "no_answer": 0.0,
    "truncated": 0.0,
    "failed": None,
    "grader_error": None,
}
"""What each outcome counts as; null: unknown, so that it is in no denominator."""
UNKNOWN_OUTCOMES: tuple[Outcome, ...] = tuple(
    outcome for outcome in OUTCOMES if REWARD_OF[outcome] is None
)


def find_kind(text: object) -> Kind | None:
    """The kind that foreign data names; None if there is none of that name."""
    return next((kind for kind in KINDS if kind == text), None)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One option of a multiple-choice question."""

    label: str
    """As shown to the model: ``A``-``H`` or ``a``-``h``."""
    text: str
    """The option's own words, without the label."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question of the set to be profiled. Key: question_id."""

    question_id: str
    """SHA-256 (hex) of (system_prompt, prompt, choices), not of the gold: same content, same id."""
    source: str
    """Name of the set it came from; forecasts and quotas are by source."""
    kind: Kind
    """How it is graded."""
    prompt: str
    """The question's own words, before any template."""
    choices: tuple[Choice, ...] | None
    """The options in the order shown; null for questions without options."""
    answer: str
    """The gold in canonical form: a label, labels joined by commas (multi), number, LaTeX, text."""
    aliases: tuple[str, ...]
    """Other golds that count as much as ``answer``, in the same canonical form."""
    tolerance: str | None
    """Numeric questions: ``abs:0.01``, ``rel:0.01`` or ``decimals:1``; null: the exact value."""
    system_prompt: str | None
    """System message of this question; null sends none."""
    num_copies: int
    """How often this very content stands in the dataset (at least 1)."""
    metadata: str
    """The dataset's own columns as they are, but for prompt and system prompt, as a JSON object."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """One sampled answer, or the failure to get one. Key: question_id, sample_index."""

    question_id: str
    sample_index: int
    """0 to k - 1."""
    text: str | None
    """The answer without its reasoning; null when the request failed or the server sent none."""
    reasoning: str | None
    """What a thinking model's server returned apart from the answer; null if none."""
    num_tokens: int | None
    """Tokens generated for this sample; null when the server does not say."""
    finish_reason: str | None
    """``stop``, ``length`` or what the server sent; null when the request failed."""
    attempt: int | None
    """How many requests this sample took, counting the one that brought it; null if none did."""
    max_tokens: int
    """The limit on new tokens that it was drawn under."""
    logprob_sum: float | None = None
    """Sum of the chosen tokens' log probabilities, nats; null unless asked for (``--logprobs``)."""
    mean_entropy: float | None = None
    """Mean over the tokens of the entropy of the K likeliest and the rest, nats: a lower bound."""
    server: str | None
    """Address of the server that answered; null when none did."""
    error: str | None
    """Why there is no answer (``prompt_too_long: ...``); null when there is one."""


@dataclass(frozen=True, kw_only=True)
class Component:
    """One named part of a reward."""

    name: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Span:
    """Where in the text the answer was read: characters [start, end)."""

    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Grade:
    """The verdict on one completion. Key: question_id, sample_index."""

    question_id: str
    sample_index: int
    outcome: Outcome
    """``failed`` and ``grader_error`` are unknown, never wrong."""
    reward: float | None
    """1.0 or 0.0 from the built-in graders, any value from a user's own; null when unknown."""
    components: tuple[Component, ...]
    """The parts of the reward; empty for the built-in graders."""
    extracted_answer: str | None
    """The answer that the reply declares, as compared with the gold; null if it declares none."""
    span: Span | None
    """Where in the completion's text it stands; null if nothing was declared."""
    reason: str
    """Why this outcome, in a few words."""


@dataclass(frozen=True, kw_only=True)
class PassRate:
    """How one question went. Key: question_id.

    num_samples = num_graded + num_failed + num_grader_error, and num_correct <= num_graded.
    """

    question_id: str
    source: str
    kind: Kind
    num_options: int | None = None
    """Options of the question; null for questions without options."""
    num_golds: int = 1
    """How many different answers count as right (the gold and its aliases)."""
    num_samples: int
    """Answers drawn (k)."""
    num_graded: int
    """Answers with a verdict; the denominator of every pass rate."""
    num_correct: int
    num_no_answer: int
    """Graded answers that declare nothing (reward 0)."""
    num_truncated: int
    """Graded answers cut at the token limit before a complete answer (reward 0)."""
    num_failed: int
    """Answers that no server gave: unknown."""
    num_grader_error: int
    """Answers that the grader could not judge: unknown."""
    pass_rate: float | None
    """num_correct / num_graded, 0 to 1; null when nothing was graded."""
    pass_rate_low: float | None
    """Lower end of the 95 % Clopper-Pearson interval of the pass rate."""
    pass_rate_high: float | None
    level: str | None
    """``L1`` to ``L6``; null when fewer answers were graded than the run asks for."""
    level_without_truncated: str | None
    """The level if truncated answers are left out of the count; null when none is left."""
    mean_reward: float | None
    """Mean reward of the graded answers; null when nothing was graded."""
    mean_tokens: float | None
    """Mean tokens an answer; null when no server said."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Whether a question goes into the training set, where, and if not, why. Key: question_id."""

    question_id: str
    source: str
    level: str | None
    collapse_probability: float | None
    """Posterior chance that all answers of a group are alike, at the run's group size; null when
    nothing was graded."""
    keep: bool
    drop_reason: str | None
    """Name of the first rule that dropped it; null for kept questions."""
    position: int | None
    """Place in the curriculum, from 0; null for dropped questions."""


@dataclass(frozen=True, kw_only=True)
class NearDuplicate:
    """Two questions that ask almost the same. Key: question_id, other_id."""

    question_id: str
    """The lesser id of the two."""
    other_id: str
    similarity: float
    """Jaccard similarity of their character n-grams, 0 to 1."""
    same_gold: bool
    """Whether the golds say the same; if not, the two are no duplicates to drop."""
    cluster: str | None
    """Least id of all questions that such pairs link with these; null where the golds differ."""


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """A question that stands in an evaluation set. Key: question_id, file."""

    question_id: str
    file: str
    """The evaluation set, as given to ``--against``."""
    row: int
    """Row number of its closest question, from 0."""
    exact: bool
    """Whether the two are the same but for case, width, spacing and the order of options."""
    similarity: float
    """Jaccard similarity of their character n-grams, 0 to 1."""
    evaluation_prompt: str
    """Start of that question."""


@dataclass(frozen=True, kw_only=True)
class SetAside:
    """A row of the dataset that is no question of this run, kept with the reason."""

    source: str
    row: int | None
    """Row number in the dataset, from 0; null for golds found to conflict when runs are merged."""
    reason: str
    """A name such as ``no_gold``, then what was found."""
    raw: str
    """The row as JSON."""


def question_id(
    *, system_prompt: str | None, prompt: str, choices: tuple[Choice, ...] | None
) -> str:
    """SHA-256 (hex) over what the question asks, without the gold."""
    options = None if choices is None else [[choice.label, choice.text] for choice in choices]
    content = json.dumps([system_prompt, prompt, options], ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def arrow_schema(row_type: type) -> pa.Schema:
    """The Arrow schema of a row type: string, int64, float64, bool, lists and structs of these."""
    import pyarrow as pa

    return pa.schema(_arrow_fields(row_type))


def _arrow_fields(row_type: type) -> list[pa.Field]:
    import pyarrow as pa

    hints = typing.get_type_hints(row_type)
    fields = []
    for field in dataclasses.fields(row_type):
        kind, nullable = _without_none(hints[field.name])
        fields.append(pa.field(field.name, _arrow_type(kind), nullable=nullable))
    return fields


def _without_none(hint: typing.Any) -> tuple[typing.Any, bool]:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        rest = [part for part in typing.get_args(hint) if part is not type(None)]
        return rest[0], len(rest) < len(typing.get_args(hint))
    return hint, False


def _arrow_type(hint: typing.Any) -> pa.DataType:
    import pyarrow as pa

    plain = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    if hint in plain:
        return plain[hint]
    if typing.get_origin(hint) is typing.Literal:
        return pa.string()
    if typing.get_origin(hint) is tuple:
        return pa.list_(_arrow_type(typing.get_args(hint)[0]))
    return pa.struct(_arrow_fields(hint))
