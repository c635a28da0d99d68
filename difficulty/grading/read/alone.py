"""A reply that is nothing but a label, an option or a list of them, or begins or ends so."""

from __future__ import annotations

import re
from dataclasses import replace

from difficulty.grading.normalize import Normal, line_spans
from difficulty.grading.read.conclude import lists_options, lists_own_words, of_labels
from difficulty.grading.read.labels import read_labels
from difficulty.grading.read.options import Options, option_key
from difficulty.grading.read.settle import Declared
from difficulty.grading.words.answers import ANSWER
from difficulty.grading.words.joints import THEREFORE
from difficulty.grading.words.markers import CONCLUDE, MARK


def bare(reply: Normal, options: Options) -> list[Declared]:
    """A reply, or its first or last line, that is nothing but a label and perhaps its option."""
    spans = [span for span in line_spans(reply.text) if not _FENCE.fullmatch(reply.text, *span)]
    if not spans:
        return []
    if _copies_labels(reply.text, spans, options):
        return []
    ends = [spans[0]] if len(spans) == 1 else [spans[0], spans[-1]]
    found = [item for span in ends if (item := _bare_line(reply, *span, options)) is not None]
    if found and lists_options(reply, options):
        return _beside_list(reply, found, options)
    return found


def _copies_labels(text: str, spans: list[tuple[int, int]], options: Options) -> bool:
    """Whether the first lines are all the labels, one a line, as the question has them."""
    lines = spans[: len(options.labels)]
    labels = [text[slice(*span)].strip(" ().:*-[]") for span in lines]
    return len(labels) > 2 and tuple(labels) == options.labels


_SMALL_WORDS = re.compile(
    r"(?:i|think|it'?s|it|is|the|my|final|correct|right|best|answer|guess|choice|option|letter|"
    r"would|"
    r"must|has|to|be|say|i'?d|go|with|pick|probably|maybe|definitely|clearly|so|ok|okay|sure|yes|"
    r"for|me|that'?s|this|one)\b|"
    rf"{ANSWER.east}|選択肢|たぶん|多分|おそらく|恐らく|きっと|やはり|もちろん|お願いします|"
    r"思います|"
    r"思う|でしょう|だろう|です|だね|だよ|だ|かな|します|する|選びます|選択します|選ぶ|決めます|番|"
    r"[はがをでにのと]|[\W_]"
)


def few_words(reply: Normal, options: Options) -> list[Declared]:
    """A reply of one label among small words and nothing else: ``i think c``, ``たぶんcかな``."""
    low = reply.low
    if len(low) > 40 or not options.chars or "?" in low:
        return []
    labels = re.compile(rf"(?<![a-z0-9'])[{options.chars.lower()}](?![a-z0-9'])")
    found = list(labels.finditer(low))
    if len(found) != 1:
        return []
    place = found[0]
    rest = low[: place.start()] + " " + low[place.end() :]
    label = options.label_of(place.group())
    if label is None or _SMALL_WORDS.sub("", rest):
        return []
    if place.group() in {"a", "i"} and re.search(r"[a-z]", rest):
        return [] if reply.text[place.start()].islower() else _few(label, place)
    return _few(label, place)


def _few(label: str, place: re.Match[str]) -> list[Declared]:
    return [Declared(label, place.start(), place.end(), CONCLUDE, "label and small words")]


_FENCE = re.compile(r"[ \t]*```\w*[ \t]*")


def last_label(reply: Normal, start: int, options: Options) -> Declared | None:
    """The single label that is the last line, if that line begins at ``start`` or later."""
    end = len(reply.text.rstrip())
    begin = reply.text.rfind("\n", start, end) + 1
    if begin <= start or len(reply.text[begin:end].strip(" *_`\"'()[].$")) != 1:
        return None
    found = _bare_line(reply, begin, end, options)
    if found is None or found.many or found.how != "bare label":
        return None
    return replace(found, rank=MARK)


