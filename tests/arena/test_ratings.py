"""The fit against the numbers it must have by hand, against choix, and against known strengths."""

import numpy as np
import pytest

from audamir_envs.arena.ratings import ELO, fit, openskill_ratings
from audamir_envs.arena.results import Games


def made(seats, shares, starter=None):
    seats = np.array(seats, np.int32)
    count = len(seats)
    return Games(
        seats=seats,
        starts=np.arange(count),
        starter=np.zeros(count, np.int32) if starter is None else np.array(starter),
        shares=np.array(shares, np.float64),
        plies=np.ones(count, np.int32),
        unfinished=np.zeros(count, np.bool_),
        decisions=count,
        seconds=1.0,
        compile_seconds=0.0,
    )


def drawn_games(strength, first, players, count, seed):
    """Games of agents with known strengths, in natural units."""
    random = np.random.default_rng(seed)
    seats = np.array([random.permutation(len(strength))[:players] for _ in range(count)])
    logits = strength[seats] + first * (np.arange(players) == 0)
    chance = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    winner = (chance.cumsum(axis=1) > random.random((count, 1))).argmax(axis=1)
    return made(seats, np.eye(players)[winner])


def test_two_agents_by_hand():
    """Three wins to one, seats balanced: the odds are three, so the difference is 400 log10(3) points."""
    games = made([[0, 1], [1, 0]] * 8, [[1, 0], [0, 1]] * 6 + [[0, 1], [1, 0]] * 2)
    ratings = fit(games, 2, prior=0)
    assert ratings.rating[0] - ratings.rating[1] == pytest.approx(400 * np.log10(3))
    assert ratings.rating.sum() == pytest.approx(0)
    assert ratings.first_move == pytest.approx(0, abs=1e-6)
    # Of 16 games with chance 3/4 the difference has variance 1/(16 * 3/4 * 1/4), half of the difference is a rating.
    assert ratings.half_width[0] == pytest.approx(1.96 * ELO / 2 / np.sqrt(3), rel=1e-3)


def test_first_move_by_hand():
    """Equal agents, the seat that begins (the second one here) wins three of four."""
    games = made([[0, 1], [1, 0]] * 4, [[0, 1]] * 6 + [[1, 0]] * 2, starter=[1] * 8)
    ratings = fit(games, 2, prior=0)
    assert ratings.first_move == pytest.approx(400 * np.log10(3))
    np.testing.assert_allclose(ratings.rating, 0, atol=1e-6)


def test_draws_are_half_wins():
    drawn = made([[0, 1], [1, 0]] * 4, [[0.5, 0.5]] * 8)
    shared = made([[0, 1], [1, 0]] * 4, [[1, 0], [1, 0], [0, 1], [0, 1]] * 2)
    for games in (drawn, shared):
        np.testing.assert_allclose(fit(games, 2, prior=0).rating, 0, atol=1e-6)


def test_a_clean_sweep_is_finite_and_more_games_widen_the_gap():
    def gap(count):
        ratings = fit(made([[0, 1], [1, 0]] * count, [[1, 0], [0, 1]] * count), 2)
        assert np.isfinite(ratings.half_width).all()
        return ratings.rating[0] - ratings.rating[1]

    assert 0 < gap(1) < gap(10) < gap(100)
    with pytest.raises(ValueError, match="do not determine"):
        fit(made([[0, 1], [1, 0]] * 5, [[1, 0], [0, 1]] * 5), 2, prior=0)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_against_choix(players):
    choix = pytest.importorskip("choix")
    games = drawn_games(np.array([0.9, 0.3, 0.0, -0.4, -0.8]), 0.0, players, 400, seed=players)
    found = fit(games, 5, prior=0, first_move=False)
    winners = games.shares.argmax(axis=1)
    pairs = list(zip(games.seats, winners, strict=True))
    if players == 2:
        expected = choix.opt_pairwise(5, [(s[w], s[1 - w]) for s, w in pairs])
    else:
        expected = choix.opt_top1(5, [(s[w], [s[i] for i in range(players) if i != w]) for s, w in pairs])
    np.testing.assert_allclose(found.rating / ELO, expected - expected.mean(), atol=1e-4)


@pytest.mark.parametrize("players", [2, 4])
def test_intervals_cover_the_truth(players):
    truth, first = np.array([0.6, 0.0, -0.1, -0.5]), 0.3
    inside = []
    for seed in range(60):
        ratings = fit(drawn_games(truth, first, players, 300, seed), 4, prior=0)
        inside += list(np.abs(ratings.rating - ELO * truth) <= ratings.half_width)
        inside.append(abs(ratings.first_move - ELO * first) <= ratings.first_move_half_width)
    assert 0.9 < np.mean(inside) < 0.99


def test_games_that_are_equal_count_once_in_the_intervals():
    truth = np.array([0.6, 0.0, -0.6])
    once = drawn_games(truth, 0.2, 2, 400, seed=3)
    games = made(np.repeat(once.seats, 4, axis=0), np.repeat(once.shares, 4, axis=0))
    alone, joined = fit(games, 3, prior=0), fit(games, 3, prior=0, groups=np.repeat(np.arange(400), 4))
    np.testing.assert_allclose(joined.rating, alone.rating)
    np.testing.assert_allclose(joined.half_width, 2 * alone.half_width, rtol=0.1)
    np.testing.assert_allclose(fit(once, 3, prior=0).half_width, joined.half_width, rtol=0.1)


def test_openskill_orders_alike():
    pytest.importorskip("openskill")
    games = drawn_games(np.array([1.0, 0.0, -1.0]), 0.0, 3, 300, seed=0)
    skill = openskill_ratings(games, 3)
    assert skill is not None
    assert skill[0][0] > skill[1][0] > skill[2][0]
    assert openskill_ratings(made([[0, 0, 1]], [[1, 0, 0]]), 2) == openskill_ratings(made([[1, 1, 1]], [[1, 0, 0]]), 2)


def test_openskill_knows_no_order_of_seats_and_of_those_who_lost():
    pytest.importorskip("openskill")
    alone = openskill_ratings(made([[0, 1, 2, 3]], [[0, 1, 0, 0]]), 4)
    assert alone is not None
    assert alone[0] == alone[2] == alone[3]
    assert alone[1][0] > alone[0][0]
    rng = np.random.default_rng(0)
    seats = np.array([rng.permutation(4) for _ in range(30)])
    shares = np.eye(4)[rng.integers(4, size=30)]
    shares[::5] = [0.5, 0, 0.5, 0]  # two at the top
    turned = [rng.permutation(4) for _ in range(30)]
    other = made(
        [s[t] for s, t in zip(seats, turned, strict=True)], [s[t] for s, t in zip(shares, turned, strict=True)]
    )
    np.testing.assert_allclose(openskill_ratings(made(seats, shares), 4), openskill_ratings(other, 4), rtol=1e-12)
