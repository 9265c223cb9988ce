"""The replay on hand-made games: what is carried back to whom, exactly."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from audamir_training import replay as replays

CELLS = 2


def plies(rows: list[list[dict]]) -> replays.Plies:
    """[time][lane] of facts; what is left out is nothing special."""

    def field(name: str, default, dtype) -> np.ndarray:
        return np.asarray([[cell.get(name, default) for cell in row] for row in rows], dtype)

    shape = (len(rows), len(rows[0]))
    return replays.Plies(
        game={"id": field("id", 0, np.int32)},
        slot_action=np.zeros((*shape, 3), np.int16),
        slot_weight=np.zeros((*shape, 3), np.float16),
        rest=np.zeros(shape, np.float16),
        full=field("full", True, np.bool_),
        mover=field("mover", 0, np.int8),
        root=field("root", 0.0, np.float32),
        random=field("random", False, np.bool_),
        over=field("over", False, np.bool_),
        result=field("result", 0.0, np.float32),
        ownership=field("ownership", [0] * CELLS, np.int8),
        target=np.zeros(shape, np.float32),
        ready=np.zeros(shape, np.bool_),
    )


def ring(length: int, lanes: int) -> replays.Replay:
    return replays.empty(length, jax.tree.map(lambda leaf: leaf[0], plies([[{}] * lanes])))


@functools.partial(jax.jit, static_argnums=(2, 3))
def settled(replay: replays.Replay, new: replays.Plies, window: int, root_share: float) -> replays.Replay:
    return replays.settle(replays.append(replay, new), window, root_share)


draw = jax.jit(replays.draw, static_argnums=2)

END = {"over": True, "result": 1.0, "ownership": [1, -1]}


def test_a_result_reaches_every_position_of_its_game_and_no_other() -> None:
    rows = [
        [{"mover": 0}, {"mover": 1}],
        [{"mover": 1}, {"mover": 1, **END, "result": -1.0, "ownership": [-1, -1]}],
        [{"mover": 1, **END}, {"mover": 0}],
        [{"mover": 0}, {"mover": 1}],
    ]
    after = settled(ring(8, 2), plies(rows), 8, 0.0)
    np.testing.assert_array_equal(after.ready[:4], [[1, 1], [1, 1], [1, 0], [0, 0]])
    np.testing.assert_array_equal(after.target[:3, 0], [1, -1, -1])
    np.testing.assert_array_equal(after.target[:2, 1], [1, 1])
    np.testing.assert_array_equal(after.ownership[:3, 0], [[1, -1]] * 3)
    np.testing.assert_array_equal(after.ownership[:2, 1], [[-1, -1]] * 2)
    assert not after.ready[4:].any()


def test_the_roots_value_is_mixed_in_for_the_mover() -> None:
    rows = [[{"mover": 0, "root": 0.5}], [{"mover": 1, "root": -0.25, **END}]]
    after = settled(ring(4, 1), plies(rows), 4, 0.3)
    np.testing.assert_allclose(after.target[:2, 0], [0.7 + 0.15, -(0.7 - 0.075)], rtol=1e-6)


def test_a_random_move_cuts_the_result_off() -> None:
    rows = [
        [{"mover": 0, "root": 0.1}],
        [{"mover": 1, "root": 0.4, "random": True}],
        [{"mover": 0, "root": -0.9}],
        [{"mover": 1, "root": 0.0, **END, "result": -1.0}],
    ]
    after = settled(ring(4, 1), plies(rows), 4, 0.0)
    np.testing.assert_allclose(after.target[:, 0], [0.4, -0.4, -1.0, 1.0], rtol=1e-6)
    # Ownership is what happened, whatever the move.
    np.testing.assert_array_equal(after.ownership[:, 0], [[1, -1]] * 4)


def test_a_game_that_ends_after_the_ring_wrapped_is_still_settled() -> None:
    state = ring(4, 1)
    for number in range(3):
        rows = [[{"id": 2 * number}], [{"id": 2 * number + 1, **(END if number == 2 else {})}]]
        state = settled(state, plies(rows), 4, 0.0)
    np.testing.assert_array_equal(state.game["id"][:, 0], [4, 5, 2, 3])
    assert state.ready.all()
    assert int(state.cursor) == 2
    assert int(state.filled) == 4
    np.testing.assert_array_equal(state.target[:, 0], [1, 1, 1, 1])


def test_what_was_settled_once_stays_so() -> None:
    state = settled(ring(8, 1), plies([[{}], [END]]), 8, 0.0)
    state = settled(state, plies([[{}], [{}]]), 8, 0.0)
    np.testing.assert_array_equal(state.ready[:, 0], [1, 1, 0, 0, 0, 0, 0, 0])


def test_draws_are_uniform_over_the_usable_positions_of_each_group() -> None:
    rows = [
        [{"id": 1}, {"id": 2, "full": False}, {"id": 3}, {"id": 4}],
        [{"id": 5, **END}, {"id": 6, **END}, {"id": 7, **END}, {"id": 8}],
    ]
    state = settled(ring(4, 4), plies(rows), 4, 0.0)
    keys = jax.random.split(jax.random.key(0), 2)
    time, lane, weight = draw(state, keys, 4000, jnp.int32(4))
    ids = np.asarray(state.game["id"])[time, lane]
    assert set(ids[0].tolist()) == {1, 5, 6}
    assert set(ids[1].tolist()) == {3, 7}
    assert (np.asarray(weight) == 1).all()
    shares = [np.mean(ids[0] == i) for i in (1, 5, 6)] + [np.mean(ids[1] == i) for i in (3, 7)]
    np.testing.assert_allclose(shares, [1 / 3] * 3 + [1 / 2] * 2, atol=0.04)


def test_only_the_newest_are_drawn() -> None:
    rows = [[{"id": n, **END}] for n in range(4)]
    state = settled(ring(4, 1), plies(rows), 4, 0.0)
    time, lane, _ = draw(state, jax.random.split(jax.random.key(0), 1), 100, jnp.int32(2))
    assert set(np.asarray(state.game["id"])[time, lane].ravel().tolist()) == {2, 3}


@pytest.mark.parametrize("groups", [1, 2])
def test_an_empty_replay_gives_weight_zero(groups: int) -> None:
    _, _, weight = draw(ring(4, 2), jax.random.split(jax.random.key(0), groups), 3, jnp.int32(4))
    assert (np.asarray(weight) == 0).all()
