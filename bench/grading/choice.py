"""Multiple-choice replies of 2 kB that one core grades a second, by language and shape."""

from __future__ import annotations

import random
import time

from bench.grading.replies import Spread, answer, question
from difficulty.grading import grade
from difficulty.schema import Choice, Completion, Question

BYTES = 2_000
ROUNDS = 5
PER_ROUND = 100

SENTENCES = {
    "English": (
        "The history points to a slow process rather than an acute one. ",
        "Option A explains the fever but not the rash. ",
        "The laboratory values are within the normal range, apart from the calcium. ",
        "If the answer were B, one would expect a different age of onset. ",
        "It is worth going through each finding in turn before settling on anything.\n",
    ),
    "Japanese": (
        "経過からは急性というよりも緩徐な病態が考えられる。",
        "選択肢aは発熱を説明できるが皮疹は説明できない。",
        "検査値はカルシウムを除いて基準範囲内である。",
        "bが正しいとすると発症年齢が合わない。",
        "結論を出す前に所見を一つずつ検討する。\n",
    ),
    "Chinese": (
        "病史提示这是一个缓慢的过程，而不是急性的。",
        "选项A可以解释发热，但不能解释皮疹。",
        "除血钙以外，化验结果都在正常范围内。",
        "如果选B，发病年龄就不符合。",
        "在下结论之前，应当逐一分析各项表现。\n",
    ),
    "Korean": (
        "병력을 보면 급성이라기보다 서서히 진행하는 과정으로 보인다. ",
        "보기 A는 발열을 설명하지만 발진은 설명하지 못한다. ",
        "칼슘을 제외하면 검사 수치는 모두 정상 범위이다. ",
        "B라면 발병 연령이 맞지 않는다. ",
        "결론을 내리기 전에 소견을 하나씩 살펴본다.\n",
    ),
}
ENDINGS = {
    "answer line": {
        "English": "\n\nAnswer: {}", "Japanese": "\n\n答え：{}", "Chinese": "\n\n答案：{}",
        "Korean": "\n\n정답: {}",
    },
    "conclusion": {
        "English": "\n\nTherefore, {} is correct.", "Japanese": "\n\nよって、{}が正しい。",
        "Chinese": "\n\n因此，{}是正确的。", "Korean": "\n\n따라서 {}가 정답이다.",
    },
    "box": dict.fromkeys(SENTENCES, "\n\n$\\boxed{{{}}}$"),
    "JSON": dict.fromkeys(SENTENCES, '\n\n{{"answer": "{}"}}'),
    "no answer": dict.fromkeys(SENTENCES, ""),
}  # fmt: skip
OPTIONS = tuple(Choice(label=label, text=f"finding number {label}") for label in "ABCDE")


def reply(chooser: random.Random, language: str, shape: str) -> str:
    """About 2,000 bytes of reasoning, then an answer."""
    text = ""
    while len(text.encode()) < BYTES:
        text += chooser.choice(SENTENCES[language])
    return text + ENDINGS[shape][language].format(chooser.choice("ABCDE"))


def mixed(number: int) -> list[tuple[Question, Completion]]:
    """That many replies, all languages and shapes in turn."""
    chooser = random.Random(0)
    kinds = [(language, shape) for language in SENTENCES for shape in ENDINGS]
    asked = question("choice", "C", choices=OPTIONS)
    return [
        (asked, answer(reply(chooser, *kinds[index % len(kinds)]), sample_index=index))
        for index in range(number)
    ]


def main() -> None:
    """Grade distinct replies one after the other on one core, the kinds in turn in every round."""
    chooser = random.Random(0)
    asked = question("choice", "C", choices=OPTIONS)
    kinds = [(language, shape) for language in SENTENCES for shape in ENDINGS]
    rates: dict[tuple[str, str], Spread] = {kind: Spread() for kind in kinds}
    whole = Spread()
    grade(asked, answer("Answer: C"))
    for _ in range(ROUNDS):
        total = 0.0
        for kind in kinds:
            replies = [answer(reply(chooser, *kind)) for _ in range(PER_ROUND)]
            start = time.process_time()
            for each in replies:
                grade(asked, each)
            seconds = time.process_time() - start
            total += seconds
            rates[kind].add(PER_ROUND / seconds)
        whole.add(PER_ROUND * len(kinds) / total)
    print(f"choice: {whole:,.0f} replies of 2 kB a second and core, all kinds mixed")
    print(f"        median of {ROUNDS} rounds (lowest to highest); by language and shape:")
    for (language, shape), rate in rates.items():
        print(f"        {language:9}{shape:15}{rate:,.0f}")


if __name__ == "__main__":
    main()
