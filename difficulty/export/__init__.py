"""One short file a trainer: the row it reads, and the flag that keeps our row order."""

from difficulty.export.write import write_export
from difficulty.trainers.find import TRAINERS, find_trainer
from difficulty.trainers.trainer import Trainer

__all__ = ["TRAINERS", "Trainer", "find_trainer", "write_export"]
