"""What a training file of one trainer holds, and how that trainer is pointed at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from difficulty.trainers import setup_text
from difficulty.trainers.row import TrainingRow

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class Native:
    """Which functions of the user's own the trainer calls as they are, without glue."""

    style: Literal["trl", "verl"]
    """Whose signature they must have; see ``Signature.style``."""
    several: bool = False
    """It takes more than one, with weights."""
    classes: bool = False
    """It also takes an object of a class."""
    builtin: str = ""
    """Our reward function that can stand among them as a part; empty: none can."""


@dataclass(frozen=True, kw_only=True)
class Exporter:
    """How one trainer wants its file."""

    name: str
    """The trainer's; also of the folder that its files are written to, and of its template."""
    release: str | None
    """The release whose source the columns and the settings were read from; null: no trainer."""
    loader_ran: bool
    """``make test-trainers`` runs this trainer's own loader and reward call on an export. Where it
    does not, only the columns are tested, against the documented ones."""
    schema: Callable[..., pa.Schema]
    """``schema(plain=...)``: plain runs may need another type for the prompt."""
    row: Callable[[TrainingRow], dict[str, Any]]
    keep_order: str | None
    """The setting that turns the trainer's own shuffle off: row order is the curriculum. Null: it
    always shuffles."""
    reward: str
    """Import path of the reward function of ours that its set-up text calls."""
    native: Native | None = None
    """Functions that it calls as they are; null: it calls none so."""
    one_turn: bool = False
    """It makes the chat itself, from one user turn."""
    takes_text: bool = False
    """Of a plain run it gets the prompt as text; others get one user message."""
    extras_in: str | None = None
    """The column whose fields reach its reward functions; null: every column does, or none."""
    extras_as_json: bool = False
    """That column is a JSON text."""
    by_keyword: bool = False
    """Reward functions get each column as a keyword argument."""
    flat: bool = False
    """Nested columns would arrive as something else."""
    reserved: tuple[str, ...] = ()
    """Names that have a meaning for it, and that no column of the dataset's own may have."""
    reads_folder: bool = False
    """It reads no Parquet file but a folder as ``datasets`` saves it; one is made beside it."""

    @property
    def setup(self) -> str:
        """Markdown: the settings that point the trainer at the file and at our reward function."""
        return setup_text.section(self.name, "our reward")

    @property
    def own_setup(self) -> str:
        """The same for a reward of the user's own, called through glue."""
        return setup_text.section(self.name, "own reward")

    @property
    def native_setup(self) -> str:
        """The same where the user's functions are ``native``."""
        return setup_text.section(self.name, "native reward")

    @property
    def order_hint(self) -> str:
        """What the user does about the order, as the end of a sentence."""
        if self.keep_order is None:
            return f"{self.name} always shuffles, so their order is lost"
        return f"keep their order with {self.keep_order}"
