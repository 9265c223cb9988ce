"""Options, what is generic in every environment, and what a seat sees."""

import copy
import json
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from principalities.positions import environment, position, random_position, states
from principalities.referee import hexagons

import audamir_envs
from audamir_envs.principalities import observation
from audamir_envs.principalities.environment import Principalities
from audamir_envs.sampling import sample_legal

CHEAP = {"xla_backend_optimization_level": 0}


def test_defaults():
    env = audamir_envs.make("principalities-v0")
    assert isinstance(env, Principalities)
    assert (env.num_players, env.tiles, env.num_actions) == (4, 32, 1027)
    assert env.observation_shape == (32, 53)
    assert env.options == {
        "players": 4,
        "tiles": None,
        "map": None,
        "starter": "random",
        "points_offer": "vote",
        "hints": False,
        "max_rounds": 500,
    }


def test_tiles_by_players():
    found = [Principalities(players=n).tiles for n in range(2, 9)]
    assert found == [32, 32, 32, 32, 36, 42, 48]
    assert Principalities(players=2, tiles=48).tiles == 48


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"players": 1}, "players=1 .* 2 to 8"),
        ({"players": 9}, "players=9 .* 2 to 8"),
        ({"players": 2.0}, "players=2.0"),
        ({"starter": 4}, "starter=4 .* 0 to 3"),
        ({"starter": 8}, "starter=8"),
        ({"starter": "first"}, "'random'"),
        ({"points_offer": True}, "'vote' or 'never'"),
        ({"hints": 1}, "hints=1 .* False or True"),
        ({"max_rounds": 0}, "max_rounds=0 .* from 1"),
        ({"max_rounds": 1021}, "max_rounds=1021 .* to 1020"),
        ({"tiles": 0}, "tiles=0"),
        ({"players": 8, "tiles": 7}, "8 players"),
        ({"map": [[1], [0]]}, "4 players"),
        ({"map": [[1], [0]], "players": 2, "tiles": 32}, "the map has 2 tiles"),
        ({"map": [[1], [2], [1]], "players": 2}, "map|neighbours"),
        ({"map": [[0, 1], [0]], "players": 2}, "map|neighbours"),
        ({"seats": 3}, "no option 'seats'"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Principalities(**options)


def test_a_step_without_a_key_is_a_type_error():
    env = environment(2, [[1], [0]])
    state = env.from_text(json.dumps(position([0, 1], [2, 1])))
    with pytest.raises(TypeError, match="key"):
        env.step(state, 1)


def test_environments_are_values():
    env = environment(2, [[1], [0]], hints=True)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), environment(2, [[1], [0]], hints=True)):
        assert other == env
        assert hash(other) == hash(env)
    assert env != environment(2, [[1], [0]])


def play(env: Principalities, key: jax.Array, steps: int):
    """A random game's states one by one, from a fresh map on."""

    def one(state, key):
        state = env.step(state, sample_legal(jax.random.fold_in(key, 1), state), key)
        return state, state

    return jax.lax.scan(one, env.init(key), jax.random.split(key, steps))[1]


def test_the_same_game_with_an_old_key_and_64_bits():
    env = environment(3, hexagons(2, 4))
    game = jax.jit(lambda key: play(env, key, 50), compiler_options=CHEAP)(jax.random.key(3))
    with jax.enable_x64(True):
        other = jax.jit(lambda key: play(env, key, 50), compiler_options=CHEAP)(jax.random.PRNGKey(3))
    for one, two in zip(jax.tree.leaves(game), jax.tree.leaves(other), strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)


