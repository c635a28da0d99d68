"""One raw row -> a Question, or a SetAside with the reason. Nothing is flattened silently."""

from __future__ import annotations

import json
import math
import re
import string
from typing import Any

from difficulty.errors import InputError
from difficulty.grading import clean_gold
from difficulty.grading.gold import infer_kind
from difficulty.schema import KINDS, Choice, Kind, Question, find_kind, question_id
from difficulty.sources.columns import ColumnMap, Row
from difficulty.sources.formats import RowProblem
from difficulty.sources.gold_index import IndexGold, index_gold, label_of_number
from difficulty.sources.misreadings import lone_letter, refuse_letter, without_entities

MEDIA_COLUMNS = ("image", "images", "video", "videos", "audio", "audios")
PICTURE = re.compile(r"<image(?:[ _]?\d+)?>")
"""Where public sets put a picture into a text."""
NO_GOLD = frozenset(("nan", "n/a", "#n/a", "<na>", "tbd"))
"""What exports and people write where there is no gold."""


def read_question(
    row: Row,
    columns: ColumnMap,
    *,
    source: str,
    system_prompt: str | None,
    any_gold: bool = False,
    own: Row | None = None,
) -> Question:
    """Read one row; with ``any_gold`` a gold that the grader cannot read is kept as it stands.

    ``own`` is the row before it was rearranged, if it was: its columns become the metadata.

    Raises:
        RowProblem: the row is outside the scope or its gold cannot be used; starts with the
            reason's name.
    """
    _refuse_media(row)
    plain_row = without_entities(row, columns)
    own_system, prompt, choices = _asked(plain_row, columns)
    stored = columns.value(plain_row, "answer")
    if choices is None and _text(row, columns, "kind") is None and lone_letter(stored):
        refuse_letter(stored, prompt, columns, any_gold=any_gold)
    read_gold = _any_gold if any_gold else _gold
    raw_gold = read_gold(stored, choices, columns.gold_index)
    system = _text(row, columns, "system_prompt") or own_system or system_prompt
    try:
        plain = any_gold and choices is None and _is_json_object(raw_gold)
        kind = _kind(row, columns, choices, "text" if plain else raw_gold)
        clean = _clean_any if any_gold else clean_gold
        answer, aliases = clean(kind, choices, raw_gold)
        more = [clean(kind, choices, alias) for alias in _aliases(plain_row, columns)]
    except InputError as error:
        index = ", or --gold-index 0 or 1" if choices and _is_digits(raw_gold) else ""
        raise RowProblem(_alike(raw_gold, choices) or f"{error}{index}") from error
    return Question(
        question_id=question_id(system_prompt=system, prompt=prompt, choices=choices),
        source=_text(row, columns, "source") or source,
        kind=kind,
        prompt=prompt,
        choices=choices if kind in ("choice", "multi") else None,
        answer=answer,
        aliases=(*aliases, *(gold for first, rest in more for gold in (first, *rest))),
        tolerance=_tolerance(row, columns),
        system_prompt=system,
        num_copies=1,
        metadata=_metadata(row if own is None else own, columns),
    )


def _alike(gold: Any, choices: tuple[Choice, ...] | None) -> str | None:
    """That several options are worded as the gold is, if so: none of them can be meant."""
    text = gold.strip() if isinstance(gold, str) else None
    labels = [choice.label for choice in choices or () if choice.text == text]
    if len(labels) < 2:
        return None
    return f"duplicate_options: the gold {_shown(text)} is the text of {' and '.join(labels)}"


def read_prompt_and_choices(row: Row, columns: ColumnMap) -> tuple[str, tuple[Choice, ...] | None]:
    """The user's text and the options of a row, whatever its gold.

    Raises:
        RowProblem: there is none, or it cannot be read; starts with the reason's name.
    """
    return _asked(without_entities(row, columns), columns)[1:]


def read_index_gold(row: Row, columns: ColumnMap) -> IndexGold | None:
    """The gold of a row if it is a whole number beside options that can be read."""
    value = columns.value(row, "answer")
    try:
        choices = _choices(columns.value(row, "choices")) if _is_number(value) else None
    except RowProblem:
        return None
    return None if choices is None else index_gold(value, choices)


