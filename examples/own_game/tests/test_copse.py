"""Copse passes what every game has to pass, and its rules are those of its page."""

import jax
import pytest
from audamir_training import testing

import audamir_envs
from audamir_envs.testing import bridges, functional

CASES = [("copse-v0", {"side": side}) for side in (2, 3)]


class TestFunctional(functional.Functional):
    cases = CASES


class TestKeys(functional.Keys):
    cases = CASES[1:]


class TestPettingZoo(bridges.PettingZoo):
    cases = CASES[1:]


class TestGymnasium(bridges.Gymnasium):
    cases = CASES[1:]


class TestLearned(testing.Learned):
    cases = (("copse-v0", "2"),)


@pytest.fixture(scope="module")
def env():
    return audamir_envs.make("copse-v0", side=2)


def test_no_tree_beside_the_others(env):
    state = jax.jit(env.step)(env.init(jax.random.key(0)), env.text_to_action("a1"))
    legal = {env.action_to_text(action) for action in range(env.num_actions) if state.legal_action_mask[action]}
    assert legal == {"b3", "c1", "c2"}  # b1, b2 and a2 lie beside the tree


def test_who_cannot_plant_passes_and_more_trees_win(env):
    state = env.from_text("../.x./.. o")
    assert env.action_to_text(int(state.legal_action_mask.argmax())) == "pass"
    state = env.from_text("xx/.../.o x")
    assert not state.terminated
    state = jax.jit(env.step)(state, env.text_to_action("b1"))
    assert state.terminated
    assert state.rewards.tolist() == [1.0, -1.0]
