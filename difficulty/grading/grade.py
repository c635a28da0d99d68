"""Grade one completion: what it declares, and whether that is the gold.

The order of work: cut thoughts, normalise, collect declared answers, keep those after the last
retraction, fall back to bare letters and option texts, and only then look at the gold.
"""

from __future__ import annotations

import functools
import re
from fractions import Fraction

from difficulty.grading.equal import verdict as verdicts
from difficulty.grading.equal.latex import normalize_math, squeeze, static_limit
from difficulty.grading.equal.verdict import MathEqual, Verdict
from difficulty.grading.normalize import Normal, normalize
from difficulty.grading.read.choice import read_choice
from difficulty.grading.read.declare import before_run_on
from difficulty.grading.read.math_answer import read_math
from difficulty.grading.read.multi import ordered_set, read_multi
from difficulty.grading.read.numbers import parse_number
from difficulty.grading.read.numeric import numeric_equal, read_numeric
from difficulty.grading.read.options import Options, options_of
from difficulty.grading.read.settle import Declared
from difficulty.grading.read.text import read_text, text_key
from difficulty.grading.read.thoughts import reply_end, reply_start, without_struck
from difficulty.grading.read.together import REFUSED
from difficulty.grading.words.joints import AND, EXCEPT, OR
from difficulty.grading.words.markers import MARK, NAMED, ODD_ONE
from difficulty.schema import REWARD_OF, Completion, Grade, Outcome, Question

GRADER_VERSION = "5"
"""Changes whenever a verdict on some reply changes, so that cached grades can be told apart."""

MAX_CHARS = 200_000
"""Only the end of a longer reply is read: answers stand there, and hostile replies stay cheap."""


def grade(
    question: Question, completion: Completion, *, math_equal: MathEqual | None = None
) -> Grade:
    """Grade one completion of one question.

    Args:
        question: with its gold in canonical form (``clean_gold``).
        completion: the reply, or the failure to get one.
        math_equal: compares mathematics that needs evaluation; by default a worker process
            with a deadline, started when first needed.

    Returns:
        A Grade with a reason; with the answer and its span if the reply declares one.
    """
    if completion.error is not None:
        return _grade(completion, "failed", f"no reply: {completion.error}")
    cut = completion.finish_reason == "length"
    if completion.text is None or not completion.text.strip():
        return _without_text(completion, cut)
    start = reply_start(completion.text)
    if start is None:
        return _undeclared(completion, cut, "the thoughts never end")
    text = without_struck(completion.text[: reply_end(completion.text, start)])
    reply = normalize(text, max(start, len(text) - MAX_CHARS)).last(MAX_CHARS)
    declared = _read(question, reply, cut=cut)
    if declared is None or (declared.how == ODD_ONE and not _asks_for_odd_one(question.prompt)):
        return _undeclared(completion, cut, "no answer is declared")
    if cut and not _complete(reply, declared, question.kind):
        return _grade(completion, "truncated", "cut within the declared answer")
    found = _judge(question, declared, math_equal or _in_worker)
    return _graded(completion, reply, declared, found)


def _without_text(completion: Completion, cut: bool) -> Grade:
    """A null text is a cut or silent model if the request ended, and a failure if it did not."""
    if (
        completion.finish_reason is None
        and completion.reasoning is None
        and completion.text is None
    ):
        return _grade(completion, "failed", "no reply: neither text nor finish reason")
    return _undeclared(completion, cut, "the reply is empty")


def _undeclared(completion: Completion, cut: bool, reason: str) -> Grade:
    if cut:
        return _grade(completion, "truncated", f"cut at the token limit: {reason}")
    return _grade(completion, "no_answer", reason)


def _read(question: Question, reply: Normal, *, cut: bool) -> Declared | None:
    """What the reply declares; the gold is not looked at.

    A base model may go on with a new question and answer that as well: the first answer counts.
    """
    head = before_run_on(reply)
    if head is not None:
        first = _read_whole(question, head, cut=False)
        if first is not None and _answers(question, head, first):
            return first
    return _read_whole(question, reply, cut=cut)


