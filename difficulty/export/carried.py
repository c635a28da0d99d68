"""The dataset's own columns in the training files, under their own names, for the user's reward.

They stand in the metadata of a question as JSON. A column is carried if all its values have one
Arrow type, so that a reward function gets in training what it got when the run was graded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from difficulty import store
from difficulty.errors import SettingsError
from difficulty.settings.run import RunSpec
from difficulty.settings.selection import CARRY_ALL, CARRY_NONE
from difficulty.trainers.exporter import Exporter
from difficulty.trainers.row import PROFILE_NAMES, TrainingRow

if TYPE_CHECKING:
    import pyarrow as pa

MOST_KEYS = 100
"""Objects with more keys than this over all rows are no records, but mappings of their own."""
METADATA = "SELECT metadata FROM rows_of($questions)"
GOLD_NAMES = ("answer", "ground_truth")
"""Other names under which functions ask for the gold."""
OWN_RECORD = "extra_info"
"""A set that was made for verl has this column; its fields go into the export's own."""
REPLACED = ("split", "index")
"""Fields of the export's extra_info that the set's own ones replace."""


class _Mixed(Exception):
    """Why the values of a column have no one type."""


@dataclass(frozen=True, kw_only=True)
class Carried:
    """Which columns of the dataset go into the training files."""

    types: dict[str, pa.DataType] = field(default_factory=dict)
    """Column -> Arrow type."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Column -> why no file can hold it."""
    names: tuple[str, ...] = ()
    """All columns that are wanted; JSON holds them whatever their types."""
    golds: tuple[str, ...] = ()
    """Names under which the gold stands too, where functions get columns as keywords."""


NOTHING = Carried()


def wanted_columns(spec: RunSpec) -> tuple[str, ...]:
    """Names to carry, or ``("all",)``: what the user said, else all for a reward of one's own."""
    if spec.export.carry is not None:
        return () if spec.export.carry == (CARRY_NONE,) else spec.export.carry
    return (CARRY_ALL,) if spec.grading.rewards is not None else ()


def find_carried(run: store.RunFolder, spec: RunSpec) -> Carried:
    """The columns to carry, with types that hold all their values.

    Raises:
        SettingsError: a column that was named is not there, or its values have no one type.
    """
    wanted = wanted_columns(spec)
    if not wanted:
        return NOTHING
    kinds, left_out = _kinds(run)
    types = {}
    for name, kind in kinds.items():
        try:
            types[name] = _arrow_type(kind)
        except _Mixed as mixed:
            left_out[name] = str(mixed)
    names = (*types, *left_out)
    if wanted != (CARRY_ALL,):
        _require(wanted, types, left_out)
        names, types, left_out = wanted, {name: types[name] for name in wanted}, {}
    golds = GOLD_NAMES if spec.grading.rewards is not None else ()
    return Carried(types=types, left_out=left_out, names=names, golds=golds)


def _require(
    wanted: Iterable[str], types: dict[str, pa.DataType], left_out: dict[str, str]
) -> None:
    for name in wanted:
        if name in left_out:
            raise SettingsError(f"column {name} cannot be carried: {left_out[name]}")
        if name not in types:
            there = ", ".join([*types][:20]) or "none"
            raise SettingsError(
                f"no column {name!r} to carry: the dataset has {there}. The prompt is in every "
                "export as it is"
            )


def _kinds(run: store.RunFolder) -> tuple[dict[str, Any], dict[str, str]]:
    """Column -> kind of all its values, and column -> why they have no one kind."""
    kinds: dict[str, Any] = {}
    mixed: dict[str, str] = {}
    parameters = {"questions": store.sql_path(run.questions)}
    for batch in store.stream(store.connect(run), METADATA, parameters):
        for text in batch.column(0).to_pylist():
            for name, value in json.loads(text).items():
                if name in mixed:
                    continue
                try:
                    kinds[name] = _joined(kinds.get(name), _kind(value))
                except _Mixed as reason:
                    mixed[name] = str(reason)
                    kinds.pop(name, None)
                except RecursionError:
                    mixed[name] = "its values are nested too deeply"
                    kinds.pop(name, None)
    return kinds, mixed


def _kind(value: Any) -> Any:
    """``None``, ``bool``, ``int``, ``float``, ``str``, [kind] for lists, {name: kind} for objects.

    Raises:
        _Mixed: a whole number beyond 64 bits, or a list of several kinds.
    """
    if isinstance(value, list):
        kind = None
        for item in value:
            kind = _joined(kind, _kind(item))
        return [kind]
    if isinstance(value, dict):
        return {key: _kind(item) for key, item in value.items()}
    if value is None:
        return None
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise _Mixed("it has whole numbers of more than 64 bits")
    return type(value)


