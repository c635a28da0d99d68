"""One raw row -> a Question, or a SetAside with the reason. Nothing is flattened silently."""

from __future__ import annotations

import json
import math
import string
from typing import Any

from difficulty.errors import InputError
from difficulty.grading import clean_gold
from difficulty.grading.gold import infer_kind
from difficulty.schema import KINDS, Choice, Question, question_id
from difficulty.sources.columns import ColumnMap

MEDIA_COLUMNS = ("image", "images", "video", "videos", "audio", "audios")


class RowProblem(Exception):
    """Why this row is no question; becomes the ``reason`` of a SetAside."""


def read_question(
    row: dict[str, Any],
    columns: ColumnMap,
    *,
    source: str,
    system_prompt: str | None,
    any_gold: bool = False,
    own: dict[str, Any] | None = None,
) -> Question:
    """Read one row; with ``any_gold`` a gold that the grader cannot read is kept as it stands.

    ``own`` is the row before it was rearranged, if it was: its columns become the metadata.

    Raises:
        RowProblem: the row is outside the scope or its gold cannot be used; starts with the
            reason's name.
    """
    _refuse_media(row)
    own_system, prompt = _prompt(_value(row, columns, "prompt"))
    choices = _choices(_value(row, columns, "choices"))
    stored = _value(row, columns, "answer")
    raw_gold = _any_gold(stored, choices) if any_gold else _gold(stored, choices)
    system = _text(row, columns, "system_prompt") or own_system or system_prompt
    try:
        plain = any_gold and choices is None and _is_json_object(raw_gold)
        kind = _kind(row, columns, choices, "text" if plain else raw_gold)
        clean = _clean_any if any_gold else clean_gold
        answer, aliases = clean(kind, choices, raw_gold)
        more = [clean(kind, choices, alias) for alias in _aliases(row, columns)]
    except InputError as error:
        raise RowProblem(_alike(raw_gold, choices) or str(error)) from error
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


def read_prompt_and_choices(
    row: dict[str, Any], columns: ColumnMap
) -> tuple[str, tuple[Choice, ...] | None]:
    """The user's text and the options of a row, whatever its gold.

    Raises:
        RowProblem: there is none, or it cannot be read; starts with the reason's name.
    """
    _, prompt = _prompt(_value(row, columns, "prompt"))
    return prompt, _choices(_value(row, columns, "choices"))


def _value(row: dict[str, Any], columns: ColumnMap, role: str) -> Any:
    column = columns.get(role)
    return None if column is None else row.get(column)


def _text(row: dict[str, Any], columns: ColumnMap, role: str) -> str | None:
    value = _value(row, columns, role)
    return value if isinstance(value, str) and value.strip() else None


def _refuse_media(row: dict[str, Any]) -> None:
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


def _single_turn(turns: list[dict[str, Any]]) -> tuple[str | None, str]:
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
    return list(zip(string.ascii_uppercase, texts, strict=False))


def _gold(value: Any, choices: tuple[Choice, ...] | None) -> Any:
    """The gold as stored; a whole number beside options is a 0-based index, as in public sets."""
    if value is None or value == "" or value == []:
        raise RowProblem("no_gold: the answer is empty")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if choices is None:
        return _number_text(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of indexes with a gap comes as floats
    texts = [choice.text for choice in choices]
    if str(value) in texts:
        if isinstance(value, int) and 0 <= value < len(texts) and texts.index(str(value)) != value:
            raise RowProblem(f"ambiguous_gold: {value} is one option's text and another's index")
        return choices[texts.index(str(value))].label
    if isinstance(value, int) and 0 <= value < len(choices):
        return choices[value].label
    raise RowProblem(f"gold_not_among_options: found {value} for {len(choices)} options")


def _any_gold(value: Any, choices: tuple[Choice, ...] | None) -> Any:
    """The gold as stored, for a run that the built-in grader has no part in; there must be one."""
    if isinstance(value, dict) and value:
        return json.dumps(value, ensure_ascii=False, default=str)
    try:
        return _gold(value, choices)
    except RowProblem as problem:
        if str(problem).startswith("no_gold"):
            raise
        return str(value)


def _clean_any(
    kind: str, choices: tuple[Choice, ...] | None, raw: Any
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


def _kind(
    row: dict[str, Any], columns: ColumnMap, choices: tuple[Choice, ...] | None, gold: Any
) -> str:
    stated = _text(row, columns, "kind")
    if stated is None:
        return infer_kind(choices, gold)
    if stated not in KINDS:
        raise RowProblem(f"unknown_kind: found {stated!r}, expected one of {', '.join(KINDS)}")
    if stated in ("choice", "multi") and choices is None:
        raise RowProblem(f"no_choices: a {stated} question needs options")
    return stated


def _aliases(row: dict[str, Any], columns: ColumnMap) -> list[Any]:
    value = _value(row, columns, "aliases")
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _tolerance(row: dict[str, Any], columns: ColumnMap) -> str | None:
    """``abs:x``, ``rel:x`` or ``decimals:n``; a bare number is absolute."""
    value = _value(row, columns, "tolerance")
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


def _metadata(row: dict[str, Any], columns: ColumnMap) -> str:
    """The row's own columns as they are, also gold and options: a user's reward may need them."""
    texts = {columns.get(role) for role in TEXT_ROLES}
    rest = {key: value for key, value in row.items() if key not in texts}
    return json.dumps(rest, ensure_ascii=False, default=str)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
