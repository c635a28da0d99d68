"""An export to the Hugging Face Hub: only when asked for, private unless told otherwise."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from difficulty.errors import RunError, SettingsError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

TOKEN = "HF_TOKEN"
"""The one place where the token is taken from: no login that lies on the disk is used."""


OURS = ["train-*.parquet", "heldout-*.parquet"]
"""Files that an upload replaces; others of the dataset are left alone."""


def require_token() -> str:
    """The Hub's token.

    Raises:
        SettingsError: there is none in the environment.
    """
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise SettingsError(
            f"no token for the Hub: {TOKEN} is not set. Set it in the environment; it is not kept"
        )
    return token


def push_export(place: Path, name: str, *, public: bool) -> str:
    """Upload a trainer's folder as the dataset ``name``; returns its address.

    Raises:
        SettingsError: no token in the environment, or a name that is none.
        RunError: a public dataset of that name is there already and ``public`` was not asked for,
            or the Hub refuses.
    """
    token = require_token()
    from huggingface_hub import HfApi, errors

    try:
        return _push(HfApi(token=token), place, name, public=public)
    except errors.HFValidationError as error:
        raise SettingsError(
            f"no name for the Hub: {name!r}. Write OWNER/NAME ({_first_line(error)})"
        ) from error
    except (getattr(errors, "HTTPError", OSError), OSError) as error:
        raise RunError(
            f"the Hub refused {name}: {_first_line(error)}. Check the name, {TOKEN} and the network"
        ) from error


def _push(api: HfApi, place: Path, name: str, *, public: bool) -> str:
    address = api.create_repo(name, repo_type="dataset", private=not public, exist_ok=True)
    if not public and not api.dataset_info(name).private:
        raise RunError(f"dataset {name} on the Hub is public. Choose another name, or say --public")
    api.upload_folder(
        repo_id=name,
        repo_type="dataset",
        folder_path=place,
        allow_patterns=OURS,
        delete_patterns=OURS,
        commit_message=f"{place.name} export of difficulty-profiler",
    )
    # Paths of this machine say nothing to others; datasets reads the files by this address.
    text = (place / "README.md").read_text(encoding="utf-8")
    text = text.replace(str(place.resolve()), f"hf://datasets/{name}")
    api.upload_file(
        path_or_fileobj=text.encode(),
        path_in_repo="README.md",
        repo_id=name,
        repo_type="dataset",
        commit_message="Card",
    )
    return str(address)


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[0][:200]
