from types import SimpleNamespace

import jax
import pytest

import audamir_envs


@pytest.fixture(scope="session")
def colony():
    """The environment with its functions jitted once, alone and (``batch_*``) over lanes."""
    env = audamir_envs.make("colony-v0")
    return SimpleNamespace(
        env=env,
        step=jax.jit(env.step),
        batch_step=jax.jit(jax.vmap(env.step)),
        state_of=jax.jit(env.state_of),
        observe=jax.jit(env.observe),
    )
