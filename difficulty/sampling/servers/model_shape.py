"""What a model takes in memory, read from its config and files before any engine loads it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from difficulty.settings.run import ServerSpec

BLOCK_TOKENS = 128
"""Tokens of a cache block on a CPU; vLLM keeps one block back."""
SMALLEST = 64 * 2**20
"""Bytes of the smallest cache where the model's shape is not known."""
ELEMENT_BYTES = {"bfloat16": 2, "float16": 2, "half": 2, "fp8": 1, "int8": 1}
"""Other types are taken for float32, in which a CPU loads a model unless told otherwise."""


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """What a model takes, as far as its config tells; null: it does not, or there is none here."""

    weights: int | None = None
    """Bytes of all its weights once loaded."""
    token_bytes: int | None = None
    """Bytes that a token takes in the cache of one rank."""
    context: int | None = None
    """Tokens of its longest sequence."""

    @property
    def floor(self) -> int:
        """Bytes that hold one sequence of the whole context: no engine starts with less."""
        if self.token_bytes is None or self.context is None:
            return SMALLEST
        return (-(-self.context // BLOCK_TOKENS) + 1) * BLOCK_TOKENS * self.token_bytes


def model_shape(model: str, server: ServerSpec) -> ModelShape:
    """What the model takes under these settings, read from its config and files."""
    folder = _model_folder(model)
    config = _config(folder)
    args = server.vllm_args
    element = argument(args, "--kv-cache-dtype") or argument(args, "--dtype") or ""
    elements = _token_elements(config, server.tensor_parallel_size)
    size = ELEMENT_BYTES.get(element.partition("_")[0], 4)
    return ModelShape(
        weights=_loaded_weights(folder, config, argument(args, "--dtype")),
        token_bytes=None if elements is None else elements * size,
        context=_context(config, server),
    )


def _context(config: Mapping[str, Any], server: ServerSpec) -> int | None:
    stated = argument(server.vllm_args, "--max-model-len") or server.max_model_len
    found = stated or config.get("max_position_embeddings")
    return int(found) if found is not None and str(found).isdecimal() else None


def _model_folder(model: str) -> Path | None:
    """Where the model's files lie: its folder, or its place in the Hub's cache."""
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(model, "config.json")
    except HFValidationError:
        return None
    return Path(found).parent if isinstance(found, str) else None


def _config(folder: Path | None) -> dict[str, Any]:
    """The part of config.json that describes the text model; empty if there is none."""
    if folder is None:
        return {}
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    text = config.get("text_config", config) if isinstance(config, dict) else {}
    return text if isinstance(text, dict) else {}


def _token_elements(config: Mapping[str, Any], size: int) -> int | None:
    """Numbers that a token takes in a rank's cache; None: attention other than the plain kind.

    Keys and values of every layer: 2 x layers x heads of keys (divided, at least 1) x head size.
    """
    kinds = set(config.get("layer_types") or ["full_attention"])
    window = config.get("sliding_window") and config.get("use_sliding_window", True)
    if kinds != {"full_attention"} or window or config.get("kv_lora_rank"):
        return None
    layers, heads = _count(config, "num_hidden_layers"), _count(config, "num_attention_heads")
    hidden = _count(config, "hidden_size")
    if not (layers and heads and hidden):
        return None
    key_heads = _count(config, "num_key_value_heads") or heads
    head_size = _count(config, "head_dim") or hidden // heads
    return 2 * layers * -(-key_heads // size) * head_size


def _count(config: Mapping[str, Any], key: str) -> int:
    """A number of the config; 0 where it is none."""
    value = config.get(key)
    return value if isinstance(value, int) and value > 0 else 0


def _loaded_weights(
    folder: Path | None, config: Mapping[str, Any], dtype: str | None
) -> int | None:
    """Bytes of the weights in the type that they are loaded in: float32 on a CPU unless stated."""
    files = list(folder.glob("*.safetensors")) if folder else []
    stored = ELEMENT_BYTES.get(str(config.get("dtype") or config.get("torch_dtype")), 4)
    loaded = stored if config.get("quantization_config") else ELEMENT_BYTES.get(dtype or "", 4)
    return sum(file.stat().st_size for file in files) * loaded // stored if files else None


def argument(vllm_args: tuple[str, ...], flag: str) -> str | None:
    """The value of a flag among the user's arguments for vLLM; the last one counts."""
    value = None
    for word, following in itertools.zip_longest(vllm_args, vllm_args[1:]):
        name, equals, rest = word.partition("=")
        if name.replace("_", "-") == flag:
            value = rest if equals else following
    return value
