"""A last line that states a value by itself: an equation chain, or one short sentence.

Both are read narrowly. A line with any other words, a list, a hedge, a check, a supposition, or one
that stands beside other statements of the same form, declares nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from difficulty.grading.equal.latex import normalize_math, split_top, squeeze
from difficulty.grading.normalize import Normal
from difficulty.grading.read.declare import runs_on
from difficulty.grading.read.numbers import parse_number
from difficulty.grading.words.denials import DENY, NEITHER
from difficulty.grading.words.doubts import ASSUME, SUPPOSE
from difficulty.grading.words.joints import AND, EXCEPT, IN_TOTAL, OR, PERHAPS, THEREFORE
from difficulty.grading.words.phrases import REFUSAL
from difficulty.grading.words.units import COUNTER, WESTERN

MAX_LINE = 600
"""Characters of such a line; a longer one is no plain statement."""

MAX_LINES = 40
"""Lines before that are looked at for other statements of the same form."""

SEGMENT = re.compile(
    r"\$\$?([^$]{1,2000})\$\$?|\\\(((?:[^\\]|\\[^)]){1,2000}?)\\\)|\\\[((?:[^\\]|"
    r"\\[^\]]){1,2000}?)\\\]"
)
_SEGMENT_OPENS = re.compile(r"\$|\\\(|\\\[")
_SEGMENT_REACH = 4_004
"""Characters of the longest segment."""
UNIT_AFTER = re.compile(
    rf"\s*(?:\\text\{{[^{{}}]*\}}|(?:square |cubic )?(?:{WESTERN}|units?|%)(?![A-Za-z])"
    rf"(?:\^\{{?[23]\}}?)?|{COUNTER})"
)


def segments(text: str, begin: int, end: int) -> Iterator[re.Match[str]]:
    """What ``SEGMENT.finditer`` finds; openings that nothing closes cost next to nothing here."""
    position = begin
    while opening := _SEGMENT_OPENS.search(text, position, end):
        start, sign = opening.start(), opening.group()
        closing = {"$": "$", "\\(": "\\)", "\\[": "\\]"}[sign]
        reach = min(end, start + _SEGMENT_REACH)
        closes = text.find(closing, opening.end(), reach) >= 0
        found = SEGMENT.match(text, start, end) if closes else None
        position = found.end() if found else start + 1
        if found:
            yield found


@dataclass(frozen=True)
class Ending:
    """The mathematics of a line: where it stands and how it is spelled."""

    begin: int
    end: int
    text: str
    """Without dollars and other delimiters."""
    how: str


_ITEM = re.compile(r"\s*(?:[-+•*>|#–—]\s|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]\s)")
_RELATED = re.compile(
    r"[<>≠≤≥≈≅∼~≟⇒→⟹;:?&]|!=|\\\\|\\(?:neq?|leq?|geq?|leqslant|geqslant|lt|gt|approx|sim|simeq|"
    r"cong|implies|iff|(?:long)?(?:left|right)+arrow|to|lor|vee|land|wedge|in|begin|stackrel|"
    r"overset|cancel|quad|qquad|not|propto|mid|cdots|ldots|dots)(?![a-z])|\.\.|…",
    re.IGNORECASE,
)
_FOREIGN = re.compile(r"[^\x00-\x7f∠√π∞±∓×·⋅∙÷°∪∩αβγθλμφω∅]")
_TEXT = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
_JOINT = (OR + AND).west
_TEXT_WORD = re.compile(
    rf"\s*\(?(?!(?:{_JOINT}|not|if|for|no|is|to)\b)[A-Za-z]{{1,12}}\.?\)?\s*", re.I
)
_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(
    r"(?<![A-Za-z])(?!(?:(?:arc)?(?:sin|cos|tan|cot|sec|csc)h?|sqrt|log|ln|exp|pi|gcd|lcm|abs|max|"
    r"min)(?![A-Za-z])|[A-Z]{2,4}(?![A-Za-z]))[A-Za-z]{2,}"
)
_INNER_WORD = re.compile(rf"(?<![A-Za-z])(?:{_JOINT}|not|to|if|is)(?![A-Za-z])|[A-Za-z]{{4,}}")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_UNEVALUATED = re.compile(
    r"[\d\s.()]*\d[\d\s.()]*(?:(?:[-+*×·]|\\cdot|\\times)[\d\s.()]*\d[\d\s.()]*)+"
)
_LABEL = re.compile(r"[A-Za-z](?:_\{?\w{1,4}\}?)?'?(?:\([A-Za-z\d, ]{1,9}\))?|\\[a-z]+")

_NAMES = r"(?:the|its|their|our|this|it)\b"
_SO = (THEREFORE + IN_TOTAL).west
_LEADS = rf"(?:(?:and|then|{_SO}),?\s+)?"
_SENTENCE = re.compile(
    rf"\s*{_LEADS}(?P<subject>{_NAMES}[^=:;,?!()]{{0,160}}?|[A-Za-z]{{3,20}}(?=\s*=|\s+(?:is|"
    rf"equals)\b))"
    rf"\s*(?:(?<=[\s$])(?:is|equals)\s+(?:(?:exactly|simply|just|{_SO}|then|also )\s+)?"
    r"(?:equal to\s+)?|=\s*)(?P<value>\S.*)",
    re.IGNORECASE,
)
_FINDING = re.compile(
    rf"\s*{_LEADS}(?:(?:we|i)\s+(?:get|obtain|have|find)|(?:this|that|it|adding|simplifying|"
    r"subtracting|multiplying|dividing)(?:\s+\w+){0,3}\s+(?:gives|yields))\s+(?P<value>\S.*)",
    re.IGNORECASE,
)
_NOT = (DENY + NEITHER + EXCEPT + PERHAPS).west
_SUPPOSE = (SUPPOSE + ASSUME).west
_DOUBTED = re.compile(
    rf"\b(?:{_NOT}|no|nothing|none|cannot|without|"
    r"probably|likely|might|may|could|would|should|can|guess\w*|think\w*|thought|believe\w*|"
    rf"belief|suppos\w*|assum\w*|{_SUPPOSE}|if|when|whether|until|either|or|else|between|at least|"
    r"at most|hardly|seem\w*|appear\w*|suggest\w*|what|which|who|how|why|step|intermediate|"
    r"previous|partial|initial|initially|given|wrong|incorrect|mistak\w*|error|false|fake|tempt\w*|"
    r"naive|formula|example|students?|claim\w*|says?|said|someone|some|options?|choices?|"
    r"equation|problem|question|task|exercise|hint|line|upper|lower|bound|estimate\w*|"
    r"approximat\w*|rough\w*|idea|notion|hypothesis|possib\w*|candidates?|expected|there|here|"
    r"every\w*|any\w*|negation|first|second|"
    r"third|other|another|next|one of|opposite|far|reason|rule|page|chapter|year)\b|n't\b",
    re.IGNORECASE,
)
_THAT = re.compile(
    r"(?:the )?(?:probability|chance|likelihood|odds) that\b.*\b(?:is|are)\b", re.IGNORECASE
)
_ASIDE = re.compile(
    rf"\b(?:check\w*|verif\w*|example|e\.g|{_SUPPOSE}|assum\w*|claim\w*|"
    r"says?|said|guess\w*|recall|remember|formula|similar\w*|doubt\w*|unsure)\b",
    re.IGNORECASE,
)


def last_statement(reply: Normal, lines: list[tuple[int, int]]) -> Ending | None:
    """The value that the last of these lines states by itself; null if it does not."""
    begin, end = lines[-1]
    found = chain_in(reply.text, begin, end) or _sentence_in(reply.text, begin, end)
    if found is None:
        return None
    start = lines[0][0]
    if REFUSAL.search(reply.low, start) or runs_on(reply.low, start):
        return None
    return found if len(lines) == 1 or _stands(reply.text, lines, found) else None


def chain_in(text: str, begin: int, end: int) -> Ending | None:
    """A line that is an equation chain without a word, as ``$4x+4x$ = $8x$``."""
    begin, end = _trimmed(text, begin, end)
    line = text[begin:end]
    if "=" not in line or _ITEM.match(line):
        return None
    body = _mathematics(line)
    if body is None or not _is_chain(body):
        return None
    return Ending(begin, end, body, "equation chain")


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    while begin < end and (text[begin].isspace() or text.startswith(("**", "`"), begin)):
        begin += 2 if text.startswith("**", begin) else 1
    while begin < end and text[end - 1] in " \t\r*`.":
        end -= 1
    return begin, end


def _mathematics(line: str) -> str | None:
    """The text without delimiters; null where it is longer, prose, a list or another relation."""
    if len(line) > MAX_LINE:
        return None
    outside = SEGMENT.sub(" ", line)
    if "$" in outside or re.search(r"\\[()\[\]]", outside):
        return None
    inside = [next(filter(None, found.groups())) for found in segments(line, 0, len(line))]
    if _has_words(_without_unit(outside), _WORD):
        return None
    if any(_has_words(content, _INNER_WORD) for content in inside):
        return None
    body = SEGMENT.sub(lambda found: f" {next(filter(None, found.groups()))} ", line).strip()
    if _RELATED.search(body) or _FOREIGN.search(body):
        return None
    if len(split_top(_THOUSANDS.sub("", body), ",")) > 1:
        return None
    return body


def _without_unit(outside: str) -> str:
    """Take a unit off the end."""
    for found in UNIT_AFTER.finditer(outside):
        if not outside[found.end() :].strip(" .*"):
            return outside[: found.start()]
    return outside


def _has_words(text: str, word: re.Pattern[str]) -> bool:
    if any(not _TEXT_WORD.fullmatch(found[1]) for found in _TEXT.finditer(text)):
        return True
    return word.search(_COMMAND.sub(" ", _TEXT.sub(" ", text))) is not None


def _is_chain(body: str) -> bool:
    """Whether there are two sides or more, none empty, and not one number repeated (a check)."""
    sides = split_top(body, "=")
    if len(sides) < 2 or not all(re.search(r"\w", side) for side in sides):
        return False
    first, last = sides[0].strip(), sides[-1].strip()
    if _UNEVALUATED.fullmatch(last):
        return False
    if _LABEL.fullmatch(first) and any(_names(first, side) for side in sides[1:]):
        return False
    return len({squeeze(side) for side in sides}) > 1 or parse_number(sides[0]) is None


def _names(label: str, side: str) -> bool:
    """Whether a side names the label again, as in ``x = 5 / x = 6``."""
    return re.search(rf"(?<![A-Za-z\\]){re.escape(label)}(?![A-Za-z])", side) is not None


def _sentence_in(text: str, begin: int, end: int) -> Ending | None:
    """``The sum is 0.4.`` as the whole line: a named thing, a verb and one value."""
    begin, end = _trimmed(text, begin, end)
    line = text[begin:end]
    if len(line) > MAX_LINE or line.endswith("!") or _ITEM.match(line):
        return None
    listed = _NUMBERS.fullmatch(line)
    if listed is not None and not _DOUBTED.search(line[: listed.start("value")]):
        start, stop = _trimmed(text, begin + listed.start("value"), end)
        return Ending(start, stop, text[start:stop], "concluding sentence")
    for value, one in _values(line):
        start, stop = _trimmed(text, begin + value, end)
        body = _mathematics(_without_currency(text[start:stop]))
        if body is None or _DOUBTED.search(line[:value]):
            continue
        if _is_chain(body) if "=" in body else one and _is_value(body):
            return Ending(start, stop, body, "concluding sentence")
    return None


_NUMBERS = re.compile(
    r"\s*(?:the|its|their|our)\b[^=:;,?!()]{0,60}?\b(?:roots|solutions|zeros|answers|values|"
    r"factors|intercepts)\b[^=:;,?!()]{0,40}? are\s+(?P<value>-?\d[\d./]*(?:,\s*-?\d[\d./]*)*"
    r",?\s+and\s+-?\d[\d./]*)",
    re.IGNORECASE,
)


def _values(line: str) -> Iterator[tuple[int, bool]]:
    """Where a value may begin in a line of one sentence, and whether it may be no chain."""
    finding = _FINDING.fullmatch(line)
    if finding is not None:
        yield finding.start("value"), False
    found = _SENTENCE.fullmatch(line)
    if found is None:
        return
    verbs = list(re.finditer(r"\s(?:is|equals)\s+", line))
    if len(verbs) > 1:
        if _THAT.match(line[: verbs[-1].start()].strip()):
            yield verbs[-1].end(), True
    elif not re.search(r"\bthat\b", found["subject"], re.IGNORECASE):
        yield found.start("value"), True


def _without_currency(value: str) -> str:
    return value[1:] if re.fullmatch(r"\$\d[\d,.]*", value) else value


def _is_value(body: str) -> bool:
    """Whether a text has a number in it and is no range or sum of plain numbers."""
    if _UNEVALUATED.fullmatch(body):
        return False
    return re.search(r"\d|π|∞|√|\\pi|\\sqrt|\\infty|(?<![a-z])pi(?![a-z])", body) is not None


def _stands(text: str, lines: list[tuple[int, int]], found: Ending) -> bool:
    """Whether the lines before leave the last one the only statement, and no aside."""
    before = text[slice(*lines[-2])].strip()
    bare = before.rstrip("*_ ")
    sentence = re.split(r"[.!?]\s", bare)[-1]
    if _ASIDE.search(sentence):
        return False
    leads_in = bare[-1:] not in set(".!?。") and re.search(r"[A-Za-z]{2}", _COMMAND.sub("", bare))
    if leads_in and _DOUBTED.search(sentence):
        return False
    earlier = [_equation(text, *span) for span in lines[-MAX_LINES:-1]]
    if any(_sentence_in(text, *span) is not None for span in lines[-MAX_LINES:-1]):
        return False
    if any(item is not None and _rivals(item, found.text) for item in earlier):
        return False
    return earlier[-1] is None or _follows(earlier[-1], found.text)


def _equation(text: str, begin: int, end: int) -> str | None:
    """The chain of a line before, also of a list item or before a comma."""
    begin, end = _trimmed(text, begin, end)
    while begin < end and text[end - 1] in ",; ":
        end -= 1
    item = _ITEM.match(text[begin:end])
    found = chain_in(text, begin + item.end() if item else begin, end)
    return found.text if found else None


def contested(text: str, lines: list[tuple[int, int]]) -> bool:
    """Whether an earlier line gives the name of the last line's equation another number."""
    last = _equation(text, *lines[-1])
    if last is None:
        return False
    earlier = (_equation(text, *span) for span in lines[-MAX_LINES:-1])
    return any(item is not None and _rivals(item, last) for item in earlier)


def _rivals(previous: str, last: str) -> bool:
    """Whether two equations give one name two different numbers."""
    sides, final = split_top(previous, "="), split_top(last, "=")
    if squeeze(sides[0]) != squeeze(final[0]) or not _LABEL.fullmatch(sides[0].strip()):
        return False
    first, second = (parse_number(normalize_math(part[-1])) for part in (sides, final))
    return first is not None and second is not None and first != second


def _follows(previous: str, last: str) -> bool:
    """Whether an equation goes on from the one before, and is no second value beside it."""
    sides, final = split_top(previous, "="), split_top(last, "=")
    if not _LABEL.fullmatch(sides[0].strip()):
        return True
    if squeeze(sides[0]) != squeeze(final[0]):
        return False
    value, second = normalize_math(sides[-1]), parse_number(normalize_math(final[-1]))
    return second is not None and not re.search(r"[A-Za-z]", _ARITHMETIC.sub("", value))


_ARITHMETIC = re.compile(r"\\(?:frac|cdot|times|div)(?![a-z])")