def _beside_list(reply: Normal, found: list[Declared], options: Options) -> list[Declared]:
    """What counts where the options are listed as well: a line apart from that list."""
    several = [item for item in found if 0 < item.value.count(",") < len(options.labels) - 1]
    labels = [item for item in found if item.how == "bare label"]
    if not labels and found[-1].how == "label and option" and _is_led_to(reply.low, found[-1]):
        return found[-1:]
    if len({item.value for item in labels}) > 1:
        return []
    return labels[-1:] or several[-1:] or _chosen_line(reply, found, options)


_LEADS_TO = re.compile(
    rf"\b(?:{THEREFORE.west}|best|correct|right|answer|conclude|diagnosis|next step|"
    r"most (?:likely|appropriate|suitable|probable|accurate)|final|choose|select)\b[^\n]{0,60}:\Z"
    rf"|(?:{ANSWER.east}|最も|適切|診断|选择|{THEREFORE.east})"
    r"[^\n]{0,40}:\Z"
)
_ASKS = re.compile(
    r"\b(?:options|choices|following|one of|not|which|format)\b|n't\b|選択肢|以下|次の|选项|下列"
)


def _is_led_to(low: str, item: Declared) -> bool:
    """Whether the line before one that is alone at the end says, with a colon, that it decides."""
    before = low[: max(0, low.rfind("\n", 0, item.start))].rstrip(" *_>\n\t#")
    line = before.rpartition("\n")[2][-160:]
    return _LEADS_TO.search(line) is not None and not _ASKS.search(line)


_LISTED = (
    r"^[\s*_>•|-]{{0,8}}(?:(?:option|choice|選択肢|选项)\s{{0,2}})?[(\[]?(?P<l>[{chars}])[).:\]]"
)
_OTHERS = re.compile(
    r"\b(?:other|others|remaining|incorrect|wrong|rejected|why not)\b|他の|その他|誤り|不正解|"
    r"其他|나머지"
)


def _chosen_line(reply: Normal, found: list[Declared], options: Options) -> list[Declared]:
    """The option put before the others, out of their order, or named again after them."""
    pattern = re.compile(_LISTED.format(chars=options.chars), re.MULTILINE | re.IGNORECASE)
    listed = [(m.start("l"), options.label_of(m["l"])) for m in pattern.finditer(reply.text)]
    labels = [label for _, label in listed]
    first, last = found[0], found[-1]
    if len(labels) <= 1:
        apart = last.how != "label and words" and not lists_own_words(reply, options)
        return [last] if apart else []
    if listed[0][0] == first.start and labels.count(first.value) == 1:
        ordered = sorted(labels, key=lambda label: options.labels.index(label or ""))
        if labels != ordered or _OTHERS.search(reply.low, first.end, listed[1][0]):
            return [first]
    if listed[-1][0] == last.start and labels[-1] in labels[:-1]:
        return [last] if labels[:-1] == list(options.labels) else []
    return []


_ITEM_NUMBER = re.compile(r"\s*\d{1,3}[.)]\s+(?=[(*\[]{0,3}[a-h][)*\].]{0,3}\s*$)", re.MULTILINE)
_QA_PREFIX = re.compile(r"\s*a\s*:\s*(?=[(*\[]{0,3}[a-h][)*\].]{0,3}(?:\s|$))", re.MULTILINE)


_BARE_LEAD = re.compile(
    r"\W*(?:only |just |either )?(?:\d{1,3}[.)]\s*)?(?:(?:option|choice|letter|選択肢|选项|"
    r"선택지)\s*)?\W*"
)


