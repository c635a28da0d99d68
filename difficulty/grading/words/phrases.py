"""Phrases by which a reply takes back, refuses, supposes or asks, each behind a cheap gate.

A gate is a plain string that occurs in every match. Looking for a few plain strings is many times
faster than trying a pattern at every character, and most replies hold none of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


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
        r"\bwait\b(?=\s*[,.!…—–:;-]|\s+(?:no|a|that|i|let|actually|maybe)\b)|\bactually\b|"
        r"\bcorrection\b|\b(?:on|upon|after) (?:second|further|closer|more|re|a second)\w*|"
        r"\bon reflection|\bi (?:revise|misread|miscounted|forgot|overlooked|missed|made|"
        r"miscalculated|confused|need to (?:correct|revise|fix))\b|\breconsider\w*|"
        r"\bre-?(?:check|evaluat|examin|think|thought|read|calculat|visit|comput)\w*|"
        r"\bcorrecting\b|\blet me correct|\bmistake\b|\berror\b|\bno,|\bhold on|\bhmm+|\bsorry\b|"
        r"\bapolog\w+|\boops|\bmy bad|\bchang(?:e|ed|ing) my|\brevis(?:e|ed|ing|ion)\b|"
        r"\bupdat(?:e|ed|ing)\b|\bdouble[- ]check\w*|\bthat (?:cannot|can't) be|\bnot quite\b|"
        r"\bthat(?:'s| is| was) (?:wrong|incorrect|not (?:right|correct))|"
        r"\bthat (?:isn't|wasn't) (?:right|correct)|\bi was wrong|\bwas lost\b|"
        r"\bwas (?:wrong|incorrect)|\bno longer\b|\bscratch that|\bnot \S{1,12} but|"
        r"訂正|(?:\n|。|…|\.\.\.)\s*では?なく|いや|待っ|間違|誤りで|見直|やり直|考え直|やはり|"
        r"修正|計算し直|更正|等等|等一下|不对|"
        r"不對|纠正|重新|改为|改為|改选|아니[,.]|정정|다시|수정|잠깐|틀렸"
    ),
    (
        "wait", "actually", "correct", "on ", "upon", "after", "i revise", "i m", "forgot",
        "confused",
        "re", "mistake", "error", "no,", "hmm", "sorry", "apolog", "oops", "my bad", "chang",
        "updat",
        "double", "that can", "not ", "n't right", "wrong", "lost", "scratch", "overlooked",
        "hold on",
        "i was", "i need", "no longer", "なく", "重新",
        "訂正", "いや", "待っ", "間違", "誤り", "直", "やはり", "修正", "更正", "等", "不对",
        "不對", "纠正",
        "改", "아니", "정정", "다시", "수정", "잠깐", "틀렸",
    ),
)  # fmt: skip
"""What comes before it may have been given up, if another answer follows."""

TAKEN_BACK = Phrases(
    re.compile(
        r"\bscratch that|\b(?:just|only) (?:kidding|joking)\b|"
        r"\bi take (?:that|it|this) back|\b(?:ignore|disregard|forget) "
        r"(?:that|the above|this answer|my (?:previous|earlier|last|answer))|"
        r"\bi (?:hereby )?(?:retract|withdraw)|\bmy (?:\w+ )?answer (?:is|was) (?:wrong|incorrect)|"
        r"撤回|取り消|取消し|作废|作廢|취소"
    ),
    (
        "scratch that", "kidding", "joking", "back", "ignore ", "disregard ", "forget ",
        "retract", "withdraw", "my ",
        "撤回", "取り消", "取消し", "作废", "作廢", "취소",
    ),
)  # fmt: skip
"""What comes before it is given up, whether or not another answer follows."""

REFUSAL = Phrases(
    re.compile(
        r"\b(?:cannot|can't|can not|could not|couldn't|unable to|not able to|won't|impossible to|"
        r"not possible to|no way to|refuse to|decline to|hard to|difficult to)(?: \w+){0,2}? "
        r"(?:determine|decide|say|answer|tell|choose|select|identify|provide|pick|know|give|"
        r"conclude|commit|assist|help|find|calculate|compute|solve|"
        r"be (?:determined|found|computed|calculated|solved|answered|known))|"
        r"\b(?:don't|do not|didn't) (?:really |actually )?know|\bnot (?:sure|certain)\b|"
        r"\bunsure\b|\bno idea\b|"
        r"\bdepends on\b|\bconsult a\b|\bnot enough (?:information|data)|\binsufficient\b|"
        r"\bno answer\b|"
        r"(?:わかり|分かり|判断でき|答えられ|回答でき|お答えでき|決められ|求められ|"
        r"特定でき)(?:ませ|な)|"
        r"わからな|分からな|判断できな|无法|無法|不知道|不确定|모르|알 수 없|판단할 수 없"
    ),
    (
        "cannot", "can't", "not ", "couldn't", "unable", "won't", "impossible", "no way", "refuse",
        "decline", "hard to", "difficult to", "don't", "didn't", "unsure", "no idea", "depends on",
        "consult", "insufficient", "no answer", "ませ", "な", "无法", "無法", "不", "모르", "없",
    ),
)  # fmt: skip
"""The reply says that it gives no answer."""

NOT_STATED = Phrases(
    re.compile(
        r"(?:\b(?:false|untrue|not true|not the case|wrong|incorrect) that|\bdoubt\b|\bdisagree|"
        r"\b(?:suppose|what if|unless|pretend)\b|\bis it (?:true|correct|right) that|"
        r"\b(?:no one|nobody) (?:\w+ ){0,2}(?:say|think|claim)|\be\.g\.?|\bfor (?:example|"
        r"instance)\b|"
        r"\bexample of\b|\b(?:friend|student|classmate|colleague) (?:said|says|wrote|writes|"
        r"claims)|"
        r"\b(?:mistake|error|wrong|incorrect) to (?:say|answer|think|claim|assume|conclude)\b|"
        r"\b(?:bad|wrong|incorrect|poor) (?:answer|result|value|total)\b|\bguess wrongly\b|"
        r"\byou (?:may|can|could|should|would) (?:write|put|type|enter)|"
        r"\bfollowing is (?:incorrect|wrong|false))[^.;!?\n]{0,100}$|"
        r"^\W*(?:wrong|incorrect|not)\s*:?[^.;!?\n]{0,40}$|(?:誤答|形式)の?例[^。\n]{0,40}$|"
        r"もし[^。\n]{0,40}$"
    ),
    (
        " that", "doubt", "disagree", "suppose", "what if", "unless", "pretend", "nobody", "no one",
        "e.g", "example", "instance", "said", "says", "wrote", "writes", "claims", " to ", "bad ",
        "wrong", "incorrect", "poor ", "you ", "following", "not", "例", "もし",
    ),
)  # fmt: skip
"""At the end of the words before a number that is not marked: it is denied, supposed, another's."""

