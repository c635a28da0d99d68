"""The command line: one verb a command. ``main`` is the entry point of ``difficulty``."""


def main() -> None:
    """Run the command that the arguments name."""
    from difficulty.cli.app import main as run_command

    run_command()
