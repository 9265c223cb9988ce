"""What holds of every game's functional environment, on the cases of our games."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conformance.cases import BRIDGED, CASES

import audamir_envs
from audamir_envs.testing import registered
from audamir_envs.testing.cases import LANES, compiled, walk
from audamir_envs.testing.functional import Functional, Keys, over


class TestFunctional(Functional):
    cases = CASES + [case for case in BRIDGED if case not in CASES]


class TestKeys(Keys):
    cases = BRIDGED


def test_walks_see_ends():
    for case in (("colony-v0", {"holes_toward": "second", "starter": "random", "max_turns": 9}),
                 ("stigmergy-v0", {"side": 3, "komi": 0})):  # fmt: skip
        assert case in CASES
        assert over(walk(case)[-1][0]).all()


def test_unknown_ids_and_options():
    with pytest.raises(ValueError, match="colony-v0, stigmergy-v0, principalities-v0"):
        audamir_envs.make("chess-v0")
    assert audamir_envs.ids() == ("colony-v0", "stigmergy-v0", "principalities-v0")


@pytest.mark.parametrize("env_id", audamir_envs.ids())
def test_every_environment_is_tested_here(env_id):
    assert env_id in {case[0] for case in CASES}
    assert env_id in {case[0] for case in BRIDGED}


def test_the_options_of_one_batch_may_differ():
    """Positions made under different options step together, each by its own."""
    by_shape = {}
    for case in CASES:
        by_shape.setdefault(id(compiled(case)), []).append(case)
    shared = [cases for cases in by_shape.values() if len(cases) > 1]
    assert {cases[0][0] for cases in shared} >= {"colony-v0"}
    for cases in shared:
        lanes = [jax.tree.map(lambda leaf: leaf[:1], walk(case)[5][0]) for case in cases][:LANES]
        lanes += lanes[:1] * (LANES - len(lanes))
        mixed = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *lanes)
        actions = jnp.asarray(np.asarray(mixed.legal_action_mask).argmax(axis=1).astype(np.int32))
        together = compiled(cases[0]).step(mixed, actions, jnp.int32(5))
        for lane, case in enumerate(cases[:LANES]):
            alone = jax.tree.map(lambda leaf, lane=lane: jnp.broadcast_to(leaf[lane], leaf.shape), mixed)
            each = compiled(case).step(alone, jnp.broadcast_to(actions[lane], (LANES,)), jnp.int32(5))
            same = jax.tree.map(lambda a, b, lane=lane: np.array_equal(a[lane], b[lane]), together, each)
            assert all(jax.tree.leaves(same))


def test_a_game_may_have_moments_when_everything_is_legal() -> None:
    with registered("tally-v0", "tally"):
        case = ("tally-v0", {"rounds": 12, "goal": 99})
        assert walk(case)[0][0].legal_action_mask.all()
        Functional().test_the_mask_is_what_step_accepts(case)
        Functional().test_an_illegal_action(case)
