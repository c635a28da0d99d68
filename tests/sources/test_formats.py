"""Files as people have them: compressed, in other encodings, wrapped, with other separators."""

import gzip
import json
import lzma

import pyarrow as pa
import pytest

from difficulty.errors import InputError, SettingsError
from difficulty.schema import Question
from difficulty.settings.setting import check_section
from difficulty.settings.source import SourceSpec
from difficulty.sources.dataset import dataset_of
from difficulty.sources.load import read_all

SUMS = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(3)]
LINES = "".join(json.dumps(row) + "\n" for row in SUMS).encode()
CHOICES = (
    "question,A,B,C,answer\nWhich pumps blood?,Liver,Heart,,B\nWhich is a bone?,Ulna,Skin,Eye,A\n"
)


TORN = bytearray(gzip.compress(LINES * 50))
TORN[30:40] = b"x" * 10


def read(path, **source):
    spec = SourceSpec(dataset=str(path), sha256="", **source)
    check_section(spec)
    return [item for _, item in read_all(dataset_of(spec), spec)]


def golds(path, **source):
    return [item.answer for item in read(path, **source) if isinstance(item, Question)]


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(data)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("set.jsonl.gz", gzip.compress(LINES)),
        ("set.JSONL.GZ", gzip.compress(LINES)),
        ("set.json.xz", lzma.compress(json.dumps(SUMS).encode())),
        ("set.ndjson.zst", zstd(LINES)),
        ("set.Jsonl", LINES),
        ("set.jsonl", b"\xef\xbb\xbf" + LINES),
        ("utf16.jsonl", LINES.decode().encode("utf-16")),
        ("wrapped.json", json.dumps({"version": 1, "data": SUMS}).encode()),
        ("wrapped.json", json.dumps({"version": 1, "data": SUMS}, indent=1).encode()),
        ("by_id.json", json.dumps({f"id-{n}": row for n, row in enumerate(SUMS)}).encode()),
        ("lines.json", LINES),
        ("one_line.json", LINES.splitlines()[0]),
        ("set.tsv", b"question\tanswer\nWhat is 0, or 0 + 0?\t0\n"),
        ("set.csv", b"question;answer\nWhat is 0 + 0?;0\n"),
        ("set.csv", b"question,answer\nWhat is 0 + 0; or 0; or -0?,0\n"),
        ("set.csv", b'question;answer\n"What\nis 0, 0 + 0?";0\n'),
    ],
)
def test_a_file_is_read_as_it_is_written(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    found = golds(path)
    assert found == ["0", "2", "4"][: len(found)]
    one_row = name in ("one_line.json", "set.tsv", "set.csv")
    assert len(found) == (1 if one_row else 3)


def test_an_arrow_file_and_an_arrow_stream_are_read(tmp_path):
    table = pa.Table.from_pylist(SUMS)
    for name, new in (("file.arrow", pa.ipc.new_file), ("stream.arrow", pa.ipc.new_stream)):
        with pa.OSFile(str(tmp_path / name), "wb") as file, new(file, table.schema) as writer:
            writer.write_table(table)
        assert golds(tmp_path / name) == ["0", "2", "4"]


def test_an_encoding_is_named_and_a_file_that_needs_one_says_so(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_bytes("問題,答え,answer\n心臓はいくつ?,x,1\n".encode("cp932"))
    with pytest.raises(InputError, match="is not UTF-8: .*--encoding, as cp932"):
        read(path)
    (item,) = read(path, encoding="cp932", columns=("prompt=問題",))
    assert (item.prompt, item.answer) == ("心臓はいくつ?", "1")
    with pytest.raises(InputError, match="cannot be read as ascii: byte 0x96"):
        read(path, encoding="ascii", columns=("prompt=問題",))
    with pytest.raises(SettingsError, match="unknown encoding: 'klingon'"):
        read(path, encoding="klingon")


def test_options_in_columns_of_their_own_are_named_together(tmp_path):
    path = tmp_path / "exam.csv"
    path.write_text(CHOICES)
    with pytest.raises(InputError, match="Read them with --column choices=A,B,C"):
        read(path)
    first, second = read(path, columns=("choices=A, B, C",))
    assert [choice.text for choice in first.choices] == ["Liver", "Heart"]
    assert (first.answer, second.answer) == ("B", "A")
    with pytest.raises(InputError, match="no column 'D' for an option: found question, A, B, C"):
        read(path, columns=("choices=A,B,C,D",))


def test_a_file_without_a_header_has_columns_by_number(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("".join(CHOICES.splitlines(keepends=True)[1:]))
    named = ("prompt=1", "choices=2,3,4", "answer=5")
    first, second = read(path, no_header=True, columns=named)
    assert (first.prompt, first.answer, second.answer) == ("Which pumps blood?", "B", "A")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("broken.jsonl.gz", b"no gzip", "cannot be decompressed"),
        ("torn.jsonl.gz", TORN, "cannot be decompressed"),
        ("broken.jsonl.zst", zstd(LINES)[:20] + b"xxxxxxxx", "cannot be decompressed"),
        ("broken.json.xz", lzma.compress(LINES)[:40], "cannot be decompressed"),
        ("cut.jsonl.gz", gzip.compress(LINES)[:-9], "cannot be decompressed"),
        ("set.parquet.gz", b"x", "unknown ending: set.parquet.gz"),
        ("two.json", json.dumps({"train": SUMS, "test": SUMS}).encode(), "rows under train, test"),
        ("none.json", b'{"question":\n "x"}', "found the keys question"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message) as error:
        read(tmp_path / name)
    assert "\n" not in str(error.value)


def test_bare_rows_are_separated_as_all_of_them_are_and_not_as_the_first_looks(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("What is 1; 2; or 3 + 0?,3\nWhat is 2 + 2?,4\n")
    assert golds(path, no_header=True, columns=("prompt=1", "answer=2")) == ["3", "4"]


def test_json_lines_are_never_held_whole_whatever_the_ending(tmp_path):
    path = tmp_path / "lines.json"
    path.write_bytes(LINES + b"{broken\n" + LINES)
    rows = dataset_of(SourceSpec(dataset=str(path), sha256="")).rows()
    assert next(rows).values == SUMS[0]
    assert [row.problem is None for row in rows] == [True, True, False, True, True, True]
