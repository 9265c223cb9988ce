"""The game Principalities."""
