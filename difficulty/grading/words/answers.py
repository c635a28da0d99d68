"""The words for an answer, by which a reply declares one."""

from __future__ import annotations

from difficulty.grading.words.word_lists import Words, alternation, split

ANSWER = Words(
    english="answer, ans",
    other="respuesta, resposta, risposta, réponse, reponse, antwort, ответ, odpowiedź, svaret, "
    "svar, cevap, đáp án, jawaban",
    japanese="正解, 正答, 解答, 回答, 答え, 答",
    chinese="答案",
    korean="정답, 해답, 답안, 답변, 답",
)
"""Before a colon or a verb, and then the answer."""

IS = Words(
    other="es, est, é, è, ist, lautet, là, adalah",
    japanese="は",
    chinese="是, 为, 為",
    korean="은, 는",
)
"""Between such a word and the answer."""

FINAL_WORD = Words(
    english="final, ultimate, definitive, concluding, overall",
    japanese="最終",
    chinese="最终",
    korean="최종",
)
"""Before such a word: no later answer is to come."""

ANSWER_IS = "|".join(
    rf"(?:{alternation(split(noun))})(?:{alternation(split(verb))})"
    for noun, verb in (
        (ANSWER.japanese, IS.japanese), (ANSWER.chinese, IS.chinese), (ANSWER.korean, IS.korean),
    )
)  # fmt: skip
"""``正解は``, ``答案是``, ``정답은``."""
