"""A match that ends as soon as it is decided: the sequential probability ratio test on pairs of games.

Wald's test (1945) of two hypotheses, that the first agent is ELO0 or ELO1 points stronger, in the form that testers of
chess engines use: a pair of games from one start, seats swapped, is one observation with five results (for wins and
draws: 0, 1/4, 1/2, 3/4, 1), since its two games are not independent; and as the chances of the five are not known, each
hypothesis is judged by the likeliest chances that have its mean (the generalised ratio, after M. Van den Bergh).

Pairs are judged in the order of the list of games, not in that in which they end, so that short games count no more
than long ones; games behind the pair that decides are dropped. While all pairs in which the same seat begins are one
and the same, move for move, they count as one: agents that draw nothing repeat it for ever where they start alike.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from audamir_envs.arena.results import Results, ends

SCORES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # of a pair
_UNSEEN = 1e-3  # counted for each result besides, so that one that was not seen yet is not impossible
_MOST_ELO = 2000
_NOTHING_NEW = 100  # pairs after which, if all are one and the same, nothing else will come


@dataclasses.dataclass(frozen=True)
class Sprt:
    """The test's hypotheses and error rates.

    Args: elo0, elo1: by how many Elo points the first agent is stronger; alpha: the chance to accept elo1 where elo0
    holds; beta: the chance to accept elo0 where elo1 holds. Raises: ValueError naming the valid numbers.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not -_MOST_ELO <= self.elo0 < self.elo1 <= _MOST_ELO:
            raise ValueError(
                f"a sequential test needs ELO0 < ELO1, both from {-_MOST_ELO} to {_MOST_ELO}, "
                f"not {self.elo0:g} and {self.elo1:g}"
            )
        for name in ("alpha", "beta"):
            if not 0 < getattr(self, name) < 0.5:
                raise ValueError(f"{name} must lie between 0 and 0.5, not {getattr(self, name):g}")

    @property
    def bounds(self) -> tuple[float, float]:
        """The log likelihood ratios at which elo0 and elo1 are accepted."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def llr(self, counts: Sequence[int] | np.ndarray) -> np.ndarray:
        """The log likelihood ratio of elo1 to elo0, float64 [...]; 0 of no pairs.

        Args: counts: int [..., 5], how often each of ``SCORES`` was seen.
        """
        seen = np.asarray(counts, np.float64) + _UNSEEN
        shares = (seen / seen.sum(-1, keepdims=True))[..., None, :]
        likeliest = _likeliest(shares, np.array([expected(self.elo0), expected(self.elo1)]))
        ratio = np.sum(seen * np.log(likeliest[..., 1, :] / likeliest[..., 0, :]), axis=-1)
        return np.where(np.any(counts, axis=-1), ratio, 0.0)


def expected(elo: float) -> float:
    """The score of an agent that is this much stronger."""
    return 1 / (1 + 10 ** (-elo / 400))


def _likeliest(shares: np.ndarray, means: np.ndarray) -> np.ndarray:
    """float64 [..., means, 5]: the chances with each mean under which shares [..., 1, 5], all above 0, are likeliest.

    They are shares / (1 + t * (SCORES - mean)) with the t that gives them this mean (Owen's empirical likelihood).
    """
    distance = SCORES - means[:, None]
    # Between these all chances are positive, and the sum below falls from infinity to minus infinity.
    low, high = -1 / distance[:, -1], -1 / distance[:, 0]
    low, high = (np.broadcast_to(end, (*shares.shape[:-2], len(means))) for end in (low, high))
    for _ in range(50):
        middle = (low + high) / 2
        above = np.sum(shares * (distance / (1 + middle[..., None] * distance)), axis=-1) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return shares / (1 + ((low + high) / 2)[..., None] * distance)


class Match:
    """A match under the test: how far it has come, pair by pair.

    Args: first: int [games], the seat of the first agent in each game; games 2k and 2k + 1 are a pair.
    """

    def __init__(self, test: Sprt, first: np.ndarray) -> None:
        self.test = test
        self.first = first
        self.counts = np.zeros(len(SCORES), np.int64)
        self.ratio = 0.0
        self._pairs = 0  # judged so far
        self._once = np.zeros(len(SCORES), np.int64)  # as counts, each pair once that was seen before move for move
        self._seen: dict[int, set[tuple[bytes, ...]]] = {}  # pairs by the seat that began

    def enough(self, results: Results) -> int | None:
        """How many games of the list decide it, or show that nothing new will come; None while they do not.

        For ``play``, which asks every few plies.
        """
        done = results.leading() // 2
        while self._pairs < done and not self._over:
            games = np.array([2 * self._pairs, 2 * self._pairs + 1])
            self._pairs += 1
            seats = self.first[games].tolist()
            pair = tuple(end for _, end in sorted(zip(seats, ends(results, games), strict=True)))
            place = int(np.abs(SCORES - results.shares[games, self.first[games]].mean()).argmin())
            seen = self._seen.setdefault(int(results.starter[games[0]]), set())
            self.counts[place] += 1
            self._once[place] += pair not in seen
            seen.add(pair)
            self.ratio = float(self.test.llr(self._once if self._alike else self.counts))
        return 2 * self._pairs if self._over else None

    @property
    def _over(self) -> bool:
        lower, upper = self.test.bounds
        return not lower < self.ratio < upper or (self._alike and self._pairs >= _NOTHING_NEW)

    @property
    def _alike(self) -> bool:
        """Whether all pairs with the same seat to begin are one and the same so far."""
        return all(len(pairs) == 1 for pairs in self._seen.values())

    def to_json(self) -> dict[str, Any]:
        """The test, its bounds, what was seen, and which hypothesis is ``accepted``: elo0, elo1 or null."""
        lower, upper = self.test.bounds
        accepted = "elo1" if self.ratio >= upper else "elo0" if self.ratio <= lower else None
        return dataclasses.asdict(self.test) | {
            "lower": round(lower, 4),
            "upper": round(upper, 4),
            "llr": round(self.ratio, 4),
            "pairs": dict(zip(map(str, SCORES.tolist()), self.counts.tolist(), strict=True)),
            "accepted": accepted,
        }
