"""Agents: scripted levels, shipped policies and anybody's own."""

from audamir_envs.agents.base import Agent, BatchAgent, Evaluation, RandomAgent
from audamir_envs.agents.callable import CallableAgent, from_callable
from audamir_envs.agents.loading import agent_names, load_agent_text, make_agent

__all__ = [
    "Agent",
    "BatchAgent",
    "CallableAgent",
    "Evaluation",
    "RandomAgent",
    "agent_names",
    "from_callable",
    "load_agent_text",
    "make_agent",
]
