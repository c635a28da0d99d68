"""Foreign text as a cell of a spreadsheet: shown, never run, never reshaped, never lost.

A spreadsheet takes a cell that starts with ``=``, ``+``, ``-`` or ``@`` for a formula, and ``1/2``
for a date. Such a cell gets an apostrophe in front. So does each such start after a line break, a
tab or a semicolon inside a cell: a spreadsheet that expects another separator cuts the cell there.
``from_cell`` gives back the very text that ``to_cell`` was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_FORMULA = "=+-@＝＋－＠"
_STARTS = re.compile(r"""(^[\s";\u200b\ufeff]*|[\n\r\t;][\s";\u200b\ufeff]*)('*)""")
_NUMBERS = r"[\d.,:/%$€£¥ eE()+-]{0,40}\d[\d.,:/%$€£¥ eE()+-]{0,40}"
_MONTHS = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_RESHAPED = re.compile(
    rf"'*(?:{_NUMBERS}|\d{{0,4}}[-/. ]?{_MONTHS}[-/. ]?\d{{0,4}}|true|false)", re.IGNORECASE
)
_PLAIN = re.compile(r"'*(?:0|[1-9]\d{0,14})")

_HIDDEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_HIDDEN_CHAR = re.compile(_HIDDEN)
_SHOW = re.compile(rf"(\\*)({_HIDDEN})|(\\+)(u[0-9a-f]{{4}})?")
_SHOWN = re.compile(r"(\\+)(u[0-9a-f]{4})?")


def to_cell(text: str) -> str:
    """Any text as a cell that no spreadsheet takes for a formula, a number or a date."""
    shown = visible(text)
    guarded = _STARTS.sub(_guarded, shown)
    return "'" + guarded if _reshaped(shown) else guarded


def from_cell(cell: str) -> str:
    """The text that ``to_cell`` made the cell from."""
    if cell.startswith("'") and _reshaped(cell[1:]):
        cell = cell[1:]
    return _invisible(_STARTS.sub(_unguarded, cell))


def visible(text: str) -> str:
    r"""Text whose control characters, direction marks and lone surrogates show, as ``\u0000``.

    What stands there as a backslash and a code already keeps its meaning: its backslashes double.
    """
    return _SHOW.sub(_show, text)


def _show(match: re.Match[str]) -> str:
    before, hidden, slashes, code = match.groups()
    if hidden is not None:
        return f"{before * 2}\\u{ord(hidden):04x}"
    return slashes * 2 + code if _is_hidden(code) else match[0]


def _invisible(text: str) -> str:
    def back(match: re.Match[str]) -> str:
        slashes, code = match.groups()
        if not _is_hidden(code):
            return match[0]
        half = slashes[: len(slashes) // 2]
        return half + (chr(int(code[1:], 16)) if len(slashes) % 2 else code)

    return _SHOWN.sub(back, text)


def _is_hidden(code: str | None) -> bool:
    return code is not None and _HIDDEN_CHAR.match(chr(int(code[1:], 16))) is not None


def _at_formula(change: Callable[[str, str], str]) -> Callable[[re.Match[str]], str]:
    """Change what stands between a start and a formula character; leave other starts alone."""

    def replace(match: re.Match[str]) -> str:
        following = match.string[match.end() : match.end() + 1]
        return change(match[1], match[2]) if following and following in _FORMULA else match[0]

    return replace


_guarded = _at_formula(lambda start, quotes: f"{start}'{quotes}")
_unguarded = _at_formula(lambda start, quotes: start + quotes[1:])


def _reshaped(cell: str) -> bool:
    """Would a spreadsheet show this as another number, a date or a truth value?"""
    bare = cell.lstrip("'")
    if not bare or bare[0] in _FORMULA or len(cell) > 80:
        return False
    return _RESHAPED.fullmatch(cell) is not None and _PLAIN.fullmatch(cell) is None
