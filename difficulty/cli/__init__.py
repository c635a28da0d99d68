"""The command line: one verb a command."""
