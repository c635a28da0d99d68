"""What people write: one list a concept, all languages side by side."""
