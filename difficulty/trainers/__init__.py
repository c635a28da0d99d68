"""One file a trainer: what it loads, how it resamples, what its configuration calls things."""