def _bare_line(reply: Normal, start: int, end: int, options: Options) -> Declared | None:
    prefix = _QA_PREFIX.match(reply.low, start)
    number = _ITEM_NUMBER.match(reply.low, start)
    lead = prefix or number
    spaced = _spaced_labels(reply, start, end, options)
    if spaced is not None:
        return spaced
    labels = read_labels(reply, lead.end() if lead else start, options)
    if labels is None or not labels.labels or labels.end > end:
        return _words_and_label(reply, start, end, options)
    if not prefix and not _BARE_LEAD.fullmatch(reply.low, start, labels.start):
        return None
    rest = reply.low[labels.end : end].strip(" .:)-–—,*_`\"'。!番번です입니다(「")
    rest = re.sub(r"^(?:のみ|だけ|选项|選項|项|項|の\s?[2-5二三四五]つ)", "", rest)
    rest = rest if re.search(r"[\w○◯◎×✕✖✗✘❌☒]", rest) else ""
    written = reply.text[labels.start : labels.end].strip()
    if len(labels.labels) == len(options.labels) > 2 and not written.isalnum():
        return None
    if not rest:
        return of_labels(labels, CONCLUDE, "bare label")
    own = options.own_words(labels.labels[-1])
    if own and _is_own(rest, own, whole=len(labels.labels) > 1 or bool(reply.text[:start].strip())):
        return of_labels(labels, CONCLUDE, "label and option")
    only_line = not reply.text[:start].strip() and not reply.text[end:].strip()
    reasoned = re.match(r"\s+(?:because|since|as it|due to|given)\b", reply.low[labels.end : end])
    if len(labels.labels) > 1 or _ABBREVIATED.match(reply.text, labels.end):
        return None
    if only_line and (reasoned or reply.text[labels.end : labels.end + 1] in set(".):,。")):
        return of_labels(labels, CONCLUDE, "label and words")
    return None


_GOES_ON = re.compile(
    r"\W*(?:(?:because|since|as|due|given|is (?:the|correct|right|best)|which|with)\b|[^a-z]*\Z)|"
    r"[^a-z]{0,3}(?:が|です|である|을|이|是)"
)


def _is_own(rest: str, own: str, *, whole: bool) -> bool:
    """Whether what follows a label are its own words; ``whole``: and no other statement."""
    if len(rest) <= len(own) + 20 and option_key(rest) == option_key(own):
        return True
    if not rest.startswith(own):
        return False
    return not whole or _GOES_ON.match(rest, len(own)) is not None


_ABBREVIATED = re.compile(r"\. (?!(?:because|since|as|the|this|it|due|given|no|yes)\b)[a-z]{3}")
"""``E. coli``: a name cut short, not a label."""


def _spaced_labels(reply: Normal, start: int, end: int, options: Options) -> Declared | None:
    """A line of labels with nothing but blanks between them: ``a c``."""
    chars = options.chars
    found = re.compile(rf"\W*(?P<l>[{chars}](?:[ \t]{{1,3}}[{chars}]){{1,8}})\W*").fullmatch(
        reply.text, start, end
    ) if chars else None  # fmt: skip
    if found is None:
        return None
    written = found["l"].split()
    labels = [options.label_of(char) for char in written]
    if len(set(labels)) in {1, len(options.labels)} or not _same_case(written, options):
        return None
    value = ",".join(label or "" for label in labels)
    return Declared(value, *found.span("l"), CONCLUDE, "bare label", many=True)


def _same_case(written: list[str], options: Options) -> bool:
    return all(char in options.labels for char in written) or all(map(str.isupper, written))


_OWN_LABEL = re.compile(
    r"[\s*_]{0,3}[(\[](?:option |choice |answer |選択肢|"
    r"选项)?(?P<l>\w)[)\]][\s*_]{0,4}(?:[.。!](?:\s|$|(?=[^\x00-\x7f]))|$)"
)


def _words_and_label(reply: Normal, start: int, end: int, options: Options) -> Declared | None:
    """A line that begins with an option and its label in brackets: ``Lisinopril (B)``."""
    begin = start
    while begin < end and reply.low[begin] in " \t*_>\"'":
        begin += 1
    mention = options.text_at(reply.low, begin)
    found = _OWN_LABEL.match(reply.text, mention.end, end) if mention else None
    if mention is None or found is None or options.label_of(found["l"]) != mention.label:
        return None
    return Declared(mention.label, mention.start, found.end("l"), CONCLUDE, "option and label")
