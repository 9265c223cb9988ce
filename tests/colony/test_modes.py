"""The same game under 64-bit mode and both kinds of keys."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import audamir_envs
from audamir_envs.colony.scripted import AGENTS


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def wide(request):
    with jax.enable_x64(request.param):
        yield request.param


def test_forms_do_not_depend_on_the_mode(wide, colony):
    env = audamir_envs.make("colony-v0", starter="random")
    for make_key in (jax.random.key, jax.random.PRNGKey):
        key = jax.eval_shape(lambda make_key=make_key: make_key(0))
        state = jax.eval_shape(env.init, key)
        after = jax.eval_shape(env.step, state, jax.ShapeDtypeStruct((), jnp.int32))
        for new, old in zip(jax.tree.leaves(after), jax.tree.leaves(state), strict=True):
            assert (new.shape, new.dtype) == (old.shape, old.dtype)
        dtypes = {leaf.dtype.name for leaf in jax.tree.leaves(state)}
        assert dtypes == {"bool", "uint32", "int32", "float32"}
        states = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((4, *leaf.shape), leaf.dtype), state)
        for level in AGENTS.values():
            actions = jax.eval_shape(level().act_batch, states, key)
            assert (actions.shape, actions.dtype) == ((4,), jnp.int32)


def test_a_game_is_the_same_in_both_modes(colony):
    env, texts = colony.env, []
    for wide in (False, True):
        with jax.enable_x64(wide):
            step = jax.jit(env.step)
            state = env.from_text("x...o/....../......./...#..../o....#..x/...#..../......./....../x...o x 0 0")
            for number in (3, 5, 8, 13, 21, 34):
                legal = np.flatnonzero(np.asarray(state.legal_action_mask))
                state = step(state, int(legal[number % len(legal)]))
            texts.append(env.to_text(state))
    assert texts[0] == texts[1]
