"""Levels of Tally."""

import jax
import jax.numpy as jnp

from audamir_envs.agents.base import BatchAgent


class Low(BatchAgent):
    """Always 0."""

    name = "weak"

    def act(self, state, key):
        return jnp.int32(0)


class High(BatchAgent):
    """The largest legal pick, but 0 in ``slip`` of its turns."""

    name = "strong"

    def __init__(self, slip: float = 0.0) -> None:
        if not 0 <= slip <= 1:
            raise ValueError(f"slip={slip} is not valid: use a share from 0 to 1")
        self.slip = slip

    def act(self, state, key):
        best = jnp.where(state.legal_action_mask[2], jnp.int32(2), jnp.int32(1))
        return jnp.where(jax.random.uniform(key) < self.slip, jnp.int32(0), best)


class Cheat(BatchAgent):
    """Always 2, legal or not."""

    name = "cheat"

    def act(self, state, key):
        return jnp.int32(2)


AGENTS = {"weak": Low, "strong": High, "cheat": Cheat}
