"""A sample of graded replies for a person to check, and what the check says about the grader."""
