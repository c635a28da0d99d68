"""Phrases by which a reply takes back, refuses, supposes or asks, each behind a cheap gate.

A gate is a plain string that occurs in every match. Looking for a few plain strings is many times
faster than trying a pattern at every character, and most replies hold none of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from difficulty.grading.words.doubts import (
    ASSUME,
    GIVE_UP,
    REFUSE,
    SUPPOSE,
    SUPPOSED,
    TAKE_BACK,
    TO_ANSWER,
    UNABLE,
)


@dataclass(frozen=True)
class Phrases:
    """A pattern for lower-case normalised text, tried only where a gate occurs."""

    pattern: re.Pattern[str]
    gates: tuple[str, ...]

    def search(self, low: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """The first match in ``low[start:end]``."""
        stop = len(low) if end is None else end
        part = low[start:stop] if start or stop < len(low) else low
        if not any(map(part.__contains__, self.gates)):
            return None
        return self.pattern.search(low, start, stop)


SECOND_THOUGHTS = Phrases(
    re.compile(
        rf"{TAKE_BACK.anywhere}|\bwait\b(?=\s*[,.!…—–:;-]|\s+(?:no|a|that|i|let|actually|maybe)\b)|"
        r"\b(?:on|upon|after) (?:second|further|closer|more|re|a second)\w*|"
        r"\bi (?:revise|forgot|overlooked|missed|made|confused|need to (?:correct|revise|fix))\b|"
        r"\breconsider\w*|"
        r"\bre-?(?:check|evaluat|examin|think|thought|read|calculat|visit|comput)\w*|"
        r"\bcorrecting\b|\bmistake\b|\berror\b|\bno,|\bhmm+|"
        r"\bapolog\w+|\bchang(?:e|ed|ing) my|\brevis(?:e|ed|ing|ion)\b|"
        r"\bupdat(?:e|ed|ing)\b|\bdouble[- ]check\w*|\bthat (?:cannot|can't) be|\bnot quite\b|"
        r"\bthat(?:'s| is| was) (?:wrong|incorrect|not (?:right|correct))|"
        r"\bthat (?:isn't|wasn't) (?:right|correct)|\bwas lost\b|"
        r"\bwas (?:wrong|incorrect)|\bno longer\b|\bnot \S{1,12} but|"
        r"(?:\n|。|…|\.\.\.)\s*では?なく|아니[,.]"
    ),
    (
        *TAKE_BACK.gates, "wait", "correct", "on ", "upon", "after", "i m", "forgot", "overlooked",
        "confused", "re", "mistake", "error", "no,", "hmm", "apolog", "chang", "updat", "double",
        "that can", "not ", "n't right", "wrong", "lost", "i need", "no longer", "なく", "아니",
    ),
)  # fmt: skip
"""What comes before it may have been given up, if another answer follows."""

TAKEN_BACK = Phrases(
    re.compile(
        rf"{GIVE_UP.anywhere}|\b(?:ignore|disregard|forget) my (?:previous|earlier|last|answer)|"
        r"\bmy (?:\w+ )?answer (?:is|was) (?:wrong|incorrect)"
    ),
    (*GIVE_UP.gates, "my "),
)
"""What comes before it is given up, whether or not another answer follows."""

REFUSAL = Phrases(
    re.compile(rf"\b(?:{UNABLE.west})(?: \w+){{0,2}}? (?:{TO_ANSWER.west})|{REFUSE.anywhere}"),
    (*UNABLE.gates, *REFUSE.gates),
)
"""The reply says that it gives no answer."""

NOT_STATED = Phrases(
    re.compile(
        r"(?:\b(?:false|untrue|not true|not the case|wrong|incorrect) that|\bdoubt\b|\bdisagree|"
        rf"\b(?:{SUPPOSE.west})\b|\bis it (?:true|correct|right) that|"
        r"\b(?:no one|nobody) (?:\w+ ){0,2}(?:say|think|claim)|\be\.g\.?|\bfor (?:example|"
        r"instance)\b|"
        r"\bexample of\b|\b(?:friend|student|classmate|colleague) (?:said|says|wrote|writes|"
        r"claims)|"
        r"\b(?:mistake|error|wrong|incorrect) to (?:say|answer|think|claim|assume|conclude)\b|"
        r"\b(?:bad|wrong|incorrect|poor) (?:answer|result|value|total)\b|\bguess wrongly\b|"
        r"\byou (?:may|can|could|should|would) (?:write|put|type|enter)|"
        r"\bfollowing is (?:incorrect|wrong|false))[^.;!?\n]{0,100}$|"
        r"^\W*(?:wrong|incorrect|not)\s*:?[^.;!?\n]{0,40}$|(?:誤答|形式)の?例[^。\n]{0,40}$|"
        rf"(?:{SUPPOSE.east})[,、]?(?:(?!{SUPPOSED.east})[^。\n,、]){{0,40}}$|\b(?:{ASSUME.west})\b[^.,;!?\n]{{0,100}}$"
    ),
    (
        *(SUPPOSE + ASSUME).gates, " that", "doubt", "disagree", "nobody", "no one",
        "e.g", "example", "instance", "said", "says", "wrote", "writes", "claims", " to ", "bad ",
        "wrong", "incorrect", "poor ", "you ", "following", "not", "例",
    ),
)  # fmt: skip
"""At the end of the words before a number that is not marked: it is denied, supposed, another's."""

