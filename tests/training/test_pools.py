"""The pool of earlier selves: who is drawn, who is replaced, and that an opponent stays for a whole game."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from audamir_training import pools
from audamir_training.alphazero import AlphaZero
from tiny_run import changed, copied, mesh_of


def pool_of(scores, taken=None, retired=None) -> pools.Pool:
    count = len(scores)
    return pools.Pool(
        parameters={"w": jnp.arange(count, dtype=jnp.float32)},
        score=jnp.asarray(scores, jnp.float32),
        retired=jnp.asarray(retired or [False] * count),
        taken=jnp.int32(count if taken is None else taken),
    )


def test_who_beats_the_learner_is_drawn_more_often() -> None:
    keys = jax.random.split(jax.random.key(0), 20_000)
    drawn = np.asarray(
        jax.jit(pools.draw_opponents)(pool_of([0.9, 0.5, 0.0, 0.2], 4, [False, False, False, True]), keys)
    )
    weight = np.array([0.06, 0.3, 1.05, 0.0])
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 20_000, weight / weight.sum(), atol=0.015)
    assert set(np.asarray(pools.draw_opponents(pool_of([0.5] * 4, 2), keys[:200])).tolist()) == {0, 1}
    assert (np.asarray(pools.draw_opponents(pool_of([0.5] * 4, 0), keys[:10])) == -1).all()


def test_scores_follow_what_is_played() -> None:
    pool = pools.scored(pool_of([0.5, 0.5]), jnp.asarray([16.0, 0.0]), jnp.asarray([16.0, 0.0]))
    np.testing.assert_allclose(pool.score, [0.75, 0.5])


@pytest.mark.parametrize(
    ("scores", "taken", "in_play", "retired", "place"),
    [
        ([0.5, 0.5, 0.5], 1, [True, False, False], [False] * 3, 1),  # the first free place
        ([0.2, 0.9, 0.8], 3, [False, False, False], [False] * 3, 1),  # the one that is beaten most
        ([0.2, 0.9, 0.8], 3, [False, True, False], [False] * 3, 2),  # of those nobody plays
        ([0.2, 0.9, 0.8], 3, [False, True, False], [True, False, False], 0),  # who was retired first of all
        ([0.2, 0.9, 0.8], 3, [True, True, True], [False] * 3, None),
    ],
)
def test_whose_place_is_taken(scores, taken, in_play, retired, place) -> None:
    before = pool_of(scores, taken, retired)
    after = pools.remember(before, {"w": jnp.float32(9)}, jnp.asarray(in_play))
    expected = np.arange(3.0)
    if place is None:
        assert after.retired.tolist() == [False, True, False]  # the one that is beaten most gets no new games
    else:
        expected[place] = 9
        assert not after.retired[place]
        assert float(after.score[place]) == 0.5
    np.testing.assert_array_equal(after.parameters["w"], expected)
    assert int(after.taken) == min(3, taken + 1)


@pytest.fixture(scope="module")
def run() -> AlphaZero:
    return AlphaZero(changed(pool_share=0.5, pool=2, pool_iterations=2, fork_share=0.5, fast_simulations=2), mesh_of(1))


def test_an_opponent_stays_for_a_whole_game_and_plays_its_own_moves(run) -> None:
    state, opponents = run.start(), []
    assert (np.asarray(state.lanes[0].opponent) == -1).all()
    measured = []
    for _ in range(8):
        before = copied(state.lanes[0])
        pool = copied(state.pool)
        state, metrics = run.iterate(state)
        after, over = copied(state.lanes[0]), copied(state.replay[0].over)
        row = (int(state.replay[0].cursor) - 8) % over.shape[0]
        same = ~over[row : row + 8].any(axis=0)
        np.testing.assert_array_equal(before.opponent[same], after.opponent[same])
        # Nobody's parameters change while a game is played against them.
        for kept, now in zip(
            jax.tree.leaves(pool.parameters), jax.tree.leaves(copied(state.pool.parameters)), strict=True
        ):
            for self_ in set(after.opponent[same & (after.opponent >= 0)].tolist()):
                np.testing.assert_array_equal(kept[self_], now[self_])
        opponents.append(after.opponent)
        measured.append(float(metrics["pool_score"]))
    assert (np.stack(opponents)[:, [2, 3, 6, 7]] == -1).all()  # two lanes of each group of four
    assert (np.stack(opponents)[-1][[0, 1, 4, 5]] >= 0).all()
    assert np.isnan(measured[0])
    assert 0 <= np.nanmean(measured) <= 1
    assert int(state.pool.taken) == 2


def test_games_begin_at_positions_of_earlier_games(run) -> None:
    state = run.start()
    for _ in range(3):
        state, _ = run.iterate(state)
    ring = copied(state.replay[0])
    stones = ring.game.stones.reshape(*ring.over.shape, -1)
    started = [
        stones[time + 1, lane] for lane in range(8) for time in range(int(ring.filled) - 1) if ring.over[time, lane]
    ]
    counts = np.array([(position != stones.min()).sum() for position in started])
    assert len(started) > 10
    # opening_plies is 1: without forks a new game has one stone at most (and the places that are off the board).
    assert len(set(counts.tolist())) > 2
