"""Questions that ask almost the same, and those that an evaluation set asks."""
