"""Principalities for PettingZoo: ``principalities_v0.env(render_mode=None, **options)``; ``raw_env`` is unwrapped."""

from audamir_envs.bridges.pettingzoo import entry_points

env, raw_env = entry_points("principalities-v0")

__all__ = ["env", "raw_env"]
