"""Which questions are kept, why not the others, and in what order."""
