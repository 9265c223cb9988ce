"""A scripted level with a seat in some lanes: it makes its own moves there and nobody else's, anywhere."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from audamir_training import selfplay
from audamir_training.alphazero import AlphaZero
from tiny_run import changed, copied, mesh_of

from audamir_envs.agents.base import BatchAgent


class Last(BatchAgent):
    """Plays the last legal action, pass among them."""

    def act(self, state, key):
        actions = jnp.arange(state.legal_action_mask.shape[0], dtype=jnp.int32)
        return jnp.max(jnp.where(state.legal_action_mask, actions, -1))


def seat_of(lane: int, group: int, against: int) -> int | None:
    """The level's seat in a lane, told apart from the implementation: half of the lanes see it as either."""
    place, of_group = lane % group, lane // group
    return None if place >= against else (place + of_group) % 2


@pytest.fixture(scope="module")
def run() -> AlphaZero:
    algorithm = AlphaZero(changed(level_share=0.5, level="weak", random_share=0.5, opening_plies=0), mesh_of(1))
    algorithm.level = Last()
    return algorithm


def test_the_level_moves_where_it_has_a_seat_and_nowhere_else(run) -> None:
    group, against = run.play_settings.group, run.play_settings.against
    assert (group, against) == (4, 2)
    variant, state = run.variants[0], run.start()
    keys = jax.random.split(jax.random.key(1), 8)
    action, its = selfplay.with_level_moves(
        variant, run.play_settings, Last(), state.lanes[0], jnp.full(8, 3, jnp.int32), keys
    )
    movers = np.asarray(jax.vmap(variant.env.mover)(state.lanes[0].game))
    expected = [seat_of(lane, group, against) == movers[lane] for lane in range(8)]
    assert 0 < sum(expected) < 8
    np.testing.assert_array_equal(its, expected)
    legal = np.asarray(jax.vmap(variant.env.legal_actions)(state.lanes[0].game))
    last = [int(np.flatnonzero(row)[-1]) for row in legal]
    np.testing.assert_array_equal(action, np.where(expected, last, 3))


@pytest.mark.parametrize("env_id", [pytest.param("colony-v0", marks=pytest.mark.slow), "stigmergy-v0"])
def test_a_scripted_level_moves_legally(env_id: str) -> None:
    layouts = "default" if env_id == "colony-v0" else "3"
    settings = changed(env=env_id, layouts=layouts, level_share=1.0, level="weak", evaluate_options="")
    run = AlphaZero(settings, mesh_of(1))
    variant = run.variants[0]
    keys = jax.random.split(jax.random.key(2), 8)
    number, nobody = jnp.arange(8, dtype=jnp.int32), jnp.full(8, -1, jnp.int32)
    lanes = selfplay.Lanes(selfplay.begin(variant, 3, keys), jnp.zeros(8, jnp.int32), number, nobody)
    action, its = selfplay.with_level_moves(
        variant, run.play_settings, run.level, lanes, jnp.full(8, -1, jnp.int32), keys
    )
    legal = np.asarray(jax.vmap(variant.env.legal_actions)(lanes.game))
    action, its = np.asarray(action), np.asarray(its)
    assert 0 < its.sum() < 8
    assert legal[its, action[its]].all()
    assert (action[~its] == -1).all()
    # A device that holds the second half of the lanes alone finds the same for them.
    half = jax.tree.map(lambda leaf: leaf[4:], lanes)
    alone = selfplay.with_level_moves(variant, run.play_settings, run.level, half, jnp.full(4, -1, jnp.int32), keys[4:])
    np.testing.assert_array_equal(alone[0], action[4:])
    np.testing.assert_array_equal(alone[1], its[4:])


def test_games_of_a_run_hold_the_moves_of_the_level(run) -> None:
    state = run.start()
    for _ in range(2):
        state, _ = run.iterate(state)
    ring, env = copied(state.replay[0]), run.variants[0].env
    step = jax.jit(lambda game, action: env.step_game(game, action, None))
    checked = np.zeros(2, int)
    for time in range(15):
        for lane in range(8):
            game = jax.tree.map(lambda leaf, at=(time, lane): leaf[at], ring.game)
            if ring.over[time, lane] or seat_of(lane, 4, 2) != ring.mover[time, lane]:
                continue
            last = np.flatnonzero(np.asarray(env.legal_actions(game)))[-1]
            follows = jax.tree.map(lambda leaf, at=(time + 1, lane): leaf[at], ring.game)
            jax.tree.map(np.testing.assert_array_equal, step(game, np.int32(last)), follows)
            assert not ring.random[time, lane]  # so its result counts
            checked[ring.mover[time, lane]] += 1
    assert (checked > 5).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"level_share": 1.5}, r"level_share=1\.5 is not valid: use a number from 0 to 1"),
        ({"level": "nobody"}, "level='nobody' is not valid: unknown agent 'nobody' for stigmergy-v0: use random, weak"),
    ],
)
def test_settings_of_the_level_are_checked(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AlphaZero(changed(**changes), mesh_of(1))


def test_a_small_share_is_one_lane_of_each_group() -> None:
    assert AlphaZero(changed(level_share=0.01), mesh_of(1)).play_settings.against == 1
    alone = AlphaZero(changed(), mesh_of(1))
    assert (alone.play_settings.against, alone.level) == (0, None)