def _answers(question: Question, head: Normal, first: Declared) -> bool:
    """Whether what precedes a new question is an answer, and no introduction to it."""
    if question.kind == "text":
        return first.rank >= MARK or len(head.low.split()) <= MAX_WORDS_ALONE
    if question.kind == "math":
        return first.rank >= MARK
    if question.kind == "numeric" and first.rank == NAMED:
        return _INTRODUCES.search(head.low.rstrip()[-200:]) is None
    return first.rank > NAMED


_INTRODUCES = re.compile(
    r"(?:\b(?:let(?:'s|s| us| me)|i will|i'll|we will|we'll|here(?:'s| is| are)|to solve|to answer|"
    r"steps?|break (?:it|this) down|given)\b[^\n]{0,120}|[:：][\s*]*)\Z"
)
"""The last words before a question that is restated, not followed by a new one."""


MAX_WORDS_ALONE = 5
"""Words of a line that may be an answer without saying so."""


def _read_whole(question: Question, reply: Normal, *, cut: bool) -> Declared | None:
    options = _options(question)
    if question.kind == "choice":
        return read_choice(reply, options, truncated=cut)
    if question.kind == "multi":
        return read_multi(reply, options, truncated=cut)
    if question.kind == "numeric":
        return read_numeric(reply, truncated=cut)
    if question.kind == "math":
        return read_math(reply, truncated=cut)
    if question.kind == "text":
        return read_text(reply)
    raise ValueError(f"unknown kind: {question.kind!r}")


def _options(question: Question) -> Options:
    return options_of(question.choices or ())


_ODD_ONE_ASKED = re.compile(
    rf"\b(?:not|{EXCEPT.west}|least|false|incorrect|wrong|untrue|inaccurate|inappropriate|exclud\w*|avoid\w*|"
    r"contraindicat\w*|odd|unlikely|never|unrelated|exception)\b|n't\b|誤|不|ない|なかった|除|错|"
    r"錯|禁忌|아닌|않|틀린|잘못",
    re.IGNORECASE,
)


def _asks_for_odd_one(prompt: str) -> bool:
    """Whether a task asks which choice is wrong; a prompt that is not known may."""
    return not prompt.strip() or _ODD_ONE_ASKED.search(prompt) is not None


_OPEN_ENDED = re.compile(rf"[\s,、;/&.*_`\"'|:=+-]*(?:[a-z]{{1,3}}|{(OR + AND).east})?\s*")
_NUMBER_ENDED = re.compile(r"[\d.,\s]*")


def _complete(reply: Normal, declared: Declared, kind: str) -> bool:
    """Whether a reply that was cut had finished its declared answer before the cut."""
    rest = reply.low[declared.end :]
    if declared.how == "open box":
        return False
    if declared.closed and (kind != "multi" or declared.how in {"box", "tag", "JSON field"}):
        return True
    line_ends = "\n" in rest[:3] or (rest[:1] in {"。", ";", "!"})
    if line_ends and kind != "multi":
        return True
    if kind == "multi" and line_ends:
        return len(rest.strip()) > 0 or "\n\n" in rest or rest[:1] == "。"
    if kind in {"choice", "multi"}:
        return _OPEN_ENDED.fullmatch(rest) is None
    if kind == "numeric":
        return _NUMBER_ENDED.fullmatch(rest) is None
    return bool(re.match(r"\s*(?:[*$.\"')]*\s+|。)\S", rest))


def _judge(question: Question, declared: Declared, math_equal: MathEqual) -> Verdict:
    """Compare the declared answer with the gold and its aliases."""
    if declared.many:
        return Verdict(False, f"several answers declared: {declared.value}")
    if declared.value == REFUSED and question.kind == "numeric":
        return Verdict(False, "answer refused: the number is too large to read")
    unknown: Verdict | None = None
    wrong = Verdict(False, "not the gold")
    for gold in (question.answer, *question.aliases):
        found = _against(question, gold, declared.value, math_equal)
        if found.equal:
            return found
        if found.equal is None:
            unknown = found
        else:
            wrong = found
    return unknown or wrong


def _against(question: Question, gold: str, answer: str, math_equal: MathEqual) -> Verdict:
    if question.kind == "multi":
        labels = _options(question).labels
        same = ordered_set(gold.split(","), labels) == answer
        return Verdict(same, "the gold set" if same else "another set")
    if question.kind == "numeric":
        return _numeric(question, gold, answer)
    if question.kind == "math":
        return _math(question, gold, answer, math_equal)
    same = gold == answer if question.kind == "choice" else text_key(gold) == answer
    return Verdict(same, "the gold" if same else "not the gold")


