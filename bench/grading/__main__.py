"""Speed and memory of grading: ``python -m bench.grading [choice | math | pool | stream]``.

Without a word all but ``stream``, which grades 5,000,000 replies and takes long.
"""

from __future__ import annotations

import sys

from bench.grading import choice, math, pool

PARTS = {
    "choice": choice.main,
    "math": math.main,
    "pool": pool.main,
    "stream": pool.memory,
}


def main() -> int:
    """Run the parts named, or all but the slow one; 2 if a name is unknown."""
    chosen = sys.argv[1:] or ["choice", "math", "pool"]
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        print(f"unknown part: {unknown[0]}. Use {', '.join(PARTS)}", file=sys.stderr)
        return 2
    for name in chosen:
        PARTS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
