"""PPO's targets and losses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.core import Array, Pytree
from audamir_envs.learned.search import mask_logits
from audamir_training.ppo_play import Decisions

Apply = Callable[[Any, Array], Any]
"""``apply(parameters, observation)``: what a network says, see ``ppo_network.Said``."""


class Samples(Pytree):
    """Decisions to learn from, [batch] each."""

    observation: Array  # [batch, *observation_shape]
    legal: Array  # bool [batch, actions]
    action: Array  # int32 [batch]
    log_prob: Array  # float32 [batch]: when it was played
    advantage: Array  # float32 [batch]: of the mover, normalised
    target: Array  # float32 [batch, players]: shares of the win to predict, by relative seat
    own: Array  # float32 [batch]: 1 where the learner had a choice and made it, else 0


@dataclasses.dataclass(frozen=True)
class LossWeights:
    """Of the parts of the loss, and PPO's clip."""

    value: float
    clip: float


def estimate(decisions: Decisions, last: Array, discount: float, trace: float) -> tuple[Array, Array]:
    """(advantages, value targets), float32 [steps, lanes, P]: generalised advantage estimation for all seats at once.

    The values of all seats go along the whole game, whoever moves; a decision's own advantage is its mover's. In each
    step the dice of an attack count by their chances, for both ways they might have fallen are known: the mean is that
    of the plain estimate, without what was luck.

    Args: last: float32 [lanes, P], values after the last decision; discount, trace: of a step (gamma and lambda).
    """
    following = jnp.concatenate([decisions.values[1:], last[None]])
    happened = jnp.where(decisions.done[..., None], decisions.result, discount * following)
    missed = jnp.where(decisions.other_done[..., None], decisions.other, discount * decisions.other)
    chance = decisions.chance[..., None]
    expected = jnp.where(chance < 1, chance * happened + (1 - chance) * missed, happened)
    errors = expected - decisions.values

    def back(later: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        error, done = step
        advantage = error + discount * trace * jnp.where(done[:, None], jnp.float32(0), later)
        return advantage, advantage

    _, advantages = jax.lax.scan(back, jnp.zeros_like(last), (errors, decisions.done), reverse=True)
    return advantages, advantages + decisions.values


def loss(apply: Apply, parameters: Any, samples: Samples, weights: LossWeights, entropy_weight: Array) -> Any:
    """The weighted sum over the batch (not the mean) and its parts, float32 [] each.

    Policy: PPO's clipped surrogate over the decisions that the learner made, and their entropy. Value: cross-entropy
    of the winner's seat against the estimated shares, over all decisions.
    """
    said = apply(parameters, samples.observation)
    log_policy = jax.nn.log_softmax(mask_logits(said.logits, samples.legal))
    log_prob = jnp.take_along_axis(log_policy, samples.action[:, None], axis=1)[:, 0]
    ratio = jnp.exp(log_prob - samples.log_prob)
    clipped = jnp.clip(ratio, 1 - weights.clip, 1 + weights.clip)
    surrogate = jnp.minimum(ratio * samples.advantage, clipped * samples.advantage)
    chances = jnp.exp(log_policy)
    entropy = -jnp.sum(chances * jnp.where(samples.legal, log_policy, jnp.float32(0)), axis=1)
    alive = said.seat_logits > jnp.float32(-1e8)
    log_shares = jax.nn.log_softmax(said.seat_logits)
    value = -jnp.sum(jnp.where(alive, samples.target * log_shares, jnp.float32(0)), axis=1)
    # What cannot be learned is taken off, so that 0 is best.
    sure = jnp.where(alive & (samples.target > 0), samples.target, jnp.float32(1))
    value = value + jnp.sum(samples.target * jnp.log(sure), axis=1)
    parts = {
        "policy_loss": -surrogate * samples.own,
        "value_loss": value,
        "entropy": entropy * samples.own,
        "divergence": (ratio - 1 - jnp.log(ratio)) * samples.own,
        "clipped": (jnp.abs(ratio - 1) > weights.clip).astype(jnp.float32) * samples.own,
    }
    summed = {name: jnp.sum(part) for name, part in parts.items()}
    total = summed["policy_loss"] - entropy_weight * summed["entropy"] + weights.value * summed["value_loss"]
    return total, summed | {"own": jnp.sum(samples.own)}
