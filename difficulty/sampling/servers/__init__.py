"""Servers that are started here or on Ray, or given."""
