"""The words by which a reply declares its answer in Japanese, Chinese and Korean."""

from __future__ import annotations

import re

from difficulty.grading.words.anchors import Anchored
from difficulty.grading.words.answers import ANSWER, FINAL_WORD
from difficulty.grading.words.joints import THEREFORE
from difficulty.grading.words.markers import BEFORE_LABEL, MARK, ODD_ONE, Marker
from difficulty.grading.words.word_lists import alternation, split

_TO_WHAT = r"[^。\n、,]{0,24}?(?:のは|ものは|選択肢は|(?:組合せ|組み合わせ)は)"
_TO_LABEL = r"[^。\n、,]{0,24}?[は:](?=[\s*(「『]{0,4}[a-z0-9①-⑨ア-オ](?![a-z0-9]))"
_JA, _ZH, _KO = (
    alternation(split(words)) for words in (ANSWER.japanese, ANSWER.chinese, ANSWER.korean)
)
_SO = alternation(split(THEREFORE.chinese))
_ANSWERS = rf"(?:(?:{FINAL_WORD.east})\s?)?(?:正确)?(?:{ANSWER.east})"
_BRACKETS = "【〔《●■◆★◎"
_ASCII_BRACKETS = tuple(
    f"{mark}{word}"
    for mark in "([<〈"
    for word in {word[0] for word in (*ANSWER.eastern, *FINAL_WORD.eastern, "正确")}
)
_FITTING = (
    "正し", "適切", "適す", "適し", "適当", "妥当", "該当", "当てはま", "あてはま", "ふさわし",
    "最も", "最適", "考えられ", "選ぶべ", "選択すべ", "求め", "必要な", "残", "特徴",
)  # fmt: skip
_FITTING_LABEL = (
    "正し", "適切", "適し", "適当", "妥当", "該当", "当てはま", "あてはま", "ふさわし", "最も",
    "最適", "選ぶべ", "選択すべ", "残る", "特徴",
)  # fmt: skip
_UNFITTING = (
    "誤", "不適", "間違", "正しくな", "適切でな", "適切ではな", "該当しな", "当てはまらな",
    "考えにく",
)  # fmt: skip
_ZH_FITTING = (
    "正确", "错误", "不对", "符合", "属于", "恰当", "合适", "可能", "适宜", "首选",
)  # fmt: skip
_KO_FITTING = (
    "옳은", "옳지 않은", "틀린", "맞는", "아닌", "적절한", "알맞은", "해당하는", "가능성이 높은",
    "잘못된",
)  # fmt: skip


def _asserted(words: tuple[str, ...]) -> str:
    """An alternation of words, each not denied by what follows at once."""
    denied = {
        "正し": "(?!くな)", "適切": "(?!では?な)", "該当": "(?!しな)", "当てはま": "(?!らな)",
        "あてはま": "(?!らな)",
    }  # fmt: skip
    return "|".join(word + denied.get(word, "") for word in words)


