r"""Read option labels where an answer is declared: ``(B)``, ``**B**``, ``$\text{B}$``, ``a、c``.

A loose letter is never a label. The article *a*, ``B cells``, ``vitamin C`` or ``E. coli`` stand
for themselves unless what follows shows that a label was meant.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from difficulty.grading.normalize import Normal
from difficulty.grading.read.options import Options, denied
from difficulty.grading.words.joints import AND, EXCEPT, OR, OR_PARTICLE, PERHAPS, THEREFORE

_OPEN = (
    r"(?:(?-i:</?(?:b|strong|em|i|p|span|u|code|div|br)\s?/?>)|&nbsp;|"
    r"[\s*_`~\"'“‘(\[{<$【「『《〔|>#:=→✅✓☑✔➡👉]|[—–-](?=\s)|\\(?:text|textbf|textrm|textit|"
    r"textsf|"
    r"mathrm|mathbf|mathsf|mathit|boldsymbol|boxed|fbox|framebox|bf|rm|large|huge|displaystyle)"
    r"\b\s*+\{?|\\[(\[$])"
)
_WORDS = (
    r"(?:options?|choices?|letters?|answers?|alternatives?|statements?|labell?ed|the|is|are|be|"
    rf"definitely|clearly|certainly|{THEREFORE.west}|most|likely|probably|obviously|indeed|"
    r"simply|just|either|also|actually|now|still|all of (?:the above|them|these)|would|should|"
    r"must|number|correct|right|final|best|only|both|following|"
    r"ones?(?! of)|"
    r"indicated by|given by|as follows)\b|选择|选项|選項|選択肢|选|選|肢|"
    r"記号|番号|보기|선택지|번호|なのは|のは|是|为|은|는"
)
HEAD = re.compile(rf"(?:{_OPEN}|{_WORDS}){{0,60}}+", re.IGNORECASE)
"""What may stand between a marker and the label: brackets, mark-up, ``the option``."""

_WRAP = re.compile(rf"{_OPEN}{{0,60}}+")
_CLOSE = re.compile(
    r"(?:</(?:b|strong|em|i|p|span|u|code|div)>|[*_`~\"'”)\]}>$】」』》〕]|\\[)\]$]){0,60}+"
)
_AFTER_LABEL = re.compile(
    r"(?![A-Za-z0-9]|_[A-Za-z0-9]|['’][A-Za-z]|-[A-Za-z0-9]|\\(?!n\b)[a-z]|"
    r"\s*[\^=*<>](?!/)\s*[A-Za-z0-9\\]|\s*\+\s*(?:[A-Za-z]{2}|[0-9\\a-z]))"
)
_JOINT = "|".join(((OR + AND).west, (OR + AND).east))
_SEPARATOR = re.compile(
    rf"[\s*_]*+\(?[\s*_]*+(?:[,、,/;;&+|·・･]\s*+(?:and/or|{_JOINT})?|"
    rf"(?:and/or|plus|{(OR + AND).west})\b|(?={PERHAPS.west})|{(OR + AND).east}|"
    rf"(?:{OR_PARTICLE.east})(?=\W?\w))[\s*_]*+(?:(?:{PERHAPS.west}|potentially|even|else|also)"
    r"\b:?\s*)?(?:both |option |choice |选项|选项|選択肢)?"
)
_EITHER = rf"\b(?:{(OR + PERHAPS).west})\b|{(OR + OR_PARTICLE).east}"
_OR = re.compile(_EITHER)
_OR_SLASH = re.compile(rf"{_EITHER}|[/|]")
_RANGE = re.compile(
    r"[)\]*]*[ \t]*(?:-|–|—|~|〜|から|to\b|through\b|thru\b|到|至|부터|에서)\s*[(\[*]*"
)
_FUNCTION_WORD = re.compile(
    rf"\s+(?:{(OR + AND + EXCEPT).west}|is|are|was|were|be|being|because|since|as|but|for|"
    r"due|given|which|that|this|if|"
    r"would|should|will|must|can|could|may|might|has|have|fits|by|from|in|on|at|with|without|"
    r"not|nor|"
    rf"rather|instead|however|than|then|{THEREFORE.west}|it|its|the|their|they|there|"
    r"we|i|you|"
    r"based|according|while|whereas|when|where|only|also|too|alone|matches|describes|final|seems|"
    r"here|per|via|under|after|before|though|although|unless|over|makes|all|final|answer|"
    r"explanation|reason|rationale|justification|shows|works|satisfies|gives|holds|looks|appears|"
    r"means|does|cannot|remains|explains|stands|survives|accounts|represents|best|these|those|he|"
    r"she|his|her|our|my|no|yes|both|until|assuming|"
    r"considering)\b",
    re.IGNORECASE,
)
_SINGULAR = re.compile(
    r"[)\]*\"']*\s+(?:is|was|does|did|has|had|would|can|could|may|might|fits|cannot|being|seems|"
    r"looks|fails|isn't|doesn't|refers|describes|requires)\b"
)
_TOPIC = re.compile(r"\s*(?:は|则|是|项|错|排除)")


@dataclass(frozen=True)
class Labels:
    """Labels read at one place."""

    labels: tuple[str, ...]
    """Distinct, in reading order; empty for a range or a denied label."""
    start: int
    end: int
    either: bool
    """Whether two of them are joined by *or*."""


def read_labels(
    reply: Normal,
    start: int,
    options: Options,
    *,
    limit: int | None = None,
    even_denied: bool = False,
) -> Labels | None:
    """The labels that stand at ``start``, after any brackets and mark-up; null if none does.

    No label is read from ``limit`` on. ``even_denied`` is for ``all but B are wrong``.
    """
    begin = _skip(HEAD, reply.text, start)
    if reply.text[begin : begin + 1] not in options.chars:
        return None
    first = _read_token(reply, begin, options)
    if first is None:
        return None
    labels, end = list(first[0]), first[1]
    either = False
    clause = 0
    while len(labels) <= 2 * len(options.labels):
        following = _read_next(reply, end, options)
        if following is None:
            own_end = after_own_words(reply, end, labels[-1], options)
            following = _read_next(reply, own_end, options)
            if following is None and own_end > end:
                following = _read_line(reply, own_end, options)
            if following is None:
                following = _read_next(reply, _skip(_REMARK, reply.text, end), options)
        if following is None or (limit is not None and following[3] >= limit):
            break
        joined, more, end, _ = following
        clause = len(labels) if ";" in joined else clause
        either = either or bool(_OR.search(joined))
        labels.extend(more)
    if limit is None:
        ladder = _ladder(options.chars).match(reply.text, end)
        steps = ladder.group() if ladder else ""
        labels.extend(label for char in steps if (label := options.label_of(char)))
    distinct = tuple(dict.fromkeys(labels))
    is_denied = not even_denied and denied(reply.low, begin, end)
    if is_denied or _is_range(reply.text, end, options):
        distinct = tuple(dict.fromkeys(labels[:clause]))
    return Labels(distinct, begin, end, either)


_REMARK = re.compile(r"\s?\([^()\n]{1,40}\)(?=\s*(?:,|and\b|&|と|、))")
"""``C (postsynaptic) and D``."""
_NEXT_LINE = re.compile(r"[ \t]*\n[ \t]*(?:[-*•]{1,3}[ \t]+)?[*_(]{0,4}")


def _read_line(
    reply: Normal, end: int, options: Options
) -> tuple[str, tuple[str, ...], int, int] | None:
    """The label of the next line, if that line is nothing but a label and its own words."""
    begin = _skip(_NEXT_LINE, reply.text, end)
    token = _read_token(reply, begin, options) if begin > end else None
    if token is None or len(token[0]) > 1:
        return None
    own_end = after_own_words(reply, token[1], token[0][0], options)
    line_end = reply.text.find("\n", begin)
    rest = reply.text[own_end : line_end if line_end >= 0 else None]
    if own_end == token[1] or rest.strip(" .*"):
        return None
    return ",", token[0], token[1], begin


def after_own_words(reply: Normal, end: int, label: str, options: Options) -> int:
    """Where the list may go on after ``A. Lisbon`` in ``A. Lisbon and C. Madrid``."""
    begin = end
    while begin < len(reply.low) and reply.low[begin] in " .:)-–—*(「":
        begin += 1
    mention = options.text_at(reply.low, begin)
    if mention is None or mention.label != label:
        return end
    return _skip(_CLOSE, reply.text, mention.end)


@functools.lru_cache(maxsize=256)
def _ladder(chars: str) -> re.Pattern[str]:
    """Labels on lines of their own, or with full stops between, up to the end of the paragraph."""
    step = (
        rf"\s{{1,3}}[(*•-]{{0,3}}\s?[(*]{{0,3}}[{chars}][)*.]{{0,3}}(?=\s|$)" if chars else "(?!)"
    )
    return re.compile(rf"[.)]?(?:{step}){{1,12}}+\s*(?:\n\n|$)")


def _skip(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


def _read_token(reply: Normal, begin: int, options: Options) -> tuple[tuple[str, ...], int] | None:
    """One label, or a run such as ``bd``, and where it ends."""
    run = _run_pattern(options.chars, len(options.labels)).match(reply.text, begin)
    if run is None:
        return None
    labels = [options.label_of(char) for char in run.group()]
    if None in labels or (len(labels) > 1 and len(set(labels)) < len(labels)):
        return None
    named = tuple(label for label in labels if label is not None)
    if (begin and reply.text[begin - 1] in "°^\\") or not _AFTER_LABEL.match(reply.text, run.end()):
        return None
    end = _skip(_CLOSE, reply.text, run.end())
    if end == run.end() and not _is_label(reply, run.start(), run.end(), options):
        return None
    return named, end


@functools.lru_cache(maxsize=256)
def _run_pattern(chars: str, count: int) -> re.Pattern[str]:
    return re.compile(rf"[{chars}]{{1,{max(count, 1)}}}+" if chars else r"(?!)")


def _is_label(reply: Normal, start: int, end: int, options: Options) -> bool:
    """Whether a bare run is meant as a label, judged by the words after it and its case."""
    text = reply.text
    if _is_name(reply, start, end - start, options):
        return False
    if not re.match(r"[ \t]+[A-Za-z]", text[end : end + 8]):
        return True
    if _FUNCTION_WORD.match(text, end):
        return not _is_article(text[start:end], text[end : end + 12])
    own = options.own_words(options.label_of(text[start]) or "")
    rest = reply.low[end : end + 200].lstrip()
    word = re.match(r"[a-z]+", rest)
    return bool(own and word and own.startswith(word.group()))


def _is_article(run: str, after: str) -> bool:
    """``a final ...``, ``a both``: the function word is used as an adjective after an article."""
    return (
        run == "a"
        and re.match(r"\s+(?:final|right|only|can|will|may|no|per|does)\b", after) is not None
    )


def _is_name(reply: Normal, start: int, length: int, options: Options) -> bool:
    """Whether the letters begin an option's own words, as in ``E. coli`` or ``Cペプチド``."""
    mention = options.text_at(reply.low, start)
    return mention is not None and mention.end - mention.start > length


