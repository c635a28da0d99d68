"""What would be read as something else without a word, and is refused in one line instead.

Columns of options, or with a passage, that no role reads; golds that are lone letters where no
options were found; texts with HTML's escapes. Whole-number golds are in ``gold_index.py``.
"""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from difficulty.errors import InputError
from difficulty.sources.columns import ColumnMap, Row
from difficulty.sources.families import columns_of_family
from difficulty.sources.formats import RowProblem

PASSAGE_SHARE = 0.1
"""Of the first rows. With fewer, the rows that have a passage are set aside, the rest is read."""
PASSAGE_LENGTH = 20
"""Characters from which a cell is a text that a question may be about, and not a topic's name."""
LETTER_SHARE = 0.5
"""Of the golds in the first rows. Few open questions are answered by a letter (element symbols,
variables); with more than half of them the options were lost, and nearly all are letters then."""

_WRONG = ("distractor", "incorrectanswer", "wronganswer")
_HEADS = (
    "option", "opt", "op", "choice", "answeroption", "answerchoice", "answer", "ans", "alternative",
    "ending", "sol", "選択肢", "选项", "選項", "肢", "선택지", "보기", *_WRONG,
)  # fmt: skip
_ONE_OPTION = re.compile(rf"({'|'.join(_HEADS)}|)(?:([a-j])|(\d\d?)|[アイウエオ])")
_ALL_OPTIONS = frozenset(
    ("option", "options", "opts", "choice", "choices", "answeroptions", "answerchoices", "endings",
     "alternatives", "選択肢", "选项", "選項", "선택지", "보기")
)  # fmt: skip
_ALL_WRONG = frozenset(f"{name}s" for name in _WRONG)
# Not here: what explains an answer, as ``explanation``, ``rationale``, ``solution``, ``support``.
_PASSAGE = frozenset(
    ("passage", "passages", "context", "contexts", "ctx", "article", "body", "paragraph",
     "paragraphs", "document", "documents", "background", "story", "dialogue", "premise",
     "scenario", "vignette", "case", "facts", "sentence", "sentences", "table", "text",
     "本文", "文章", "課題文", "文脈", "段落", "背景", "資料", "资料",
     "材料", "短文", "症例", "症例文", "지문", "본문")
)  # fmt: skip


_INPUT = frozenset(("input", "inputs", "入力", "输入"))
"""What an instruction works on: of any length, as ``1, 2`` of ``Add the two numbers``."""


class _Suspects(NamedTuple):
    """Columns of a row that nobody reads, by what their names say."""

    groups: tuple[tuple[int, tuple[str, ...]], ...]
    """Columns of one option each, and how many of them must be filled to be options."""
    lists: tuple[str, ...]
    """Columns of all options."""
    passages: tuple[str, ...]


@functools.lru_cache(maxsize=1024)
def _suspects(names: tuple[str, ...], used: frozenset[str]) -> _Suspects:
    unused = {name: _key(name) for name in names if name not in used}
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, key in unused.items():
        found = _ONE_OPTION.fullmatch(key)
        if found:
            form = "letter" if found[2] else "digit" if found[3] else "kana"
            groups.setdefault((found[1], form), []).append(name)
    return _Suspects(
        tuple((_enough(head), tuple(group)) for (head, _), group in groups.items()),
        tuple(name for name, key in unused.items() if key in _ALL_OPTIONS | _ALL_WRONG),
        tuple(name for name, key in unused.items() if key in _PASSAGE | _INPUT),
    )


