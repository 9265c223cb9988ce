"""Balance is counted, never assumed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audamir_envs.arena.seating import rotated, round_robin, tables


@given(st.integers(2, 8), st.integers(1, 60), st.integers(0, 5), st.booleans())
@settings(max_examples=60, deadline=None)
def test_rotation_is_balanced(players, games, seed, mirrored):
    seats, starts = rotated(players, games, seed, mirrored)
    assert seats.shape == (games, players)
    assert (np.sort(seats, axis=1) == np.arange(players)).all()  # everybody plays in every game
    for entrant in range(players):
        for seat in range(players):
            count = int((seats[:, seat] == entrant).sum())
            assert games // players <= count <= -(-games // players)
    runs = np.arange(games) // players
    if mirrored:
        assert (starts == runs).all()
    else:
        assert len(set(starts.tolist())) == games


def test_rotation_changes_neighbours_between_runs():
    seats, _ = rotated(4, 400, seed=0)
    after_zero = {int(row[(list(row).index(0) + 1) % 4]) for row in seats}
    assert after_zero == {1, 2, 3}


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(("agents", "games"), [(2, 4), (4, 6), (3, 5)])
def test_round_robin(agents, games, mirrored):
    seats, starts = round_robin(agents, games, mirrored)
    assert len(seats) == agents * (agents - 1) // 2 * games
    for a in range(agents):
        for b in range(a + 1, agents):
            first = int(((seats[:, 0] == a) & (seats[:, 1] == b)).sum())
            second = int(((seats[:, 0] == b) & (seats[:, 1] == a)).sum())
            assert first + second == games
            assert first - second in (0, 1)
    if not mirrored:
        assert len(set(starts.tolist())) == len(starts)
        return
    for start in set(starts.tolist()):  # a pair shares a start, with seats swapped
        rows = seats[starts == start]
        assert len(rows) <= 2
        assert len(rows) == 1 or (rows[0] == rows[1][::-1]).all()


@given(st.integers(2, 7), st.integers(3, 8), st.integers(1, 40), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_tables_are_balanced(agents, players, games, seed):
    seats, starts = tables(agents, players, games, seed, mirrored=True)
    assert seats.shape[1] == players
    count = np.array([[(seats[:, s] == a).sum() for s in range(players)] for a in range(agents)])
    assert (count == count[0, 0]).all()  # every agent equally often in every seat
    assert count[0].sum() >= games
    for start in set(starts.tolist()):
        rows = seats[starts == start]
        assert len(rows) == players
        assert all((np.roll(rows[0], turn) == row).all() for turn, row in enumerate(rows))
        assert len(set(rows[0].tolist())) == min(agents, players)
