"""The game Stigmergy."""
