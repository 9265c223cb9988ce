"""Agents: scripted levels, shipped policies and anybody's own."""

from audamir_envs.agents.base import Agent, BatchAgent, RandomAgent

__all__ = ["Agent", "BatchAgent", "RandomAgent"]
