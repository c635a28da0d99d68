"""The pipeline as make calls it: settings in ``runs/<run>.toml``, stages in ``difficulty``."""
