"""Copse, a small game on a hexagonal board, as a package of its own: audamir-envs finds it by its entry point."""
