"""The set of options that a reply to a multi-select question declares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from difficulty.grading.conclude import bare, conclusions, named, within
from difficulty.grading.declare import Site, sites_of
from difficulty.grading.labels import read_labels
from difficulty.grading.markers import NAMED, WEAK
from difficulty.grading.normalize import Normal, line_spans
from difficulty.grading.options import Mention, Options
from difficulty.grading.settle import Declared, settle

_SELECTS = re.compile(
    r"選|该|該|正し|正解|choose|select|correct|answer|选|選|고르|선택|정답|are\b|です|である"
)


def read_multi(reply: Normal, options: Options) -> Declared | None:
    """The declared set, its labels in option order; ``many`` marks a hedge; null if none."""
    plain = [
        declared
        for site in sites_of(reply)
        if (declared := _at_site(reply, site, options)) is not None
    ]
    joined = _join_single_boxes(plain, options)
    return settle(reply, joined, lambda start: _weaker(reply, start, options), last_wins=False)


def ordered_set(labels: Iterable[str], options: Sequence[str]) -> str:
    """Labels joined by commas in the order of the options."""
    chosen = set(labels)
    return ",".join(label for label in options if label in chosen)


def _at_site(reply: Normal, site: Site, options: Options) -> Declared | None:
    labels = read_labels(reply, site.value, options, limit=site.end if site.closed else None)
    if labels is not None and labels.labels and labels.start <= site.end:
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
    found = found or conclusions(reply, start, options)
    if found:
        return _joined_verdicts([_as_set(item, options) for item in found], options)
    mentions = _last_sentence(reply, named(reply, start, options))
    return [_of_mentions(mentions, NAMED, "options named", options)] if mentions else []


def _joined_verdicts(found: list[Declared], options: Options) -> list[Declared]:
    """``aは正しい。cは正しい。``: one verdict an option makes one set."""
    singles = all(item.rank == WEAK and len(item.value) == 1 for item in found)
    if not singles:
        return found
    value = ordered_set((item.value for item in found), options.labels)
    return [replace(found[-1], value=value, start=found[0].start)]


def _as_set(item: Declared, options: Options) -> Declared:
    labels = item.value.split(",")
    return replace(item, value=ordered_set(labels, options.labels), many=False)


def _of_mentions(mentions: list[Mention], rank: int, how: str, options: Options) -> Declared:
    labels = ordered_set((mention.label for mention in mentions), options.labels)
    return Declared(labels, mentions[0].start, mentions[-1].end, rank, how)


def _listed_lines(reply: Normal, options: Options) -> list[Declared]:
    """A reply of nothing but lines such as ``a. text``, fewer than there are options."""
    spans = line_spans(reply.text)
    if not 2 <= len(spans) < len(options.labels):
        return []
    labels: list[str] = []
    for start, end in spans:
        read = read_labels(reply, start, options, limit=end)
        if read is None or len(read.labels) != 1 or read.start > start + 4:
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
