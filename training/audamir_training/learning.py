"""AlphaZero's gradient steps on positions drawn from the replay."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import optax

from audamir_envs.core import Array, Pytree
from audamir_envs.learning import Variant
from audamir_envs.symmetry import Symmetry
from audamir_training import losses, replay
from audamir_training.devices import AXIS
from audamir_training.settings import AlphaZeroSettings


class LearnerState(Pytree):
    """What learning changes; the same on every device."""

    parameters: Any
    average: Any  # running average of the parameters, which plays
    optimiser: Any
    updates: Array  # int32 []: gradient steps made


class Samples(Pytree):
    """Which positions of the replay to learn from, [steps, parts, microbatch] each."""

    time: Array  # int32
    lane: Array  # int32
    weight: Array  # float32: 1, or 0 where there is nothing to learn from yet
    turn: Array  # int32: the symmetry by which the position is turned, by its number in the tables


@dataclasses.dataclass(frozen=True, eq=False)
class Learner:
    """How one variant is learned from; the arrays of its methods are one device's part."""

    settings: AlphaZeroSettings
    network: Any
    optimiser: optax.GradientTransformation
    variant: Variant
    tables: Symmetry
    steps: int  # gradient steps of an iteration
    devices: int

    def learn(
        self, learner: LearnerState, lanes: Array, ring: replay.Replay, key: Array, positions: Array
    ) -> tuple[LearnerState, dict[str, Array]]:
        """An iteration's gradient steps. Consumes key.

        Args: lanes: int32 [lanes], their numbers; positions: int32 [], played so far.
        Returns: also the means of losses over the steps, float32 []; nan where nothing was learned.
        """
        newest = newest_plies(self.settings, positions)
        samples = self.draw(lanes, ring, key, positions, newest)
        rate = learning_rate(self.settings, positions)
        learner, measured = jax.lax.scan(functools.partial(self.step, ring, rate), learner, samples)
        means = jax.tree.map(jnp.nanmean, measured)
        window = newest.astype(jnp.float32) * self.settings.lanes
        return learner, means | {"learning_rate": rate, "window": window}

    def draw(self, lanes: Array, ring: replay.Replay, key: Array, positions: Array, newest: Array) -> Samples:
        """The positions of all steps, each group's from its own lanes, so that devices do not matter. Consumes key."""
        settings = self.settings
        keys = group_keys(settings, self.devices, lanes, key)
        each = settings.batch // settings.groups
        time, lane, weight = replay.draw(ring, keys, self.steps * each, newest)
        weight = jnp.where(positions >= settings.warmup_positions, weight, jnp.float32(0))
        turn_keys = jax.vmap(lambda key: jax.random.fold_in(key, 1))(keys)
        turns = self.tables.grid.shape[0]
        turn = jax.vmap(lambda key: jax.random.randint(key, (self.steps * each,), 0, turns, jnp.int32))(turn_keys)

        local = keys.shape[0] * each
        micro = math.gcd(settings.microbatch, local)

        def by_step(leaf: Array) -> Array:
            leaf = leaf.reshape(keys.shape[0], self.steps, each).transpose(1, 0, 2)
            return leaf.reshape(self.steps, local // micro, micro)

        return Samples(time=by_step(time), lane=by_step(lane), weight=by_step(weight), turn=by_step(turn))

    def step(
        self, ring: replay.Replay, rate: Array, learner: LearnerState, samples: Samples
    ) -> tuple[LearnerState, dict[str, Array]]:
        """One gradient step on samples [parts, microbatch], over all devices."""

        def add(total: Any, part: Samples) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, self.gradient(learner.parameters, ring, part)), None

        first = jax.tree.map(lambda leaf: leaf[0], samples)
        shapes = jax.eval_shape(self.gradient, learner.parameters, ring, first)
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        total, _ = jax.lax.scan(add, zeros, samples)
        gradients, sums = jax.lax.psum(total, AXIS)
        count = sums.pop("samples")
        gradients, means = jax.tree.map(lambda leaf: leaf / jnp.maximum(count, jnp.float32(1)), (gradients, sums))
        after = self.updated(learner, gradients, rate)
        measured = means | {"gradient_norm": norm(gradients)}
        known = count > 0
        after = jax.tree.map(lambda new, old: jnp.where(known, new, old), after, learner)
        return after, jax.tree.map(lambda leaf: jnp.where(known, leaf, jnp.nan), measured)

    def gradient(self, parameters: Any, ring: replay.Replay, part: Samples) -> tuple[Any, dict[str, Array]]:
        """The gradient summed over a microbatch, and the parts of the loss."""
        settings = self.settings
        weights = losses.LossWeights(settings.value_weight, settings.ownership_weight, settings.score_weight)
        batch = losses.gather(self.variant, self.tables, ring, part.time, part.lane, part.weight, part.turn)
        loss = functools.partial(losses.loss, self.network, weights=weights)
        return jax.grad(loss, has_aux=True)(parameters, batch)

    def updated(self, learner: LearnerState, gradients: Any, rate: Array) -> LearnerState:
        """After one step of the optimiser; the average follows faster while there are few steps."""
        with jax.numpy_dtype_promotion("standard"):  # Adam raises a number to an integer power
            updates, optimiser = self.optimiser.update(gradients, learner.optimiser, learner.parameters)
        parameters = jax.tree.map(lambda old, update: old - rate * update, learner.parameters, updates)
        count = learner.updates.astype(jnp.float32)
        decay = jnp.minimum(jnp.float32(self.settings.average), (1 + count) / (10 + count))
        average = jax.tree.map(lambda old, new: decay * old + (1 - decay) * new, learner.average, parameters)
        return LearnerState(parameters=parameters, average=average, optimiser=optimiser, updates=learner.updates + 1)


