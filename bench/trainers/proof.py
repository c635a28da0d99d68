"""What the files of the trainers share: their material, and one line of outcome.

Run by the trainers' interpreters, which have this package installed beside the trainer.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

OUTCOME = "outcome: "
MODEL = Path("data/models/smollm2-135m")
END = "<|im_end|>"
"""The token that ends a turn of that model."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A reply of the profiled run."""

    question_id: str
    text: str
    finish_reason: str
    reward: float | None
    outcome: str


@dataclass(frozen=True, kw_only=True)
class Material:
    """What a trainer is tried on."""

    export: Path
    """The export's Parquet file."""
    replies: list[Reply]
    """In curriculum order."""

    @property
    def stopped(self) -> list[Reply]:
        """The replies that ended by themselves."""
        return [reply for reply in self.replies if reply.finish_reason == "stop"]

    def rows(self) -> list[dict[str, Any]]:
        """The export, read without the trainer."""
        import pyarrow.parquet as pq

        found: list[dict[str, Any]] = pq.read_table(self.export).to_pylist()
        return found

    def plugin(self) -> ModuleType:
        """The first Python block of the export's README as a module: what users are told to run."""
        import importlib.util

        block = re.search(
            r"```python\n(.*?)```", self.export.with_name("README.md").read_text(), re.S
        )
        assert block is not None
        path = Path(tempfile.mkdtemp()) / "difficulty_plugin.py"
        path.write_text(block[1], encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module  # so that its functions can be sent to other processes
        sys.path.insert(0, str(path.parent))
        os.environ["PYTHONPATH"] = f"{path.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        spec.loader.exec_module(module)
        return module


def prove(name: str, packages: Iterable[str], try_it: Callable[[Material], str]) -> None:
    """Run one trainer's proof and print its outcome and the versions of ``packages``."""
    work = Path(sys.argv[1])
    lines = (work / "replies.jsonl").read_text(encoding="utf-8").splitlines()
    names = Reply.__dataclass_fields__
    replies = [
        Reply(**{key: value for key, value in json.loads(line).items() if key in names})
        for line in lines
    ]
    material = Material(export=work / "exports" / name / "train-00000.parquet", replies=replies)
    outcome = try_it(material)
    versions = ", ".join(f"{package} {metadata.version(package)}" for package in packages)
    print(f"{OUTCOME}{outcome} ({versions})", flush=True)


def same_rewards(found: Iterable[float | None], replies: list[Reply], *, unknown: Any) -> int:
    """Assert that a trainer got the profile's rewards; returns how many.

    Args:
        found: what the trainer's own call gave, one a reply.
        replies: the replies, in the same order.
        unknown: what stands for an answer that the grader could not judge: None or 0.0.
    """
    count = 0
    for value, reply in zip(found, replies, strict=True):
        got = None if value is None or math.isnan(value) else float(value)
        wanted = unknown if reply.reward is None else reply.reward
        assert got == wanted, f"{got} is not the profile's {wanted}: {reply}"
        count += 1
    assert {reply.reward for reply in replies} >= {0.0, 1.0}
    return count


def same_rows(positions: Iterable[int], material: Material) -> int:
    """Assert that a loader gave every row, in our order; returns how many."""
    found = list(positions)
    assert found == list(range(len(material.rows()))), found[:20]
    return len(found)
