"""The words by which a reply declares its answer, in English and the other languages of exams.

Every pattern is written for lower-case normalised text, is linear (possessive repeats, bounded
gaps) and has a gate: a plain string that must occur before the pattern is tried at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FINAL, MARK, CONCLUDE, WEAK, NAMED = 4, 3, 2, 1, 0
"""How plainly an answer is declared, from "final answer" down to an option's words alone."""


@dataclass(frozen=True)
class Marker:
    """A pattern whose end is where the declared answer begins."""

    gates: tuple[str, ...]
    pattern: re.Pattern[str]
    rank: int
    how: str


_IS = (
    r"(?:is|are|was|=|equals?|would be|should be|must be|will be|has to be|"
    r"(?:turns|comes|works) out (?:to be|to|as)|becomes|remains)(?![a-z])"
)
_COLON = r"(?::|=>?|→|➡|—|–|->|-(?=\s))"
_QUOTES = r"(?:</?(?:b|strong|em|i|p|span|u|code|div)>|[*_`~\"')\]}】」』>$])*+"
_ADVERB = (
    r"(?:,?\s+(?:therefore|thus|hence|then|clearly|definitely|most likely|likely|probably|"
    r"simply|so|indeed),?)?"
)

ANSWER = re.compile(
    rf"(?<![a-z])(?:answer|ans)(?:s|\(s\))?(?:[\s_]+(?:choice|option|letter|key|number|value|"
    rf"no\.?))?"
    rf"(?:\s+(?:to|for|of|in)\s+(?:this|the|your|that|part|question|problem)\b[^.:;\n=?]{{0,60}}?)?"
    rf"(?:\s*\([^()\n]{{0,30}}\))?{_QUOTES}{_ADVERB}\s*+{_QUOTES}(?:{_COLON}|{_IS}){_QUOTES}"
)
"""``Answer:``, ``the answer to this question is``."""

ANSWER_GAP = re.compile(r"answer\b[^.:;\n=?]{0,80}?\sis(?=\s)")
"""``The answer that fits the findings best is``: only counts with a label or number right after."""

ANSWER_HEADER = re.compile(
    r"(?:answers?|解答|正解|答え|答案|回答|정답|답)(?:[*_#:】]|[^\S\n])*+(?=\n)"
)
"""``## Answer`` on a line of its own."""

