"""The mathematics that a reply declares as its answer."""

from __future__ import annotations

import re
from dataclasses import replace

from difficulty.grading.equal.latex import normalize_math
from difficulty.grading.normalize import Normal, line_spans
from difficulty.grading.read.declare import Site, sites_of
from difficulty.grading.read.ending import (
    SEGMENT,
    chain_in,
    contested,
    last_statement,
    segments,
)
from difficulty.grading.read.math_together import (
    JOIN,
    join_side_by_side,
    joined_segments,
    with_counter,
)
from difficulty.grading.read.number_tail import after_number
from difficulty.grading.read.numbers import parse_number
from difficulty.grading.read.settle import Declared, settle
from difficulty.grading.words.denials import DENIED_NUMBER, DENY, NOT_NUMBER, NOT_VALUE, UNKNOWN
from difficulty.grading.words.eastern import EASTERN, last_value, without_copula
from difficulty.grading.words.joints import AND, IN_TOTAL, OR, THEREFORE
from difficulty.grading.words.markers import BEFORE_LABEL, CONCLUDE
from difficulty.grading.words.phrases import NOT_STATED, REFUSAL, TAKEN_BACK
from difficulty.grading.words.units import counter_at_end, split_counter

_SO = THEREFORE + IN_TOTAL
_LEAD = re.compile(
    rf"[\s*_`\"'“‘>|#:]*(?:(?:the|is|are|final|answer|simply|just|{_SO.west}|equal to|"
    r"approximately|about)\b[\s:*_]*)*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(
    r"\.(?=\s|\*|$)|[。;]|\s\((?:since|because|as|i\.e\.|that is|from|where)\b|\s(?:because|since|"
    r"which|where|as required|so that)\b|"
    r"(?<=[^\\]),\s(?:because|since|which|where|so|as|and (?:the|this|it))\b"
)
_NO_VALUE = re.compile(rf"\s*(?:{UNKNOWN.west})\b", re.IGNORECASE)
_ONE_OF = re.compile(r"\s*(?:\*\*)?(?:one of|either|any of|among)\b", re.IGNORECASE)
_CONCLUDING = re.compile(
    r"\b(?:is|are|equals?|becomes|gives|yields|get|obtain|have|be|=)(?:\s+(?:at|equal to|"
    r"given by|exactly|simply))?\s*:?\s*$|\b(?:solving|simplifying|dividing|multiplying|"
    r"subtracting|"
    r"adding|rearranging|expanding|factoring|evaluating|combining)\b[^.$]{0,40},\s*$|"
    rf"\b(?:{_SO.west}|then)\s*$|"
    r"(?:は|为|為|是|有|은|는)[、,]?\s*$",
    re.IGNORECASE,
)
_THEREFORE = re.compile(
    rf"\s*\W{{0,4}}(?:{_SO.west}|we conclude|{_SO.east})(?![a-z])",
    re.IGNORECASE,
)
_IS_THE_ANSWER = re.compile(
    r"[\s*]*\$?(?P<value>[^\s$*][^$*\n]{0,80}?)\$?[\s*]* is the (?:final |correct |"
    r"required )?(?:answer|result|value)\b"
)
_LABEL_LINE = re.compile(r"[^:$\\\n=]{2,80}:\s*(?P<value>\S[^\n]*)")
_MATHY = re.compile(
    r"[\d=+\-*/^\\(){}<>|,.\s\[\]_!%]|pi|sqrt|sin|cos|tan|ln|log|exp|[a-zA-Z](?![a-zA-Z])"
)
_PROSE_WORD = re.compile(
    r"(?<![\\A-Za-z{])(?!sqrt|sin|cos|tan|log|exp|and\b|cot|sec|csc|arc|abs)[A-Za-z]{3,}"
)


def read_math(reply: Normal, *, truncated: bool) -> Declared | None:
    """The declared answer in the common spelling; ``many`` marks a hedge; null if none."""
    plain = [item for site in sites_of(reply) if (item := _at_site(reply, site)) is not None]
    plain = join_side_by_side(reply.text, plain)

    def weaker(start: int) -> list[Declared]:
        found = [] if truncated else _conclusion(reply, start)
        return [item for item in found if not _is_unstated(reply.low, item)]

    declared = settle(reply, with_counter(plain), weaker, last_wins=True)
    if declared is None:
        return None
    value, counter = split_counter(declared.value)
    if parse_number(value) is None:
        return declared
    number = replace(declared, value=value) if counter else declared
    after = after_number(reply, number)
    return declared if after is number else after


def _is_unstated(low: str, item: Declared) -> bool:
    """Whether the line denies or supposes its value, or the reply takes it back."""
    begin = low.rfind("\n", 0, item.start) + 1
    return bool(NOT_STATED.search(low[begin : item.start]) or TAKEN_BACK.search(low, item.end))


