"""Every error a user can meet, as one tree.

The message of each is one line: ``<what is wrong>: <what was found>. <what to do>``.
The command line prints it and exits 1; a traceback means a fault of ours.
"""


class DifficultyError(Exception):
    """Base of every error that is the input's, the machine's or a server's, not ours."""


class InputError(DifficultyError):
    """A dataset, a column, a table of counts or a labelled case cannot be used as it is."""


class SettingsError(DifficultyError):
    """The settings contradict each other, or the settings a run was made with."""


class RunError(DifficultyError):
    """A run folder misses a table, is locked by another process or cannot be written."""


class ServerError(DifficultyError):
    """No server can answer: none there, wrong model, wrong key, or the engine did not start."""
