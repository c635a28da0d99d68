"""Which model answered: part of the run, compared before any answer is added to it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from difficulty import store
from difficulty.errors import SettingsError
from difficulty.sampling.protocol import Served

FINGERPRINT_EDGE = 2**20
"""Bytes hashed at each end of a weights file: enough to tell checkpoints apart, quick at 400 GB."""


def model_identity(served: list[Served], model: str) -> dict[str, Any]:
    """Which model answers: served name, context length, vLLM version, and a local folder's hash."""
    first = served[0]
    return {
        "name": first.model,
        "max_model_len": first.max_model_len,
        "vllm_version": first.version,
        "fingerprint": model_fingerprint(Path(model)),
    }


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


def require_same_model(run: store.RunFolder, identity: dict[str, Any]) -> None:
    """Refuse to mix answers of two models in one run.

    Raises:
        SettingsError: the samples already there came from another model.
    """
    for part in run.completion_parts():
        stamp = store.read_stamp(part)
        before = (stamp.extra if stamp else {}).get("model") or {}
        for key in ("name", "fingerprint"):
            if before.get(key) and identity.get(key) and before[key] != identity[key]:
                raise SettingsError(
                    f"another model answers now: {key} {before[key]} -> {identity[key]}. "
                    "Bring the first one back, or start a new run with another --run"
                )
