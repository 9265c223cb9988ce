"""The game Colony."""
