"""PPO's targets, drawn from games made by hand; its sampling and its loss."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from audamir_training import ppo_losses, ppo_play
from audamir_training.ppo_play import Decisions, Lanes, Mix
from tiny_ppo import random_parameters

import audamir_envs
from audamir_envs.principalities import dice, rules
from audamir_envs.principalities.learning import other_way
from audamir_envs.principalities.network import TileConfig, TileNetwork, TileOutput

ENV = audamir_envs.make("principalities-v0", players=3, tiles=3)
LINE = [[1], [0, 2], [1]]
END, ACCEPT, DECLINE = 9, 10, 11

# Eight dice always beat one, and seven do too: seat 0 takes 0>1, which puts seat 1 out, then 1>2, and has won.
CONQUEST = {"neighbours": LINE, "owner": [0, 1, 2], "dice": [8, 1, 1], "reserve": [0, 0, 0], "to_move": 0}
# Nobody can attack; the twelfth quiet turn in a row brings the offer, and all accept: seat 0 has a die more.
PEACE = CONQUEST | {"dice": [1, 1, 1], "quiet_turns": 11}


def lanes_of(*games: dict) -> Lanes:
    states = [ENV.from_text(json.dumps(game)) for game in games]
    state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    count = len(games)
    return Lanes(
        state=jax.vmap(audamir_envs.auto_reset(ENV)._wrap)(state),
        own=jnp.ones((count, 3), jnp.bool_),
        length=jnp.zeros(count, jnp.int32),
        number=jnp.arange(count, dtype=jnp.int32),
    )


def by_tiles(observation) -> TileOutput:
    """A stand-in for the network: it attacks if it can, accepts, and takes shares of tiles for shares of the win."""
    batch, tiles, _ = observation.shape
    logits = jnp.zeros((batch, tiles * tiles + 3), jnp.float32).at[:, : tiles * tiles].set(60)
    shares = jnp.mean(observation[:, :, :3].astype(jnp.float32), axis=1)
    return TileOutput(logits=logits.at[:, tiles * tiles + 1].set(60), seat_logits=jnp.log(shares), shares=shares)


@pytest.fixture(scope="module")
def played() -> tuple[Decisions, np.ndarray, dict]:
    again = ENV.from_text(json.dumps(CONQUEST))
    auto = audamir_envs.auto_reset(ENV, init=lambda key: again)
    play = jax.jit(
        lambda lanes, key: ppo_play.play(auto, by_tiles, by_logits, (), Mix(2, 0, 0), 4, lanes, key, (3, 3), other_way)
    )
    _, decisions, last, sums, _ = play(lanes_of(CONQUEST, PEACE), jax.random.key(0))
    return jax.tree.map(np.asarray, decisions), np.asarray(last), jax.tree.map(float, sums)


def by_logits(observation):
    raise AssertionError("no snapshot plays in these lanes")


def test_a_conquest_is_recorded_decision_by_decision(played) -> None:
    decisions, _, sums = played
    assert decisions.action[:, 0].tolist() == [1, 5, 1, 5]
    assert decisions.mover[:, 0].tolist() == [0, 0, 0, 0]
    assert decisions.done[:, 0].tolist() == [False, True, False, True]
    np.testing.assert_allclose(decisions.result[1, 0], [1, -0.5, -0.5])
    # A third of the tiles each is worth 0 to each; then seat 1 is out.
    np.testing.assert_allclose(decisions.values[:2, 0], [[0, 0, 0], [0.5, -0.5, 0]], atol=1e-6)
    np.testing.assert_array_equal(decisions.chance[:, 0], 1)
    assert sums["games"] == 3
    assert sums["length"] == 2 + 2 + 4


def test_a_vote_is_recorded_with_each_voter_as_mover(played) -> None:
    decisions, _, _ = played
    assert decisions.action[:, 1].tolist() == [END, ACCEPT, ACCEPT, ACCEPT]
    assert decisions.mover[:, 1].tolist() == [0, 1, 2, 0]
    assert decisions.done[:, 1].tolist() == [False, False, False, True]
    np.testing.assert_allclose(decisions.result[3, 1], [1, -0.5, -0.5])
    np.testing.assert_array_equal(decisions.chance[:, 1], 1)


def test_targets_of_the_hand_made_games(played) -> None:
    decisions, last, _ = played
    advantages, targets = ppo_losses.estimate(jax.tree.map(jnp.asarray, decisions), jnp.asarray(last), 0.9, 0.5)
    # The conquest, two decisions by seat 0 in a row. Second: 1 - 0.5, -0.5 + 0.5, -0.5 - 0.
    # First: 0.9 * (0.5, -0.5, 0) - 0, and 0.45 times the second's.
    second = np.array([0.5, 0.0, -0.5])
    first = 0.9 * np.array([0.5, -0.5, 0]) + 0.45 * second
    np.testing.assert_allclose(advantages[:, 0], [first, second, first, second], atol=1e-6)
    np.testing.assert_allclose(targets[0, 0], first, atol=1e-6)
    np.testing.assert_allclose(targets[1, 0], [1, -0.5, -0.5], atol=1e-6)
    # The vote: all values are 0 until the end, which comes three decisions after the first.
    result = np.array([1, -0.5, -0.5])
    np.testing.assert_allclose(advantages[:, 1], [0.45**3 * result, 0.45**2 * result, 0.45 * result, result], atol=1e-6)


def random_decisions(rng, steps=12, lanes=3, players=3) -> tuple[Decisions, np.ndarray]:
    def values():
        return rng.normal(size=(steps, lanes, players)).astype(np.float32)

    nothing = np.zeros((steps, lanes))
    decisions = Decisions(
        observation=nothing,
        legal=nothing,
        action=nothing,
        log_prob=nothing,
        mover=nothing,
        own=nothing,
        values=values(),
        done=rng.random((steps, lanes)) < 0.2,
        result=values(),
        chance=np.where(rng.random((steps, lanes)) < 0.5, 1, rng.random((steps, lanes))).astype(np.float32),
        other=values(),
        other_done=rng.random((steps, lanes)) < 0.2,
    )
    return decisions, values()[0]


def plain_advantage(d: Decisions, last, gamma, trace, step, lane) -> np.ndarray:
    """The sum over later decisions of the same game, straight from the definition."""
    total, weight = np.zeros(3), 1.0
    for t in range(step, len(d.done)):
        following = d.values[t + 1, lane] if t + 1 < len(d.done) else last[lane]
        happened = d.result[t, lane] if d.done[t, lane] else gamma * following
        missed = d.other[t, lane] if d.other_done[t, lane] else gamma * d.other[t, lane]
        p = d.chance[t, lane]
        total = total + weight * (p * happened + (1 - p) * missed - d.values[t, lane])
        weight *= gamma * trace
        if d.done[t, lane]:
            break
    return total


def test_estimates_equal_the_sums_of_their_definition() -> None:
    decisions, last = random_decisions(np.random.default_rng(2))
    found, targets = jax.jit(lambda decisions, last: ppo_losses.estimate(decisions, last, 0.97, 0.8))(
        jax.tree.map(jnp.asarray, decisions), jnp.asarray(last)
    )
    for step in range(12):
        for lane in range(3):
            expected = plain_advantage(decisions, last, 0.97, 0.8, step, lane)
            np.testing.assert_allclose(found[step, lane], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(targets, np.asarray(found) + decisions.values, rtol=1e-5, atol=1e-6)


def test_luck_taken_out_leaves_the_mean() -> None:
    # One attack: 0.3 to win, worth 0.8 then and 0.1 otherwise, from 0.2: both outcomes say 0.3 * 0.8 + 0.7 * 0.1 - 0.2.
    both = [(0.3, 0.8, 0.1), (0.7, 0.1, 0.8)]
    for chance, happened, missed in both:
        zero = np.zeros((1, 1))
        decisions = Decisions(
            observation=zero,
            legal=zero,
            action=zero,
            log_prob=zero,
            mover=zero,
            own=zero,
            values=np.full((1, 1, 1), 0.2, np.float32),
            done=np.zeros((1, 1), bool),
            result=np.zeros((1, 1, 1), np.float32),
            chance=np.full((1, 1), chance, np.float32),
            other=np.full((1, 1, 1), missed, np.float32),
            other_done=np.zeros((1, 1), bool),
        )
        found, _ = ppo_losses.estimate(
            jax.tree.map(jnp.asarray, decisions), jnp.full((1, 1), happened, jnp.float32), 1.0, 0.9
        )
        assert float(found[0, 0, 0]) == pytest.approx(0.3 * 0.8 + 0.7 * 0.1 - 0.2, abs=1e-6)


def test_the_other_way_is_the_other_outcome_and_its_chance() -> None:
    state = ENV.from_text(json.dumps(CONQUEST | {"dice": [3, 3, 2]}))
    step = jax.jit(audamir_envs.auto_reset(ENV, init=lambda key: state).step)
    look = jax.jit(lambda before, action, after: other_way(ENV, before.game, action, after.game, after.just_reset))
    outcomes = set()
    for seed in range(12):
        after = step(state, 1, jax.random.key(seed))
        attacked, chance, other = look(state, jnp.int32(1), after)
        won = bool(after.game.owner[1] == 0)
        outcomes.add(won)
        odds = dice.odds()[3, 3]
        assert bool(attacked)
        assert float(chance) == pytest.approx(odds if won else 1 - odds, rel=1e-6)
        expected = rules.attack(state.game, jnp.int32(0), jnp.int32(1), jnp.bool_(not won))
        jax.tree.map(np.testing.assert_array_equal, other, expected)
    assert outcomes == {True, False}
    after = step(state, END, jax.random.key(0))
    attacked, chance, _ = look(state, jnp.int32(END), after)
    assert not bool(attacked)
    assert float(chance) == 1


def test_sampling_follows_the_masked_policy() -> None:
    rng = np.random.default_rng(0)
    logits = jnp.asarray(rng.normal(size=12), jnp.float32)
    legal = jnp.asarray([False, True, False, True, True, False, False, False, True, True, False, True])
    draws = 20_000
    actions, log_probs = jax.jit(lambda keys: jax.vmap(lambda key: ppo_play.sample(logits, legal, key, (3, 3)))(keys))(
        jax.random.split(jax.random.key(1), draws)
    )
    expected = np.where(legal, np.exp(logits), 0)
    expected = expected / expected.sum()
    counts = np.bincount(actions, minlength=12)
    assert (counts[~np.asarray(legal)] == 0).all()
    # Four standard deviations of each count.
    assert (np.abs(counts - draws * expected) <= 4 * np.sqrt(draws * expected * (1 - expected)) + 1e-9).all()
    np.testing.assert_allclose(log_probs, np.log(expected[np.asarray(actions)]), rtol=1e-4, atol=1e-5)


def test_seats_are_turned_to_the_mover_and_back() -> None:
    relative = jnp.asarray([[10.0, 11, 12], [20, 21, 22]])
    mover = jnp.asarray([1, 2], jnp.int32)
    by_seat = ppo_play.absolute(relative, mover)
    np.testing.assert_array_equal(by_seat, [[12, 10, 11], [21, 22, 20]])
    np.testing.assert_array_equal(ppo_play.relative(by_seat, mover), relative)


def test_a_learner_among_others_has_one_seat_at_least_and_not_all() -> None:
    keys = jax.random.split(jax.random.key(0), 500)
    own = np.asarray(jax.jit(jax.vmap(lambda key: ppo_play.draw_own(jnp.bool_(True), 4, key)))(keys))
    counts = own.sum(1)
    assert set(counts.tolist()) == {1, 2, 3}
    assert (np.abs(np.bincount(counts)[1:] - 500 / 3) < 45).all()
    assert (np.abs(own.mean(0) - 0.5) < 0.08).all()
    assert bool(jnp.all(ppo_play.draw_own(jnp.bool_(False), 4, keys[0])))


@pytest.fixture(scope="module")
def samples():
    games = [CONQUEST | {"dice": dice} for dice in ([8, 1, 1], [3, 2, 5], [2, 6, 1], [4, 4, 4])]
    state = lanes_of(*games).state
    legal = state.legal_action_mask
    return ppo_losses.Samples(
        observation=state.observation,
        legal=legal,
        action=jnp.argmax(legal, axis=1).astype(jnp.int32),
        log_prob=jnp.asarray([-1.0, -0.5, -2.0, -0.1]),
        advantage=jnp.asarray([1.0, -0.5, 2.0, -1.0]),
        target=jnp.asarray([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.4, 0.3, 0.3]]),
        own=jnp.asarray([1.0, 1.0, 0.0, 1.0]),
    )


def test_the_loss_is_that_of_its_definition(samples) -> None:
    network = TileNetwork(TileConfig(channels=4, blocks=1, pairs=2))
    parameters = random_parameters(network)
    weights = ppo_losses.LossWeights(value=0.5, clip=0.2)

    def apply(parameters, observation):
        return network.apply({"params": parameters}, observation)

    total, parts = jax.jit(lambda p, s: ppo_losses.loss(apply, p, s, weights, jnp.float32(0.1)))(parameters, samples)
    said = jax.jit(network.apply)({"params": parameters}, samples.observation)
    policy, entropy, value = 0.0, 0.0, 0.0
    for i in range(4):
        legal = np.asarray(samples.legal[i])
        chances = np.where(legal, np.exp(np.asarray(said.logits[i], np.float64)), 0)
        chances /= chances.sum()
        ratio = chances[int(samples.action[i])] / np.exp(float(samples.log_prob[i]))
        gain = float(samples.advantage[i])
        if samples.own[i]:
            policy -= min(ratio * gain, np.clip(ratio, 0.8, 1.2) * gain)
            entropy -= sum(p * np.log(p) for p in chances if p > 0)
        target = np.asarray(samples.target[i], np.float64)
        value += float(np.sum(target * (np.log(target) - np.log(np.asarray(said.shares[i], np.float64)))))
    assert float(parts["policy_loss"]) == pytest.approx(policy, rel=1e-3)
    assert float(parts["entropy"]) == pytest.approx(entropy, rel=1e-3)
    assert float(parts["value_loss"]) == pytest.approx(value, rel=1e-3)
    assert float(parts["own"]) == 3
    assert float(total) == pytest.approx(policy - 0.1 * entropy + 0.5 * value, rel=1e-3)
