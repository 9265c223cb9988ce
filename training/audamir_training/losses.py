"""AlphaZero's losses on a batch of replayed positions."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.core import Array, Pytree
from audamir_envs.learned.networks import HexNetwork
from audamir_envs.learned.search import mask_logits
from audamir_envs.learning import Variant
from audamir_envs.symmetry import Symmetry
from audamir_training.replay import Replay


class Batch(Pytree):
    """Positions to learn from, [batch] each, from the mover's point of view."""

    observation: Array  # [batch, width, width, planes]
    legal: Array  # bool [batch, actions]
    slot_action: Array  # int32 [batch, slots]
    slot_weight: Array  # float32 [batch, slots]
    rest: Array  # float32 [batch]
    value: Array  # float32 [batch], -1..1
    ownership: Array  # float32 [batch, cells], -1..1
    weight: Array  # float32 [batch]: 1, or 0 for a place without a position


@dataclasses.dataclass(frozen=True)
class LossWeights:
    """Of each part in the sum; the policy's is 1."""

    value: float = 1.0
    ownership: float = 0.5
    score: float = 0.5


def gather(
    variant: Variant, tables: Symmetry, replay: Replay, time: Array, lane: Array, weight: Array, symmetry: Array
) -> Batch:
    """The positions at (time, lane), [batch] each, turned by a symmetry (int32 [batch], 0..11)."""
    env = variant.env

    def at(leaf: Array) -> Array:
        return leaf[time, lane]

    games = jax.tree.map(at, replay.game)
    mover = at(replay.mover)
    observation = jax.vmap(env.observe_game)(games, mover.astype(jnp.int32))
    shape = observation.shape
    places = jnp.asarray(tables.grid)[symmetry]
    flat = observation.reshape(shape[0], -1, shape[-1])
    turned = jnp.take_along_axis(flat, places[..., None], axis=1).reshape(shape)
    images = jnp.asarray(tables.actions)[symmetry]
    legal = jax.vmap(env.legal_actions)(games)
    ownership = jnp.take_along_axis(at(replay.ownership), jnp.asarray(tables.cells)[symmetry], axis=1)
    sign = 1 - 2 * mover.astype(jnp.float32)
    return Batch(
        observation=turned,
        legal=jnp.take_along_axis(legal, jnp.asarray(tables.sources)[symmetry], axis=1),
        slot_action=jnp.take_along_axis(images, at(replay.slot_action).astype(jnp.int32), axis=1),
        slot_weight=at(replay.slot_weight).astype(jnp.float32),
        rest=at(replay.rest).astype(jnp.float32),
        value=at(replay.target),
        ownership=ownership.astype(jnp.float32) * sign[:, None],
        weight=weight,
    )


def loss(network: HexNetwork, parameters: Any, batch: Batch, weights: LossWeights) -> tuple[Array, dict[str, Array]]:
    """The weighted sum over the batch (not the mean) and its parts, float32 [] each.

    Policy: cross-entropy against the improved policy, all actions outside the slots as one event: the search says
    nothing of how they compare with each other. Value: cross-entropy of the chance to win, a draw being half.
    """
    actions = batch.legal.shape[-1]
    said = network.apply({"params": parameters}, batch.observation, actions)
    log_policy = jax.nn.log_softmax(mask_logits(said.logits, batch.legal))  # type: ignore[union-attr]
    slot_log = jnp.take_along_axis(log_policy, batch.slot_action, axis=1)
    outside = 1 - jnp.sum(jnp.exp(slot_log), axis=1)
    slot_loss = jnp.sum(jnp.where(batch.slot_weight > 0, batch.slot_weight * slot_log, jnp.float32(0)), axis=1)
    policy = -slot_loss - batch.rest * jnp.log(jnp.maximum(outside, jnp.float32(1e-4)))
    wins = (batch.value + 1) / 2
    value_logit = said.value_logit  # type: ignore[union-attr]
    value = jax.nn.softplus(value_logit) - wins * value_logit
    ownership = jnp.mean(jnp.square(said.ownership - batch.ownership), axis=1)  # type: ignore[union-attr]
    score = jnp.square(said.score - jnp.mean(batch.ownership, axis=1))  # type: ignore[union-attr]
    parts = {"policy_loss": policy, "value_loss": value, "ownership_loss": ownership, "score_loss": score}
    summed = {name: jnp.sum(part * batch.weight) for name, part in parts.items()}
    total = (
        summed["policy_loss"]
        + weights.value * summed["value_loss"]
        + weights.ownership * summed["ownership_loss"]
        + weights.score * summed["score_loss"]
    )
    return total, summed | {"samples": jnp.sum(batch.weight)}
