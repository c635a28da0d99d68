"""Every setting of a run, declared once, a section a module."""