def _asked(row: Row, columns: ColumnMap) -> tuple[str | None, str, tuple[Choice, ...] | None]:
    """(system prompt or None, the user's text, the options)."""
    system, prompt = _prompt(columns.value(row, "prompt"))
    choices = _choices(columns.value(row, "choices"))
    picture = PICTURE.search(" ".join([prompt, *(choice.text for choice in choices or ())]))
    if picture is not None:
        raise RowProblem(f"has_media: the text holds {picture[0]}")
    return system, prompt, choices


def _text(row: Row, columns: ColumnMap, role: str) -> str | None:
    value = columns.value(row, role)
    return value if isinstance(value, str) and value.strip() else None


def _refuse_media(row: Row) -> None:
    for column in MEDIA_COLUMNS:
        if row.get(column):
            raise RowProblem(f"has_media: column {column} is filled")


def _prompt(value: Any) -> tuple[str | None, str]:
    """(system prompt or None, the user's text)."""
    if isinstance(value, str):
        if not value.strip():
            raise RowProblem("no_prompt: found an empty text")
        return None, value
    if isinstance(value, list) and value and all(isinstance(turn, dict) for turn in value):
        return _single_turn(value)
    raise RowProblem(f"no_prompt: found {_shown(value)}")


def _single_turn(turns: list[Row]) -> tuple[str | None, str]:
    if any(not isinstance(turn.get("content"), str) for turn in turns):
        raise RowProblem("not_text: a message has parts that are no plain text")
    roles = [turn.get("role") for turn in turns]
    if roles not in (["user"], ["system", "user"]):
        raise RowProblem(f"several_turns: found roles {', '.join(map(str, roles))}")
    return (turns[0]["content"] if len(turns) == 2 else None), _prompt(turns[-1]["content"])[1]


def _choices(value: Any) -> tuple[Choice, ...] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise RowProblem(f"choices_unreadable: found {_shown(value)}") from error
    if value is None or value == [] or value == {}:
        return None
    pairs = _labelled(value)
    if len(pairs) < 2 or any(not isinstance(text, str) or not text.strip() for _, text in pairs):
        raise RowProblem(f"choices_unreadable: found {_shown(value)}")
    if len({label for label, _ in pairs}) < len(pairs) or any(
        not label.strip() for label, _ in pairs
    ):
        raise RowProblem(f"choices_unreadable: labels are empty or repeat in {_shown(value)}")
    return tuple(Choice(label=label.strip(), text=text.strip()) for label, text in pairs)


def _labelled(value: Any) -> list[tuple[str, Any]]:
    """Label and text of each option, from the four shapes that public sets use."""
    if isinstance(value, dict):
        if set(value) == {"label", "text"}:
            if not isinstance(value["label"], list) or not isinstance(value["text"], list):
                raise RowProblem(f"choices_unreadable: found {_shown(value)}")
            return list(zip(map(str, value["label"]), value["text"], strict=False))
        return [(str(label), text) for label, text in value.items() if text is not None]
    if not isinstance(value, list) or len(value) > len(string.ascii_uppercase):
        raise RowProblem(f"choices_unreadable: found {_shown(value)}")
    if all(isinstance(item, dict) for item in value):
        return [(str(item.get("label", item.get("key", ""))), item.get("text")) for item in value]
    texts = [str(item) if isinstance(item, int | float) else item for item in value]
    return list(zip(string.ascii_uppercase, _without_own_letters(texts), strict=False))


_OWN_LETTER = re.compile(r"\s*[(\[]?([A-Za-z])[)\].:、．]\s*(?=\S)")


def _without_own_letters(texts: list[Any]) -> list[Any]:
    """``(A) Liver``, ``(B) Heart`` as ``Liver``, ``Heart``: a prompt letters its options itself."""
    found = [_OWN_LETTER.match(text) for text in texts if isinstance(text, str)]
    letters = "".join(match[1].upper() for match in found if match)
    if (
        len(letters) < max(len(texts), 2)
        or "".join(sorted(letters)) != string.ascii_uppercase[: len(texts)]
    ):
        return texts
    if letters != string.ascii_uppercase[: len(texts)]:
        raise RowProblem(f"choices_unreadable: lettered in another order, {', '.join(letters)}")
    return [text[match.end() :] for text, match in zip(texts, found, strict=True) if match]


