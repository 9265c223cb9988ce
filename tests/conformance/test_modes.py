"""Every game and level under the stricter modes of JAX: no implicit rank promotion, and shard_map with its checks."""

import functools

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AxisType, PartitionSpec

import audamir_envs
from audamir_envs.agents.loading import agent_names

CASES = {
    "colony-v0": {"starter": "random"},
    "stigmergy-v0": {"side": 2, "komi": "choose"},
    "principalities-v0": {"players": 3, "tiles": 4, "hints": True},
}
LANES = 4


@functools.cache
def made(env_id):
    """(environment, auto-reset, keys, states of zeros): types are all that is looked at here."""
    env = audamir_envs.make(env_id, **CASES[env_id])
    automatic = audamir_envs.auto_reset(env)
    keys = jax.random.split(jax.random.key(0), LANES)
    shapes = jax.eval_shape(jax.vmap(automatic.init), keys)
    return env, automatic, keys, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


def programs(env_id):
    """Functions of states and keys, with a leading axis each."""
    env, automatic, _, _ = made(env_id)
    yield jax.vmap(lambda state, key: env.init(key))
    yield jax.vmap(lambda state, key: env.step(state, state.current_player, key))
    yield jax.vmap(lambda state, key: env.observe(state, 1))
    yield jax.vmap(lambda state, key: env.info(state, ("weak",)))
    yield jax.vmap(lambda state, key: automatic.step(state, -1, key))
    yield lambda states, keys: automatic.step_rewards(states)
    yield lambda states, keys: audamir_envs.sample_legal(keys[0], states)
    for name in agent_names(env_id):
        if not name.startswith("zero"):
            yield jax.vmap(audamir_envs.make_agent(env_id, name).act)


@pytest.mark.parametrize("env_id", CASES)
def test_without_implicit_rank_promotion(env_id):
    _, _, keys, states = made(env_id)
    with jax.numpy_rank_promotion("raise"):
        for program in programs(env_id):
            jax.eval_shape(program, states, keys)


def on_an_explicit_mesh(env_id):
    _, automatic, keys, states = made(env_id)
    mesh = jax.make_mesh((2,), ("devices",), axis_types=(AxisType.Explicit,))
    split = PartitionSpec("devices")
    return automatic, mesh, split, *jax.device_put((states, keys), jax.NamedSharding(mesh, split))


@pytest.mark.parametrize("env_id", CASES)
def test_on_an_explicit_mesh_without_shard_map(env_id):
    automatic, mesh, split, states, keys = on_an_explicit_mesh(env_id)
    with jax.set_mesh(mesh):
        for program in (*programs(env_id), lambda states, keys: jax.vmap(automatic.init)(keys)):
            found = jax.eval_shape(jax.sharding.auto_axes(program, out_sharding=split), states, keys)
            assert jax.typeof(jax.tree.leaves(found)[0]).sharding.spec[0] == "devices"


@pytest.mark.parametrize("env_id", CASES)
def test_inside_shard_map_on_an_explicit_mesh(env_id):
    automatic, mesh, split, states, keys = on_an_explicit_mesh(env_id)

    def rollout(states, keys):
        def ply(state, _):
            state = jax.vmap(automatic.step)(state, state.current_player, keys)
            return state, state.rewards

        return jax.lax.scan(ply, jax.vmap(automatic.init)(keys), None, length=2)[1].sum(axis=0)

    with jax.set_mesh(mesh):
        for program in (*programs(env_id), rollout):
            found = jax.eval_shape(jax.shard_map(program, mesh=mesh, in_specs=split, out_specs=split), states, keys)
            assert jax.tree.leaves(found)[0].shape[0] == LANES