EASTERN: tuple[Marker, ...] = (
    Marker(
        Anchored(
            re.compile(
                r"(?<![誤不非])(?<!不正)(?<!誤解)(?<!誤回)(?:最終)?(?:的な)?"
                rf"(?:{_JA}|解|(?:訂正|修正)後?)(?:の)?"
                r"(?:選択肢|記号|番号|数値|値|肢|例)?(?:[)】」』*_\]]{0,4}+)"
                r"\s*(?:\([^()\n]{0,20}\))?\s*(?:は、?|:|=|→|としては|として|⇒|…|‥|\.{2,3}|"
                r"が(?=[a-h\d])|[ \t]{1,3}(?=[(「]?[a-h\d](?![a-z])))"
                r"(?:\s?(?:ズバリ|ずばり|もちろん|当然|やはり|おそらく|恐らく|たぶん|多分|きっと|"
                r"間違いなく)、?)?"
            ),
            (*split(ANSWER.japanese), "解", "訂正", "修正"),
            back=5,
        ),
        MARK,
        "正解は",
    ),
    Marker(
        Anchored(re.compile(rf"[{_BRACKETS}]{_ANSWERS}[】〕》●■◆★◎)\]>〉]"), tuple(_BRACKETS)),
        MARK,
        "【答】",
    ),
    Marker(
        Anchored(
            re.compile(rf"(?:^|\n)[ \t]{{0,8}}[(\[<〈]{_ANSWERS}[】〕》●■◆★◎)\]>〉]"),
            _ASCII_BRACKETS,
            back=9,
        ),
        MARK,
        "【答】",
    ),
    Marker(
        Anchored(
            re.compile(
                r"(?:誤っ|誤り|不適|間違(?![えい]やす)|正しくな|適切では?な|該当しな|当てはまらな|"
                r"考えにく)"
                rf"(?:{_TO_WHAT}|{_TO_LABEL})"
            ),
            _UNFITTING,
        ),
        MARK,
        ODD_ONE,
    ),
    Marker(Anchored(re.compile(rf"(?:{_asserted(_FITTING)}){_TO_WHAT}"), _FITTING), MARK, "…のは"),
    Marker(
        Anchored(re.compile(rf"(?:{_asserted(_FITTING_LABEL)}){_TO_LABEL}"), _FITTING_LABEL),
        MARK,
        BEFORE_LABEL,
    ),
    Marker(
        Anchored(
            re.compile(
                r"(?<!错误)(?<!不正确)(?<!错误的)(?:正确|正確|最终|最終|最佳)?的?"
                rf"(?:{_ZH}|选项|選項)"
                r"(?:就?应?该?(?:可能|大概)?(?:是|为|為|选)|应为|應為|是|为|為|:|=|→|选|選|】|"
                r"(?<=答案)(?=[a-h](?:[。.,\s(]|$)))"
            ),
            (*split(ANSWER.chinese), "选项", "選項"),
            back=3,
        ),
        MARK,
        "答案是",
    ),
    Marker(
        Anchored(re.compile(r"(?:结论|結論)[*_」】]{0,4}\s?(?:是|为|は)?\s?:"), ("结论", "結論")),
        MARK,
        "结论",
    ),
    Marker(
        Anchored(
            re.compile(
                rf"(?:{'|'.join(_ZH_FITTING)})[^。\n,、]{{0,12}}?的(?:一项|选项)?(?:是|为|有)"
                r"(?=[\s*(]{0,4}[a-h](?![a-z]))"
            ),
            _ZH_FITTING,
        ),
        MARK,
        "…的是",
    ),
    Marker(
        Anchored(
            re.compile(rf"(?:{'|'.join(_KO_FITTING)})[^.\n,]{{0,12}}?(?:것은|보기는)"), _KO_FITTING
        ),
        MARK,
        "…것은",
    ),
    Marker(
        Anchored(
            re.compile(
                r"(?<![不别可单多必一备筛挑未勿首误错人])(?<!不[能要会得宜应该用必予是])(?<!无法)(?<!没有)"
                rf"(?<!不应该)(?:应该?|應該?|我|本题|可|只能|就|正确的?是|{_SO})?\s{{0,2}}"
                r"(?:选择|選擇|选|選)(?![项項取手拔擇择修出中用肢ばびぶべ択定])\s*"
                r"(?:项|答案|选项)?\s*:?"
            ),
            ("选", "選"),
            back=2 + max(map(len, split(THEREFORE.chinese))),
        ),
        MARK,
        "选",
    ),
    Marker(
        Anchored(
            re.compile(
                rf"(?:(?:{alternation(split(FINAL_WORD.korean))})\s{{0,2}})?(?:{_KO})"
                r"(?:[)】」』*_\]]{0,4}+)\s*(?:은|는|이|:|=|→)"
            ),
            split(ANSWER.korean),
            back=5,
        ),
        MARK,
        "정답은",
    ),
)
"""Tried only on a reply with a character beyond ASCII."""
