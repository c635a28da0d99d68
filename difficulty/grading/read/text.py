"""A short free-text answer, compared without case, punctuation, articles and mark-up."""

from __future__ import annotations

import re

from difficulty.grading.normalize import Normal, plain
from difficulty.grading.read.declare import Site, sites_of
from difficulty.grading.read.settle import Declared, settle
from difficulty.grading.words.denials import NOT_VALUE
from difficulty.grading.words.eastern import without_copula
from difficulty.grading.words.joints import THEREFORE
from difficulty.grading.words.markers import BEFORE_LABEL, CONCLUDE
from difficulty.grading.words.phrases import REFUSAL, TAKEN_BACK

_CLAUSE_END = re.compile(
    r"\.(?=\s|$)|[。;]|(?:である|です|でしょう|だと考えられ|となります|입니다|"
    r"이다)(?=\s*(?:[。.!\n]|$))|"
    r"\s(?:because|since|which|who|as it)\b|\s\(|,\s(?:because|since|which|"
    r"who|as)\b"
)
_MARKUP = re.compile(r"\\(?:text|textbf|mathrm|mathbf|textit)\s*|[*_`\"'“”‘’「」『』$\\{}\[\]<>()]")


def read_text(reply: Normal) -> Declared | None:
    """The declared words; ``many`` marks a hedge; null if none are declared."""
    plain_sites = [item for site in sites_of(reply) if (item := _at_site(reply, site)) is not None]
    return settle(reply, plain_sites, lambda start: _whole(reply, start), last_wins=False)


def text_key(text: str) -> str:
    """The form under which two short texts are the same answer."""
    text = _MARKUP.sub(" ", plain(text).lower())
    text = " ".join(text.split()).strip(" .。,、:;!?-–—>#|=")
    return re.sub(r"^(?:the|an?)\s+(?=\S)", "", text)


def _at_site(reply: Normal, site: Site) -> Declared | None:
    low = reply.low
    if NOT_VALUE.match(low, site.value) or site.how == BEFORE_LABEL:
        return None
    end = site.end
    if not site.closed:
        clause = _CLAUSE_END.search(low, site.value, site.end)
        end = clause.start() if clause and text_key(low[site.value : clause.start()]) else end
    key = text_key(low[site.value : end])
    if not key or (site.direct and len(key.split()) > 3):
        return None
    return Declared(key, site.value, end, site.rank, site.how, closed=site.closed)


_IT_IS = re.compile(
    r"(?:it|this|that|(?:the|its|their|this|that) [^.,;:]{1,60}?)(?:'s| is| was| are) (?!not\b)"
    r"(?:called |known as |named )?"
)


_SO = re.compile(rf"\W*(?:{THEREFORE.west}|{THEREFORE.east})\s?[,、:]\s*(?=\S)")
_WA = re.compile(r"[^。、\n]{1,40}は([^。、\n]{1,60}?)(?:です|である|でした)。?")


def _whole(reply: Normal, start: int) -> list[Declared]:
    """A reply that is one short line, and nothing else."""
    body = reply.low[start:].strip()
    if not body or "\n" in body or len(body) > 200 or body.endswith("?"):
        return []
    if REFUSAL.search(body) or TAKEN_BACK.search(body):
        return []
    begin = reply.low.find(body, start)
    so = _SO.match(body)
    if so:
        body, begin = without_copula(body[so.end() :]), begin + so.end()
    lead = _IT_IS.match(body)
    if lead:
        body = re.split(r"[,;.](?:\s|$)|\s\(", body[lead.end() :])[0]
        begin += lead.end()
    else:
        eastern = _WA.fullmatch(body)
        if eastern:
            body, begin = eastern[1], begin + eastern.start(1)
    return [Declared(text_key(body), begin, begin + len(body), CONCLUDE, "reply of one line")]
