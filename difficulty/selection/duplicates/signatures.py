"""Character n-grams, their exact overlap, and MinHash bands that find candidates for it.

Two texts share a band with probability 1 - (1 - s^ROWS)^BANDS at Jaccard similarity s: 0.998 at
0.8, 0.28 at 0.5, 0.015 at 0.3. Candidates are then compared exactly, so that a band only ever
misses a pair and never makes one up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from difficulty.selection.duplicates.texts import gram_length, numbers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BANDS, ROWS = 21, 6
SIMILAR = 0.8
"""Jaccard similarity of the grams from which on two questions are near duplicates."""
SEED = 1
MULTIPLIER = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: an odd number without a pattern in its bits."""


def similarity(first: str, second: str) -> float:
    """Jaccard similarity of the grams of two texts, 0 to 1."""
    import numpy as np

    if first == second:
        return 1.0
    one, other = (np.unique(grams([text])[0]) for text in (first, second))
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / (len(one) + len(other) - both)


def bands(texts: Sequence[str]) -> NDArray[np.uint64]:
    """(texts, BANDS) hashes; texts of the same numbers that share one are candidates."""
    import numpy as np
    from rensa import RMinHash

    tokens, starts = grams(texts)
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(tokens, starts, BANDS * ROWS, SEED)
    digests = np.array(matrix.to_rows(), dtype=np.uint64).reshape(len(texts), BANDS, ROWS)
    found = np.repeat(_text_hashes([numbers(text) for text in texts])[:, None], BANDS, axis=1)
    for row in range(ROWS):
        found = _mixed(found, digests[:, :, row])
    return found


def grams(texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Hashes of the grams of all texts one after the other, and where each text's begin (and end).

    A text shorter than a gram is one gram. The work is done on all characters of a batch at once.
    """
    import numpy as np

    lengths = [gram_length(text) for text in texts]
    padded = [text.ljust(length, "\0") for text, length in zip(texts, lengths, strict=True)]
    codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), np.uint32)
    codes = np.concatenate([codes.astype(np.uint64), np.zeros(max(lengths), np.uint64)])
    sizes = np.array([len(text) for text in padded])
    gram = np.array(lengths)
    counts = sizes - gram + 1
    starts = np.concatenate([[0], np.cumsum(counts)])
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    at = np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts)
    length = np.repeat(gram, counts)
    found = _mixed(np.zeros(len(at), np.uint64), length.astype(np.uint64))
    for offset in range(max(lengths)):
        found = np.where(offset < length, _mixed(found, codes[at + offset]), found)
    return found, starts.astype(np.uint64)


def _text_hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    import hashlib

    import numpy as np

    digests = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
    return np.array([int.from_bytes(digest[:8], "little") for digest in digests], np.uint64)


def _mixed(state: NDArray[np.uint64], value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    import numpy as np

    mixed = (state ^ value) * np.uint64(MULTIPLIER)
    mixed ^= mixed >> np.uint64(29)
    return mixed
