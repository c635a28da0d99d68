"""Questions that are almost the same, in the set itself or in an evaluation set."""

from difficulty.duplicates.near import list_near_duplicates
from difficulty.duplicates.overlaps import evaluation_hashes, list_overlaps

__all__ = ["evaluation_hashes", "list_near_duplicates", "list_overlaps"]
