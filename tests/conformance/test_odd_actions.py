"""Actions, seats and ids that are none, or of an odd type, in the functional API."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy import Nim

import audamir_envs

ENV = Nim()


@pytest.fixture(scope="module")
def state():
    return jax.jit(ENV.init)(jax.random.key(0))


@pytest.mark.parametrize("action", [2**31, 2**32, -(2**40), np.int64(2**32), np.uint64(2**63), np.array(2**32)])
def test_numbers_beyond_int32_are_illegal_and_do_not_wrap_round(state, action):
    assert state.legal_action_mask[0]  # which the lowest 32 bits of most of them name
    assert bool(ENV.step(state, action).illegal)


@pytest.mark.parametrize("action", [[0], np.array([0]), jnp.zeros((1, 1), jnp.int32)])
def test_several_actions_at_once_are_refused(state, action):
    with pytest.raises(ValueError, match=r"one action, not an array of shape .*vmap"):
        ENV.step(state, action)


@pytest.mark.parametrize("action", [True, 0.0, np.float32(1)])
def test_what_is_no_integer_is_refused(state, action):
    with pytest.raises(TypeError, match="an action is an integer from 0 to 8"):
        ENV.step(state, action)


def test_seats_that_are_none_are_refused(state):
    for seat in (-1, 2, np.int64(5)):
        with pytest.raises(ValueError, match="is no seat: use 0 to 1"):
            ENV.observe(state, seat)


@pytest.mark.parametrize("wrong", [None, 5, [], ENV])
def test_what_is_no_id_is_refused(wrong):
    with pytest.raises(ValueError, match=r"unknown environment .*: use colony-v0"):
        audamir_envs.make(wrong)
    if wrong is not ENV:
        with pytest.raises(ValueError, match=r"unknown environment .*: use colony-v0"):
            audamir_envs.make_agent(wrong, "weak")
