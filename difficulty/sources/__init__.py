"""Public and own question sets -> Question rows."""

from difficulty.sources.dataset import Dataset, find_dataset
from difficulty.sources.load import load_questions

__all__ = ["Dataset", "find_dataset", "load_questions"]
