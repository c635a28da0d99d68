"""One pool of processes that may be killed. They know a callable by its import path only."""
