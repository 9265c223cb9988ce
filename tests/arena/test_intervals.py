import numpy as np
import pytest
from scipy import stats

from audamir_envs.intervals import grouped, interval, t_quantile, wilson


@pytest.mark.parametrize(
    ("score", "games", "expected"),
    [
        (0.5, 10, (0.2366, 0.7634)),  # the bounds that every table of Wilson's interval gives
        (1.0, 10, (0.7225, 1.0)),
        (0.0, 10, (0.0, 0.2775)),
        (0.81, 263, (0.7583, 0.8528)),
    ],
)
def test_wilson(score, games, expected):
    np.testing.assert_allclose(wilson(score, games), expected, atol=2e-4)


def test_wilson_solves_its_equation():
    for score in (0.0, 0.013, 0.5, 0.975, 1.0):
        for games in (1, 40, 10_000):
            for bound in wilson(score, games):
                assert abs(abs(score - bound) - 1.959963984540054 * np.sqrt(bound * (1 - bound) / games)) < 1e-9


def test_wilson_needs_games():
    with pytest.raises(ValueError, match="at least one"):
        wilson(0.5, 0)


def test_t_quantile():
    for freedom in (1, 2, 5, 10, 11, 12, 20, 50, 1000):
        assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-3)


def test_grouped_interval_covers_the_truth_as_often_as_it_says():
    """Pairs of games with one luck: independent games would have them covered too seldom."""
    random = np.random.default_rng(0)
    hits = 0
    for _ in range(1000):
        chance = random.beta(6, 4, size=60)  # of each pair, mean 0.6
        shares = (random.random((60, 2)) < chance[:, None]).astype(float)
        low, high = grouped(shares.ravel(), np.repeat(np.arange(60), 2))
        hits += low <= 0.6 <= high
    assert 930 <= hits <= 980


@pytest.mark.parametrize("sizes", [[2] * 60, [1] * 30 + [5] * 20, [2] * 30 + [4] * 10])
def test_grouped_interval_covers_with_unequal_groups(sizes):
    """Games of one group are all alike, as those of one opening between agents that draw nothing."""
    random, groups = np.random.default_rng(1), np.repeat(np.arange(len(sizes)), sizes)
    hits = 0
    for _ in range(1000):
        low, high = grouped((random.random(len(sizes)) < 0.6)[groups].astype(float), groups)
        hits += low <= 0.6 <= high
    assert 925 <= hits <= 995


def test_interval_takes_games_without_companions_for_independent():
    shares = np.array([1.0, 0.0, 1.0, 1.0])
    assert interval(shares, np.arange(4)) == wilson(0.75, 4)
    assert interval(shares, np.array([0, 0, 1, 1])) == grouped(shares, np.array([0, 0, 1, 1]))


def test_grouped_interval_is_narrow_where_pairs_cancel_luck():
    """In mirrored games of equal agents the luck of the deal wins both games, one for each: the mean is known."""
    shares = np.array([[1.0, 0.0]] * 50).ravel()
    low, high = grouped(shares, np.repeat(np.arange(50), 2))
    wide = wilson(0.5, 100)
    assert low < 0.5 < high
    assert high - low < 0.5 * (wide[1] - wide[0])


def test_grouped_interval_of_a_clean_sweep_has_a_width():
    low, high = grouped(np.ones(100), np.repeat(np.arange(50), 2))
    assert high == 1.0
    assert 0.9 < low < 0.99
