"""Cut a reply out of a text: what follows its thoughts, up to the token that ends the turn."""

from __future__ import annotations

import re

_NAMES = r"(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|analysis)"
_CLOSE = re.compile(rf"</{_NAMES}>|\[/think\]|◁/think▷", re.IGNORECASE)
_OPEN = re.compile(rf"<{_NAMES}>|\[think\]|◁think▷", re.IGNORECASE)
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_ANY_CHANNEL = "<|channel|>"
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|im_start|eot_id|eom_id|endoftext|end_of_text|end|return|user|start|"
    r"start_header_id|eos)\|>|<｜(?:end▁of▁sentence|User)｜>|</s>|<eos>|<end_of_turn>|\[/?INST\]"
)
_STRUCK = re.compile(
    r"~~[^~\n]{1,200}~~|<(s|del|strike)>[^<\n]{1,200}</(?:s|del|strike)>", re.IGNORECASE
)


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


def reply_end(text: str, start: int) -> int:
    """Index at which the reply that begins at ``start`` ends: at the token that ends the turn."""
    if "<" not in text and "[" not in text:
        return len(text)
    first = next((i for i in range(start, len(text)) if not text[i].isspace()), start)
    for found in _END_OF_TURN.finditer(text, start):
        near = text[max(first + 1, found.start() - 220) : found.start()]
        if found.start() > first and not (found.group() == "</s>" and "<s>" in near):
            return found.start()
    return len(text)


def without_struck(text: str) -> str:
    """The text with struck-out words blanked, each character in its place."""
    if "~" not in text and "<" not in text:
        return text
    return _STRUCK.sub(lambda found: " " * len(found.group()), text)