def _gold(value: Any, choices: tuple[Choice, ...] | None, base: int | None) -> Any:
    """The gold as stored; of a number beside options the label that it stands for.

    Numbers written as text are labels or texts, but where the column was settled as an index.
    """
    if value is None or value == "" or value == []:
        raise RowProblem("no_gold: the answer is empty")
    if isinstance(value, dict):
        raise RowProblem(
            f"gold_is_an_object: found the fields {_shown(', '.join(map(str, value)))}. Put the "
            "one that is the answer into a column of its own"
        )
    if choices is None:
        return _open_gold(value)
    if base is not None and _is_digits(value):
        value = int(value)
    return label_of_number(value, choices, base) if _is_number(value) else value


def _open_gold(value: Any) -> Any:
    """The gold of a question without options."""
    if isinstance(value, str) and value.strip().casefold() in NO_GOLD:
        raise RowProblem(f"no_gold: the answer is {value.strip()}")
    if isinstance(value, list) and len(value) > 1 and any(map(_is_number, value)):
        raise RowProblem(
            f"list_of_numbers: the answer is {_shown(value)}, all of them or any one. Write all as "
            "one text, or one and the others as aliases"
        )
    return _number_text(value) if _is_number(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_digits(value: Any) -> bool:
    return isinstance(value, str) and value.strip().isdecimal() and len(value) < 10


def _any_gold(value: Any, choices: tuple[Choice, ...] | None, base: int | None) -> Any:
    """The gold as stored, for a run that the built-in grader has no part in; there must be one."""
    if isinstance(value, dict) and value:
        return json.dumps(value, ensure_ascii=False, default=str)
    try:
        return _gold(value, choices, base)
    except RowProblem as problem:
        if str(problem).startswith("no_gold"):
            raise
        return str(value)


def _clean_any(
    kind: Kind, choices: tuple[Choice, ...] | None, raw: Any
) -> tuple[str, tuple[str, ...]]:
    """The gold in canonical form, or its own text where it has none."""
    try:
        return clean_gold(kind, choices, raw)
    except InputError:
        text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, default=str)
        return text, ()


def _is_json_object(value: Any) -> bool:
    """Test cases and the like, for a user's own reward; their braces are no LaTeX."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        return False


def _number_text(value: float) -> str:
    """A number as text; whole ones without a point, whole ones of any size."""
    if isinstance(value, int):
        if abs(value) > 10**100:
            raise RowProblem("gold_unparsable: a whole number of more than 100 digits")
        return str(value)
    if not math.isfinite(value):
        raise RowProblem(f"no_gold: the answer is {value}")
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


def _kind(row: Row, columns: ColumnMap, choices: tuple[Choice, ...] | None, gold: Any) -> Kind:
    stated = _text(row, columns, "kind")
    if stated is None:
        return infer_kind(choices, gold)
    kind = find_kind(stated)
    if kind is None:
        raise RowProblem(f"unknown_kind: found {stated!r}, expected one of {', '.join(KINDS)}")
    if kind in ("choice", "multi") and choices is None:
        raise RowProblem(f"no_choices: a {kind} question needs options")
    return kind


def _aliases(row: Row, columns: ColumnMap) -> list[Any]:
    value = columns.value(row, "aliases")
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _tolerance(row: Row, columns: ColumnMap) -> str | None:
    """``abs:x``, ``rel:x`` or ``decimals:n``; a bare number is absolute."""
    value = columns.value(row, "tolerance")
    if value is None:
        return None
    text = f"abs:{value}" if isinstance(value, int | float) else str(value)
    form, _, amount = text.partition(":")
    try:
        valid = float(amount) >= 0 and (form != "decimals" or float(amount).is_integer())
    except ValueError:
        valid = False
    if form not in ("abs", "rel", "decimals") or not valid:
        raise RowProblem(f"tolerance_unreadable: found {value!r}")
    return text


TEXT_ROLES = ("prompt", "system_prompt")
"""Their columns are long and stand in the question itself."""


def _metadata(row: Row, columns: ColumnMap) -> str:
    """The row's own columns as they are, also gold and options: a user's reward may need them."""
    texts = {columns.get(role) for role in TEXT_ROLES}
    rest = {key: value for key, value in row.items() if key not in texts}
    return json.dumps(rest, ensure_ascii=False, default=str)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