def _at_site(reply: Normal, site: Site) -> Declared | None:
    if site.direct or site.how == BEFORE_LABEL or _NO_VALUE.match(reply.text, site.value):
        return None
    if NOT_VALUE.match(reply.text, site.value):
        return None
    begin, end = site.value, site.end
    if not site.closed or site.how in {"tag", "JSON field"}:
        begin, end = _within_line(reply.text, site)
        if not site.closed and DENIED_NUMBER.match(reply.low, end):
            return None
    body = reply.text[begin:end].strip()
    key = normalize_math(body)
    if not key.strip("?_. ") or _is_prose(body):
        return None
    many = bool(_ONE_OF.match(reply.text, site.value))
    closed = (
        site.closed
        or reply.text[end : end + 1] in set("*$`")
        or body.endswith(("$", "\\)", "\\]", "**"))
    )
    return Declared(key, begin, end, site.rank, site.how, closed=closed, many=many)


def _is_prose(body: str) -> bool:
    """Whether a declared text is a sentence and no mathematics: more than four words."""
    words = _PROSE_WORD.findall(re.sub(r"\\[A-Za-z]+(?:\{[^{}]*\})?", " ", body))
    return len(words) > 4


def _within_line(text: str, site: Site) -> tuple[int, int]:
    """Where the mathematics of a declared line stands: its segments, else its first clause."""
    lead = _LEAD.match(text, site.value)
    begin = min(lead.end() if lead else site.value, max(site.end, site.value))
    first = SEGMENT.match(text, begin)
    if first:
        return joined_segments(text, first)
    clause = _SENTENCE_END.search(text, begin, site.end)
    end = clause.start() if clause else site.end
    inside = list(segments(text, begin, end))
    if inside and not _is_plain(text[begin : inside[-1].start()]):
        start = inside[-1]
        for earlier in reversed(inside[:-1]):
            if not JOIN.fullmatch(text[earlier.end() : start.start()]):
                break
            start = earlier
        return joined_segments(text, start)
    return _after_copula(text, begin, end)


def _is_plain(text: str) -> bool:
    return not _PROSE_WORD.search(text)


def _after_copula(text: str, begin: int, end: int) -> tuple[int, int]:
    """In a plain clause such as ``the probability is 1/2`` the part after the verb."""
    clause = text[begin:end]
    verbs = list(re.finditer(r"\b(?:is|are|equals)\s+(?:equal to\s+)?", clause))
    if verbs and _PROSE_WORD.search(clause[: verbs[-1].start()]):
        begin += verbs[-1].end()
    end = begin + len(without_copula(text[begin:end]))
    while begin < end and text[end - 1] in " *`.\"'":
        end -= 1
    return begin, end


_REMARK = re.compile(
    r"\s\((?:since|because|as|rejecting|discarding|ignoring|note|the other)\b"
    r"[^\n]{1,160}\)[\s.*]*\Z",
    re.IGNORECASE,
)
"""A reason in brackets at the end of a line."""


def _conclusion(reply: Normal, start: int) -> list[Declared]:
    """A reply of mathematics alone, a last ``label: equation`` line, or a concluding sentence."""
    lines = line_spans(reply.text, start)
    if not lines:
        return []
    begin, end = lines[-1]
    remark = _REMARK.search(reply.text, max(begin, end - 200), end)
    if remark is not None and reply.text[begin : remark.start()].strip():
        end = remark.start()
    line = reply.text[begin:end]
    if "?" in line or contested(reply.text, lines):
        return []
    if _is_mathematics(line, alone=len(lines) == 1):
        return _declared(reply, begin, end, "mathematics alone")
    first = _IS_THE_ANSWER.match(line)
    if first:
        return _declared(
            reply, begin + first.start("value"), begin + first.end("value"), "is the answer"
        )
    label = _LABEL_LINE.fullmatch(line)
    if label and re.search(r"\d|=", label["value"]) and _is_plain(label["value"]):
        return _declared(reply, begin + label.start("value"), end, "label and equation")
    if len(lines) == 1 and start == 0 and _is_few_words(line) and not REFUSAL.search(line.lower()):
        return _declared(reply, begin, end, "a word alone")
    if chain_in(reply.text, begin, end) is not None:
        return _statement(reply, lines)
    return _statement(reply, lines) or _concluding_sentence(reply, begin, end)


def _statement(reply: Normal, lines: list[tuple[int, int]]) -> list[Declared]:
    """An equation chain, or a sentence such as ``The sum is 0.4.``, on the last line."""
    found = last_statement(reply, lines)
    value = normalize_math(found.text) if found else ""
    if found is None or not value:
        return []
    return [Declared(value, found.begin, found.end, CONCLUDE, found.how)]