def _numeric(question: Question, gold: str, answer: str) -> Verdict:
    gold_value, value = _number(gold), _number(answer)
    if gold_value is None:
        return Verdict(None, f"gold_unparsable: {gold!r} is not a number")
    if value is None:
        return Verdict(False, "answer refused: the number has too many digits to read")
    same = numeric_equal(gold_value, value, question.tolerance)
    return Verdict(same, "the gold number" if same else "another number")


@functools.lru_cache(maxsize=4096)
def _number(text: str) -> Fraction | None:
    return parse_number(text)


def _math(question: Question, gold: str, answer: str, math_equal: MathEqual) -> Verdict:
    gold, answer = _normal_gold(gold), _asked_value(question.prompt, answer)
    labelled = _LABELLED_VALUE.fullmatch(answer)
    if labelled:
        answer = labelled["letter"] if _LETTER.fullmatch(gold) else labelled["value"]
    found = verdicts.compare_at_once(gold, answer)
    if found is None:
        refused = static_limit(gold)
        if refused is not None:
            return Verdict(None, f"gold_unparsable: {refused}")
        found = math_equal(gold, answer)
    if found.equal and squeeze(gold) != squeeze(answer) and _restates(question.prompt, answer):
        return Verdict(False, "the task's own expression is restated")
    return found


@functools.lru_cache(maxsize=4096)
def _normal_gold(gold: str) -> str:
    return normalize_math(gold)


_LETTER = re.compile(r"(?:\\text\s*\{)?\s*\(?[A-Z]\)?\s*\}?")
_LABELLED_VALUE = re.compile(
    r"\\text\s*\{\s*\(?(?P<letter>[A-E])\)?[\s.:]*\}[\s.:~]*(?P<value>[^\s.:].*)", re.DOTALL
)
"""``\\textbf{(B) }12``: the letter of an option and its value."""


def _asked_value(prompt: str, answer: str) -> str:
    """Of ``a + b = 7`` the 7, if the task asks for ``a + b``."""
    sides = answer.split("=")
    if len(sides) != 2 or not re.search(r"[-+*/^]", sides[0]) or not sides[1].strip():
        return answer
    left, task = squeeze(sides[0]), squeeze(normalize_math(prompt))
    place = task.rfind(left)
    given = task[place + len(left) : place + len(left) + 1] == "="
    return answer if place < 0 or given else sides[1].strip()


def _restates(prompt: str, answer: str) -> bool:
    """Whether an unevaluated expression is copied from the task, on every side of an equation."""
    task = squeeze(normalize_math(prompt))
    return all(_unevaluated(side) and side in task for side in squeeze(answer).split("="))


def _unevaluated(key: str) -> bool:
    return len(key) >= 3 and re.search(r"[-+*/^!]|\\[a-z]", key) is not None


def _in_worker(gold: str, answer: str) -> Verdict:
    from difficulty.grading.shared import shared_math_equal

    return shared_math_equal(gold, answer)


_OUTCOMES: dict[bool | None, Outcome] = {True: "correct", False: "wrong", None: "grader_error"}
"""By whether answer and gold are equal."""


def _graded(completion: Completion, reply: Normal, declared: Declared, found: Verdict) -> Grade:
    outcome = _OUTCOMES[found.equal]
    return Grade(
        question_id=completion.question_id,
        sample_index=completion.sample_index,
        outcome=outcome,
        reward=REWARD_OF[outcome],
        components=(),
        extracted_answer=declared.value,
        span=reply.span(declared.start, declared.end),
        reason=f"{declared.how}: {found.reason}",
    )


def _grade(completion: Completion, outcome: Outcome, reason: str) -> Grade:
    """A grade of a completion that declares nothing."""
    return Grade(
        question_id=completion.question_id,
        sample_index=completion.sample_index,
        outcome=outcome,
        reward=REWARD_OF[outcome],
        components=(),
        extracted_answer=None,
        span=None,
        reason=reason,
    )
