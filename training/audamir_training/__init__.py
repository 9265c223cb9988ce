"""Self-play trainers of the levels."""