_WORDS_ONLY = re.compile(r"[\WA-Za-z]+")


def _is_few_words(line: str) -> bool:
    """Whether a line is one to three words, with marks around and between them."""
    if not _WORDS_ONLY.fullmatch(line):
        return False
    words = re.findall(r"[A-Za-z'-]+", line)
    return bool(words) and sum(word.strip("'-") != "" for word in words) <= 3


def _is_mathematics(line: str, *, alone: bool) -> bool:
    """Whether a line is one piece of mathematics and nothing else."""
    line = line.strip(" .*")
    if SEGMENT.fullmatch(line):
        return line.count("$") <= 2 or line.startswith("$$")
    first = SEGMENT.match(line)
    if alone and first and joined_segments(line, first)[1] == len(line):
        return True
    return (
        alone
        and not re.search(r"\$|\\\(|\\\[", line)
        and _is_plain(line)
        and not EASTERN.search(line.removesuffix(counter_at_end(line)))
        and bool(_MATHY.search(line))
    )


_VERB_ENDS = re.compile(r"(?:\b(?:is|are|equals)|=)$")
_LAST_SIGN = re.compile(r".*[a-zA-Z=$]", re.DOTALL)


def _plain_conclusion(reply: Normal, begin: int, end: int) -> list[Declared]:
    """A plain number at the end, as in ``Therefore the number of ways is 42``."""
    sentence = _sentence_begin(reply.text, begin, end - 2)
    line = reply.text[sentence:end]
    eastern = last_value(line) if _THEREFORE.match(line) else None
    if eastern is not None:
        begin, end = sentence + eastern[0], sentence + eastern[1]
        return _declared(reply, begin, end, "concluding sentence")
    head = _LAST_SIGN.match(line)
    stop = head.end() if head else 0
    value = line[stop:]
    if (
        not _VERB_ENDS.search(line, max(0, stop - 8), stop)
        or not value[:1].isspace()
        or not re.search(r"\d", value)
        or not _THEREFORE.match(line)
        or re.search(rf"\b(?:{DENY.west}|one of|between)\b", line)
    ):
        return []
    start = len(line) - len(value.lstrip())
    last = len(line.rstrip().removesuffix("."))
    return _declared(reply, sentence + start, sentence + last, "concluding sentence")


def _sentence_begin(text: str, begin: int, end: int) -> int:
    return max(text.rfind(". ", begin, end) + 1, text.rfind("。", begin, end) + 1, begin)


_BESIDE = re.compile(
    r"\b(?:is|are|equals)\b[^.;$]{0,80}\$[^$]{1,120}\$,?\s(?:while|whereas|but)\s", re.IGNORECASE
)
"""A statement about something else in the same sentence."""
_WHERE = re.compile(
    r",? (?:attained|achieved|reached|which occurs|occurring|when|at|for)\b[^$.]{0,40}\$"
)
"""After a value: where it is taken, as in ``is $-3$, attained at $x=2$``."""


def _concluding_sentence(reply: Normal, begin: int, end: int) -> list[Declared]:
    """``So the side is $...$``: the last segment of the last sentence, after a verb."""
    found = list(segments(reply.text, begin, end))
    if not found:
        return _plain_conclusion(reply, begin, end)
    last = found[-1]
    if len(found) > 1 and _WHERE.match(reply.text, found[-2].end()):
        found, last = found[:-1], found[-2]
        end = last.end()
    first = last
    for earlier in reversed(found[:-1]):
        if not JOIN.fullmatch(reply.text[earlier.end() : first.start()]):
            break
        first = earlier
    sentence = _sentence_begin(reply.text, begin, first.start())
    before = reply.text[sentence : first.start()]
    if re.search(rf"\d[^$]*\b(?:{(OR + AND).west})\s*\$$", last.group()):
        return []
    if _BESIDE.search(before):
        return []
    after = without_copula(reply.text[joined_segments(reply.text, first)[1] : end]).strip(" .*)")
    if "n't" in before or NOT_NUMBER.search(before) or (after and len(after.split()) > 6):
        return []
    if DENIED_NUMBER.match(after):
        return []
    if not _CONCLUDING.search(before) and not (_THEREFORE.match(before) and not after):
        return []
    return _declared(reply, *joined_segments(reply.text, first), "concluding sentence")


def _declared(reply: Normal, begin: int, end: int, how: str) -> list[Declared]:
    while end > begin and reply.text[end - 1] in " .*`\n":
        end -= 1
    value = normalize_math(reply.text[begin:end])
    return [Declared(value, begin, end, CONCLUDE, how)] if value else []
