"""Grade replies: which answer a reply declares, and whether it is the gold."""

from difficulty.grading.gold import check_gold, clean_gold
from difficulty.grading.grade import GRADER_VERSION, grade
from difficulty.grading.grader_pool import GraderPool

__all__ = ["GRADER_VERSION", "GraderPool", "check_gold", "clean_gold", "grade"]
