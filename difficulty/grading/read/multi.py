"""The set of options that a reply to a multi-select question declares."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace

from difficulty.grading.normalize import Normal, line_spans
from difficulty.grading.read.alone import bare
from difficulty.grading.read.beside import without_own_words
from difficulty.grading.read.conclude import (
    concluded_before_cut,
    conclusions,
    named,
    of_labels,
    within,
)
from difficulty.grading.read.declare import Site, sites_of
from difficulty.grading.read.labels import read_labels
from difficulty.grading.read.options import Mention, Options
from difficulty.grading.read.settle import Declared, settle
from difficulty.grading.read.tail import after_declared
from difficulty.grading.words.answers import ANSWER
from difficulty.grading.words.denials import REJECTED
from difficulty.grading.words.markers import NAMED, ODD_ONE, WEAK
from difficulty.grading.words.phrases import REFUSAL
from difficulty.grading.words.units import COUNTER

_SELECTS = re.compile(
    rf"選|该|該|正し|choose|select|correct|{ANSWER.west}|{ANSWER.east}|选|고르|선택|are\b|です|である"
)


def read_multi(reply: Normal, options: Options, *, truncated: bool = False) -> Declared | None:
    """The declared set, its labels in option order; ``many`` marks a hedge; null if none."""
    plain = [
        declared
        for site in sites_of(reply)
        if (declared := _at_site(reply, site, options)) is not None
    ]
    if any(item.how != ODD_ONE for item in plain):
        plain = [item for item in plain if item.how != ODD_ONE]
    joined = _join_lines(reply.low, _join_single_boxes(plain, options), options)

    def weaker(start: int) -> list[Declared]:
        found = _weaker(reply, start, options)
        if truncated:
            found = [item for item in found if concluded_before_cut(reply.low, item)]
        return found

    declared = settle(reply, joined, weaker, last_wins=False)
    declared = declared and after_declared(reply, declared, options, several=True)
    if declared is None or declared.many:
        return declared
    return replace(declared, value=ordered_set(declared.value.split(","), options.labels))


def ordered_set(labels: Iterable[str], options: Sequence[str]) -> str:
    """Labels joined by commas in the order of the options."""
    chosen = set(labels)
    return ",".join(label for label in options if label in chosen)


def _at_site(reply: Normal, site: Site, options: Options) -> Declared | None:
    labels = read_labels(reply, site.value, options, limit=site.end if site.closed else None)
    reaches = labels is not None and labels.start < site.end + (not site.closed)
    if labels is not None and labels.labels and reaches:
        end = min(labels.end, site.end) if site.closed else labels.end
        return Declared(
            ordered_set(labels.labels, options.labels), labels.start, end, site.rank, site.how,
            closed=site.closed, many=labels.either,
        )  # fmt: skip
    if site.direct:
        return None
    inner = within(reply, site.value, site.end, options)
    if inner:
        last = inner[-1]
        return _as_set(replace(last, rank=site.rank, how=site.how), options)
    mentions = list(options.mentions(reply.low, site.value, site.end))
    return _of_mentions(mentions, site.rank, site.how, options) if mentions else None


def _weaker(reply: Normal, start: int, options: Options) -> list[Declared]:
    found = _listed_lines(reply, options) if start == 0 else []
    found = found or (bare(reply, options) if start == 0 else [])
    found = found or _conclusions(reply, start, options) or _labelled_line(reply, start, options)
    if found:
        return _joined_verdicts([_as_set(item, options) for item in found], options)
    mentions = _last_sentence(reply, named(reply, start, options))
    return [_of_mentions(mentions, NAMED, "options named", options)] if mentions else []


def _conclusions(reply: Normal, start: int, options: Options) -> list[Declared]:
    """Conclusions, read with the words left out that stand beside their own label."""
    short, places = without_own_words(reply, options)
    begin = bisect_left(places, start)
    return [
        replace(item, start=places[item.start], end=places[item.end - 1] + 1)
        for item in conclusions(short, begin, options)
    ]


_LABEL_LINE = re.compile(r"\s*(?P<head>[^:\n]{2,60}):\s*(?=\S)")
_REMARK = re.compile(r"\([^()\n]{1,40}\)")
_REJECTED = re.compile(rf"{REJECTED}|誤|不|\b(?:options?|choices?)\b|选项|選択肢")


def _labelled_line(reply: Normal, start: int, options: Options) -> list[Declared]:
    """The last line, if it is a few words, a colon and labels, as ``Diastolic: A and D``."""
    spans = line_spans(reply.text, start)
    head = _LABEL_LINE.match(reply.low, *spans[-1]) if spans else None
    if head is None or _REJECTED.search(head["head"]):
        return []
    labels = read_labels(reply, head.end(), options)
    if (
        labels is None
        or not labels.labels
        or _REMARK.sub("", reply.low[labels.end : spans[-1][1]]).strip(" .*。")
    ):
        return []
    return [of_labels(labels, WEAK, "label and options")]


def _joined_verdicts(found: list[Declared], options: Options) -> list[Declared]:
    """``aは正しい。cは正しい。``: one verdict an option makes one set."""
    singles = all(item.rank == WEAK and len(item.value) == 1 for item in found)
    if not singles:
        return found
    value = ordered_set((item.value for item in found), options.labels)
    return [replace(found[-1], value=value, start=found[0].start)]


def _as_set(item: Declared, options: Options) -> Declared:
    labels = item.value.split(",")
    return replace(item, value=ordered_set(labels, options.labels), many=item.either)


def _of_mentions(mentions: list[Mention], rank: int, how: str, options: Options) -> Declared:
    labels = ordered_set((mention.label for mention in mentions), options.labels)
    return Declared(labels, mentions[0].start, mentions[-1].end, rank, how)


def _is_statement(reply: Normal, span: tuple[int, int], options: Options) -> bool:
    """A line such as ``以上2つが正解です。`` that names no option."""
    if not _SELECTS.search(reply.low, *span) or REFUSAL.search(reply.low, *span):
        return False
    labels = rf"(?<![a-z0-9])[{options.chars}](?![a-z0-9])"
    named = re.compile(labels, re.IGNORECASE).search(_COUNTED.sub("", reply.low[slice(*span)]))
    return named is None and not list(options.mentions(reply.low, *span))


_COUNTED = re.compile(rf"[2-5]\s?(?:{COUNTER}|options|answers|项)")
_ITEM_LEAD = re.compile(
    r"\s*(?:[-*•・]\s*)?(?:\d{1,2}[.)]\s+(?=\W{0,3}[a-z])|[一二三1-3]つ目\s*[:はが]?\s*|"
    r"(?:first|second|third)\s*:\s*)?"
)


def _listed_lines(reply: Normal, options: Options) -> list[Declared]:
    """A reply of nothing but lines such as ``a. text``, fewer than there are options."""
    spans = line_spans(reply.text)
    spans = [span for span in spans if not _is_statement(reply, span, options)]
    if not 2 <= len(spans) < len(options.labels):
        return []
    labels: list[str] = []
    for start, end in spans:
        lead = _ITEM_LEAD.match(reply.low, start)
        begin = lead.end() if lead else start
        read = read_labels(reply, begin, options, limit=end)
        if read is None or len(read.labels) != 1 or read.start > begin + 4:
            return []
        rest = reply.low[read.end : end].strip(" .:)-–—*、。")
        if rest and rest != options.own_words(read.labels[0]):
            return []
        labels.append(read.labels[0])
    value = ",".join(labels)
    return [Declared(value, spans[0][0], spans[-1][1], NAMED, "lines of options")]


def _join_single_boxes(plain: list[Declared], options: Options) -> list[Declared]:
    r"""One box or tag for each option makes one set: ``\boxed{a}`` と ``\boxed{c}``."""
    for how in ("box", "tag"):
        singles = [item for item in plain if item.how == how]
        if len(singles) < 2 or any("," in item.value for item in singles):
            continue
        value = ordered_set((item.value for item in singles), options.labels)
        joined = replace(singles[-1], value=value, start=singles[0].start)
        plain = [item for item in plain if item.how != how] + [joined]
    return plain


def _join_lines(low: str, plain: list[Declared], options: Options) -> list[Declared]:
    """One marker line for each option, one right after the other, makes one set."""
    joined = plain[:1]
    for item in plain[1:]:
        previous = joined[-1]
        between = low[previous.end : item.start]
        single = "," not in item.value and (item.how, item.rank) == (previous.how, previous.rank)
        if single and len(between) <= 24 and between.count("\n") == 1:
            value = ordered_set([*previous.value.split(","), item.value], options.labels)
            joined[-1] = replace(item, value=value, start=previous.start)
        else:
            joined.append(item)
    return joined


def _last_sentence(reply: Normal, mentions: list[Mention]) -> list[Mention]:
    """The mentions of the last sentence that has any, if they are a selection.

    They are one if the reply mentions no other option or the sentence says that it selects.
    """
    if not mentions:
        return []
    start = max(reply.low.rfind(mark, 0, mentions[-1].start) for mark in ".。\n!?") + 1
    last = [mention for mention in mentions if mention.start >= start]
    rest = {mention.label for mention in mentions} - {mention.label for mention in last}
    sentence = reply.low[start : mentions[-1].end + 20]
    if rest and not _SELECTS.search(sentence):
        return []
    return last