def test_a_new_game_on_a_random_map_and_its_text():
    env = Principalities()
    state = jax.jit(env.init, compiler_options=CHEAP)(jax.random.key(1))
    assert state.observation.dtype == jnp.uint8
    assert state.observation.shape == env.observation_shape
    assert env.alive(state).all()
    again = env.from_text(env.to_text(state))
    for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(again), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def relabelled(p: dict, turn: int) -> dict:
    """The same position with every seat called by a number so much higher, round the table."""
    players = len(p["reserve"])
    renamed = p | {
        "owner": [(o + turn) % players for o in p["owner"]],
        "to_move": (p["to_move"] + turn) % players,
        "start_seat": (p["start_seat"] + turn) % players,
    }
    for name in ("reserve", "votes"):
        renamed[name] = [p[name][(seat - turn) % players] for seat in range(players)]
    return renamed


def test_the_seat_a_player_sits_in_changes_nothing_it_sees():
    env = environment(4)
    random = np.random.default_rng(0)
    positions = [random_position(random, 4, hexagons(4, 8), 500) for _ in range(12)]
    plain = states(env, positions)
    observe = jax.jit(jax.vmap(env.observe_game), compiler_options=CHEAP)
    for turn in (1, 2, 3):
        other = states(env, [relabelled(p, turn) for p in positions])
        np.testing.assert_array_equal(plain.observation, other.observation)
        np.testing.assert_array_equal(plain.legal_action_mask, other.legal_action_mask)
        np.testing.assert_array_equal((plain.current_player + turn) % 4, other.current_player)
        # Nor does it matter to anybody else who looks on.
        for seat in range(4):
            mine = observe(plain.game, jnp.full(12, seat, jnp.int32))
            theirs = observe(other.game, jnp.full(12, (seat + turn) % 4, jnp.int32))
            np.testing.assert_array_equal(mine, theirs)


def test_every_option_and_fact_shows_in_the_observation():
    p = position([0, 0, 1, 1, 2], [3, 1, 2, 8, 4], 3, quiet_turns=5, round=4)
    env = environment(3, p["neighbours"])
    changes = [{"quiet_turns": 6}, {"round": 5}, {"start_seat": 1}, {"attacked": True, "quiet_turns": 0}]
    changes += [{"offered": True}, {"offered": True, "votes": [False, None, None]}, {"offered": True, "to_move": 1}]
    changes += [{"offered": True, "to_move": 1, "votes": [True, None, None]}, {"reserve": [0, 1, 0]}, {}]
    seen = [env.from_text(json.dumps(p | change)).observation for change in changes]
    game = env.from_text(json.dumps(p)).game
    observe = jax.jit(env.observe_game, compiler_options=CHEAP)
    for option in ({"hints": jnp.asarray(True)}, {"max_rounds": jnp.int32(499)}):
        seen.append(observe(game.replace(**option), jnp.int32(0)))
    assert len({np.asarray(o).tobytes() for o in seen}) == len(seen)
    # A game that never asks looks like one that has asked in vain.
    never = observe(game.replace(points_offer=jnp.asarray(False)), jnp.int32(0))
    np.testing.assert_array_equal(never, seen[5])
    assert changes[5]["votes"][0] is False


def test_columns_are_as_the_table_says():
    facts = {"to_move": 1, "start_seat": 0, "round": 2, "reserve": [5, 6, 7], "quiet_turns": 9}
    p = position([1, 1, 2, 2, 0], [3, 1, 2, 8, 4], 3, **facts)
    seen = np.asarray(environment(3, p["neighbours"], hints=True).from_text(json.dumps(p)).observation)
    assert seen.shape == (5, 3 + 17 + 5) == observation.shape(3, 5)
    assert seen[0, :8].tolist() == [1, 0, 0, 3, 2, 6, 2, 0]
    assert seen[4, :8].tolist() == [0, 0, 1, 4, 1, 5, 1, 0]
    assert seen[0, 8:20].tolist() == [0, 0, 2, 0, 1, 10, 2, 255, 243, 0, 0, 1]
    assert (seen[:, 8:20] == seen[0, 8:20]).all()
    assert seen[1, 20:].tolist() == [1, 0, 1, 0, 0]
