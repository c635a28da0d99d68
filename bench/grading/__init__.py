"""Speed and soundness of the grader: ``python -m bench.grading``."""
