"""Agents: scripted levels, shipped policies and anybody's own."""

from audamir_envs.agents.base import Agent, BatchAgent, Evaluation, RandomAgent
from audamir_envs.agents.callable import CallableAgent, from_callable
from audamir_envs.agents.loading import agent_names, load_agent_text, make_agent
from audamir_envs.agents.outside import OutsideAgent
from audamir_envs.agents.responses import BestResponse, best_response
from audamir_envs.agents.text import Question, TextAgent, from_text

__all__ = [
    "Agent",
    "BatchAgent",
    "BestResponse",
    "CallableAgent",
    "Evaluation",
    "OutsideAgent",
    "Question",
    "RandomAgent",
    "TextAgent",
    "agent_names",
    "best_response",
    "from_callable",
    "from_text",
    "load_agent_text",
    "make_agent",
]
