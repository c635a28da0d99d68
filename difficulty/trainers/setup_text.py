"""The set-up text of a trainer, in sections: ``templates/<trainer>.md``.

A section begins with its name in a comment of its own line, ``<!-- our reward -->``. Words in
capitals stand for what a run knows:

- ``FILE``, ``FOLDER``: the training file, or the folder for a trainer that reads one.
- ``GROUP_SIZE``, ``TEMPERATURE``, ``MAX_TOKENS``: the run's own values.
- ``OWN_REWARD``: code of ``own_reward(text, gold, columns, prompt)``, the user's reward as the
  profile summed it up; ``OWN_THRESHOLD``: what it takes to pass.
- ``OWN_IMPORTS``, ``OWN_NAMES``, ``OWN_WEIGHTS``, ``OWN_PATH``: the user's functions as they are.
"""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Literal

Section = Literal["our reward", "own reward", "native reward"]
"""With the built-in grader; with a reward of the user's own, called through glue; with functions
of the user's that the trainer calls as they are."""

MARK = re.compile(r"^<!-- (.+) -->\n", re.MULTILINE)


def template_name(trainer: str) -> str:
    """Name of the file that holds a trainer's set-up text."""
    return f"{trainer.replace('-', '_')}.md"


def section(trainer: str, name: Section) -> str:
    """One section of a trainer's set-up text, with the words in capitals still in it."""
    return sections(trainer)[name]


@functools.cache
def sections(trainer: str) -> dict[str, str]:
    """Name -> Markdown of each section of a trainer's template."""
    file = resources.files("difficulty.trainers") / "templates" / template_name(trainer)
    _, *parts = MARK.split(file.read_text(encoding="utf-8"))
    texts = (f"{text.strip()}\n" for text in parts[1::2])
    return dict(zip(parts[::2], texts, strict=True))
