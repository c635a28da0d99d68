"""Where a reply declares an answer: marker lines, boxes, tags, JSON fields, concluding sentences.

A *site* only says where the declared answer begins and how plainly it is declared; what stands
there is read by the kind of the question (``choice``, ``multi``, ``numeric``, ``latex``, ``text``).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from difficulty.grading.normalize import Normal
from difficulty.grading.read.spots import MAX_SITES, Spot, last_spots
from difficulty.grading.words.anchors import Anchored
from difficulty.grading.words.denials import NOT_BUT
from difficulty.grading.words.markers import FINAL
from difficulty.grading.words.phrases import UNASSERTED

MAX_LINE = 2000
"""Characters of a declared answer that are read; a longer one is no answer."""


@dataclass(frozen=True)
class Site:
    """One place where an answer is declared, in the normalised text."""

    start: int
    """Where the marker begins."""
    value: int
    """Where the declared answer begins."""
    end: int
    """Where it ends at the latest: closing brace or tag, or the end of the line."""
    rank: int
    how: str
    closed: bool
    """Whether a brace, tag or quote ends the answer, so that a cut reply cannot go on with it."""
    direct: bool
    """Whether the label or number must follow at once, as in ``Answer B``."""


_ECHO_BEFORE = re.compile(
    r"(?:format|form\b|template|a line|last line|final line|finish|end with|ending with|end "
    r"my|conclude with|respond with|"
    r"reply with|write|output|instruct|should say|e\.g\.|for example|such as|like this|例えば|"
    r"形式|フォーマット|の形|格式|형식)"
    r"[^\n]{0,40}$"
)
_TEMPLATE_BEFORE = re.compile(
    r"(?:format|template|in the form|形式|フォーマット|格式|형식)\W{0,4}$"
)
_CONDITION = re.compile(r"\b(?:if|had|were|otherwise)\b")
_SENTENCE_START = re.compile(r"(?<!e\.g)(?<!i\.e)[.!?\n。!?;](?=\s|[^\x00-\x7f]|$)")
_ASKED = re.compile(r"[^.!\n。?]{0,80}\?")
_FORMAT_AFTER = re.compile(
    r"[^\n「」『』\"]{0,20}[」』\"]\s*(?:のよう|の形|という|と(?:答え|記|書|出力|回答|いう)|"
    r"のフォーマット|の書式|"
    r"(?:format|form|template|style)\b|的格式|的形式|格式|형식|처럼|와 같)"
)
"""``「正解：a」のように``: a quoted marker before words about the format."""
_NOT_BUT = re.compile(
    r"\s*(?:definitely |certainly |clearly )?not\s[^.;!?\n]{1,60}?\bbut\s+(?:rather\s+|"
    rf"instead\s+)?|[^。、,\n]{{1,30}}?(?:{'|'.join(NOT_BUT)})"
)
_LEAD_LINES = re.compile(r"(?:[\s:]|&nbsp;|```\w*(?=\n)|[-=*_]{3,}(?=\n)|\|)*+")
_RUN_ON = re.compile(
    r"\n[^\S\n]*+(?:#{1,4}\s*|\*\*)?(?:question|q|problem|human|user|input|instruction|"
    r"passage|問題|问题|문제|exercise)(?:\s*\d+)?\s*(?:\*\*)?\s*[:.](?!\d)|"
    r"<\|(?:im_start|im_end|eot_id|endoftext|end|user)\|>|</s>|<eos>|<end_of_turn>"
)
_RUN_ONS = Anchored(_RUN_ON, ("\n", "<|", "</s>", "<eos>", "<end_of_turn>"))
_BOX = re.compile(r"\\?(?<![a-z])(?:boxed|fbox|framebox)\s*(?:\\?\{|(?=[\\\w(+-]))")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def sites_of(reply: Normal) -> list[Site]:
    """Every declared site of rank MARK or FINAL, in reading order, at most ``MAX_SITES``."""
    low = reply.low
    spots = sorted(last_spots(low), key=lambda spot: spot.start)[-MAX_SITES:]
    sites = [_site(low, spot) for spot in spots]
    if "box" in low:
        sites.extend(deque(_boxes(reply), maxlen=MAX_SITES))
        sites.sort(key=lambda site: (site.start, site.value))
    return _before_run_on(low, [site for site in sites if not _unasserted(low, site)])


def _site(low: str, spot: Spot) -> Site:
    site = _line_site(low, spot)
    return _closed_by_tag(low, site) if spot.how in {"tag", "JSON field"} else site


def _line_site(low: str, spot: Spot) -> Site:
    """A site that runs to the end of its line, or of the next one if its own is empty."""
    lead = _LEAD_LINES.match(low, spot.value)
    value, begin = spot.value, lead.end() if lead else spot.value
    denied = _NOT_BUT.match(low, begin)
    if denied:
        begin = value = denied.end()
    end = low.find("\n", begin, begin + MAX_LINE)
    if end < 0:
        end = min(len(low), begin + MAX_LINE)
    return Site(spot.start, value, end, spot.rank, spot.how, closed=False, direct=spot.direct)


def _closed_by_tag(low: str, site: Site) -> Site:
    """A tag's or field's answer ends at the closing tag or quote, if there is one in reach."""
    if low[site.start] == "<":
        end = low.find("</", site.value, site.value + MAX_LINE)
    elif low[site.start] == "[":
        end = low.find("[/", site.value, site.value + MAX_LINE)
    else:
        found = re.compile(r"\s*(?:\[[^\]\n]*\]|\"[^\"\n]*\"|'[^'\n]*')").match(low, site.value)
        if found:
            return replace(site, end=found.end(), closed=True)
        found = re.compile(r"[^,}\n]*").match(low, site.value)
        end = found.end() if found else -1
        return replace(site, end=end, closed=low[end : end + 1] in {"}", ","}) if end >= 0 else site
    return replace(site, end=end, closed=True) if end >= 0 else site


def _boxes(reply: Normal) -> Iterator[Site]:
    r"""Boxes with their matching brace; the innermost content of ``\boxed{\boxed{5}}`` once."""
    low = reply.low
    closing = _matching_braces(reply.text)
    for found in _BOX.finditer(low):
        value = found.end()
        if low[value - 1] != "{":
            short = re.compile(r"-?\d+(?:\.\d+)?|\w|\\frac\d\d").match(low, value)
            if short and low[found.start()] == "\\":
                yield Site(found.start(), value, short.end(), FINAL, "box", False, False)
            continue
        end = closing.get(value - 1)
        if end is None:
            line = low.find("\n", value)
            stop = min(len(low) if line < 0 else line, value + MAX_LINE)
            yield Site(found.start(), value, stop, FINAL, "open box", False, False)
        else:
            yield Site(found.start(), value, end, FINAL, "box", True, False)


def _matching_braces(text: str) -> dict[int, int]:
    """Opening brace -> closing brace; escaped braces are text. One pass."""
    opened: list[int] = []
    closing: dict[int, int] = {}
    for found in _BRACE.finditer(text):
        if found.group() == "{":
            opened.append(found.start())
        elif found.group() == "}" and opened:
            closing[opened.pop()] = found.start()
    return closing


def sentence_start(low: str, position: int, reach: int = 200) -> int:
    """Where the sentence that holds ``position`` begins, looking back ``reach`` characters."""
    start = max(0, position - reach)
    for found in _SENTENCE_START.finditer(low, start, position):
        start = found.end()
    return start


def _unasserted(low: str, site: Site) -> bool:
    """Whether a site is an echo of the format, a supposition, a question or a past thought."""
    before = low[sentence_start(low, site.start) : site.start]
    if "would" in low[site.start : site.value] and _CONDITION.search(before):
        return True
    if before and (UNASSERTED.search(before) or _quoted_echo(low, site, before)):
        return True
    if site.closed or site.how == "JSON field":
        return False
    return _is_asked(low, site) or _FORMAT_AFTER.match(low, site.value) is not None


def _is_asked(low: str, site: Site) -> bool:
    if "?" not in low[site.value : site.end]:
        return False
    return _ASKED.match(low, site.value) is not None


def _quoted_echo(low: str, site: Site, before: str) -> bool:
    """``finish with a line 'Answer: B'``: a quoted marker after words about the format."""
    bare = before.rstrip("*_ ")
    if bare[-1:] == ":":
        return _TEMPLATE_BEFORE.search(bare) is not None
    quoted = bare[-1:] in set("\"'`“‘「『")
    return quoted and _ECHO_BEFORE.search(bare.rstrip("\"'`“‘「『 :*_")) is not None


def before_run_on(reply: Normal) -> Normal | None:
    """What stands before a new question or turn; null if nothing does or there is none."""
    boundary = next(_RUN_ONS.finditer(reply.low), None)
    if boundary is None or not reply.low[: boundary.start()].strip():
        return None
    return replace(reply, text=reply.text[: boundary.start()], low=reply.low[: boundary.start()])


def runs_on(low: str, start: int) -> bool:
    """Whether a new question or a new turn begins after ``start``."""
    return _RUN_ON.search(low, start) is not None


def _before_run_on(low: str, sites: list[Site]) -> list[Site]:
    """Drop what a base model goes on with after its answer: a new question, a new turn."""
    if not sites:
        return sites
    boundary = _RUN_ON.search(low, sites[0].value)
    if boundary is None:
        return sites
    return [site for site in sites if site.start < boundary.start()]
