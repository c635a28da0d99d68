"""TRL's GRPOTrainer at learning rate 0 on the chosen questions, run by TRL's own interpreter.

``python -m bench.collapse.validate_trl FOLDER`` reads ``settings.json`` and ``train.parquet`` there
and writes ``logged.json``: what the trainer logged at each step, in the order of the rows.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

LOGGED = ("frac_reward_zero_std", "reward", "grading/unknown", "completions/clipped_ratio")


def main() -> None:
    """Train one epoch, write what was logged."""
    folder = Path(sys.argv[1])
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    began = time.monotonic()
    trainer = _trainer(folder, settings)
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    trainer.train()
    after = trainer.model.parameters()
    assert all(bool((old == new).all()) for old, new in zip(before, after, strict=True))
    steps = [
        {name: step[name] for name in LOGGED if name in step}
        for step in trainer.state.log_history
        if LOGGED[0] in step
    ]
    found = {
        "steps": steps,
        "minutes": (time.monotonic() - began) / 60,
        "versions": {name: metadata.version(name) for name in ("trl", "torch", "transformers")},
    }
    (folder / "logged.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


def _trainer(folder: Path, settings: dict[str, Any]) -> Any:
    import torch
    from datasets import load_dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    from difficulty.rewards import make_trl_reward

    tokenizer = AutoTokenizer.from_pretrained(settings["model"])
    model = AutoModelForCausalLM.from_pretrained(settings["model"], dtype=torch.float32)
    # TRL hands no tokenizer to generate(), so a stop string has to be given as end tokens.
    ends = _ends(tokenizer, settings["stop"])
    model.generation_config.eos_token_id = ends
    # A step of length 0 throws its gradient away: only the last norm is given one.
    model.requires_grad_(False)
    model.model.norm.weight.requires_grad_(True)
    config = GRPOConfig(
        output_dir=str(folder / "output"),
        learning_rate=0.0,
        num_train_epochs=1,
        per_device_train_batch_size=settings["group_size"],
        gradient_accumulation_steps=settings["groups_a_step"],
        num_generations=settings["group_size"],
        max_completion_length=settings["max_tokens"],
        temperature=settings["temperature"],
        beta=0.0,
        gradient_checkpointing=False,
        shuffle_dataset=False,
        use_cpu=True,
        bf16=False,
        seed=settings["seed"],
        report_to=[],
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
    )
    return GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        args=config,
        train_dataset=load_dataset(
            "parquet", data_files=str(folder / "train.parquet"), split="train"
        ),
        reward_funcs=make_trl_reward(
            eos_token_ids=ends, max_completion_length=settings["max_tokens"]
        ),
    )


def _ends(tokenizer: Any, stop: str) -> list[int]:
    """Every token whose text holds ``stop``, and the one that ends a turn."""
    texts = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
    stops = [token for token, text in enumerate(texts) if stop in text]
    return sorted({tokenizer.eos_token_id, *stops})


if __name__ == "__main__":
    main()
