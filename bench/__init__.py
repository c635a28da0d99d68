"""Repeatable measurements; results stand in bench/README.md."""
