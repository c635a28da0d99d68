"""The sheet that a person fills in: written for any spreadsheet, read back from any."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from difficulty import store
from difficulty.audit.cells import from_cell, to_cell
from difficulty.audit.draw import Detail
from difficulty.errors import InputError
from difficulty.schema import Question

COLUMNS = (
    "row", "human", "note", "question", "choices", "gold", "reply", "extracted", "outcome",
    "reason", "kind", "question_id", "sample_index",
)  # fmt: skip
NEEDED = ("question_id", "sample_index", "human")
CELL_LIMIT = 30_000
"""A cell of Excel holds 32,767 characters; what is longer would spill into rows of its own."""
KEPT_START = 4_000
"""Of a longer text, so much from its start; the rest from its end, where answers stand."""
DELIMITERS = ",;\t|"
ENCODINGS = ("utf-8-sig", "cp932", "cp1252", "latin-1")
"""Tried in this order. No byte of a two-byte character in cp932 is a quote or a separator."""
FIELD_LIMIT = 16 * 2**20
NAMED = 5

Human = Literal["right", "wrong", "?", ""]
WORDS: dict[str, Human] = {
    **dict.fromkeys(("right", "r", "correct", "○", "◯", "〇", "正", "正解"), "right"),
    **dict.fromkeys(("wrong", "w", "incorrect", "×", "✕", "誤", "不正解"), "wrong"),
    **dict.fromkeys(("?", "？", "unsure"), "?"),
    "": "",
}


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What a person said of one reply. Key: question_id, sample_index."""

    question_id: str
    sample_index: int
    human: Human
    """``right``, ``wrong``, ``?`` for cannot tell, empty for not looked at."""
    note: str


def write_sheet(path: Path, rows: Iterable[Detail]) -> None:
    """Write the sheet: UTF-8 with a byte order mark, every cell quoted, no cell a formula."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_fitted(text) for text in _texts(row)])
    store.write_text(path, "\ufeff" + out.getvalue())


def _texts(row: Detail) -> tuple[str, ...]:
    question, grade = row.question, row.grade
    return (
        str(row.position), "", "", question.prompt, choices_text(question), gold_text(question),
        row.completion.text or "", grade.extracted_answer or "", grade.outcome, grade.reason,
        question.kind, question.question_id, str(grade.sample_index),
    )  # fmt: skip


def _fitted(text: str) -> str:
    """The text as a cell; of a long one start and end, saying how much is left out."""
    keep = CELL_LIMIT
    cell = to_cell(text)
    while len(cell) > CELL_LIMIT:
        keep = keep * 3 // 4  # marks and codes take room too
        end = len(text) - max(keep - KEPT_START, 0)
        start = min(KEPT_START, keep)
        left_out = f"\n[{end - start:,} characters left out; audit.html has them]\n"
        cell = to_cell(text[:start] + left_out + text[end:])
    return cell


def choices_text(question: Question) -> str:
    """One option a line, ``A: text``."""
    return "\n".join(f"{choice.label}: {choice.text}" for choice in question.choices or ())


def gold_text(question: Question) -> str:
    """The gold, and what else counts as right."""
    golds = " or ".join((question.answer, *question.aliases))
    return golds if question.tolerance is None else f"{golds} ({question.tolerance})"


def read_sheet(path: Path) -> list[Judged]:
    """What a person filled in, whatever the spreadsheet did to order, quotes and separators.

    Only the columns question_id, sample_index, human and note are read. Rows that stand twice are
    one if they agree.

    Raises:
        InputError: no such file, no sheet, a verdict that is none, or two verdicts on one reply.
    """
    rows = _records(path)
    header = [name.strip().strip("'").lower() for name in rows[0][1]]
    judged: dict[tuple[str, int], Judged] = {}
    problems = []
    for number, (line, cells) in enumerate(rows[1:], start=2):
        values = dict(zip(header, cells, strict=False))
        if not any(cell.strip() for cell in cells):
            continue
        try:
            row = _judged(values)
            _add(judged, row)
        except ValueError as error:
            own = values.get("row", "").strip().strip("'")
            place = f"row {own} of the sheet (line {line} of the file)" if own else f"row {number}"
            problems.append(f"{place}: {error}")
    if problems:
        more = f" and {len(problems) - NAMED} more" if len(problems) > NAMED else ""
        raise InputError(
            f"{path} cannot be read: {'; '.join(problems[:NAMED])}{more}. "
            "Write right, wrong, ? or nothing under human, and leave the ids as they are"
        )
    return list(judged.values())


def _records(path: Path) -> list[tuple[int, list[str]]]:
    """All rows as text with the line of the file that each begins in, header first.

    Raises:
        InputError: no such file, not CSV, or without the needed columns.
    """
    text = _decoded(path)
    csv.field_size_limit(FIELD_LIMIT)
    for delimiter in DELIMITERS:
        try:
            rows = [*_numbered(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))]
        except csv.Error:
            continue
        for at, (_, row) in enumerate(rows[:3]):  # some programs put "sep=;" before the header
            if {name.strip().strip("'").lower() for name in row} >= set(NEEDED):
                return rows[at:]
    raise InputError(
        f"{path} is no audit sheet: it has no columns {', '.join(NEEDED)}. "
        "Save the filled-in audit.csv as CSV with its header line"
    )


def _numbered(reader: Any) -> Iterator[tuple[int, list[str]]]:
    line = 1
    for row in reader:
        yield line, row
        line = reader.line_num + 1


def _decoded(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"audit sheet cannot be read: {path} ({error.strerror}). Check the path"
        ) from error
    if data.startswith(b"PK"):
        raise InputError(f"{path} is a workbook, not CSV. Save it as CSV (UTF-8) and read that")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    for encoding in ENCODINGS:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise AssertionError("latin-1 reads any bytes")


def _judged(values: dict[str, str]) -> Judged:
    """Raises ValueError with what is wrong."""
    word = values.get("human", "").strip().strip("'").lower()
    if word not in WORDS:
        raise ValueError(f"human is {word[:40]!r}")
    index = values.get("sample_index", "").strip().strip("'")
    whole = index.removesuffix(".0").removesuffix(",0")
    if not (whole.isdecimal() and len(whole) < 10):
        raise ValueError(f"sample_index is {index[:40]!r}")
    return Judged(
        question_id=values.get("question_id", "").strip().strip("'"),
        sample_index=int(whole),
        human=WORDS[word],
        note=from_cell(values.get("note", "")).strip(),
    )


def _add(judged: dict[tuple[str, int], Judged], row: Judged) -> None:
    """Raises ValueError where one reply has two verdicts; a verdict beats an empty cell."""
    key = row.question_id, row.sample_index
    before = judged.get(key)
    if before is None or (not before.human and row.human):
        judged[key] = row
    elif row.human and before.human != row.human:
        raise ValueError(f"two verdicts on one reply ({before.human} and {row.human})")


def num_verdicts(path: Path) -> int:
    """Cells of ``human`` that somebody filled in; 0 if there is no sheet.

    Raises:
        InputError: the file is there but is no sheet.
    """
    if not path.exists():
        return 0
    return sum(row.human != "" for row in read_sheet(path))
