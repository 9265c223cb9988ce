"""What works under ``jnp.where`` works under a vmapped ``cond`` and ``switch``, in nested vmaps, in vmapped scans."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import audamir_envs
from audamir_envs.agents.loading import agent_names
from audamir_envs.principalities.maps import pool, pool_init

# Random maps are made in a batch of their own, which a user's are not.
CASES = {
    "colony-v0": {"starter": "random"},
    "stigmergy-v0": {"side": 2, "komi": "choose"},
    "principalities-v0": {"players": 2, "tiles": 4},
}
LANES = 4
KEYS = jax.random.split(jax.random.key(0), LANES)


@functools.cache
def made(env_id):
    return audamir_envs.make(env_id, **CASES[env_id])


def picked(flags, yes, no):
    return jax.tree.map(lambda a, b: jnp.where(flags.reshape(flags.shape + (1,) * (a.ndim - 2)), a, b), yes, no)


def same(one, other):
    return all(jax.tree.leaves(jax.tree.map(lambda a, b: np.array_equal(np.asarray(a), np.asarray(b)), one, other)))


def test_every_game_is_tried():
    assert set(CASES) == set(audamir_envs.ids())


@pytest.mark.parametrize(
    "env_id", [pytest.param(env_id, marks=[pytest.mark.slow] * (env_id != "stigmergy-v0")) for env_id in CASES]
)
def test_a_vmapped_cond_chooses_for_each_lane(env_id):
    env = made(env_id)
    automatic = audamir_envs.auto_reset(env)
    agents = [audamir_envs.make_agent(env_id, name).act for name in ("random", "weak")]

    def branch(flag, key):
        init_key, other_key, act_key = jax.random.split(key, 3)
        state = jax.lax.cond(flag, automatic.init, lambda key: automatic.init(other_key), init_key)
        action = jax.lax.switch(flag.astype(jnp.int32), agents, state, act_key)
        # An illegal action ends the game, so that the lanes with the flag start anew.
        after = jax.lax.cond(
            flag, lambda: automatic.step(state, -1, act_key), lambda: automatic.step(state, action, other_key)
        )
        return state, env.observe(state, 1), action, after

    program = jax.jit(jax.vmap(jax.vmap(branch)))
    keys = KEYS.reshape(2, 2)
    flags = jnp.array([[True, False], [False, True]])
    yes, no, mixed = (program(f, keys) for f in (flags | True, flags & False, flags))
    assert same(mixed, picked(flags, yes, no))
    assert yes[3].just_reset.all()
    assert not no[3].illegal.any()


@pytest.mark.parametrize("env_id", CASES)
def test_every_level_in_a_vmapped_choice_of_opponents(env_id):
    env = made(env_id)
    agents = [audamir_envs.make_agent(env_id, name) for name in agent_names(env_id) if not name.startswith("zero")]

    def act(number, key):
        return jax.lax.switch(number, [agent.act for agent in agents], env.init(key), key)

    numbers = jnp.arange(LANES, dtype=jnp.int32)
    actions = jax.eval_shape(jax.vmap(jax.vmap(act, in_axes=(None, 0)), in_axes=(0, None)), numbers, KEYS)
    assert (actions.shape, actions.dtype) == ((LANES, LANES), jnp.int32)


def test_prepared_maps_are_arguments_of_a_vmapped_scan():
    env = made("principalities-v0")

    def play(maps, key):
        automatic = audamir_envs.auto_reset(env, init=pool_init(env, maps))
        step = lambda state, key: (automatic.step(state, -1, key), None)  # noqa: E731
        return jax.lax.scan(step, automatic.init(key), jax.random.split(key, 3))[0]

    maps = jax.vmap(lambda key: pool(key, 4, 3))(jax.random.split(jax.random.key(2), 2))  # for half of the lanes each
    states = jax.jit(jax.vmap(jax.vmap(play, in_axes=(None, 0))))(maps, KEYS.reshape(2, 2))
    hexagons = np.asarray(states.game.hex_of_tile)
    for half in range(2):
        theirs = np.asarray(maps.hex_of_tile)[half]
        assert all((theirs == grid).all(axis=(1, 2)).any() for grid in hexagons[half])
