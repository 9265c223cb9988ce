"""Books of Stigmergy on side 2, where positions can be counted and values are known."""

import numpy as np
import pytest

import audamir_envs
from audamir_envs.arena import book_making, openings
from audamir_envs.stigmergy import solver


@pytest.fixture(scope="module")
def env():
    return audamir_envs.make("stigmergy-v0", side=2, komi=6)


def make(env, judge, count, bound=0.5):
    player = audamir_envs.make_agent(env, "random")
    settings = {"random_plies": 1, "self_plies": 0, "batch": 16, "rounds": 5, "made": {}}
    return book_making.make(env, judge, player, count=count, bound=bound, **settings)


def test_what_is_the_same_up_to_symmetry_comes_once(env):
    """One stone is in the centre or in one of six corners that are all alike."""

    def judge(states):
        return np.zeros(16), np.full(16, np.nan)

    book = make(env, judge, 2)
    assert {o.position.split()[0].count("x") for o in book.openings} == {1}
    assert all(o.margin is None for o in book.openings)
    with pytest.raises(ValueError, match="only 2 of 3 openings"):
        make(env, judge, 3)


def test_the_solver_judges(env, tmp_path, monkeypatch):
    """Behind the centre Black leads by 7 without komi, behind any other first move White does."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (opening,) = make(env, solver.judge(env), 1).openings
    assert (opening.position.split()[0], opening.value, opening.margin) == ("../.x./..", 0, 1)
    with pytest.raises(ValueError, match="only 1 of 2 openings"):
        make(env, solver.judge(env), 2)


@pytest.mark.slow
def test_the_shipped_book_of_side_three_is_even_by_exact_values():
    env = audamir_envs.make("stigmergy-v0", side=3, komi=4)
    book, _, _ = openings.resolve(env, "book", 0)
    table = solver.solve(3)
    for opening in book.openings:
        stones, komi, _ = table.read(env.from_text(opening.position))
        assert (komi, table.margin_of(stones) - komi) in ((4, 1), (4, -1))
        assert abs(opening.margin) == 1
    states = book.states
    assert len(set(book_making.fingerprints(env, states))) == len(book.openings)
