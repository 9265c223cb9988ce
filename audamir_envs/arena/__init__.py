"""Matches between agents, ratings, reports."""

from audamir_envs.arena.evaluation import Evaluation, SeatFigures, evaluate, plain
from audamir_envs.arena.intervals import grouped, wilson
from audamir_envs.arena.playing import Games, Progress, play

__all__ = ["Evaluation", "Games", "Progress", "SeatFigures", "evaluate", "grouped", "plain", "play", "wilson"]
