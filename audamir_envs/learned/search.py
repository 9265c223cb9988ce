"""Gumbel AlphaZero's search (mctx) over the functional environments, for play and for training.

A node keeps the game's position alone. Of its legal actions only the most likely few are *slots* of the tree, since
the tree's cost grows with the actions of a node; at the root these are the best by policy plus Gumbel noise, so that
drawing actions without replacement is still exact.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mctx

from audamir_envs.core import Array, Environment, Pytree
from audamir_envs.learned.networks import HexOutput

_mctx: Any = mctx  # its dataclasses hide their fields from type checkers
_ILLEGAL = -1e9  # a logit that no softmax gives any weight


@dataclasses.dataclass(frozen=True)
class SearchConfig:
    """How to search."""

    simulations: int = 32
    considered: int = 16  # actions drawn at the root
    slots: int = 32  # actions of a node that the tree knows
    value_scale: float = 0.1  # of Q against the policy, as in mctx
    visit_offset: float = 50.0


class Searched(Pytree):
    """What a search found, for each position of a batch."""

    action: Array  # int32 [batch]: the action to play
    slot_action: Array  # int32 [batch, slots]: actions of the root that the tree knows
    slot_weight: Array  # float32 [batch, slots]: their probability under the improved policy; with `rest` it sums to 1
    rest: Array  # float32 [batch]: probability of all other legal actions together
    value: Array  # float32 [batch]: of the root under the improved policy, for the mover
    raw_value: Array  # float32 [batch]: the network's own
    entropy: Array  # float32 [batch]: of the network's policy over the legal actions, in nats


def mask_logits(logits: Array, legal: Array) -> Array:
    """The logits, illegal ones pushed out of every softmax."""
    return jnp.where(legal, logits, jnp.float32(_ILLEGAL))


def search(
    env: Environment,
    evaluate: Callable[[Array], HexOutput],
    games: Any,
    legal: Array,
    keys: Array,
    config: SearchConfig,
    gumbel_scale: Array | float = 1.0,
) -> Searched:
    """Searches a batch of unfinished positions of a two-player game.

    Args:
        env: supplies the rules as functions of a position; its options do not matter where shapes agree.
        evaluate: the network on observations [batch, ...].
        games: positions with a leading axis [batch].
        legal: bool [batch, actions]: what may be played at the root.
        keys: [batch] PRNG keys, consumed; a lane's result depends on its own key alone.
        gumbel_scale: float32 [batch] or number: 1 draws from the improved policy, 0 plays its best.
    """
    batch, actions = legal.shape
    slots = min(config.slots, actions)
    movers = jax.vmap(env.mover)(games)
    root = evaluate(jax.vmap(env.observe_game)(games, movers))
    logits = jax.nn.log_softmax(mask_logits(root.logits, legal))
    scale = jnp.broadcast_to(jnp.asarray(gumbel_scale, jnp.float32), (batch,))[:, None]
    gumbel = scale * jax.vmap(lambda key: jax.random.gumbel(key, (actions,), jnp.float32))(keys)
    _, slot_action = jax.lax.top_k(logits + gumbel, slots)
    slot_logits = jnp.take_along_axis(logits, slot_action, axis=1)
    slot_legal = jnp.take_along_axis(legal, slot_action, axis=1)
    slot_gumbel = jnp.take_along_axis(gumbel, slot_action, axis=1)

    def expand(_: Any, __: Array, slot: Array, node: tuple[Any, Array]) -> tuple[Any, Any]:
        before, node_slots = node
        action = jnp.take_along_axis(node_slots, slot[:, None], axis=1)[:, 0].astype(jnp.int32)
        mover = jax.vmap(env.mover)(before)
        after = jax.vmap(env.step_game, in_axes=(0, 0, None))(before, action, None)
        outcome = jax.vmap(env.outcome)(after)
        over = outcome.terminated | outcome.truncated
        reward = jnp.take_along_axis(outcome.rewards, mover[:, None], axis=1)[:, 0]
        next_mover = jax.vmap(env.mover)(after)
        found = evaluate(jax.vmap(env.observe_game)(after, next_mover))
        likely, child_slots = jax.lax.top_k(mask_logits(found.logits, jax.vmap(env.legal_actions)(after)), slots)
        output = _mctx.RecurrentFnOutput(
            reward=jnp.where(over, reward, jnp.float32(0)),
            discount=jnp.where(over, jnp.float32(0), jnp.where(next_mover == mover, jnp.float32(1), jnp.float32(-1))),
            prior_logits=likely,
            value=found.value,
        )
        return output, (after, child_slots.astype(node_slots.dtype))

    number = jnp.int16 if actions < 2**15 else jnp.int32
    qtransform = functools.partial(
        mctx.qtransform_completed_by_mix_value, value_scale=config.value_scale, maxvisit_init=config.visit_offset
    )
    considered = min(config.considered, slots)
    # mctx mixes integers and floats; this is the only place that lets it.
    with jax.numpy_dtype_promotion("standard"):
        tree = _mctx.search(
            params=(),
            rng_key=keys[0],  # nothing in this search draws from it
            root=_mctx.RootFnOutput(
                prior_logits=mask_logits(slot_logits, slot_legal),
                value=root.value,
                embedding=(games, slot_action.astype(number)),
            ),
            recurrent_fn=expand,
            root_action_selection_fn=functools.partial(
                mctx.gumbel_muzero_root_action_selection,
                num_simulations=config.simulations,
                max_num_considered_actions=considered,
                qtransform=qtransform,
            ),
            interior_action_selection_fn=functools.partial(
                mctx.gumbel_muzero_interior_action_selection, qtransform=qtransform
            ),
            num_simulations=config.simulations,
            invalid_actions=(~slot_legal).astype(jnp.float32),
            extra_data=_mctx.GumbelMuZeroExtraData(root_gumbel=slot_gumbel),
        )
        summary = tree.summary()
    visits, qvalues = summary.visit_counts, summary.qvalues
    visited = visits > 0

    # Actions without a visit, in a slot or not, are taken to be worth what the root is; then all Q are brought to 0..1.
    prior = jnp.where(slot_legal, jnp.exp(slot_logits), jnp.float32(0))
    mixed = _mixed_value(root.value, prior, qvalues, visits)
    completed = jnp.where(visited, qvalues, mixed[:, None])
    low, high = jnp.min(completed, axis=1), jnp.max(completed, axis=1)
    strength = (config.visit_offset + jnp.max(visits, axis=1).astype(jnp.float32)) * config.value_scale
    strength = strength / jnp.maximum(high - low, jnp.float32(1e-8))
    advantage = strength[:, None] * (completed - low[:, None])
    rest_advantage = strength * (mixed - low)

    # The action: best by noise, policy and Q among the most visited, as sequential halving leaves them.
    finalists = slot_legal & (visits == jnp.max(visits, axis=1, keepdims=True))
    best = jnp.argmax(jnp.where(finalists, slot_gumbel + slot_logits + advantage, -jnp.inf), axis=1)

    # The improved policy, by logarithms: advantages may lie so far apart that what is legal would have no weight at all
    # beside a slot that is not.
    scores = jnp.where(slot_legal, slot_logits + advantage, -jnp.inf)
    outside = jnp.maximum(1 - jnp.sum(prior, axis=1), jnp.float32(0))
    rest_score = jnp.log(outside) + rest_advantage  # -inf where there is nothing outside
    top = jnp.maximum(jnp.max(scores, axis=1), rest_score)
    weight, rest = jnp.exp(scores - top[:, None]), jnp.exp(rest_score - top)
    total = jnp.sum(weight, axis=1) + rest
    tried = jax.nn.softmax(jnp.where(visited, scores, -jnp.inf), axis=1)
    value = jnp.sum(jnp.where(visited, tried * qvalues, jnp.float32(0)), axis=1)
    return Searched(
        action=jnp.take_along_axis(slot_action, best[:, None], axis=1)[:, 0],
        slot_action=slot_action,
        slot_weight=weight / total[:, None],
        rest=rest / total,
        value=value,
        raw_value=root.value,
        entropy=-jnp.sum(jnp.where(legal, jnp.exp(logits) * logits, jnp.float32(0)), axis=1),
    )


def _mixed_value(value: Array, prior: Array, qvalues: Array, visits: Array) -> Array:
    """float32 [batch]: the network's value and the visited Q, weighted by visits (appendix D of Gumbel MuZero's paper).

    Args: value [batch]; prior, qvalues float32 and visits int32 [batch, slots].
    """
    seen = jnp.where(visits > 0, prior, jnp.float32(0))
    of_visited = jnp.sum(seen * qvalues, axis=1) / jnp.maximum(jnp.sum(seen, axis=1), jnp.float32(1e-20))
    count = jnp.sum(visits, axis=1).astype(jnp.float32)
    return (value + count * of_visited) / (count + 1)
