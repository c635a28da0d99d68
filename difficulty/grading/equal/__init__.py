"""Is what was read the gold?"""