def _joined(first: Any, second: Any) -> Any:
    """The kind that holds values of both; null fits everything."""
    if first is None or first == second:
        return second
    if second is None:
        return first
    if isinstance(first, list) and isinstance(second, list):
        return [_joined(first[0], second[0])]
    if isinstance(first, dict) and isinstance(second, dict):
        names = dict.fromkeys((*first, *second))
        if len(names) > MOST_KEYS:
            raise _Mixed(f"its objects have more than {MOST_KEYS} different keys")
        return {name: _joined(first.get(name), second.get(name)) for name in names}
    if (first, second) in ((int, float), (float, int)):
        return float
    raise _Mixed(f"it holds values of two types, {_word(first)} and {_word(second)}")


def _word(kind: Any) -> str:
    if isinstance(kind, list):
        return "list"
    return "object" if isinstance(kind, dict) else str(kind.__name__)


def _arrow_type(kind: Any) -> Any:
    """Raises _Mixed for an object without keys, which Parquet cannot hold."""
    import pyarrow as pa

    if isinstance(kind, list):
        return pa.list_(_arrow_type(kind[0]))
    if isinstance(kind, dict):
        if not kind:
            raise _Mixed("its objects have no keys, which Parquet cannot hold")
        return pa.struct([(name, _arrow_type(item)) for name, item in kind.items()])
    plain = {None: pa.string(), str: pa.string(), int: pa.int64(), float: pa.float64()}
    return plain.get(kind, pa.bool_())


def full_schema(exporter: Exporter, carried: Carried, *, plain: bool) -> pa.Schema:
    """The trainer's columns, and the carried ones where the trainer looks for extras."""
    import pyarrow as pa

    schema = exporter.schema(plain=plain)
    if exporter.extras_as_json or carried == NOTHING:
        return schema
    types = _types_for(exporter, carried)
    if exporter.extras_in is None:
        return pa.schema([*schema, *(pa.field(name, kind) for name, kind in types.items())])
    at = schema.get_field_index(exporter.extras_in)
    own = {part.name: part.type for part in schema.field(at).type}
    return schema.set(at, pa.field(exporter.extras_in, pa.struct([*(own | types).items()])))


def full_row(exporter: Exporter, item: TrainingRow, carried: Carried) -> dict[str, Any]:
    """The trainer's row with the carried columns in it."""
    row = exporter.row(item)
    if carried == NOTHING:
        return row
    values, place = _values_for(exporter, item, carried), exporter.extras_in
    if place is None:
        return {**row, **values}
    if exporter.extras_as_json:
        text = json.dumps({**values, **json.loads(row[place])}, ensure_ascii=False)
        return {**row, place: text}
    return {**row, place: {**row[place], **values}}


def left_out_of(exporter: Exporter, carried: Carried) -> dict[str, str]:
    """Column -> why this trainer's file does not hold it."""
    found = {} if exporter.extras_as_json else dict(carried.left_out)
    there = _types_for(exporter, carried)
    for name, kind in carried.types.items():
        if name in there or (name == OWN_RECORD and exporter.extras_in == OWN_RECORD):
            continue
        nested = exporter.flat and _is_nested(kind)
        found[name] = "it is nested" if nested else "the name has a meaning of its own there"
    return found


def _types_for(exporter: Exporter, carried: Carried) -> dict[str, pa.DataType]:
    """The carried columns that fit beside the trainer's own, with their types."""
    not_free = taken(exporter)
    types = {name: kind for name, kind in carried.types.items() if name not in not_free}
    if exporter.extras_in == OWN_RECORD and _is_struct(types.get(OWN_RECORD)):
        own = {part.name: part.type for part in types.pop(OWN_RECORD)}
        types |= {name: kind for name, kind in own.items() if name not in not_free}
    if exporter.flat:
        types = {name: kind for name, kind in types.items() if not _is_nested(kind)}
    golds = carried.golds if exporter.by_keyword else ()
    return {**{name: _text() for name in golds if name not in not_free}, **types}


def _values_for(exporter: Exporter, item: TrainingRow, carried: Carried) -> dict[str, Any]:
    own = json.loads(item.question.metadata)
    if exporter.extras_as_json:
        not_free = taken(exporter)
        return {name: own[name] for name in carried.names if name in own and name not in not_free}
    values = dict.fromkeys(carried.golds, item.question.answer) | own
    if exporter.extras_in == OWN_RECORD and isinstance(own.get(OWN_RECORD), dict):
        values |= own[OWN_RECORD]
    return {name: values.get(name) for name in _types_for(exporter, carried)}


def taken(exporter: Exporter) -> set[str]:
    """Names that a carried column cannot have in this trainer's file."""
    names = {*PROFILE_NAMES, *exporter.reserved}
    if exporter.extras_as_json:
        return names | {"source"}
    schema = exporter.schema(plain=False)
    if exporter.extras_in is None:
        return names | {*schema.names}
    inner = {part.name for part in schema.field(exporter.extras_in).type}
    return (names | inner) - {*REPLACED}


def _text() -> Any:
    import pyarrow as pa

    return pa.string()


def _is_struct(kind: Any) -> bool:
    import pyarrow as pa

    return kind is not None and bool(pa.types.is_struct(kind))


def _is_nested(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(kind))
