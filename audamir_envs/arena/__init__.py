"""Matches between agents, ratings, reports."""

from audamir_envs.arena.evaluation import Evaluation, SeatFigures, evaluate, plain, resolve
from audamir_envs.arena.ladders import Ladder, check_plot, ladder
from audamir_envs.arena.openings import Book, Opening
from audamir_envs.arena.playing import Progress, play
from audamir_envs.arena.ratings import Ratings, fit
from audamir_envs.arena.results import Games
from audamir_envs.arena.sprt import Sprt
from audamir_envs.intervals import grouped, wilson

__all__ = [
    "Book",
    "Evaluation",
    "Games",
    "Ladder",
    "Opening",
    "Progress",
    "Ratings",
    "SeatFigures",
    "Sprt",
    "check_plot",
    "evaluate",
    "fit",
    "grouped",
    "ladder",
    "plain",
    "play",
    "resolve",
    "wilson",
]