UNASSERTED = Phrases(
    re.compile(
        r"(?:\b(?:you|one|people|students?|many|some|someone|they|candidates|beginners) "
        r"(?:\w+ ){0,2}?(?:might|may|could|would|can|will|often|mistakenly) (?:\w+ )?"
        r"(?:tempted|think|say|believe|guess|expect|argue|assume|choose|answer)|"
        r"\btempt(?:ed|ing) to|\byou (?:may|can|could|should|would) (?:write|put|type|enter)|"
        r"\b(?:suppos(?:e|ing)|assum(?:e|ing)|imagine|pretend|what if|unless)\b|\bdisagree|"
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
        r"(?:もし|仮に)[^。\n]{0,40}$|如果[^。\n]{0,40}$|만약[^.\n]{0,40}$"
    ),
    (
        "tempt", "you ", "one ", "people ", "student", "many ", "some", "they ", "candidates ",
        "beginners ", "thought", "guessed", "believed", "picked", "mistake", "error", "trap",
        "misconception", " that", "nobody", "not ", "n't", "cannot", "unsure", "doubt", "whether",
        "unless", "wrong ", "incorrect ", "distractor ", "naive ", "worst ", "no ", "previous ",
        "the other ",
        "my ", "user's ", "もし", "仮に", "如果", "만약", "suppos", "assum", "imagine", "pretend",
        "what if", "disagree", "said", "say", "wrote", "write", "claim", "think", "answered",
        "chose",
        "believe", "bad ", "wrong", "incorrect", "false", "poor ", "e.g", "for example",
        "for instance", "example", "following", "is it ", "not", "no", "の例", "例",
    ),
)  # fmt: skip
"""At the end of the words before a marker: the answer is supposed, past or someone else's."""
