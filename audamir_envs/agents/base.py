"""What an agent is."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import jax

from audamir_envs.core import Array, State
from audamir_envs.sampling import sample_legal


@runtime_checkable
class Agent(Protocol):
    """Chooses actions from states alone, so that one agent plays under any options of its game."""

    name: str

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a legal action of ``state.current_player`` in an unfinished game. Consumes key. Pure JAX."""
        ...


class BatchAgent:
    """Base of agents: ``act`` by jit and vmap; override ``act_batch`` where a batch can be searched together."""

    name: str = "agent"
    env_id: str = ""  # the game it plays; empty: any
    checksum: str | None = None  # of the parameters of a learned agent that was loaded from a file
    block: int | None = None  # the most states for which it decides fastest at once; None: the more, the better

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a legal action. Consumes key."""
        raise NotImplementedError(f"{type(self).__name__} must define act(state, key)")

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]: a legal action for each state of a batch. Consumes key (one for the whole batch)."""
        batch = states.current_player.shape[0]
        return jax.vmap(self.act)(states, jax.random.split(key, batch))


class RandomAgent(BatchAgent):
    """Uniform over the legal actions."""

    name = "random"

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a uniformly random legal action. Consumes key."""
        return sample_legal(key, state)

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]. Consumes key."""
        return sample_legal(key, states)


def act_batch(agent: Agent, states: State, key: Array) -> Array:
    """int32 [batch]: the agent's actions for a batch, by its own ``act_batch`` where it has one. Consumes key."""
    own = getattr(agent, "act_batch", None)
    if own is not None:
        return own(states, key)
    return jax.vmap(agent.act)(states, jax.random.split(key, states.current_player.shape[0]))
