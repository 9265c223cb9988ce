"""A tiny game for tests of what is generic: pick numbers in turn, the largest sum wins."""
