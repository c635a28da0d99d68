"""Settings of the servers: how answers are fetched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from difficulty.errors import SettingsError
from difficulty.settings.setting import Setting

OURS = ("--host", "--port", "--served-model-name", "--model", "--tensor-parallel-size")
"""Arguments of the engine that have an option here, or none that anybody should turn."""
SECRET_WORDS = ("token", "key", "password", "secret")


def check_vllm_argument(argument: str) -> None:
    """Refuse an argument that would carry a secret into run.toml and the process list.

    Raises:
        SettingsError: its name speaks of a token, key, password or secret, or it is ours to set.
    """
    name = argument.partition("=")[0].lower()
    if name in OURS:
        raise SettingsError(f"vllm-arg {name} is set by this tool. Use its own options instead")
    if name.startswith("-") and any(word in name.split("-") for word in SECRET_WORDS):
        raise SettingsError(
            f"vllm-arg carries a secret: {name}. "
            "Give it through the environment (HF_TOKEN, VLLM_API_KEY) instead"
        )


def check_endpoint(url: str) -> None:
    """Refuse an address that is none, or that carries a secret into run.toml.

    Raises:
        SettingsError: not http(s), or with a user name, a password or a query.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in ("http", "https") or not rest:
        raise SettingsError(f"endpoint is no http address: {url!r}. Write http://HOST:PORT")
    if "@" in rest or "?" in rest:
        raise SettingsError(
            "endpoint carries a user name, a password or a query. "
            "Put the key into DIFFICULTY_API_KEY instead"
        )


@dataclass(frozen=True, kw_only=True)
class ServerSpec:
    """How the answers are fetched. Recorded, never compared: it does not change a result."""

    endpoints: Annotated[
        tuple[str, ...],
        Setting(
            "A running OpenAI-compatible server; repeat for more.",
            option="--endpoint",
            metavar="URL",
            check=check_endpoint,
        ),
    ] = ()
    servers: Annotated[
        int,
        Setting(
            "vLLM servers to start here if no endpoint is given.",
            label="--servers",
            least=1,
            advice="Use 1 or more",
        ),
    ] = 1
    tensor_parallel_size: Annotated[
        int,
        Setting(
            "GPUs (or CPU worker ranks) of one started server.",
            label="--tensor-parallel-size",
            least=1,
            advice="Use 1 or more",
        ),
    ] = 1
    ray: Annotated[
        str | None,
        Setting("Start the servers on this Ray cluster, or auto.", metavar="ADDRESS"),
    ] = None
    """Null starts them on this machine."""
    max_model_len: Annotated[
        int | None,
        Setting(
            "Context length of started servers.",
            unset="the model's own",
            label="--max-model-len",
            least=1,
            advice="Use 1 or more",
        ),
    ] = None
    concurrency: Annotated[
        int | None,
        Setting(
            "Requests in flight for each server.",
            unset="64, or 16 for a CPU server started here; fewer above k = 5",
            least=1,
        ),
    ] = None
    vllm_args: Annotated[
        tuple[str, ...],
        Setting(
            "An argument handed on to started servers; repeat for more.",
            option="--vllm-arg",
            metavar="ARG",
            check=check_vllm_argument,
        ),
    ] = ()
    reward_concurrency: Annotated[
        int | None,
        Setting(
            "Calls at a time.",
            group="Reward",
            unset="one a core; 32 if all are async",
            least=1,
            advice="Use --reward-concurrency 1 or more",
        ),
    ] = None
