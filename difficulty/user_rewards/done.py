"""Rewards that are known already, so that no call is made twice: a judge may cost money.

They come from a log that an interrupted ``grade`` left behind, and from the grades of before where
only weights, the threshold or the deadline changed. Unknown ones are not remembered: they are
tried again. All sources hold the samples in the order in which they are graded.
"""

from __future__ import annotations

import heapq
import itertools
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from difficulty import store
from difficulty.sampling.journal import decode, encode
from difficulty.schema import Grade
from difficulty.store import RunFolder, Stamp

RECOMBINED = ("grading.reward_weights", "grading.pass_threshold", "grading.reward_deadline")
"""Settings that change what is made of the parts of a reward, not the parts."""
FLUSH_EVERY_S = 1.0


class DoneRewards:
    """Known grades of a run, and a log of those that become known now.

    Args:
        run: the run that is graded.
        stamp: settings and inputs of the grades to be made.
    """

    def __init__(self, run: RunFolder, stamp: Stamp) -> None:
        self.run = run
        self.header = _header(stamp)
        self.folder = _folder(run)
        self.old_log = self.folder / "done.log"
        self.log = self.folder / "new.log"

    def __enter__(self) -> DoneRewards:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._join_logs()
            self._file = self.log.open("wb")
            self._file.write(encode(self.header))
        except OSError as error:
            raise store.disk_error(self.log, error) from error
        self._flushed = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, grade: Grade) -> None:
        """Remember a grade whose reward is known.

        Raises:
            RunError: the disk is full or gone.
        """
        if grade.reward is None:
            return
        try:
            self._file.write(encode(_as_dict(grade)))
            if time.monotonic() - self._flushed > FLUSH_EVERY_S:
                self._file.flush()
                self._flushed = time.monotonic()
        except OSError as error:
            raise store.disk_error(self.log, error) from error

    def known(self) -> Iterator[Grade]:
        """What is known from before, in the order of the samples."""
        tables = (self.run.grades, self.folder / self.run.grades.name)
        sources = [self._read_log(self.old_log), *map(self._read_table, tables)]
        merged = heapq.merge(*sources, key=_key)
        for _, same in itertools.groupby(merged, key=_key):
            yield next(same)

    def _join_logs(self) -> None:
        """Make one log of what interrupted commands left; drop what other settings left."""
        joined = self.folder / "joined.log"
        with joined.open("wb") as file:
            file.write(encode(self.header))
            logs = map(self._read_log, (self.old_log, self.log))
            for grade in heapq.merge(*logs, key=_key):
                file.write(encode(_as_dict(grade)))
        joined.replace(self.old_log)
        self.log.unlink(missing_ok=True)

    def _read_log(self, path: Path) -> Iterator[Grade]:
        if not path.exists():
            return
        with path.open("rb") as file:
            if decode(file.readline()) != self.header:
                return
            for line in file:
                record = decode(line)
                if record is not None:
                    yield store.row_from_dict(Grade, record)

    def _read_table(self, path: Path) -> Iterator[Grade]:
        stamp = store.read_stamp(path)
        if stamp is None or _header(stamp) != self.header:
            return
        yield from (row for row in store.read_rows(path, Grade) if row.reward is not None)


def with_known(pairs: Iterable[Any], known: Iterator[Grade]) -> Iterator[tuple[Any, Grade | None]]:
    """Each (question, completion) with its grade, if that is known. Both come in one order."""
    grade = next(known, None)
    for pair in pairs:
        completion = pair[1]
        key = (completion.question_id, completion.sample_index)
        while grade is not None and _key(grade) < key:
            grade = next(known, None)
        found = grade is not None and _key(grade) == key
        yield pair, grade if found else None


def forget(run: RunFolder) -> None:
    """Remove what was remembered, once the grades themselves are there."""
    shutil.rmtree(_folder(run), ignore_errors=True)


def try_errors_again(run: RunFolder) -> None:
    """Take the grades of a run away, so that ``grade`` makes them again; rewards known are kept."""
    if run.grades.exists():
        place = _folder(run) / run.grades.name
        place.parent.mkdir(parents=True, exist_ok=True)
        run.grades.replace(place)


def _folder(run: RunFolder) -> Path:
    return run.root / ".rewards"


def _header(stamp: Stamp) -> dict[str, Any]:
    settings = {key: value for key, value in stamp.settings.items() if key not in RECOMBINED}
    return {"settings": settings, "inputs": stamp.inputs}


def _key(grade: Grade) -> tuple[str, int]:
    return grade.question_id, grade.sample_index


def _as_dict(grade: Grade) -> dict[str, Any]:
    span = grade.span
    return {
        **vars(grade),
        "components": [vars(component) for component in grade.components],
        "span": None if span is None else vars(span),
    }
