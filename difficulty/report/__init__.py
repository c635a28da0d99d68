"""What a person sees: live progress, the terminal summary and the HTML page."""
