"""Measures speed: ours beside that of other suites, in one process and in balanced order."""

from audamir_envs.benchmark.command import add_arguments, run

__all__ = ["EXAMPLE", "add_arguments", "run"]

EXAMPLE = "audamir bench --against pgx,pettingzoo --only sampled,given --games 1024"
