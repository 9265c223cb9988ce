"""Colony's scripted levels: Weak takes what gains most at once, Normal looks 3 plies ahead and Strong 4.

All choose at random among equally good moves, and slip now and then (any legal move): Weak in half of its turns,
Normal in 10 %, Strong in 1 %. The shares were set so that the ladder of docs/colony.md comes out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.base import BatchAgent, Evaluation, seat_values
from audamir_envs.batching import with_batch_rule
from audamir_envs.colony.rules import KINDS, MOVES, PASS, Position
from audamir_envs.colony.search import WIN, best_moves, searched
from audamir_envs.core import Array, State, whole_number
from audamir_envs.sampling import sample_legal
from audamir_envs.texts import quoted

_IS_COPY = ((np.arange(PASS + 1) % KINDS == 0) & (np.arange(PASS + 1) != PASS)).astype(np.uint32)


def immediate_gains(position: Position) -> Array:
    """uint32 [794]: by how much each action, if legal, raises the mover's lead in pieces."""
    near_lo, near_hi = jnp.asarray(MOVES[:, 4]), jnp.asarray(MOVES[:, 5])
    turned = jax.lax.population_count(near_lo & position.enemy.lo) + jax.lax.population_count(
        near_hi & position.enemy.hi
    )
    return turned * jnp.uint32(2) + jnp.asarray(_IS_COPY)


class ScriptedAgent(BatchAgent):
    """Full-width search on the lead in pieces, with slips.

    ``act(states[i], split(key)[i])`` and ``act_batch(states, key)[i]`` are the same, and vmap over ``act`` searches the
    batch together too.
    """

    def __init__(self, name: str, depth: int, slip: float) -> None:
        """Args: depth: plies to search, 1 or at least 3; slip: the chance of playing a random legal move.

        Raises: ValueError naming the valid values.
        """
        plies = whole_number(depth)
        if plies is None or plies < 1 or plies == 2:
            raise ValueError(f"depth={quoted(depth)} is not valid: use 1, or an integer from 3")
        if isinstance(slip, bool) or not isinstance(slip, (int, float)) or not 0 <= slip <= 1:
            raise ValueError(f"slip={quoted(slip)} is not valid: use a number from 0 to 1")
        self.name, self.depth, self.slip = name, plies, slip
        self._act = with_batch_rule(
            functools.partial(_choose_one, plies, slip), functools.partial(_choose, plies, slip)
        )

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a legal action. Consumes key."""
        return self._act(state, key)

    def act_batch(self, states: State, key: Array) -> Array:
        """int32 [batch]: a legal action for each state. Consumes key."""
        return _choose(self.depth, self.slip, states, jax.random.split(key, states.current_player.shape[0]))

    def evaluate_batch(self, states: State) -> Evaluation:
        """How likely it plays each action; what its search finds, where it searches (nan where one action is legal)."""
        return _think(self.depth, self.slip, states)


def _think(depth: int, slip: float, states: State) -> Evaluation:
    """How likely each action is; and where the level searches, what the lead it finds is worth.

    The value is 1 for a win within reach, else tanh(lead / 10).
    """
    mask = states.legal_action_mask
    legal = mask.astype(jnp.float32)
    batch = mask.shape[0]
    value = jnp.full((batch, 2), jnp.nan, jnp.float32)
    score = None
    if depth == 1:
        gains = jnp.where(mask, jax.vmap(immediate_gains)(states.game) + jnp.uint32(1), jnp.uint32(0))
        best = (gains == gains.max(-1, keepdims=True)).astype(jnp.float32)
    else:
        wanted = ~(states.terminated | states.truncated) & (mask.sum(-1, dtype=jnp.int32) > 1)
        actions, equal, lead = searched(states.game, wanted, depth)
        lanes = jnp.arange(batch, dtype=jnp.int32)
        best = jnp.zeros_like(legal).at[lanes[None], actions].max(equal.astype(jnp.float32))
        best = jnp.where(wanted[:, None], best, legal)
        won = jnp.where(
            jnp.abs(lead) >= WIN // 2, jnp.sign(lead).astype(jnp.float32), jnp.tanh(lead.astype(jnp.float32) / 10)
        )
        nan = jnp.float32(jnp.nan)
        value = seat_values(jnp.where(wanted, won, nan), states.current_player)
        lead = jnp.where(wanted & (jnp.abs(lead) < WIN // 2), lead.astype(jnp.float32), nan)
        score = seat_values(lead, states.current_player)
    best, legal = (weights / jnp.sum(weights, axis=1, keepdims=True) for weights in (best, legal))
    return Evaluation(policy=(1 - slip) * best + slip * legal, value=value, score=score)


def _choose(depth: int, slip: float, states: State, keys: Array) -> Array:
    """int32 [batch]: actions. Consumes keys, one a state."""
    keys = jax.vmap(functools.partial(jax.random.split, num=3))(keys)
    mask = states.legal_action_mask
    anything = jax.vmap(sample_legal)(keys[:, 0], mask)
    wanted = ~(states.terminated | states.truncated) & (mask.sum(-1, dtype=jnp.int32) > 1)
    if slip > 0:
        # 24 bits are enough for a chance, and compare alike on every machine.
        words = jax.vmap(lambda key: jax.random.bits(key, (), jnp.uint32))(keys[:, 1])
        wanted &= (words >> jnp.uint32(8)) >= jnp.uint32(round(slip * (1 << 24)))
    if depth == 1:
        gains = jnp.where(mask, jax.vmap(immediate_gains)(states.game) + jnp.uint32(1), jnp.uint32(0))
        best = gains == gains.max(-1, keepdims=True)
        chosen = jax.vmap(sample_legal)(keys[:, 2], best)
    else:
        chosen = best_moves(states.game, wanted, keys[:, 2], depth)
    return jnp.where(wanted, chosen, anything)


def _choose_one(depth: int, slip: float, state: State, key: Array) -> Array:
    return _choose(depth, slip, jax.tree.map(lambda leaf: leaf[None], state), key[None])[0]


AGENTS: dict[str, Callable[..., BatchAgent]] = {
    "weak": functools.partial(ScriptedAgent, "weak", depth=1, slip=0.5),
    "normal": functools.partial(ScriptedAgent, "normal", depth=3, slip=0.1),
    "strong": functools.partial(ScriptedAgent, "strong", depth=4, slip=0.01),
}
"""The levels by name; keyword arguments override ``depth`` and ``slip``."""
