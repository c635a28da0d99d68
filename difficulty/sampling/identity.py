"""Which model answered: part of the run, compared before any answer is added to it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from difficulty import store
from difficulty.errors import SettingsError
from difficulty.sampling.protocol import Served

FINGERPRINT_EDGE = 2**20
"""Bytes hashed at each end of a weights file: enough to tell checkpoints apart, quick at 400 GB."""


@dataclass(frozen=True, kw_only=True)
class ModelIdentity:
    """Which model answers; kept in the stamp of its answers."""

    name: str
    """As the server has it."""
    max_model_len: int | None
    """Context length, tokens."""
    vllm_version: str | None
    fingerprint: str | None
    """Hash of a local folder; null for a name."""


def model_identity(served: list[Served], model: str) -> ModelIdentity:
    """The model of the first server; ``model`` is the folder or name that the user gave."""
    first = served[0]
    return ModelIdentity(
        name=first.model,
        max_model_len=first.max_model_len,
        vllm_version=first.version,
        fingerprint=model_fingerprint(Path(model)),
    )


def model_fingerprint(folder: Path) -> str | None:
    """SHA-256 over a local model's small files and both ends of its weights; None if not local."""
    if not folder.is_dir():
        return None
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith(".")):
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            digest.update(file.read(FINGERPRINT_EDGE))
            file.seek(max(0, size - FINGERPRINT_EDGE))
            digest.update(file.read(FINGERPRINT_EDGE))
    return digest.hexdigest()


def require_same_model(run: store.RunFolder, identity: ModelIdentity) -> None:
    """Refuse to mix answers of two models in one run.

    Raises:
        SettingsError: the samples already there came from another model.
    """
    for part in run.completion_parts():
        stamp = store.read_stamp(part)
        before = (stamp.extra if stamp else {}).get("model") or {}
        for key, now in (("name", identity.name), ("fingerprint", identity.fingerprint)):
            if before.get(key) and now and before[key] != now:
                raise SettingsError(
                    f"another model answers now: {key} {before[key]} -> {now}. "
                    "Bring the first one back, or start a new run with another --run"
                )
