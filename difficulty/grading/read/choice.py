"""The option that a reply to a single-answer question declares."""

from __future__ import annotations

import re

from difficulty.grading.normalize import Normal
from difficulty.grading.read.alone import bare, few_words, last_label
from difficulty.grading.read.conclude import concluded_before_cut, conclusions, named, within
from difficulty.grading.read.declare import Site, runs_on, sites_of
from difficulty.grading.read.labels import Labels, read_labels
from difficulty.grading.read.options import Mention, Options
from difficulty.grading.read.settle import Declared, settle
from difficulty.grading.read.tail import after_declared
from difficulty.grading.words.joints import OR
from difficulty.grading.words.markers import NAMED, ODD_ONE


def read_choice(reply: Normal, options: Options, *, truncated: bool = False) -> Declared | None:
    """The declared option; ``many`` marks a hedge; null if none is declared."""
    plain = [
        declared
        for site in sites_of(reply)
        if (declared := _at_site(reply, site, options)) is not None
    ]
    plain.extend(_later_label(reply, plain, options))
    plain = [item for item in plain if item.how != ODD_ONE or not item.many]
    usual = [item for item in plain if item.how != ODD_ONE]
    if any(not item.many for item in usual) or len(usual) == len(plain):
        plain = usual
    else:
        plain = [item for item in plain if item.how == ODD_ONE]

    def weaker(start: int) -> list[Declared]:
        return _weaker(reply, start, options, truncated=truncated)

    declared = settle(reply, plain, weaker, last_wins=False)
    return None if declared is None else after_declared(reply, declared, options)


def _later_label(reply: Normal, plain: list[Declared], options: Options) -> list[Declared]:
    """Another label alone on the last line, after what was declared: the two contradict."""
    if not plain or runs_on(reply.low, plain[-1].end):
        return []
    last = last_label(reply, plain[-1].end, options)
    return [last] if last is not None else []


def _weaker(reply: Normal, start: int, options: Options, *, truncated: bool) -> list[Declared]:
    """Conclusions, then bare letters, then the only option named in its own words."""
    found = bare(reply, options) if start == 0 else []
    found = found or conclusions(reply, start, options)
    found = found or (few_words(reply, options) if start == 0 else [])
    if truncated:
        return [item for item in found if concluded_before_cut(reply.low, item)]
    if found:
        return found
    mentions = named(reply, start, options)
    if len({mention.label for mention in mentions}) != 1:
        return []
    last = mentions[-1]
    return [Declared(last.label, last.start, last.end, NAMED, "only option named")]


def _at_site(reply: Normal, site: Site, options: Options) -> Declared | None:
    """What one site declares: labels, else a conclusion in its line, else an option's own words."""
    labels = read_labels(reply, site.value, options, limit=site.end if site.closed else None)
    if labels is not None and labels.labels and _reaches(reply, site, labels):
        if len(labels.labels) >= max(3, len(options.labels)):
            return None
        return _of_labels(reply, site, labels, options)
    if site.direct:
        return None
    inner = within(reply, site.value, site.end, options)
    if inner:
        last = inner[-1]
        return Declared(last.value, last.start, last.end, site.rank, site.how, many=last.many)
    return _of_words(reply, site, options)


def _reaches(reply: Normal, site: Site, labels: Labels) -> bool:
    """Whether the labels lie within the site: a box ends at its brace."""
    if site.closed:
        return labels.start < site.end
    return labels.start <= site.end


def _of_labels(reply: Normal, site: Site, labels: Labels, options: Options) -> Declared:
    many = len(labels.labels) > 1 or _contradicts(reply, labels, options)
    many = many or _has_alternative(reply, labels, options)
    end = min(labels.end, site.end) if site.closed else labels.end
    wrapped = reply.text[end - 1 : end] in set(")]}>*_`\"'$")
    return Declared(
        ",".join(labels.labels), labels.start, end, site.rank, site.how,
        closed=site.closed or wrapped, many=many,
    )  # fmt: skip


def _contradicts(reply: Normal, labels: Labels, options: Options) -> bool:
    """Whether a label is followed by another option's own words: ``B. Paris`` where Paris is C."""
    position = labels.end
    while reply.low[position : position + 1] and reply.low[position] in " .:)-–—*":
        position += 1
    mention = options.text_at(reply.low, position)
    if mention is None or mention.end - mention.start < 3 or position == labels.end:
        return False
    return mention.label not in labels.labels


_ALTERNATIVE = re.compile(
    r"[^.\n]{0,120}?\b(?:otherwise|or else|alternatively|in (?:which|that) case,?|"
    r"(?:could|might|may) (?:also |well )?be)\W{1,3}"
    r"(?:it(?:'s| is) |the answer (?:is|would be) |also )?|"
    rf"[^。\n]{{0,40}}?(?:也可能是?|(?:{OR.east})是?)|"
    r"[^。\n]{0,12}[、,]\s*(?=[a-z0-9ア-オ]も(?:正|答|あり|考|可))"
)


def _has_alternative(reply: Normal, labels: Labels, options: Options) -> bool:
    """Whether the sentence goes on to another label: ``B if ..., otherwise C``."""
    found = _ALTERNATIVE.match(reply.low, labels.end)
    other = read_labels(reply, found.end(), options) if found else None
    return other is not None and bool(set(other.labels) - set(labels.labels))


def _of_words(reply: Normal, site: Site, options: Options) -> Declared | None:
    """The option whose own words the site's line names; several side by side are a hedge."""
    mentions = list(options.mentions(reply.low, site.value, site.end))
    if not mentions:
        return None
    first = mentions[0]
    labels = dict.fromkeys(mention.label for mention in _listed(reply.low, mentions))
    end = mentions[-1].end if len(labels) > 1 else first.end
    return Declared(
        ",".join(labels), first.start, end, site.rank, site.how,
        closed=site.closed, many=len(labels) > 1,
    )  # fmt: skip


def _listed(low: str, mentions: list[Mention]) -> list[Mention]:
    """The first mention and those joined to it; ``12 mg, half of the 24 mg ceiling`` is one."""
    listed = mentions[:1]
    for mention in mentions[1:]:
        between = low[listed[-1].end : mention.start]
        if re.search(r"[.。;\n](?:\s|$)|。", between):
            break
        if len(between) > 12 and " or " not in between and " and " not in between:
            break
        listed.append(mention)
    return listed
