"""Gumbel AlphaZero's search (mctx) over the functional environments, for play, for analysis and for training.

A node keeps the game's position alone. Of its legal actions only the most likely few are *slots* of the tree, since
the tree's cost grows with the actions of a node; at the root these are the best by policy plus Gumbel noise, so that
drawing actions without replacement is still exact.

``search`` is ``grow``, which makes the tree, and ``conclude``, which reads it.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import mctx

from audamir_envs.core import Array, Environment, Pytree
from audamir_envs.learned.networks import Evaluate

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


class Root(Pytree):
    """What is known of each position of a batch before the search."""

    logits: Array  # float32 [batch, actions]: of the network's policy over the legal actions, in logarithms
    value: Array  # float32 [batch]: the network's, for the mover
    ownership: Array  # float32 [batch, cells]: the network's, for the mover
    score: Array  # float32 [batch]: likewise
    action: Array  # int32 [batch, slots]: actions that the tree knows
    slot_logits: Array  # float32 [batch, slots]: their part of the logits
    slot_legal: Array  # bool [batch, slots]
    slot_gumbel: Array  # float32 [batch, slots]: the noise that chose them


class Searched(Pytree):
    """What a search found, for each position of a batch."""

    action: Array  # int32 [batch]: the action to play
    slot_action: Array  # int32 [batch, slots]: actions of the root that the tree knows
    slot_weight: Array  # float32 [batch, slots]: their probability under the improved policy; with `rest` it sums to 1
    slot_visits: Array  # int32 [batch, slots]: how often each was tried
    slot_value: Array  # float32 [batch, slots]: what was found of those tried, for the mover
    slot_score: Array  # float32 [batch, slots]: logarithms of the improved policy, up to a constant; illegal ones -inf
    rest: Array  # float32 [batch]: probability of all other legal actions together
    rest_advantage: Array  # float32 [batch]: what is added to the logits of each of these to have its slot_score
    value: Array  # float32 [batch]: of the root under the improved policy, for the mover
    raw_value: Array  # float32 [batch]: the network's own
    entropy: Array  # float32 [batch]: of the network's policy over the legal actions, in nats


def mask_logits(logits: Array, legal: Array) -> Array:
    """The logits, illegal ones pushed out of every softmax."""
    return jnp.where(legal, logits, jnp.float32(_ILLEGAL))


def search(
    env: Environment,
    evaluate: Evaluate,
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
    return conclude(*grow(env, evaluate, games, legal, keys, config, gumbel_scale), config)


def grow(
    env: Environment,
    evaluate: Evaluate,
    games: Any,
    legal: Array,
    keys: Array,
    config: SearchConfig,
    gumbel_scale: Array | float = 1.0,
) -> tuple[Root, Any]:
    """The roots, and the tree (mctx's) that ``config.simulations`` simulations make. Arguments as of ``search``."""
    actions = legal.shape[1]
    slots = min(config.slots, actions)
    root = _root(env, evaluate, games, legal, keys, slots, gumbel_scale)
    number = jnp.int16 if actions < 2**15 else jnp.int32
    qtransform = functools.partial(
        mctx.qtransform_completed_by_mix_value, value_scale=config.value_scale, maxvisit_init=config.visit_offset
    )
    # mctx mixes integers and floats; this is the only place that lets it.
    with jax.numpy_dtype_promotion("standard"):
        tree = _mctx.search(
            params=(),
            rng_key=keys[0],  # nothing in this search draws from it
            root=_mctx.RootFnOutput(
                prior_logits=mask_logits(root.slot_logits, root.slot_legal),
                value=root.value,
                embedding=(games, root.action.astype(number)),
            ),
            recurrent_fn=functools.partial(_expand, env, evaluate),
            root_action_selection_fn=functools.partial(
                mctx.gumbel_muzero_root_action_selection,
                num_simulations=config.simulations,
                max_num_considered_actions=min(config.considered, slots),
                qtransform=qtransform,
            ),
            interior_action_selection_fn=functools.partial(
                mctx.gumbel_muzero_interior_action_selection, qtransform=qtransform
            ),
            num_simulations=config.simulations,
            invalid_actions=(~root.slot_legal).astype(jnp.float32),
            extra_data=_mctx.GumbelMuZeroExtraData(root_gumbel=root.slot_gumbel),
        )
    return root, tree


def _root(
    env: Environment,
    evaluate: Evaluate,
    games: Any,
    legal: Array,
    keys: Array,
    slots: int,
    gumbel_scale: Array | float,
) -> Root:
    """Evaluates the positions and draws their slots. Consumes keys."""
    batch, actions = legal.shape
    found = evaluate(jax.vmap(env.observe_game)(games, jax.vmap(env.mover)(games)))
    logits = jax.nn.log_softmax(mask_logits(found.logits, legal))
    scale = jnp.broadcast_to(jnp.asarray(gumbel_scale, jnp.float32), (batch,))[:, None]
    gumbel = scale * jax.vmap(lambda key: jax.random.gumbel(key, (actions,), jnp.float32))(keys)
    _, action = jax.lax.top_k(logits + gumbel, slots)
    return Root(
        logits=logits,
        value=found.value,
        ownership=found.ownership,
        score=found.score,
        action=action,
        slot_logits=jnp.take_along_axis(logits, action, axis=1),
        slot_legal=jnp.take_along_axis(legal, action, axis=1),
        slot_gumbel=jnp.take_along_axis(gumbel, action, axis=1),
    )


def _expand(
    env: Environment, evaluate: Evaluate, _: Any, __: Array, slot: Array, node: tuple[Any, Array]
) -> tuple[Any, Any]:
    """mctx's recurrent function: plays the action in a slot (int32 [batch]) of a node (positions, their actions)."""
    before, node_slots = node
    action = jnp.take_along_axis(node_slots, slot[:, None], axis=1)[:, 0].astype(jnp.int32)
    mover = jax.vmap(env.mover)(before)
    after = jax.vmap(env.step_game, in_axes=(0, 0, None))(before, action, None)
    outcome = jax.vmap(env.outcome)(after)
    over = outcome.terminated | outcome.truncated
    reward = jnp.take_along_axis(outcome.rewards, mover[:, None], axis=1)[:, 0]
    next_mover = jax.vmap(env.mover)(after)
    found = evaluate(jax.vmap(env.observe_game)(after, next_mover))
    legal = jax.vmap(env.legal_actions)(after)
    likely, child_slots = jax.lax.top_k(mask_logits(found.logits, legal), node_slots.shape[1])
    output = _mctx.RecurrentFnOutput(
        reward=jnp.where(over, reward, jnp.float32(0)),
        discount=jnp.where(over, jnp.float32(0), jnp.where(next_mover == mover, jnp.float32(1), jnp.float32(-1))),
        prior_logits=likely,
        value=found.value,
    )
    return output, (after, child_slots.astype(node_slots.dtype))


def conclude(root: Root, tree: Any, config: SearchConfig) -> Searched:
    """What a tree says of its roots."""
    with jax.numpy_dtype_promotion("standard"):
        summary = tree.summary()
    visits, qvalues = summary.visit_counts, summary.qvalues
    visited = visits > 0
    prior = jnp.where(root.slot_legal, jnp.exp(root.slot_logits), jnp.float32(0))
    advantage, rest_advantage = _advantages(root.value, prior, qvalues, visits, config)

    # The action: best by noise, policy and Q among the most visited, as sequential halving leaves them.
    finalists = root.slot_legal & (visits == jnp.max(visits, axis=1, keepdims=True))
    best = jnp.argmax(jnp.where(finalists, root.slot_gumbel + root.slot_logits + advantage, -jnp.inf), axis=1)

    # The improved policy, by logarithms: advantages may lie so far apart that what is legal would have no weight at all
    # beside a slot that is not.
    scores = jnp.where(root.slot_legal, root.slot_logits + advantage, -jnp.inf)
    outside = jnp.maximum(1 - jnp.sum(prior, axis=1), jnp.float32(0))
    rest_score = jnp.log(outside) + rest_advantage  # -inf where there is nothing outside
    top = jnp.maximum(jnp.max(scores, axis=1), rest_score)
    weight, rest = jnp.exp(scores - top[:, None]), jnp.exp(rest_score - top)
    total = jnp.sum(weight, axis=1) + rest
    tried = jax.nn.softmax(jnp.where(visited, scores, -jnp.inf), axis=1)
    return Searched(
        action=jnp.take_along_axis(root.action, best[:, None], axis=1)[:, 0],
        slot_action=root.action,
        slot_weight=weight / total[:, None],
        slot_visits=visits,
        slot_value=qvalues,
        slot_score=scores,
        rest=rest / total,
        rest_advantage=rest_advantage,
        value=jnp.sum(jnp.where(visited, tried * qvalues, jnp.float32(0)), axis=1),
        raw_value=root.value,
        entropy=-jnp.sum(jnp.where(root.logits > _ILLEGAL / 2, jnp.exp(root.logits) * root.logits, 0.0), axis=1),
    )


def _advantages(value: Array, prior: Array, qvalues: Array, visits: Array, config: SearchConfig) -> tuple[Array, Array]:
    """float32 [batch, slots] and [batch]: what is added to the logits of slots, and of actions outside of them.

    Actions without a visit, in a slot or not, are taken to be worth what the root is; then all Q are brought to 0..1.
    """
    mixed = _mixed_value(value, prior, qvalues, visits)
    completed = jnp.where(visits > 0, qvalues, mixed[:, None])
    low, high = jnp.min(completed, axis=1), jnp.max(completed, axis=1)
    strength = (config.visit_offset + jnp.max(visits, axis=1).astype(jnp.float32)) * config.value_scale
    strength = strength / jnp.maximum(high - low, jnp.float32(1e-8))
    return strength[:, None] * (completed - low[:, None]), strength * (mixed - low)


def _mixed_value(value: Array, prior: Array, qvalues: Array, visits: Array) -> Array:
    """float32 [batch]: the network's value and the visited Q, weighted by visits (appendix D of Gumbel MuZero's paper).

    Args: value [batch]; prior, qvalues float32 and visits int32 [batch, slots].
    """
    seen = jnp.where(visits > 0, prior, jnp.float32(0))
    of_visited = jnp.sum(seen * qvalues, axis=1) / jnp.maximum(jnp.sum(seen, axis=1), jnp.float32(1e-20))
    count = jnp.sum(visits, axis=1).astype(jnp.float32)
    return (value + count * of_visited) / (count + 1)


def variation(root: Root, tree: Any, first: Array, length: int) -> Array:
    """int32 [batch, length]: the actions that a tree expects from its roots on, -1 after the last that it knows.

    Args: first: int32 [batch], the first of them, one of the root's slots. The others are the most visited.
    """
    slots = tree.embeddings[1].astype(jnp.int32)  # [batch, nodes, slots]
    lanes = jnp.arange(first.shape[0], dtype=jnp.int32)

    def follow(node: Array, slot: Array) -> tuple[Array, Array]:
        """(the action in a slot or -1, the node behind it or -1), int32 [batch] each; node -1: nothing is known."""
        known = node >= 0
        at = jnp.maximum(node, 0)
        visited = known & (tree.children_visits[lanes, at, slot] > 0)
        ends = tree.children_discounts[lanes, at, slot] == 0
        child = jnp.where(visited & ~ends, tree.children_index[lanes, at, slot], -1)
        return jnp.where(visited, slots[lanes, at, slot], -1), child.astype(jnp.int32)

    def next_ply(node: Array, _: Any) -> tuple[Array, Array]:
        slot = jnp.argmax(tree.children_visits[lanes, jnp.maximum(node, 0)], axis=1).astype(jnp.int32)
        action, child = follow(node, slot)
        return child, action

    slot = jnp.argmax(root.action == first[:, None], axis=1).astype(jnp.int32)
    _, node = follow(jnp.zeros_like(first), slot)
    _, rest = jax.lax.scan(next_ply, node, None, length=length - 1)
    return jnp.concatenate([first[:, None], rest.T], axis=1)