UNASSERTED = Phrases(
    re.compile(
        r"(?:\b(?:you|one|people|students?|many|some|someone|they|candidates|beginners) "
        r"(?:\w+ ){0,2}?(?:might|may|could|would|can|will|often|mistakenly) (?:\w+ )?"
        r"(?:tempted|think|say|believe|guess|expect|argue|assume|choose|answer)|"
        r"\btempt(?:ed|ing) to|\byou (?:may|can|could|should|would) (?:write|put|type|enter)|"
        rf"\b(?:{(SUPPOSE + ASSUME).west})\b|\bdisagree|"
        r"\b(?:friend|student|colleague|classmate|teacher|neighbou?r|user|model|textbook|author|"
        r"someone|somebody|everyone|he|she) (?:\w+ )?(?:said|says?|wrote|writes?|claims?|claimed|"
        r"thinks?|thought|answered|chose|picked|believes?)\b|"
        r"\b(?:bad|wrong|incorrect|false|poor|wrongly)\b (?:answer|choice|option|i|to)\b|"
        r"\be\.g\.?|\bfor (?:example|instance)\b|\bexample\b|"
        r"\b(?:following|next line|statement) is (?:incorrect|wrong|false|not \w+)\s*:|"
        r"\bis it (?:true|correct|right) that|"
        r"\b(?:i|we) (?:\w+ )?(?:thought|guessed|believed|picked)|"
        r"\b(?:common|frequent|typical|usual|classic) (?:mistake|error|trap|misconception)|"
        r"\b(?:false|untrue|not true|not the case|wrong|incorrect|unlikely) that|"
        r"\b(?:no one|nobody) (?:\w+ ){0,2}(?:say|think|claim)|"
        r"\b(?:don't|do not|doesn't|didn't|cannot|can't) (?:\w+ )?(?:think|believe|say|know|agree)|"
        r"\bnot (?:sure|certain|clear|convinced)\b|\bunsure\b|"
        r"(?<!no )(?<!without )(?<!without a )\bdoubt(?:ful)?\b)[^.,;!?\n]{0,100}$|"
        r"^\W*(?:wrong|incorrect|false|not|no)\W+(?:the |my )?(?:correct |right |best |final )?$|"
        r"\b(?:mistake|error|wrong|incorrect) to (?:say|choose|pick|answer|think|claim|assume|"
        r"conclude|select)\b[^.;!?\n]{0,100}$|"
        r"\b(?:whether|unless) (?:the |that |this )?(?:correct |right |final )?$|"
        r"\b(?:wrong|incorrect|trap|tempting|distractor|worst|bad|poor|naive|no|not an?|not the|"
        r"previous|"
        r"the other|my (?:previous|earlier|first|initial|original)|student's|user's) "
        r"(?:correct |right |final |single )?$|"
        r"(?:誤答|誤り|間違い|形式|書式|フォーマット)の?例[^。\n]{0,40}$|^\W*(?:wrong|"
        r"incorrect)\s*:[^.;!?\n]{0,100}$|"
        rf"(?:{SUPPOSE.east})[^。\n]{{0,40}}$"
    ),
    (
        "tempt", "you ", "one ", "people ", "student", "many ", "some", "they ", "candidates ",
        "beginners ", "thought", "guessed", "believed", "picked", "mistake", "error", "trap",
        "misconception", " that", "nobody", "not ", "n't", "cannot", "unsure", "doubt", "whether",
        "wrong ", "incorrect ", "distractor ", "naive ", "worst ", "no ", "previous ",
        "the other ",
        "my ", "user's ", *(SUPPOSE + ASSUME).gates, "disagree", "said", "say", "wrote",
        "write", "claim", "think", "answered", "chose",
        "believe", "bad ", "wrong", "incorrect", "false", "poor ", "e.g", "for example",
        "for instance", "example", "following", "is it ", "not", "no", "の例", "例",
    ),
)  # fmt: skip
"""At the end of the words before a marker: the answer is supposed, past or someone else's."""
