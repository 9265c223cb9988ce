"""PPO's gradient steps on the decisions of one iteration."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import optax

from audamir_envs.core import Array, Pytree
from audamir_training import ppo_losses, ppo_play
from audamir_training.devices import AXIS
from audamir_training.learning import cosine, norm
from audamir_training.settings import PPOSettings


class PPOLearner(Pytree):
    """What learning changes; the same on every device."""

    parameters: Any
    average: Any  # running average of the parameters, which is evaluated and exported
    optimiser: Any
    snapshots: Any  # earlier parameters, stacked
    taken: Array  # int32 []: snapshots taken so far


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """What the gradient steps of one device need beside their samples."""

    settings: PPOSettings
    apply: ppo_losses.Apply
    optimiser: optax.GradientTransformation
    groups: int  # of lanes on this device
    width: int  # lanes of a group

    def __call__(
        self,
        samples: ppo_losses.Samples,
        rate: Array,
        entropy: Array,
        learner: PPOLearner,
        chosen: Array,
    ) -> tuple[PPOLearner, dict[str, Array]]:
        """One gradient step over all devices.

        Args: samples: [steps, lanes] each; chosen: int32 [parts, microbatch], places time * lanes + lane of them.
        """
        settings = self.settings

        def add(total: Any, part: Array) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, self.gradient(learner.parameters, samples, entropy, part)), None

        shapes = jax.eval_shape(self.gradient, learner.parameters, samples, entropy, chosen[0])
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        total, _ = jax.lax.scan(add, zeros, chosen)
        gradients, sums = jax.lax.psum(total, AXIS)
        gradients = jax.tree.map(lambda leaf: leaf / settings.batch, gradients)
        own = jnp.maximum(sums.pop("own"), 1)
        value = sums.pop("value_loss") / settings.batch
        with jax.numpy_dtype_promotion("standard"):  # Adam raises a number to an integer power
            updates, optimiser = self.optimiser.update(gradients, learner.optimiser, learner.parameters)
        parameters = jax.tree.map(lambda old, update: old - rate * update, learner.parameters, updates)
        average = jax.tree.map(
            lambda old, new: settings.average * old + (1 - settings.average) * new, learner.average, parameters
        )
        after = learner.replace(parameters=parameters, average=average, optimiser=optimiser)
        parts = jax.tree.map(lambda leaf: leaf / own, sums)
        parts["policy_entropy"] = parts.pop("entropy")
        return after, parts | {"value_loss": value, "gradient_norm": norm(gradients)}

    def gradient(self, parameters: Any, samples: ppo_losses.Samples, entropy: Array, part: Array) -> Any:
        """The gradient summed over a microbatch of places, and the parts of the loss."""
        lanes = jnp.int32(self.groups * self.width)
        batch = jax.tree.map(lambda leaf: leaf[part // lanes, part % lanes], samples)
        weights = ppo_losses.LossWeights(self.settings.value_weight, self.settings.ratio_clip)
        gradient = jax.grad(ppo_losses.loss, argnums=1, has_aux=True)
        return gradient(self.apply, parameters, batch, weights, entropy)


def learn(
    step: Step, learner: PPOLearner, samples: ppo_losses.Samples, keys: Array, positions: Array
) -> tuple[PPOLearner, dict[str, Array]]:
    """Epochs over all samples. Consumes keys [groups]."""
    settings, groups, width = step.settings, step.groups, step.width
    each, steps = settings.batch // settings.groups, steps_of(settings)
    micro = math.gcd(settings.microbatch, groups * each)
    over = settings.decay_positions
    rate = cosine(settings.learning_rate, settings.final_learning_rate, over, positions)
    entropy = cosine(settings.entropy, settings.final_entropy, over, positions)

    def order(key: Array, epoch: Array) -> Array:
        """int32 [steps, each]: a group's samples as time * width + lane, in random order."""
        key = jax.random.fold_in(jax.random.fold_in(key, 1), epoch)
        shuffled = jax.random.permutation(key, settings.steps * width)
        return shuffled.astype(jnp.int32)[: steps * each].reshape(steps, each)

    def epoch(learner: PPOLearner, number: Array) -> tuple[PPOLearner, dict[str, Array]]:
        shuffled = jax.vmap(order, in_axes=(0, None))(keys, number)  # [groups, steps, each]
        time, lane = shuffled // jnp.int32(width), shuffled % jnp.int32(width)
        lane = lane + jnp.arange(groups, dtype=jnp.int32)[:, None, None] * jnp.int32(width)
        place = time * jnp.int32(groups * width) + lane
        chosen = place.transpose(1, 0, 2).reshape(steps, groups * each // micro, micro)
        return jax.lax.scan(functools.partial(step, samples, rate, entropy), learner, chosen)

    learner, measured = jax.lax.scan(epoch, learner, jnp.arange(settings.epochs, dtype=jnp.int32))
    means = jax.tree.map(jnp.mean, measured)
    return learner, means | {"learning_rate": rate, "entropy_weight": entropy}


def samples_of(settings: PPOSettings, decisions: ppo_play.Decisions, last: Array) -> ppo_losses.Samples:
    """All decisions, [steps, lanes], with advantages normalised over all devices."""
    advantages, targets = ppo_losses.estimate(decisions, last, settings.discount, settings.trace)
    mover = decisions.mover
    advantage = jnp.take_along_axis(advantages, mover[..., None], axis=-1)[..., 0]
    own = (decisions.own & (jnp.sum(decisions.legal, axis=-1, dtype=jnp.int32) > 1)).astype(jnp.float32)
    count, total, squares = jax.lax.psum(
        (jnp.sum(own), jnp.sum(advantage * own), jnp.sum(jnp.square(advantage) * own)), AXIS
    )
    mean = total / jnp.maximum(count, 1)
    deviation = jnp.sqrt(jnp.maximum(squares / jnp.maximum(count, 1) - jnp.square(mean), jnp.float32(1e-8)))
    players = targets.shape[-1]
    return ppo_losses.Samples(
        observation=decisions.observation,
        legal=decisions.legal,
        action=decisions.action,
        log_prob=decisions.log_prob,
        advantage=(advantage - mean) / deviation,
        target=((players - 1) * ppo_play.relative(targets, mover) + 1) / players,
        own=own,
    )


def make_optimiser(settings: PPOSettings) -> optax.GradientTransformation:
    """Adam without its learning rate, which ``Step`` applies."""
    return optax.chain(optax.clip_by_global_norm(settings.clip), optax.scale_by_adam(b1=0.9, b2=0.99, eps=1e-6))


def steps_of(settings: PPOSettings) -> int:
    """Gradient steps of an epoch."""
    return settings.steps * settings.lanes // settings.batch
