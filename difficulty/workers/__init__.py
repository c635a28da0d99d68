"""Processes that may be killed. They know a callable by its import path only."""
