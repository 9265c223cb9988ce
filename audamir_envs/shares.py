"""A seat's share of the win: 1 for a sole win, 1/k among k drawn at the top, else 0; the sum is 1."""

from __future__ import annotations

import numpy as np


def of_rewards(rewards: np.ndarray) -> np.ndarray:
    """float64 [..., players]: the shares that a finished game's rewards (float32 [..., players]) mean."""
    players = rewards.shape[-1]
    return exact((np.asarray(rewards, np.float64) * (players - 1) + 1) / players)


def exact(shares: np.ndarray) -> np.ndarray:
    """Shares as they were before float32: 0 or 1/k where that is what they are nearly."""
    parts = 1 / np.rint(1 / np.maximum(shares, 1e-6))
    shares = np.where(np.abs(shares - parts) < 1e-5, parts, shares)
    return np.where(shares < 1e-5, 0, shares)


def of_forfeit(seat: int, players: int) -> np.ndarray:
    """float64 [players]: where a seat lost by giving no legal move, the others share the win."""
    return (np.arange(players) != seat) / (players - 1)
