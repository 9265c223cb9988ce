"""What an agent is."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from audamir_envs.core import Array, Pytree, State
from audamir_envs.sampling import sample_legal


class Evaluation(Pytree):
    """What an agent thinks of a position, or of each of a batch (every field with a leading axis then).

    A field that is None is one that the agent knows nothing of.
    """

    policy: Array  # float32 [actions]: probabilities; they sum to 1 over the legal actions
    value: Array  # float32 [players]: expected reward of each seat at the end, -1..1; nan: the agent has no idea
    visits: Array | None = None  # int32 [actions]: how often a search tried each action
    action_values: Array | None = None  # float32 [actions]: expected reward of the mover after each; nan: not tried
    ownership: Array | None = None
    """float32 [cells or tiles, players]: how surely each seat holds it at the end, 0..1; in drawing order."""
    score: Array | None = None
    """float32 [players]: expected lead over the best other seat in the game's own points, without komi."""
    variation: Array | None = None  # int32 [k]: actions expected from here on; -1 after the last


DRAWS = 16  # of an agent that only acts, for what it thinks of its actions


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

    def evaluate(self, state: State) -> Evaluation:
        """What the agent thinks of an unfinished position; the same each time. Pure JAX."""
        found = self.evaluate_batch(jax.tree.map(lambda leaf: leaf[None], state))
        return jax.tree.map(lambda leaf: leaf[0], found)

    def evaluate_batch(self, states: State) -> Evaluation:
        """``evaluate`` for each state of a batch. Here: how often it takes each action in 16 draws, and no values.

        Override it where an agent knows more.
        """
        return Evaluation(policy=self._drawn_policy(states), value=jnp.full_like(states.rewards, jnp.nan))

    def _drawn_policy(self, states: State) -> Array:
        """float32 [batch, actions]: how often each action is taken in ``DRAWS`` draws from fixed keys."""
        batch, actions = states.legal_action_mask.shape
        repeated = jax.tree.map(lambda leaf: jnp.repeat(leaf, DRAWS, axis=0), states)
        drawn = self.act_batch(repeated, jax.random.key(0)).reshape(batch, DRAWS)
        return jnp.mean(jax.nn.one_hot(drawn, actions, dtype=jnp.float32), axis=1)


def seat_values(value: Array, mover: Array, players: int = 2) -> Array:
    """float32 [batch, players]: what a value for the mover (float32 [batch]) means for each seat.

    The others share what the mover wins or loses: exact for two players.
    """
    seats = jnp.arange(players, dtype=jnp.int32)
    return jnp.where(seats[None] == mover[:, None], value[:, None], -value[:, None] / (players - 1))


class RandomAgent(BatchAgent):
    """Uniform over the legal actions."""

    name = "random"

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a uniformly random legal action. Consumes key."""
        return sample_legal(key, state)

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]. Consumes key."""
        return sample_legal(key, states)

    def evaluate_batch(self, states: State) -> Evaluation:
        """All legal actions alike, and no idea of the value."""
        legal = states.legal_action_mask.astype(jnp.float32)
        return Evaluation(
            policy=legal / jnp.sum(legal, axis=1, keepdims=True), value=jnp.full_like(states.rewards, jnp.nan)
        )


def act_batch(agent: Agent, states: State, key: Array) -> Array:
    """int32 [batch]: the agent's actions for a batch, by its own ``act_batch`` where it has one. Consumes key."""
    own = getattr(agent, "act_batch", None)
    if own is not None:
        return own(states, key)
    return jax.vmap(agent.act)(states, jax.random.split(key, states.current_player.shape[0]))


def evaluate_batch(agent: Agent, states: State) -> Evaluation:
    """What an agent thinks of each state of a batch, by its own ``evaluate_batch`` or else its ``evaluate``.

    Raises: NotImplementedError: an agent that only acts.
    """
    for name, call in (("evaluate_batch", lambda own: own(states)), ("evaluate", lambda own: jax.vmap(own)(states))):
        own = getattr(agent, name, None)
        if own is not None:
            return call(own)
    raise NotImplementedError(f"agent {agent.name!r} only acts: it does not say what it thinks of a position")
