"""One choice of a server's reply -> one Completion row; nothing in it is trusted to be there."""

from __future__ import annotations

import math
from typing import Any

from difficulty.sampling.protocol import Owed, Reply
from difficulty.schema import Completion
from difficulty.settings.run import SamplingSpec


def read_choice(
    question: Owed,
    index: int,
    choice: dict[str, Any],
    *,
    reply: Reply,
    attempt: int,
    sampling: SamplingSpec,
) -> Completion:
    """The row of sample ``index``."""
    holder = choice if "text" in choice else choice["message"]
    reasoning = holder.get("reasoning") or holder.get("reasoning_content")
    log_sum, entropy = _logprobs(choice.get("logprobs")) if sampling.logprobs else (None, None)
    return Completion(
        question_id=question.question_id,
        sample_index=index,
        text=clean_text(_joined(holder.get("text" if "text" in choice else "content"))),
        reasoning=clean_text(reasoning),
        num_tokens=_num_tokens(choice, reply),
        finish_reason=clean_text(choice.get("finish_reason")),
        attempt=attempt,
        max_tokens=sampling.max_tokens,
        logprob_sum=log_sum,
        mean_entropy=entropy,
        server=reply.server,
        error=None,
    )


def failure(question: Owed, index: int, *, problem: str, sampling: SamplingSpec) -> Completion:
    """The row of a sample that nobody could draw: unknown, with the reason."""
    return Completion(
        question_id=question.question_id,
        sample_index=index,
        text=None,
        reasoning=None,
        num_tokens=None,
        finish_reason=None,
        attempt=None,
        max_tokens=sampling.max_tokens,
        logprob_sum=None,
        mean_entropy=None,
        server=None,
        error=problem,
    )


def clean_text(value: Any) -> str | None:
    """The text, with halves of surrogate pairs written out: no table could hold them."""
    if not isinstance(value, str):
        return None
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def _joined(content: Any) -> Any:
    """Some servers send the answer in parts; an answer in parts is not an empty answer."""
    if not isinstance(content, list):
        return content
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(part for part in parts if isinstance(part, str))


def _num_tokens(choice: dict[str, Any], reply: Reply) -> int | None:
    token_ids = choice.get("token_ids")
    if isinstance(token_ids, list):
        return len(token_ids)
    return reply.completion_tokens if len(reply.choices) == 1 else None


def _logprobs(found: Any) -> tuple[float | None, float | None]:
    """(sum of the chosen tokens' log probabilities, mean entropy over the top-K) in nats.

    The entropy of a position is that of the K likeliest tokens with the rest of the mass as one
    more: a lower bound of the true one. Null if the server sent no usable log probabilities.
    """
    try:
        chosen, tops = _positions(found)
        if not chosen or not all(math.isfinite(value) for value in chosen):
            return None, None
        entropies = [_entropy(top) for top in tops if top]
        return sum(chosen), sum(entropies) / len(entropies) if entropies else None
    except (TypeError, KeyError, AttributeError, ValueError):
        return None, None


def _positions(found: Any) -> tuple[list[float], list[list[float]]]:
    """Log probabilities of the chosen token and of the top tokens, a position each."""
    if "content" in found:
        tokens = found["content"] or []
        tops = [[float(top["logprob"]) for top in token["top_logprobs"]] for token in tokens]
        return [float(token["logprob"]) for token in tokens], tops
    tops = [[float(value) for value in (top or {}).values()] for top in found["top_logprobs"] or []]
    return [float(value) for value in found["token_logprobs"] if value is not None], tops


def _entropy(logprobs: list[float]) -> float:
    shares = [math.exp(value) for value in logprobs]
    rest = max(0.0, 1.0 - sum(shares))
    return -sum(share * math.log(share) for share in (*shares, rest) if share > 0)
