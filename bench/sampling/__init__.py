"""Speed and memory of sampling: ``python -m bench.sampling``."""
