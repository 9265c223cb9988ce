"""Colony for PettingZoo: ``colony_v0.env(render_mode=None, **options)``, and ``raw_env`` without wrappers."""

from audamir_envs.bridges.pettingzoo import entry_points

env, raw_env = entry_points("colony-v0")

__all__ = ["env", "raw_env"]
