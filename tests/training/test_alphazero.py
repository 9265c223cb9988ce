"""The algorithm as a whole, tiny: equal states go on equally, also over two devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from audamir_training.alphazero import AlphaZero
from audamir_training.learning import learning_rate
from tiny_run import TINY, advanced, changed, copied, mesh_of


@pytest.fixture(scope="module")
def five(tiny):
    """The state after five iterations, on the host, and the metrics on the way."""
    state, metrics = advanced(tiny, tiny.start(), 5)
    return copied(state), metrics


def test_counters_and_metrics_count(tiny, five) -> None:
    state, metrics = five
    assert tiny.iteration(state) == 5
    assert tiny.positions(state) == 5 * 64
    assert int(state.games) == sum(line["games"] for line in metrics) > 0
    assert int(state.replay[0].filled) == 40
    # The warm-up takes one iteration, and then there are finished games to learn from.
    assert metrics[-1]["policy_loss"] > 0
    assert int(state.learner.updates) > 0
    assert all(np.isfinite(list(line.values())).all() for line in metrics)
    # Play holds its network evaluations, and compiling does not count.
    assert all(line["play_over_network"] > 0 for line in metrics)
    assert tiny.compile_seconds() > 0


def test_a_state_from_the_host_goes_on_to_the_last_bit(tiny, five) -> None:
    state, _ = five
    again, _ = advanced(tiny, tiny.place(state), 3)
    straight, _ = advanced(tiny, tiny.start(), 8)
    jax.tree.map(np.testing.assert_array_equal, copied(again), copied(straight))


@pytest.mark.slow
def test_two_devices_agree_with_one(tiny, five) -> None:
    _, alone = five
    both = AlphaZero(TINY, mesh_of(2))
    _, together = advanced(both, both.start(), 5)
    for one, two in zip(alone, together, strict=True):
        for name in one.keys() - {"play_over_network"}:
            assert two[name] == pytest.approx(one[name], rel=2e-3, abs=1e-4), name


def test_targets_lie_where_they_may(five) -> None:
    state, _ = five
    replay = state.replay[0]
    ready = np.asarray(replay.ready)
    assert ready.any()
    assert (np.abs(np.asarray(replay.target))[ready] <= 1).all()
    weights = np.asarray(replay.slot_weight, np.float32).sum(-1) + np.asarray(replay.rest, np.float32)
    np.testing.assert_allclose(weights[:40], 1, atol=2e-3)
    over = np.asarray(replay.over)
    assert (np.asarray(replay.result)[over] != 0).all()  # nobody draws in Stigmergy


def test_terminal_positions_are_never_searched(five, tiny) -> None:
    state, _ = five
    games = jax.tree.map(lambda leaf: jnp.asarray(leaf[:40].reshape(-1, *leaf.shape[2:])), state.replay[0].game)
    outcome = jax.vmap(tiny.variants[0].env.outcome)(games)
    assert not bool(jnp.any(outcome.terminated | outcome.truncated))


def test_the_learning_rate_falls_by_half_a_cosine() -> None:
    settings = changed(learning_rate=1.0, final_learning_rate=0.0, decay_positions=100)
    rates = [float(learning_rate(settings, jnp.int32(n))) for n in (0, 50, 100, 1000)]
    np.testing.assert_allclose(rates, [1, 0.5, 0, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lanes": 9}, "lanes=9"),
        ({"batch": 15}, "batch=15"),
        ({"groups": 1}, "groups=1"),
        ({"env": "nim-v0"}, "nim-v0"),
        ({"groups": 0}, "groups=0 is not valid: use a whole number from 1 to"),
        ({"lanes": -8}, "lanes=-8 is not valid"),
        ({"simulations": 0}, "simulations=0 is not valid"),
        ({"simulations": 2.5}, r"simulations=2\.5 is not valid: use a whole number"),
        ({"full_share": 2.0}, r"full_share=2\.0 is not valid: use a number from 0 to 1"),
        ({"decay_positions": 0}, "decay_positions=0 is not valid"),
        ({"learning_rate": float("nan")}, "learning_rate=nan is not valid: use a number from 0 on"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AlphaZero(changed(**changes), mesh_of(2))


def test_a_match_is_fair_and_complete(tiny, five) -> None:
    state, _ = five
    shares, unfinished, _ = tiny.match("random", 16)(tiny.player(state), jax.random.key(0))
    assert shares.shape == (16,)
    assert set(np.asarray(shares).tolist()) <= {0.0, 1.0}
    assert not np.asarray(unfinished).any()


@pytest.mark.slow
def test_a_learner_solves_side_2_from_nothing() -> None:
    """Black wins by 7 with the centre, so at komi 6 the centre wins and everything else loses."""
    import audamir_envs
    from audamir_envs.learned.search import SearchConfig
    from audamir_envs.learned.zero import Zero

    settings = changed(
        channels=16, blocks=1, lanes=32, plies=16, simulations=16, batch=64, microbatch=64, reuse=4.0, groups=8,
        replay_positions=16_384, warmup_positions=1_000, window_positions=8_000, decay_positions=100_000,
    )  # fmt: skip
    algorithm = AlphaZero(settings, mesh_of(1))
    state, _ = advanced(algorithm, algorithm.start(), 120)
    env = audamir_envs.make("stigmergy-v0", side=2, komi=6)
    start = env.init(jax.random.key(0))
    agent = Zero("stigmergy-v0", algorithm.network, algorithm.player(state), SearchConfig(32))
    assert env.action_to_text(int(jax.jit(agent.act)(start, jax.random.key(0)))) == "b2"
    centre = env.step(start, env.text_to_action("b2"))
    other = env.step(start, env.text_to_action("a1"))
    said = [
        algorithm.network.apply({"params": algorithm.player(state)}, position.observation[None], env.num_actions)
        for position in (centre, other)
    ]
    assert float(said[0].value[0]) < -0.8  # for White, who is to move
    assert float(said[1].value[0]) > 0.8
    assert float(jnp.sum(said[0].ownership)) == pytest.approx(-7, abs=1)
