import errno
import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from difficulty import store
from difficulty.errors import RunError
from difficulty.run.lock import locked
from difficulty.schema import (
    KINDS,
    Choice,
    Completion,
    Grade,
    PassRate,
    Question,
    Selection,
    SetAside,
    Span,
)
from tests.conftest import make_question

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
STAMP = store.Stamp(settings={"a": 1}, inputs={"x": "y"})


LOCK_CODE = """
import os, pathlib
from difficulty.run.lock import locked
with locked(pathlib.Path({folder!r})):
    {then}
"""


def write(path, rows, row_type, stamp=STAMP):
    with store.TableWriter(path, store.table_schema(row_type), stamp) as table:
        table.write_rows(rows)


@given(st.lists(st.builds(
    Question, question_id=TEXT, source=TEXT, kind=st.sampled_from(KINDS), prompt=TEXT, answer=TEXT,
    metadata=TEXT,
    choices=st.none() | st.lists(st.builds(Choice, label=TEXT, text=TEXT), max_size=3).map(tuple),
    aliases=st.lists(TEXT, max_size=2).map(tuple), tolerance=st.none() | TEXT,
    system_prompt=st.none() | TEXT, num_copies=st.integers(1, 9),
), max_size=4))  # fmt: skip
def test_rows_come_back_as_they_were_written(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    write(path, rows, Question)
    assert list(store.read_rows(path, Question)) == rows


def test_nested_nulls_come_back_as_none(tmp_path):
    grades = [
        Grade(question_id="a", sample_index=i, outcome="wrong", reward=None, components=(),
              extracted_answer=None, span=span, reason="")
        for i, span in enumerate((None, Span(start=1, end=2)))
    ]  # fmt: skip
    write(tmp_path / "g.parquet", grades, Grade)
    assert list(store.read_rows(tmp_path / "g.parquet", Grade)) == grades


@pytest.mark.parametrize("row_type", [Question, Completion, Grade, PassRate, Selection, SetAside])
def test_every_table_uses_only_types_that_every_reader_knows(row_type):
    schema = str(store.table_schema(row_type))
    assert not any(name in schema for name in ("large_", "map<", "dictionary", "view", "int32"))


def test_a_name_that_is_none_of_its_columns_is_refused_in_one_line():
    values = {**vars(make_question("1 + 1?")), "kind": "essay", "aliases": []}
    with pytest.raises(RunError, match="unknown kind: found 'essay', expected one of choice, m"):
        store.row_from_dict(Question, values)


def test_a_failed_write_leaves_neither_the_table_nor_a_scratch_file(tmp_path):
    with pytest.raises(ZeroDivisionError):
        write(tmp_path / "q.parquet", (make_question(str(1 // n)) for n in (1, 0)), Question)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_rewrite_leaves_the_old_table(tmp_path):
    path = tmp_path / "q.parquet"
    write(path, [make_question("old")], Question)
    with pytest.raises(ZeroDivisionError):
        write(path, (make_question(str(1 // n)) for n in (1, 0)), Question)
    assert [q.prompt for q in store.read_rows(path, Question)] == ["old"]


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    def rows():
        yield make_question()
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(
        RunError, match="no disk space: .* Free some and run the same command again"
    ):
        write(tmp_path / "q.parquet", rows(), Question)
    assert list(tmp_path.iterdir()) == []


def test_the_content_hash_follows_the_rows_and_not_the_settings(tmp_path):
    other = store.Stamp(settings={"b": 2}, inputs={})
    for name, prompt, stamp in (("a", "x", STAMP), ("b", "x", other), ("c", "y", STAMP)):
        write(tmp_path / f"{name}.parquet", [make_question(prompt)], Question, stamp)
    a, b, c = (store.content_hash(tmp_path / f"{name}.parquet") for name in "abc")
    assert a == b != c


def test_a_stamp_comes_back_and_is_compared_without_its_date(tmp_path):
    write(tmp_path / "q.parquet", [make_question()], Question)
    stamp = store.read_stamp(tmp_path / "q.parquet")
    assert stamp.matches({"a": 1}, {"x": "y"})
    assert not stamp.matches({"a": 2}, {"x": "y"})
    assert stamp.date
    assert b"pandas" not in (pq.read_metadata(tmp_path / "q.parquet").metadata or {})


def test_a_missing_table_says_what_to_run(tmp_path):
    with pytest.raises(RunError, match="is not there. Run difficulty bucket /"):
        store.content_hash(tmp_path / "profile.parquet")
    with pytest.raises(RunError, match="is not there. Run the stages before"):
        store.content_hash(tmp_path / "other.parquet")


def test_a_file_that_is_no_table_is_refused(tmp_path):
    (tmp_path / "q.parquet").write_bytes(b"not parquet")
    with pytest.raises(RunError, match="cannot be read"):
        store.read_stamp(tmp_path / "q.parquet")


def test_a_second_process_on_one_run_folder_is_refused(tmp_path):
    code = LOCK_CODE.format(folder=str(tmp_path), then="pass")
    with locked(tmp_path):
        second = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
    assert f"is in use by process {os.getpid()}" in second.stderr
    assert not (tmp_path / ".lock").exists()


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path):
    code = LOCK_CODE.format(folder=str(tmp_path), then="os.kill(os.getpid(), 9)")
    subprocess.run([sys.executable, "-c", code], check=False)
    assert (tmp_path / ".lock").exists()
    with locked(tmp_path):
        pass


def test_a_lock_from_another_machine_holds_while_its_heart_beats(tmp_path):
    path = tmp_path / ".lock"
    path.write_text('{"host": "elsewhere", "pid": 1, "started": ""}')
    with pytest.raises(RunError, match="process 1 on elsewhere"), locked(tmp_path):
        pass
    os.utime(path, (0, 0))
    with locked(tmp_path):
        pass
