"""Trainers' own loaders and reward calls, run on our exports: ``python -m bench.trainers``.

Each trainer has a virtual environment of its own (environments.py) and a file here, which that
environment's interpreter runs: it loads the export as the trainer does, and lets the trainer's own
code call our reward on replies whose grade the profile holds. No GPU is needed.
"""
