"""The search on a hand-made game whose whole tree is known."""

import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from audamir_envs.core import Array, Environment, Outcome, Pytree
from audamir_envs.learned.networks import HexOutput
from audamir_envs.learned.search import SearchConfig, search

# A tree of positions: (seat to move, {action: next position}, result for seat 0 if it is an end).
TREE: dict[int, tuple[int, dict[int, int], float | None]] = {
    0: (0, {0: 1, 1: 2, 2: 3}, None),
    1: (0, {0: 4, 2: 5}, None),  # seat 0 moves again
    2: (1, {1: 6, 3: 7}, None),
    3: (1, {0: 8}, None),
    4: (1, {}, 1.0),  # a win after two own moves
    5: (1, {}, -1.0),
    6: (0, {}, -1.0),
    7: (0, {}, 1.0),
    8: (1, {}, 0.0),
}
ACTIONS = 4


class Place(Pytree):
    number: Array  # int32 []


class Hand(Environment):
    """The tree above; only what a search asks for."""

    id = "hand-v0"
    version = "0"
    OPTIONS: ClassVar = {}

    def _setup(self) -> None:
        self.num_players, self.num_actions = 2, ACTIONS
        self.next = np.full((len(TREE), ACTIONS), -1, np.int32)
        for place, (_, moves, _) in TREE.items():
            for action, target in moves.items():
                self.next[place, action] = target
        self.seat = np.array([TREE[n][0] for n in range(len(TREE))], np.int32)
        self.ends = np.array([not TREE[n][1] for n in range(len(TREE))])
        self.result = np.array([TREE[n][2] or 0.0 for n in range(len(TREE))], np.float32)

    def init_game(self, key: Any) -> Place:
        return Place(number=jnp.int32(0))

    def step_game(self, game: Place, action: Array, key: Any) -> Place:
        return Place(number=jnp.asarray(self.next)[game.number, action])

    def legal_actions(self, game: Place) -> Array:
        return jnp.asarray(self.next)[game.number] >= 0

    def mover(self, game: Place) -> Array:
        return jnp.asarray(self.seat)[game.number]

    def outcome(self, game: Place) -> Outcome:
        result = jnp.asarray(self.result)[game.number]
        return Outcome(
            terminated=jnp.asarray(self.ends)[game.number],
            truncated=jnp.bool_(False),
            rewards=jnp.stack([result, -result]),
        )

    def observe_game(self, game: Place, player: Array) -> Array:
        return game.number[None]

    def action_to_text(self, action: int) -> str:
        return str(action)

    def text_to_action(self, text: str) -> int:
        return int(text)

    def to_text(self, state: Any) -> str:
        return ""

    def from_text(self, text: str) -> Any:
        raise ValueError

    def scene(self, *_: Any) -> Any:
        return None

    def board_text(self, *_: Any) -> str:
        return ""


def said(logits: np.ndarray, values: np.ndarray):
    """A network that knows each position by its number."""

    def evaluate(observation: Array) -> HexOutput:
        number = observation[:, 0]
        value = jnp.asarray(values, jnp.float32)[number]
        return HexOutput(jnp.asarray(logits, jnp.float32)[number], value, value, value[:, None], value)

    return evaluate


@functools.cache
def program(simulations: int, slots: int, noise: float, value_scale: float):
    config = SearchConfig(simulations=simulations, considered=4, slots=slots, value_scale=value_scale)
    env = Hand()

    @jax.jit
    def searched(place, logits, values):
        games = Place(number=jnp.full(2, place, jnp.int32))
        legal = jax.vmap(env.legal_actions)(games)
        keys = jax.random.split(jax.random.key(7), 2)
        return search(env, said(logits, values), games, legal, keys, config, noise)

    return searched


def run(
    place: int,
    logits: np.ndarray,
    values: np.ndarray,
    simulations: int = 24,
    noise: float = 0.0,
    slots: int = 4,
    value_scale: float = 0.1,
):
    searched = program(simulations, slots, noise, value_scale)
    found = searched(jnp.int32(place), jnp.float32(logits), jnp.float32(values))
    return jax.tree.map(lambda leaf: np.asarray(leaf[0]), found)


FLAT = np.zeros((len(TREE), ACTIONS))
UNKNOWN = np.zeros(len(TREE))


def test_the_same_mover_keeps_the_sign_and_a_new_one_turns_it() -> None:
    found = run(0, FLAT, UNKNOWN)
    weights = dict(zip(found.slot_action.tolist(), found.slot_weight.tolist(), strict=True))
    # Through 1 seat 0 moves twice and wins; 2 loses, for seat 1 then chooses; 3 draws.
    assert found.action == 0
    assert weights[0] > weights[2] > weights[1]
    assert found.value > 0.5


