"""Cut a reply's thoughts: only what follows the last closing tag is the reply."""

from __future__ import annotations

import re

_NAMES = r"(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|analysis)"
_CLOSE = re.compile(rf"</{_NAMES}>|\[/think\]|◁/think▷", re.IGNORECASE)
_OPEN = re.compile(rf"<{_NAMES}>|\[think\]|◁think▷", re.IGNORECASE)
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_ANY_CHANNEL = "<|channel|>"


def reply_start(text: str) -> int | None:
    """Index at which the reply begins after its thoughts; null if the thoughts never end.

    The opening tag may have been part of the prompt, so a closing tag needs no opening one.
    """
    if "<" not in text and "[" not in text and "◁" not in text:
        return 0
    channel = text.rfind(_FINAL_CHANNEL)
    if channel >= 0:
        return channel + len(_FINAL_CHANNEL)
    if text.lstrip().startswith(_ANY_CHANNEL):
        return None
    start = 0
    for closing in _CLOSE.finditer(text):
        start = closing.end()
    return None if _OPEN.search(text, start) else start
