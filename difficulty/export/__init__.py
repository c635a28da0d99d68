"""Training files: what is written, split, held out, carried along and said beside them."""

from difficulty.export.write import write_export
from difficulty.trainers.find import TRAINERS, find_trainer
from difficulty.trainers.trainer import Trainer

__all__ = ["TRAINERS", "Trainer", "find_trainer", "write_export"]
