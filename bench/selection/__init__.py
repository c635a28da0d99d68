"""Speed and memory of selection: ``python -m bench.selection``."""