MARKERS: tuple[Marker, ...] = (
    Marker(("####",), re.compile(r"####(?!#)\s*+(?:(?:final )?answer\s*:?)?"), FINAL, "#### line"),
    Marker(
        ('":', "':", '" :', "' :"),
        re.compile(
            r"[\"'](?:final|correct|best|selected|predicted|chosen|your|my)?[_ -]?"
            r"(?:answer|choice|option|result|prediction|label|value)(?:[_ -]?(?:choice|"
            r"option|letter|label))?"
            r"[\"']\s*:"
        ),
        FINAL,
        "JSON field",
    ),
    Marker(
        ("<",),
        re.compile(
            r"<(?:final[_ -]?)?(?:answer|ans|choice|option|result|final|output|response|solution)>"
            r"|\[(?:final[_ ]?)?answer\](?!\()"
        ),
        FINAL,
        "tag",
    ),
    Marker(("[answer]", "[final"), re.compile(r"\[(?:final[_ ]?)?answer\](?!\()"), FINAL, "tag"),
    Marker(
        (
            "option",
            "choice",
            "selection",
            "one is",
            "statement",
            "solution",
            "response",
            "alternative",
            "pick",
            "conclusion",
            "verdict",
            "result",
            "value",
            "total",
        ),
        re.compile(
            r"(?<![a-z])(?:correct|right|best|final|chosen|selected|true|only|likely|"
            r"appropriate|suitable|"
            r"probable|accurate|my|single|overall|false|incorrect|wrong|plausible)\s+"
            r"(?:(?:answer|option|choice|single)\s+)?"
            rf"(?:option|choice|selection|one|statement|solution|response|alternative|pick|"
            rf"conclusion|verdict|result|value|total)s?"
            rf"(?:\s+(?:here|among [a-z ]{{1,20}}|of [a-z ]{{1,20}}|for this (?:question|"
            rf"case|patient)))?{_QUOTES}{_ADVERB}\s*+{_QUOTES}(?:{_COLON}|{_IS})"
        ),
        MARK,
        "the right choice is",
    ),
    Marker(
        (
            "choose",
            "select",
            "pick",
            "go with",
            "going with",
            "opt for",
            "vote for",
            "settle on",
            "my choice",
            "going for",
            "go for",
        ),
        re.compile(
            r"(?<![a-z])(?:i|we|i'd|i'll|i'm|i am|let's|let us|we'd|we'll|i would|we would|"
            r"must|should)\s+(?:(?:would|will|therefore|thus|must|should|"
            r"have to|can|now|finally|confidently|then|also|definitely|ultimately|"
            r"hence)\s+){0,3}(?:choose|select|pick|go with|going with|going for|go for|opt "
            r"for|"
            r"vote for|settle on)(?:\s+(?:answer|option|choice))?\s*:?"
        ),
        MARK,
        "I choose",
    ),
    Marker(
        (":",),
        re.compile(
            r"(?:^|\n)[\s>#*_✅•+-]{0,12}+(?:(?:your|my|the) )?(?:(?:final|correct|selected|"
            r"chosen|best|right)[ _]?)?"
            r"(?:choice|option|selected|pick|selection|conclusion|verdict|result|solution|"
            r"final|response|output|correct|guess)"
            r"[*_\s]{0,6}+:"
        ),
        MARK,
        "marker line",
    ),
    Marker(
        (
            "respuesta",
            "resposta",
            "risposta",
            "réponse",
            "reponse",
            "antwort",
            "ответ",
            "odpowied",
            "svar",
            "cevap",
            "đáp án",
            "jawaban",
        ),
        re.compile(
            r"(?:respuesta|resposta|risposta|réponse|reponse|antwort|ответ|odpowiedź|svaret|"
            r"svar|cevap|đáp án|jawaban)"
            r"(?:\s+(?:correcta|correta|corretta|correcte|final|finale|finala|richtige|"
            r"правильный|đúng|benar))?(?:\s+(?:correcta|final|finale))?"
            rf"{_QUOTES}\s*+(?::|—|-(?=\s)|es(?![a-z])|est(?![a-z])|é(?![a-z])|è(?![a-z])|"
            rf"ist(?![a-z])|lautet|là(?![a-z])|adalah)"
        ),
        MARK,
        "marker line",
    ),
    Marker(
        ("答", "正解", "解"),
        re.compile(
            r"(?:最終)?(?:的な)?(?:正解|正答|解答|回答|答え?|解)(?:の)?(?:選択肢|記号|番号|数値|値)?(?:[)】」』*_\]]{0,4}+)"
            r"\s*(?:\([^()\n]{0,20}\))?\s*(?:は、?|:|=|→|としては|として|⇒|が(?=[a-h\d])|"
            r"[ \t]{1,3}(?=[(「]?[a-h\d](?![a-z])))"
        ),
        MARK,
        "正解は",
    ),
    Marker(
        ("【",),
        re.compile(r"【(?:最終)?(?:正解|正答|解答|回答|答え?|答案|正确答案|최종 ?답|정답|답)】"),
        MARK,
        "【答】",
    ),
    Marker(
        ("のは", "するもの", "組合せ", "組み合わせ"),
        re.compile(
            r"(?:正し|誤っ|誤り|適切|適す|適し|適当|妥当|不適|該当|当てはま|あてはま|ふさわし|最も|最適|間違|考えられ|選ぶべ|選択すべ|求め|必要な|"
            r"残)[^。\n、,]{0,24}?(?:のは|ものは|選択肢は|(?:組合せ|組み合わせ)は)"
        ),
        MARK,
        "…のは",
    ),
    Marker(
        ("答案", "选项", "選項", "结果", "結果"),
        re.compile(
            r"(?:正确|正確|最终|最終|最佳)?的?(?:答案|选项|選項)(?:就?应?该?(?:是|为|為|选)|应为|應為|是|为|為|:|=|→|选|選|】)"
        ),
        MARK,
        "答案是",
    ),
    Marker(
        ("选", "選"),
        re.compile(
            r"(?<![不别可单多必一备筛挑未勿])(?:应该?|應該?|故|所以|因此|我|综上|本题|可|只能|就|正确的?是)?\s*(?:选择|選擇|选|"
            r"選)(?![项項取手拔擇择修出中用肢ばびぶ択定])\s*(?:项|答案|选项)?\s*:?"
        ),
        MARK,
        "选",
    ),
    Marker(
        ("답",),
        re.compile(
            r"(?:최종\s*)?(?:정답|해답|답안|답변|답)(?:[)】」』*_\]]{0,4}+)\s*(?:은|는|이|:|=|→)"
        ),
        MARK,
        "정답은",
    ),
)