def test_one_step_values_are_exact() -> None:
    # One simulation for each legal action: Q is the reward, or the child's value for whoever moves there.
    values = UNKNOWN.copy()
    values[1], values[2], values[3] = 0.3, 0.2, -0.4
    found = run(0, FLAT, values, simulations=3)
    # Improved policy: uniform prior, completed Q rescaled to 0..1, times (50 + 1 visit) * 0.1.
    q = np.array([0.3, -0.2, 0.4])
    scaled = (q - q.min()) / (q.max() - q.min()) * 5.1
    expected = np.exp(scaled) / np.exp(scaled).sum()
    weights = dict(zip(found.slot_action.tolist(), found.slot_weight.tolist(), strict=True))
    np.testing.assert_allclose([weights[0], weights[1], weights[2]], expected, rtol=1e-4)
    assert weights[3] == 0
    np.testing.assert_allclose(found.value, (expected * q).sum(), rtol=1e-4)
    assert found.rest == pytest.approx(0, abs=1e-6)


def test_ends_count_by_their_result_not_by_the_network() -> None:
    values = UNKNOWN.copy()
    values[4], values[5] = 0.9, -0.9  # the network is wrong about ended games, and is not asked
    found = run(1, FLAT, values)
    assert found.action == 0
    weights = dict(zip(found.slot_action.tolist(), found.slot_weight.tolist(), strict=True))
    assert weights[0] > 0.9


def test_illegal_actions_are_masked_at_the_root_and_inside() -> None:
    tempting = FLAT.copy()
    tempting[0, 3] = 50.0  # illegal at the root
    tempting[2, 0] = 50.0  # illegal inside: following it would leave the tree
    tempting[1, 1] = 50.0
    calm, tempted = run(0, FLAT, UNKNOWN), run(0, tempting, UNKNOWN)
    assert tempted.action == calm.action == 0
    for name in ("slot_weight", "value", "rest"):
        order = np.argsort(calm.slot_action), np.argsort(tempted.slot_action)
        if name == "slot_weight":
            np.testing.assert_allclose(tempted.slot_weight[order[1]], calm.slot_weight[order[0]], atol=1e-6)
        else:
            np.testing.assert_allclose(getattr(tempted, name), getattr(calm, name), atol=1e-6)


def test_actions_without_a_slot_keep_their_share() -> None:
    prior = FLAT.copy()
    prior[0] = np.log([0.5, 0.3, 0.2, 1e-9])
    found = run(0, prior, UNKNOWN, simulations=4, slots=2)
    assert sorted(found.slot_action.tolist()) == [0, 1]
    assert 0 < found.rest < 0.2
    assert found.slot_weight.sum() + found.rest == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("value_scale", [0.1, 10.0])
def test_the_only_legal_action_has_all_the_weight_however_values_are_scaled(value_scale: float) -> None:
    # The network takes place 3 for nearly won, the one action there draws: illegal slots then look better than it.
    found = run(3, FLAT, np.where(np.arange(len(TREE)) == 3, 0.9, 0.0), value_scale=value_scale)
    assert found.action == 0
    np.testing.assert_allclose(found.slot_weight[found.slot_action == 0], 1, atol=1e-6)
    np.testing.assert_allclose(found.slot_weight.sum() + found.rest, 1, atol=1e-6)
    np.testing.assert_allclose(found.value, 0, atol=1e-6)


def test_noise_draws_other_actions_and_none_repeats_itself() -> None:
    env, lanes = Hand(), 64
    games = Place(number=jnp.zeros(lanes, jnp.int32))
    legal = jax.vmap(env.legal_actions)(games)
    keys = jax.random.split(jax.random.key(1), lanes)
    config = SearchConfig(simulations=2, considered=2, slots=3, value_scale=0.01)

    @jax.jit
    def actions(scale):
        return search(env, said(FLAT, UNKNOWN), games, legal, keys, config, scale).action

    assert len(set(np.asarray(actions(jnp.float32(1))).tolist())) == 3
    assert len(set(np.asarray(actions(jnp.float32(0))).tolist())) == 1


def test_a_lane_depends_on_its_own_key_alone() -> None:
    env = Hand()
    config = SearchConfig(simulations=2, considered=2, slots=3)
    keys = jax.random.split(jax.random.key(4), 6)

    def weights(chosen: Array) -> Array:
        games = Place(number=jnp.zeros(chosen.shape[0], jnp.int32))
        legal = jax.vmap(env.legal_actions)(games)
        return search(env, said(FLAT, UNKNOWN), games, legal, chosen, config, 1.0).slot_weight

    np.testing.assert_allclose(jax.jit(weights)(keys)[2:4], jax.jit(weights)(keys[2:4]), rtol=1e-6)
