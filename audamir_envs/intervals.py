"""Confidence intervals of scores. A score is a mean of shares between 0 and 1."""

from __future__ import annotations

import math

import numpy as np

Z = 1.959963984540054  # 97.5 % quantile of the normal distribution

# 97.5 % quantiles of Student's t with 1, 2, ... degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


def wilson(score: float, games: int) -> tuple[float, float]:
    """Wilson's 95 % interval (1927) of the mean of ``games`` independent shares.

    Shares that are all 0 or 1 have the largest variance that a mean allows, so with draws the interval errs on the wide
    side. Raises: ValueError: no games.
    """
    if games < 1:
        raise ValueError("an interval needs at least one game")
    square = Z * Z / games
    centre = (score + square / 2) / (1 + square)
    half = Z / (1 + square) * math.sqrt(score * (1 - score) / games + square / (4 * games))
    # At the ends the bound is exactly 0 or 1; rounding must not move it past them.
    low = 0.0 if score <= 0 else max(0.0, centre - half)
    return low, 1.0 if score >= 1 else min(1.0, centre + half)


def interval(shares: np.ndarray, groups: np.ndarray) -> tuple[float, float]:
    """``wilson`` where every game is a group of its own, else ``grouped``. Args: as there."""
    if len(np.unique(groups)) == len(shares):
        return wilson(float(np.mean(shares)), len(shares))
    return grouped(shares, groups)


def grouped(shares: np.ndarray, groups: np.ndarray) -> tuple[float, float]:
    """A 95 % t interval of the mean share where games of one group are not independent (mirrored games, say).

    Args: shares: float [games]; groups: int [games]. The groups' means are the observations, each with the weight of
    its games, with one of 0 and one of 1 added (as Agresti and Coull add to binomial counts), so that a clean sweep
    does not give an interval of no width. Degrees of freedom are those of as many equal groups as the weights are worth
    (Kish, 1965), so that a few large groups are not taken for many.
    """
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    means = np.concatenate([np.bincount(group, weights=shares) / sizes, [0.0, 1.0]])
    weights = np.concatenate([sizes / sizes.mean(), [1.0, 1.0]])
    centre = float(weights @ means / weights.sum())
    effective = float(weights.sum() ** 2 / (weights @ weights))  # with equal groups their number
    squares = weights**2 @ (means - centre) ** 2
    deviation = math.sqrt(squares * effective / (effective - 1)) / float(weights.sum())
    half = t_quantile(max(1, round(effective) - 1)) * deviation
    score = float(np.mean(shares))
    return min(score, max(0.0, centre - half)), max(score, min(1.0, centre + half))


def t_quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's t (beyond 10 degrees by the Cornish-Fisher series, right to three digits)."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    z, n = Z, freedom
    return z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
