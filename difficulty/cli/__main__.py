"""``python -m difficulty.cli``: the same as ``difficulty``."""

from difficulty.cli import main

main()
