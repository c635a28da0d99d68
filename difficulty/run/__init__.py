"""One run folder: its stages, changes of its settings, its lock."""
