"""The first command on machines nobody has seen."""