def make_optimiser(settings: AlphaZeroSettings) -> optax.GradientTransformation:
    """Adam without its learning rate, which ``Learner.updated`` applies."""
    return optax.chain(
        optax.clip_by_global_norm(settings.clip),
        optax.scale_by_adam(b1=0.9, b2=0.99),
        optax.add_decayed_weights(settings.weight_decay, _is_matrix),
    )


def steps_of(settings: AlphaZeroSettings) -> int:
    """Gradient steps of an iteration."""
    learned = settings.lanes * settings.plies * settings.full_share * settings.reuse
    return max(1, round(learned / settings.batch))


def newest_plies(settings: AlphaZeroSettings, positions: Array) -> Array:
    """int32 []: how many plies back in each lane is learned from."""
    newest = jnp.maximum(positions.astype(jnp.float32) * settings.window_share, settings.window_positions)
    return (newest / settings.lanes).astype(jnp.int32)


def group_keys(settings: AlphaZeroSettings, devices: int, lanes: Array, key: Array) -> Array:
    """[groups] keys of a device's groups of lanes, by the groups' numbers. Consumes key."""
    first = lanes[0] // (settings.lanes // settings.groups)
    numbers = first + jnp.arange(settings.groups // devices, dtype=jnp.int32)
    return jax.vmap(lambda group: jax.random.fold_in(key, group))(numbers)


def learning_rate(settings: AlphaZeroSettings, positions: Array) -> Array:
    """float32 []: half a cosine from the first to the last rate over ``decay_positions``."""
    return cosine(settings.learning_rate, settings.final_learning_rate, settings.decay_positions, positions)


def cosine(first: float, last: float, over: int, positions: Array) -> Array:
    """float32 []: half a cosine from the first to the last value over so many positions."""
    done = jnp.minimum(positions.astype(jnp.float32) / over, jnp.float32(1))
    return last + (first - last) * (1 + jnp.cos(jnp.pi * done)) / 2


def norm(tree: Any) -> Array:
    """float32 []: the Euclidean norm of all leaves together."""
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)))


def _is_matrix(parameters: Any) -> Any:
    """Which parameters decay: kernels, not biases and gains."""
    return jax.tree.map(lambda leaf: leaf.ndim > 1, parameters)