def _key(name: str) -> str:
    """A column's name without regard to case, width, blanks, underscores, hyphens and brackets."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name).casefold())


def _enough(head: str) -> int:
    """One wrong option beside the gold makes two; ``a`` and ``b`` alone may be operands."""
    return 1 if head in _WRONG else 2 if head else 3


def unread_options(row: Row, columns: ColumnMap) -> list[str]:
    """Filled columns of a row without options that look like options and are not read."""
    if columns.value(row, "choices") not in (None, "", [], {}):
        return []
    found = _suspects(tuple(row), used_columns(columns))
    groups = [
        (least, [name for name in group if _filled(row[name])]) for least, group in found.groups
    ]
    several = [name for least, group in groups if len(group) >= least for name in group]
    return several + [name for name in found.lists if _holds_several(row[name])]


def unread_passages(row: Row, columns: ColumnMap) -> list[str]:
    """Columns that look like a passage and hold a text that is not in the prompt already."""
    names = _suspects(tuple(row), used_columns(columns)).passages
    asked = _words(columns.value(row, "prompt")) if names else ""
    return [name for name in names if _adds(row[name], asked, any_length=_key(name) in _INPUT)]


def used_columns(columns: ColumnMap) -> frozenset[str]:
    """The columns that some role, an option or the family reads."""
    used = columns_of_family(columns.family).union(columns.columns.values())
    return used.union(columns.choice_columns)


def _filled(value: Any) -> bool:
    return value is not None and value != [] and bool(str(value).strip())


def _holds_several(value: Any) -> bool:
    if isinstance(value, str):
        return shows_options(value) or bool(re.search(r"[\[{|;\n]", value))
    return isinstance(value, list | dict) and bool(value)


def _adds(value: Any, asked: str, *, any_length: bool) -> bool:
    """Whether a cell holds words that the prompt lacks; not if it only repeats the prompt."""
    texts = [" ".join(text.split()) for text in _texts(value)]
    new = " ".join(text for text in texts if text not in asked)
    if not new or (asked and asked in new):
        return False
    words = " " in new or not new.isascii()  # an address or an identifier is one ASCII word
    return any_length or (len(new) >= PASSAGE_LENGTH and words)


def _texts(value: Any, depth: int = 4) -> Iterator[str]:
    """The texts in a value: of a list, of chat turns, of a mapping of lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict) and depth:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, depth - 1)


def _words(prompt: Any) -> str:
    """All words of a prompt, also of chat turns, with single blanks."""
    return _line(" ".join(_texts(prompt)))


def _line(text: str) -> str:
    return " ".join(text.split())


def refuse_misreadings(rows: Sequence[Row], columns: ColumnMap, *, own_reward: bool) -> None:
    """Refuse a set by its first rows; ``own_reward``: lone letters may be what it compares.

    Raises:
        InputError: options or a passage would not be read, or lone letters would become texts.
    """
    _refuse_unread_options([unread_options(row, columns) for row in rows])
    _refuse_unread_passages([unread_passages(row, columns) for row in rows])
    if any(columns.value(row, "choices") for row in rows):
        return  # a row without options beside rows with them is set aside by itself
    golds = [
        (columns.value(row, "answer"), _words(columns.value(row, "prompt")))
        for row in rows
        if columns.value(row, "answer") not in (None, "", []) and not columns.value(row, "kind")
    ]
    if not own_reward:
        _refuse_booleans([gold for gold, _ in golds])
    if own_reward:
        golds = [(gold, prompt) for gold, prompt in golds if not shows_options(prompt)]
    _refuse_lone_letters(golds)


def _refuse_unread_options(found: Sequence[list[str]]) -> None:
    names = list(dict.fromkeys(" ".join(name.splitlines()) for row in found for name in row))
    if not names:
        return
    raise InputError(
        f"columns look like options and are not read: found {', '.join(names)}, filled in "
        f"{sum(map(bool, found)):,} of the first {in_rows(len(found))}. "
        f"{_how_to_read(names)}, or say that they are not needed: {_ignore(names)}"
    )


def _how_to_read(names: list[str]) -> str:
    """What makes options of such columns; wrong ones alone lack the right one beside them."""
    whole = [name for name in names if _key(name) in _ALL_OPTIONS]
    if whole:
        return f"Read one with --column choices={whole[0]}"
    if any(_key(name).startswith(_WRONG) for name in names):
        return "Put the options into one column and name it with --column choices=COLUMN"
    return f"Read them with --column choices={_quoted(','.join(names))}"


def _refuse_unread_passages(found: Sequence[list[str]]) -> None:
    if sum(map(bool, found)) < PASSAGE_SHARE * max(len(found), 1):
        return
    names = list(dict.fromkeys(" ".join(name.splitlines()) for row in found for name in row))
    raise InputError(
        f"a column looks like the passage that the questions are about and is not read: found "
        f"{', '.join(names)}, with text in {sum(map(bool, found)):,} of the first "
        f"{in_rows(len(found))}. Put its text before the question in the prompt's column, or say "
        f"that it is not needed: {_ignore(names)}"
    )


def in_rows(count: int) -> str:
    """A number of rows in words."""
    return f"{count:,} {'row' if count == 1 else 'rows'}"


def _ignore(names: list[str]) -> str:
    return " ".join(f"--ignore-column {_quoted(name)}" for name in names)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w,-]+", name) else f"'{name}'"


_LETTER = re.compile(
    r"[(\[{<「【]?(?:[A-Ja-jアイウエオ]|(?=[A-J]{2})A?B?C?D?E?F?G?H?I?J?)[)\]}>」】.:。]?"
)
_BETWEEN = re.compile(r"[\s,;/・、&\"'*]+|\band\b|\bor\b|と")
_WRAPPED = re.compile(r"\\(?:boxed|text|textbf|mathrm)\s*\{(.*)\}")


