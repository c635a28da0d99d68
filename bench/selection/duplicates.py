"""Time and memory of finding near duplicates: ``python -m bench.selection.duplicates [N]``.

Fifty words and four options a question; two in a hundred are near duplicates of another.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from difficulty import store
from difficulty.selection.duplicates.signatures import SIMILAR, similarity
from difficulty.selection.duplicates.staged import Item, candidates, stage
from difficulty.selection.duplicates.texts import comparable


def main() -> None:
    """Stage the texts, read the candidates, compare them; print what it took."""
    questions = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        run = store.RunFolder(Path(folder))
        path = run.root / "texts.parquet"
        start, before = time.monotonic(), os.times()
        stage(path, _items(questions))
        pairs = [*candidates(store.connect(run), path)]
        found = sum(similarity(pair.text, pair.other_text) >= SIMILAR for pair in pairs)
        seconds, after = time.monotonic() - start, os.times()
    processor = after.user + after.system - before.user - before.system
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"near duplicates: {found:,} pairs ({len(pairs):,} candidates) in {questions:,} questions, "
        f"{seconds:.0f} s, {processor:.0f} s of processor time, peak memory {peak:.1f} GiB"
    )
    assert found >= 0.99 * (questions // 50)


def _items(questions: int) -> Iterator[Item]:
    rng = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(20_000)]
    text, options = "", [""]
    for number in range(questions):
        if number % 50 == 1:
            text = text.replace(text.split()[3], "changed", 1)
        else:
            text = f"{' '.join(rng.choices(words, k=50))} {number % 97} mg"
            options = [words[(number * step) % len(words)] for step in (1, 7, 11, 13)]
        yield Item(key=f"{rng.getrandbits(256):064x}", text=comparable(text, options), gold="x")


if __name__ == "__main__":
    main()
