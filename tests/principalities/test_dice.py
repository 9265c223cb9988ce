"""Odds and rolls against the published table, and against counting every throw."""

import csv
import fractions
import itertools
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.principalities import dice

DATA = pathlib.Path(__file__).parents[1] / "data"


def published() -> list[dict[str, str]]:
    with open(DATA / "principalities_odds.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_odds_are_the_published_ones_to_the_last_integer():
    rows = published()
    assert len(rows) == 64
    for row in rows:
        a, d = int(row["attacker_dice"]), int(row["defender_dice"])
        exact = fractions.Fraction(int(row["winning_outcomes"]), int(row["total_outcomes"]))
        assert dice.winning_ways()[a, d] == int(row["winning_outcomes"])
        assert 6 ** (a + d) == int(row["total_outcomes"])
        assert fractions.Fraction(row["p_attacker_wins_fraction"]) == exact
        assert dice.odds()[a, d] == float(exact)
        assert f"{dice.odds()[a, d]:.12f}" == row["p_attacker_wins"]


def test_ways_count_every_throw():
    for n in range(1, 6):
        sums = [sum(throw) for throw in itertools.product(range(1, 7), repeat=n)]
        assert np.bincount(sums, minlength=49).tolist() == dice.ways()[n].tolist()
    assert all(dice.ways()[n].sum() == 6**n for n in range(9))


def test_rolls_follow_the_ways_exactly():
    """The words at which the sum changes are those that the exact chances ask for, so nothing is left to statistics."""
    counts, words, expected = [], [], []
    for n in range(1, 9):
        below = np.cumsum(dice.ways()[n])[n : 6 * n].tolist()  # throws that show at most n, n + 1, ..., 6n - 1
        first = [2 * ((2 * count * 2**31 + 6**n) // (2 * 6**n)) for count in below]  # the first word of the next sum
        later = list(range(n + 1, 6 * n + 1))
        words += [0, 2**32 - 1, *first, *(word - 1 for word in first)]
        expected += [n, 6 * n, *later, *(s - 1 for s in later)]
        counts += [n] * (2 + 2 * len(later))
    sums = jax.jit(jax.vmap(dice.roll))(jnp.asarray(words, jnp.uint32), jnp.asarray(counts, jnp.int32))
    assert sums.tolist() == expected