def lone_letter(gold: Any) -> bool:
    """Whether a gold is letters of options and nothing else: ``B``, ``(b)``, ``A, C``, a list."""
    if isinstance(gold, list | tuple):
        return bool(gold) and all(isinstance(item, str) and lone_letter(item) for item in gold)
    if not isinstance(gold, str) or len(gold) > 80:
        return False
    text = unicodedata.normalize("NFKC", gold).strip()
    while found := _WRAPPED.fullmatch(text):
        text = found[1].strip()
    pieces = [piece for piece in _BETWEEN.split(text.strip("[]")) if piece]
    return bool(pieces) and all(_LETTER.fullmatch(piece) for piece in pieces)


_FIRST, _SECOND = (
    re.compile(rf"(?:^|[\s,;]){letter}\s?[).:、]|[(\[]{letter}[)\]]", re.IGNORECASE)
    for letter in "AB"
)


def shows_options(text: str) -> bool:
    """Whether a text holds options of its own, as ``A. ...`` and ``B. ...`` or ``(A) ... (B)``."""
    text = unicodedata.normalize("NFKC", text)
    first = _FIRST.search(text)
    return first is not None and _SECOND.search(text, first.end() + 1) is not None


def _refuse_lone_letters(golds: Sequence[tuple[Any, str]]) -> None:
    """Golds and the words of their prompts, of a set in which no options were found."""
    letters = [(gold, prompt) for gold, prompt in golds if lone_letter(gold)]
    if len(letters) <= LETTER_SHARE * len(golds):
        return
    examples = ", ".join(dict.fromkeys(_line(str(gold))[:40] for gold, _ in letters[:4]))
    inside = sum(shows_options(prompt) for _, prompt in letters)
    raise InputError(
        f"golds are letters and no options were found: {len(letters):,} of the first "
        f"{len(golds):,} golds, as {examples}"
        + (f"; {inside:,} prompts hold their options themselves. Put these into a column choices"
           if inside else ". Name the column of the options with --column choices=COLUMN")
        + ", or, if the letters themselves are asked for, add a column kind that says text"
    )  # fmt: skip


def _refuse_booleans(golds: Sequence[Any]) -> None:
    """JSON's true and false would become words that a reply of yes and no does not match."""
    found = sum(isinstance(gold, bool) for gold in golds)
    if found > LETTER_SHARE * len(golds):
        raise InputError(
            f"golds are true and false and no options were found: {found:,} of the first "
            f"{len(golds):,} golds. Put what may be answered into a column choices, as "
            '["Yes", "No"], and the right one into the gold'
        )


def refuse_letter(gold: Any, prompt: str, columns: ColumnMap, *, any_gold: bool) -> None:
    """Refuse a lone letter as the gold of a row without options; a reward may compare letters.

    Raises:
        RowProblem: the options stand in the prompt, or nowhere in a set that has some.
    """
    inside = shows_options(prompt)
    if inside and not any_gold:
        raise RowProblem(
            f"options_in_prompt: the gold is {str(gold)[:60]!r} and the prompt holds the options. "
            "Put them into a column choices"
        )
    if not inside and columns.get("choices") is not None:
        raise RowProblem(f"no_options: the gold is {str(gold)[:60]!r} and the row has no options")


_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|nbsp|#39|#x27);")
_NOT_ESCAPED = re.compile(r"<|\b(?:x?html|xml|escap\w*)\b", re.IGNORECASE)
"""A prompt with a bare ``<`` is not escaped as a whole; one about escaping has to stay as it is."""


def without_entities(row: Row, columns: ColumnMap) -> Row:
    """The row with ``&lt;`` as ``<``, if its prompt is escaped as pages of the web are."""
    prompt = str(columns.value(row, "prompt"))
    if _ENTITY.search(prompt) is None or _NOT_ESCAPED.search(prompt):
        return row
    names = [columns.get(role) for role in ("prompt", "choices", "answer", "aliases")]
    return {**row, **{name: _unescaped(row.get(name)) for name in names if name is not None}}


def _unescaped(value: Any) -> Any:
    if isinstance(value, str):
        return _ENTITY.sub(lambda found: html.unescape(found[0]), value)
    if isinstance(value, list):
        return [_unescaped(item) for item in value]
    if isinstance(value, dict):
        return {key: _unescaped(item) for key, item in value.items()}
    return value
