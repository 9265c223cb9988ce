"""The scripted levels of Copse."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from audamir_envs.agents.base import BatchAgent
from audamir_envs.core import Array, State
from copse.environment import Copse


class Planter(BatchAgent):
    """Looks one tree ahead: at how many more cells it may plant on than the other."""

    def __init__(self, name: str, slip: float) -> None:
        """Args: slip: how often it plays anything legal instead."""
        if not 0 <= slip <= 1:
            raise ValueError(f"slip={slip} is not valid: use a share from 0 to 1")
        self.name, self.slip = name, slip

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a legal action. Consumes key."""
        env = Copse.for_shapes(state)  # an agent plays under any options
        slip_key, tie_key = jax.random.split(key)

        def worth(action: Array) -> Array:
            after = env.step_game(state.game, action, None)
            return jnp.sum(env.free(after, 1 - after.mover)) - jnp.sum(env.free(after, after.mover))

        found = jax.vmap(worth)(jnp.arange(env.num_actions, dtype=jnp.int32)).astype(jnp.float32)
        slips = jax.random.uniform(slip_key, (), jnp.float32) < self.slip
        noise = jax.random.uniform(tie_key, found.shape, jnp.float32)
        choice = jnp.where(slips, jnp.float32(0), found) + noise
        return jnp.argmax(jnp.where(state.legal_action_mask, choice, -jnp.inf)).astype(jnp.int32)


def weak(slip: float = 0.5) -> Planter:
    """Plays anything in half of its turns."""
    return Planter("weak", slip)


def normal(slip: float = 0.0) -> Planter:
    """Never slips."""
    return Planter("normal", slip)


AGENTS = {"weak": weak, "normal": normal}
