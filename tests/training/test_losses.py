"""Losses on batches worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from audamir_training import losses

from audamir_envs.learned.networks import HexOutput


class Fixed:
    """A network that says what it is told."""

    def __init__(self, output: HexOutput) -> None:
        self.output = output

    def apply(self, variables, observation, actions):
        return self.output


def batch(**changes) -> losses.Batch:
    values = {
        "observation": jnp.zeros((2, 3, 3, 1)),
        "legal": jnp.array([[True, True, True, False], [True, True, True, True]]),
        "slot_action": jnp.array([[1, 0], [2, 3]], jnp.int32),
        "slot_weight": jnp.array([[0.5, 0.3], [0.75, 0.25]], jnp.float32),
        "rest": jnp.array([0.2, 0.0], jnp.float32),
        "value": jnp.array([1.0, 0.0], jnp.float32),
        "ownership": jnp.array([[1.0, -1.0], [1.0, 1.0]], jnp.float32),
        "weight": jnp.ones(2, jnp.float32),
    }
    return losses.Batch(**(values | changes))


LOGITS = np.log(np.array([[0.2, 0.5, 0.3, 0.9], [0.1, 0.2, 0.3, 0.4]], np.float32))
SAID = HexOutput(
    logits=jnp.asarray(LOGITS),
    value=jnp.zeros(2),
    value_logit=jnp.array([2.0, 0.0], jnp.float32),
    ownership=jnp.array([[1.0, 0.0], [0.5, 0.5]], jnp.float32),
    score=jnp.array([0.25, 1.0], jnp.float32),
)
WEIGHTS = losses.LossWeights(value=2.0, ownership=0.5, score=0.25)


def test_every_part_is_what_paper_and_pencil_say() -> None:
    total, parts = losses.loss(Fixed(SAID), {}, batch(), WEIGHTS)
    # The first position's illegal action has no share; its rest is the one legal action outside the slots.
    policy = -(0.5 * np.log(0.5) + 0.3 * np.log(0.2) + 0.2 * np.log(0.3)) - (0.75 * np.log(0.3) + 0.25 * np.log(0.4))
    value = np.log1p(np.exp(-2.0)) + np.log(2.0)
    ownership = (0 + 1) / 2 + 0.25
    score = (0.25 - 0) ** 2 + 0
    np.testing.assert_allclose(parts["policy_loss"], policy, rtol=1e-5)
    np.testing.assert_allclose(parts["value_loss"], value, rtol=1e-5)
    np.testing.assert_allclose(parts["ownership_loss"], ownership, rtol=1e-5)
    np.testing.assert_allclose(parts["score_loss"], score, rtol=1e-5)
    np.testing.assert_allclose(total, policy + 2 * value + 0.5 * ownership + 0.25 * score, rtol=1e-5)
    assert parts["samples"] == 2


def test_positions_of_weight_zero_count_for_nothing() -> None:
    _, both = losses.loss(Fixed(SAID), {}, batch(), WEIGHTS)
    _, one = losses.loss(Fixed(SAID), {}, batch(weight=jnp.array([1.0, 0.0], jnp.float32)), WEIGHTS)
    _, other = losses.loss(Fixed(SAID), {}, batch(weight=jnp.array([0.0, 1.0], jnp.float32)), WEIGHTS)
    for name, value in both.items():
        assert value == pytest.approx(float(one[name] + other[name]), rel=1e-5)


def test_the_rest_is_pushed_as_one() -> None:
    """The gradient leaves the ratio of two actions outside the slots alone."""
    target = batch(
        legal=jnp.ones((2, 4), jnp.bool_),
        slot_action=jnp.array([[0, 1], [0, 1]], jnp.int32),
        slot_weight=jnp.array([[0.1, 0.1], [0.1, 0.1]], jnp.float32),
        rest=jnp.array([0.8, 0.8], jnp.float32),
    )

    def of_logits(logits):
        return losses.loss(Fixed(SAID._replace(logits=logits)), {}, target, WEIGHTS)[0]

    gradient = jax.grad(of_logits)(jnp.asarray(LOGITS))[1]
    # d loss / d logit = policy - target, the target of the rest shared out by the policy itself.
    share = np.array([0.1, 0.1, 0.8 * 0.3 / 0.7, 0.8 * 0.4 / 0.7])
    np.testing.assert_allclose(gradient, np.array([0.1, 0.2, 0.3, 0.4]) - share, atol=1e-5)
