"""What the package knows of one trainer: the row it reads and how it is pointed at the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from difficulty.trainers.row import TrainingRow

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """How one trainer wants its file."""

    name: str
    release: str
    """The release whose source the columns and the settings were read from."""
    loader_ran: bool
    """``make test-trainers`` runs this trainer's own loader and reward call on an export. Where it
    does not, only the columns are tested, against the documented ones."""
    schema: Callable[..., pa.Schema]
    """``schema(plain=...)``: plain runs may need another type for the prompt."""
    row: Callable[[TrainingRow], dict[str, Any]]
    keep_order: str | None
    """The setting that turns the trainer's own shuffle off: row order is the curriculum. Null: it
    always shuffles."""
    setup: str
    """Markdown: the settings that point the trainer at the file (``FILE``, or ``FOLDER`` where it
    reads one) and at our reward function."""
    own_setup: str
    """The same for a reward of the user's own: ``OWN_REWARD`` stands for the code of a function
    ``own_reward(text, gold, columns, prompt)``, ``OWN_THRESHOLD`` for what it takes to pass."""
    native_setup: str = ""
    """The same where the user's functions have the trainer's own signature."""
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
    def order_hint(self) -> str:
        """What the user does about the order, as the end of a sentence."""
        if self.keep_order is None:
            return f"{self.name} always shuffles, so their order is lost"
        return f"keep their order with {self.keep_order}"
