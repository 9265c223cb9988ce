"""Ratings from games: Bradley and Terry's model with a first-move term, for any number of players.

An agent has a strength, the seat that moves first has an advantage, and a seat wins with a chance in proportion to
exp(strength + advantage). For two players this is Bradley and Terry (1952) with a term for the first move (as Davidson
and Beaver, 1977, add one); for more it is Luce's choice of one winner. A draw counts as a part of a win for each.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from audamir_envs.arena.results import Games
from audamir_envs.intervals import Z

ELO = 400 / np.log(10)  # points that multiply the odds of a win by ten


@dataclasses.dataclass(frozen=True)
class Ratings:
    """Strengths in Elo points with mean 0, and half the widths of their 95 % intervals."""

    rating: np.ndarray  # float64 [agents]
    half_width: np.ndarray  # float64 [agents]
    first_move: float  # what moving first is worth
    first_move_half_width: float


def fit(
    games: Games,
    agents: int,
    *,
    prior: float = 1.0,
    first_move: bool = True,
    groups: np.ndarray | None = None,
) -> Ratings:
    """The most likely ratings, by Newton's method, with intervals from the curvature there.

    Args: games: at least one; agents: how many there are; prior: virtual drawn games of each agent against one of
    strength 0 (and of the first move against none), which keep ratings finite where somebody won all games;
    first_move: whether the first move has a term; groups: int [games], equal for games that are not independent; where
    there are fewer than games, the intervals are by the sandwich estimator over groups (Liang and Zeger, 1986), but
    never narrower than of independent games.
    Raises: ValueError: without a prior, games that leave the ratings undetermined.
    """
    design = _design(games, agents, first_move)
    terms = design.shape[2]
    strength = np.zeros(terms)
    for _ in range(100):
        gradient, curvature = _derivatives(design, games.shares, strength, prior)
        step = np.linalg.solve(curvature, gradient) if prior else np.linalg.lstsq(curvature, gradient, rcond=1e-10)[0]
        # A step of more than 2 (the odds times e^2) leaves the region where the quadratic is trusted.
        strength += step / max(1.0, float(np.abs(step).max()) / 2)
        if np.abs(step).max() < 1e-9:
            break
    else:
        raise ValueError("the games do not determine the ratings: somebody won or lost all; use prior > 0")
    _, curvature = _derivatives(design, games.shares, strength, prior)
    covariance = np.linalg.inv(curvature) if prior else np.linalg.pinv(curvature, rcond=1e-10)
    robust = covariance
    if groups is not None and len(np.unique(groups)) < len(groups):
        robust = covariance @ _between(design, games.shares, strength, groups) @ covariance
    centre = np.eye(terms)
    centre[:agents, :agents] -= 1 / agents
    strength = centre @ strength
    variances = [np.diag(centre @ found @ centre.T).clip(0) for found in (covariance, robust)]
    half_width = Z * np.sqrt(np.maximum(*variances))
    return Ratings(
        rating=ELO * strength[:agents],
        half_width=ELO * half_width[:agents],
        first_move=float(ELO * strength[agents]) if first_move else 0.0,
        first_move_half_width=float(ELO * half_width[agents]) if first_move else 0.0,
    )


def _design(games: Games, agents: int, first_move: bool) -> np.ndarray:
    """float64 [games, players, terms]: which strengths each seat's chance is made of."""
    count, players = games.seats.shape
    design = np.zeros((count, players, agents + first_move))
    np.put_along_axis(design, games.seats[..., None].astype(np.int64), 1.0, axis=2)
    if first_move:
        design[np.arange(count), games.starter, agents] = 1
    return design


def _derivatives(
    design: np.ndarray, shares: np.ndarray, strength: np.ndarray, prior: float
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient [terms] and negative Hessian [terms, terms] of the log likelihood."""
    chance = _chances(design, strength)
    gradient = np.einsum("gst,gs->t", design, shares - chance)
    mean = np.einsum("gst,gs->gt", design, chance)
    curvature = np.einsum("gst,gs,gsu->tu", design, chance, design) - mean.T @ mean
    virtual = 1 / (1 + np.exp(-strength))
    return gradient + prior * (0.5 - virtual), curvature + np.diag(prior * virtual * (1 - virtual))


def _between(design: np.ndarray, shares: np.ndarray, strength: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """[terms, terms]: the variance of the gradient, each group's games together being one observation."""
    chance = _chances(design, strength)
    scores = np.einsum("gst,gs->gt", design, shares - chance)
    _, group = np.unique(groups, return_inverse=True)
    sums = np.zeros((group.max() + 1, scores.shape[1]))
    np.add.at(sums, group, scores)
    return sums.T @ sums * len(sums) / max(1, len(sums) - 1)


def _chances(design: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """float64 [games, players]: of each seat to win."""
    logits = design @ strength
    chance = np.exp(logits - logits.max(axis=1, keepdims=True))
    return chance / chance.sum(axis=1, keepdims=True)


def openskill_ratings(games: Games, agents: int) -> list[tuple[float, float]] | None:
    """(mu, sigma) of each agent by openskill's Plackett-Luce model, game after game; None where it is not installed."""
    try:
        from openskill.models import PlackettLuce
    except ImportError:
        return None
    model = PlackettLuce()
    ratings = [model.rating() for _ in range(agents)]
    for seats, shares in zip(games.seats, games.shares, strict=True):
        if len(set(seats.tolist())) < len(seats):
            continue  # it knows no player that sits twice at a table
        ranks = [0.0 if share > 0 else 1.0 for share in shares]
        for seat, (rated,) in zip(seats, model.rate([[ratings[seat]] for seat in seats], ranks=ranks), strict=True):
            ratings[seat] = rated
    return [(rating.mu, rating.sigma) for rating in ratings]
