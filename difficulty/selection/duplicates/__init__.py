"""Questions that are almost the same, in the set itself or in an evaluation set."""

from difficulty.selection.duplicates.near import list_near_duplicates
from difficulty.selection.duplicates.overlaps import evaluation_hashes, list_overlaps

__all__ = ["evaluation_hashes", "list_near_duplicates", "list_overlaps"]
