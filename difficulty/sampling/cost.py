"""What a sampling run will take: tokens, time and GPU-hours, from measured speeds only.

Before the first request the speed is that of an earlier run of the same model on as large servers:
this run's own last start, or a run in a folder beside it. Each start leaves its speed in
``speed.json``. Without one, the time is unknown until a minute of drawing has shown it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from difficulty import store
from difficulty.sampling.owed import first_prompts
from difficulty.sampling.servers.model_shape import BLOCK_TOKENS
from difficulty.settings.run import RunSpec

SPEED_FILE = "speed.json"
RATE_KNOWN_S = 60.0
LEAST_MEASURED_S = 5.0
"""A shorter start says nothing about the speed of a run."""
PROMPTS_LOOKED_AT = 200
BYTES_A_TOKEN = 3
"""Of English as of Japanese text, about; only the size of a cache goes by it."""


@dataclass(frozen=True, kw_only=True)
class Speed:
    """How fast one start of a run drew its samples."""

    model: str
    place: str
    """``endpoints``, ``here`` or ``ray``."""
    tensor_parallel_size: int
    num_servers: int
    num_gpus: int | None
    """GPUs of all servers together; None if somebody else runs them."""
    max_tokens: int
    samples: int
    tokens: int
    seconds: float
    date: str

    @property
    def tokens_per_sample(self) -> float:
        """Mean new tokens a sample."""
        return self.tokens / self.samples

    @property
    def tokens_per_second(self) -> float:
        """New tokens a second and server."""
        return self.tokens / self.seconds / self.num_servers


def speed_of(
    spec: RunSpec, *, num_gpus: int | None, samples: int, tokens: int, seconds: float
) -> Speed:
    """The speed of a start that drew so much under these settings."""
    return Speed(
        model=spec.sampling.model,
        place=_place(spec),
        tensor_parallel_size=spec.server.tensor_parallel_size,
        num_servers=_num_servers(spec),
        num_gpus=num_gpus,
        max_tokens=spec.sampling.max_tokens,
        samples=samples,
        tokens=tokens,
        seconds=seconds,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
    )


def save_speed(run: store.RunFolder, speed: Speed) -> None:
    """Keep the speed beside the run, unless a start that drew more has left its own."""
    if speed.seconds < LEAST_MEASURED_S or speed.samples == 0 or speed.tokens == 0:
        return
    before = _read_speed(run.root)
    if before is None or before.samples <= speed.samples:
        text = json.dumps(dataclasses.asdict(speed), indent=2) + "\n"
        store.write_text(run.root / SPEED_FILE, text)


def known_speed(run: store.RunFolder, spec: RunSpec) -> tuple[Speed, Path] | None:
    """The speed to expect and the run it was measured in: this one, else the newest beside it."""
    own = _read_speed(run.root)
    if own is not None and _comparable(own, spec):
        return own, run.root
    beside: list[tuple[str, int, Path, Speed]] = []
    with contextlib.suppress(OSError):
        for file in run.root.absolute().parent.glob(f"*/{SPEED_FILE}"):
            speed = _read_speed(file.parent)
            if speed is not None and _comparable(speed, spec):
                beside.append((speed.date, speed.samples, file.parent, speed))
    if not beside:
        return None
    *_, folder, speed = max(beside, key=lambda entry: entry[:3])
    return speed, folder


def estimate(run: store.RunFolder, spec: RunSpec, total: int) -> str:
    """One line before the first request: tokens at most, and what a measured speed lets expect."""
    limit = spec.sampling.max_tokens
    text = (
        f"drawing {total:,} answers of at most {limit:,} new tokens each, "
        f"{total * limit:,} at the very most"
    )
    known = known_speed(run, spec)
    if known is None:
        return f"{text}; how long that takes is said after a minute (no earlier speed to go by)"
    speed, folder = known
    # Answers that were cut are drawn again: how long they get under a larger limit is unknown.
    redone = speed.max_tokens in spec.sampling.earlier_max_tokens and speed.max_tokens < limit
    length = limit if redone else min(speed.tokens_per_sample, limit)
    seconds = total * length / (speed.tokens_per_second * _num_servers(spec))
    gpus = None if speed.num_gpus is None else speed.num_gpus / speed.num_servers
    expected = "at most" if redone else f"about {total * length:,.0f} tokens and"
    return (
        f"{text}; {expected} "
        f"{cost(seconds, None if gpus is None else gpus * _num_servers(spec))} at the speed of "
        f"{folder.name} ({speed.date}: {speed.tokens_per_second:,.0f} tokens/s a server, "
        f"{speed.tokens_per_sample:,.0f} tokens an answer{_other_limit(speed, limit)})"
    )


def tokens_in_flight(run: store.RunFolder, spec: RunSpec, *, requests: int) -> int:
    """Tokens whose cache a server needs when it works on ``requests`` requests at once.

    The answers of a request share its prompt's full blocks and have a last one each.
    """
    asked = first_prompts(run, spec, PROMPTS_LOOKED_AT)
    texts = (turn["content"] for messages in asked for turn in messages)
    prompt = sum(len(text.encode()) for text in texts) // (BYTES_A_TOKEN * max(1, len(asked)))
    return requests * (prompt + spec.sampling.k * (spec.sampling.max_tokens + BLOCK_TOKENS))


def _other_limit(speed: Speed, limit: int) -> str:
    return "" if speed.max_tokens == limit else f" of at most {speed.max_tokens:,}"


def cost(seconds: float, num_gpus: float | None) -> str:
    """Time in the unit that reads best, and GPU-hours where there are GPUs."""
    if seconds < 90:
        time = f"{max(seconds, 1):.0f} seconds"
    elif seconds < 90 * 60:
        time = f"{seconds / 60:.0f} minutes"
    else:
        time = f"{seconds / 3600:,.1f} hours"
    return f"{time}, {seconds / 3600 * num_gpus:,.2f} GPU-hours" if num_gpus else time


class CostTeller:
    """Says once, when this start's own rate is known, what the whole run will take."""

    def __init__(self, total: int, num_gpus: int | None, say: Callable[[str], None]) -> None:
        self.total = total
        self.num_gpus = num_gpus
        self.say: Callable[[str], None] | None = say

    def look(self, done: int, seconds: float) -> None:
        """Called while sampling; ``done`` samples took ``seconds``."""
        if self.say is None or seconds < RATE_KNOWN_S or done < self.total / 50:
            return
        self.say(f"at this rate: {cost(seconds * self.total / done, self.num_gpus)} in all")
        self.say = None


def _place(spec: RunSpec) -> str:
    if spec.server.endpoints:
        return "endpoints"
    return "here" if spec.server.ray is None else "ray"


def _num_servers(spec: RunSpec) -> int:
    return len(set(spec.server.endpoints)) or spec.server.servers


def _comparable(speed: Speed, spec: RunSpec) -> bool:
    found = (speed.model, speed.place, speed.tensor_parallel_size)
    return found == (spec.sampling.model, _place(spec), spec.server.tensor_parallel_size)


def _read_speed(folder: Path) -> Speed | None:
    """None where there is no usable record: it only serves an estimate."""
    try:
        speed = Speed(**json.loads((folder / SPEED_FILE).read_text(encoding="utf-8")))
        usable = speed.samples > 0 and speed.seconds > 0 and speed.tokens_per_second > 0
    except (OSError, ValueError, TypeError, ArithmeticError):
        return None
    return speed if usable else None
