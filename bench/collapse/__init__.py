"""How good and how fast the forecast is: ``python -m bench.collapse``."""