def _read_next(
    reply: Normal, end: int, options: Options
) -> tuple[str, tuple[str, ...], int, int] | None:
    """The next label of a list: how it is joined, the labels, their end and their beginning."""
    text = reply.text
    separator = _SEPARATOR.match(text, end)
    after = separator.end() if separator else end
    begin = _skip(_WRAP, text, after)
    joined = text[end:after]
    if separator is None and not _adjacent(text, end, begin):
        return None
    if "\n" in text[end:begin] and not joined.strip():
        return None
    token = _read_token(reply, begin, options)
    if token is None or _stands_alone(reply, begin, token[1], joined):
        return None
    if separator is not None and text[begin].islower() and text[end - 1].isupper():
        return None
    return joined or " ", token[0], token[1], begin


def _adjacent(text: str, end: int, begin: int) -> bool:
    """Whether labels at ``end`` and ``begin`` are a list without separator: ``(B)(D)``."""
    between = text[end:begin]
    if "\n" in between or any(char in between for char in ":=→>#—–-"):
        return False
    if between.strip():
        return "(" not in between or text[end - 1 : end] in ")]}"
    return bool(between) and text[begin : begin + 1].isupper()


def _stands_alone(reply: Normal, begin: int, end: int, joined: str) -> bool:
    """Whether a second label starts a clause of its own (``C, A is wrong``) and joins no list."""
    if _OR_SLASH.search(joined):
        return False
    if _SINGULAR.match(reply.text, end):
        return True
    comma = joined.strip() in {",", "、", ";", ""}
    return comma and bool(_TOPIC.match(reply.text, end) or denied(reply.low, begin, end))


def _is_range(text: str, end: int, options: Options) -> bool:
    """Whether a label is the lower end of a range such as ``A-D`` or ``aからd``."""
    found = _RANGE.match(text, end)
    if found is None:
        return False
    run = _run_pattern(options.chars, 1).match(text, found.end())
    return run is not None and _AFTER_LABEL.match(text, run.end()) is not None


def case_fits(reply: Normal, labels: Labels, options: Options) -> bool:
    """A loose lower-case letter is not a label where the labels are upper case."""
    first = reply.text[labels.start]
    bracketed = labels.start > 0 and reply.text[labels.start - 1] in "([*\"'"
    return first in options.labels or bracketed
