"""What a reply declares."""
