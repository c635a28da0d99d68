"""Training files: what is written, split, held out, carried along and said beside them."""

from difficulty.export.write import write_export
from difficulty.trainers.exporter import Exporter
from difficulty.trainers.find import EXPORTERS, find_exporter

__all__ = ["EXPORTERS", "Exporter", "find_exporter", "write_export"]
