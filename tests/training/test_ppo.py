"""PPO as a whole, tiny: equal states go on equally, also over two devices; its levels load as agents; it learns."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from audamir_training.games import variants
from audamir_training.learning import cosine
from audamir_training.ppo import PPO
from audamir_training.watching import FILE, LastGame, first_lane
from tiny_ppo import TINY_PPO
from tiny_run import advanced, copied, mesh_of

import audamir_envs
from audamir_envs import records
from audamir_envs.learned.checkpoints import CheckpointError, read_tensors, write_tensors


@pytest.fixture(scope="module")
def tiny() -> PPO:
    return PPO(TINY_PPO, mesh_of(1))


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
    assert sum(line["snapshots_seats"] for line in metrics) > 0
    assert sum(line["levels_seats"] for line in metrics) > 0
    assert all(np.isfinite(list(line.values())).all() for line in metrics)
    assert all(set(tiny.summary(line)) == set(tiny.summary(metrics[0])) for line in metrics)


def test_a_lane_is_shown_with_its_dice(tiny, tmp_path) -> None:
    watcher, state = LastGame(tmp_path, "ppo"), tiny.start()
    for _ in range(60):
        state, _ = tiny.iterate(state)
        watcher.see(tiny.shown[0], first_lane(tiny.shown[1]))
        watcher.write(1)
        if (tmp_path / FILE).exists():
            break
    games = records.read(tmp_path / FILE).games
    assert any(games[0].chance)
    assert list(records.verify(games)) == []


def test_snapshots_are_taken_in_turn(tiny, five) -> None:
    state, _ = five
    # One at the start, then after the second and the fourth iteration: the last two of these three are kept.
    assert int(state.learner.taken) == 3
    after_two, _ = advanced(tiny, tiny.start(), 2)
    kept = jax.tree.map(lambda ring: ring[1], state.learner.snapshots)
    jax.tree.map(np.testing.assert_array_equal, kept, copied(after_two.learner.parameters))


def test_a_state_from_the_host_goes_on_to_the_last_bit(tiny, five) -> None:
    state, _ = five
    # Another program of the same settings, as after a restart: it knows nothing but the state.
    tiny._pools.clear()
    again, _ = advanced(tiny, tiny.place(state), 5)
    tiny._pools.clear()
    straight, _ = advanced(tiny, tiny.start(), 10)
    jax.tree.map(np.testing.assert_array_equal, copied(again), copied(straight))


def test_a_learner_starts_new_games_with_what_another_learned(tiny, five) -> None:
    state, _ = five
    moved = tiny.with_learner(copied(tiny.start()), tiny.learner(state))
    assert tiny.positions(moved) == tiny.positions(state)
    jax.tree.map(np.testing.assert_array_equal, moved.learner, state.learner)
    assert not (moved.lanes[0].length == state.lanes[0].length).all()


def test_only_the_learners_choices_are_learned_from(tiny, five) -> None:
    state, _ = five
    own, mover = state.lanes[0].own, state.lanes[0].state.current_player
    mixed = np.arange(8) % 4 >= 2
    np.testing.assert_array_equal(own.all(axis=1), ~mixed)
    assert (own[mixed].sum(axis=1) == 1).all()
    assert set(np.unique(mover)) <= {0, 1}


@pytest.mark.slow
def test_two_devices_agree_with_one(five) -> None:
    _, alone = five
    both = PPO(TINY_PPO, mesh_of(2))
    _, together = advanced(both, both.start(), 5)
    for one, two in zip(alone, together, strict=True):
        for name in one:
            assert two[name] == pytest.approx(one[name], rel=2e-3, abs=1e-4), name


@pytest.fixture(scope="module")
def level(tiny, five, tmp_path_factory):
    path = tmp_path_factory.mktemp("level") / "zero.safetensors"
    tiny.export(path, tiny.player(five[0]), {"budget": {"positions": 320}})
    return path


def test_a_level_loads_as_an_agent_for_any_number_of_players(level) -> None:
    policy = audamir_envs.make_agent("principalities-v0", str(level), policy=True)
    for players, tiles in ((2, 4), (3, 5)):
        env = audamir_envs.make("principalities-v0", players=players, tiles=tiles)
        text = '{"neighbours": %s, "owner": %s, "dice": %s, "reserve": %s, "to_move": 0}'
        line = [[i for i in (t - 1, t + 1) if 0 <= i < tiles] for t in range(tiles)]
        owner = [t % players for t in range(tiles)]
        state = env.from_text(text % (line, owner, [3] * tiles, [0] * players))
        policy.temperature = players - 2
        action = int(jax.jit(policy.act)(state, jax.random.key(0)))
        assert bool(state.legal_action_mask[action])


def test_the_searching_level_takes_a_certain_victory(level) -> None:
    env = audamir_envs.make("principalities-v0", players=2, tiles=3)
    won = '{"neighbours": [[1], [0, 2], [1]], "owner": [0, 0, 1], "dice": [1, 8, 1], "reserve": [0, 0], "to_move": 0}'
    state = env.from_text(won)
    zero = audamir_envs.make_agent("principalities-v0", str(level), considered=4, futures=2)
    assert env.action_to_text(int(jax.jit(zero.act)(state, jax.random.key(0)))) == "1>2"
    foreign = audamir_envs.make("stigmergy-v0", side=2).init(jax.random.key(0))
    for agent in (zero, audamir_envs.make_agent("principalities-v0", str(level), policy=True)):
        for act, wrong in ((agent.act_batch, state), (agent.act, foreign)):
            with pytest.raises(ValueError, match=r"plays principalities-v0: act takes one state, act_batch a batch"):
                act(wrong, jax.random.key(0))


def test_levels_that_do_not_fit_are_refused(level, tmp_path) -> None:
    with pytest.raises(CheckpointError, match=r"a level of principalities-v0, not of colony-v0"):
        audamir_envs.make_agent("colony-v0", str(level))
    arrays, header = read_tensors(level)
    header.pop("checksum")
    path = tmp_path / "changed.safetensors"
    for name, value, message in (
        ("env_version", "99", "was made for version 99"),
        ("network", '{"architecture": "tiles-9"}', "has a network 'tiles-9'"),
        ("network", header["network"].replace('"channels": 4', '"channels": 5'), "parameter .* is .*not"),
        ("observation", '[7, "uint8"]', "expects observations"),
    ):
        write_tensors(path, arrays, header | {name: value})
        with pytest.raises(CheckpointError, match=message):
            audamir_envs.make_agent("principalities-v0", str(path))
    write_tensors(path, dict(list(arrays.items())[1:]), header)
    with pytest.raises(CheckpointError, match="missing"):
        audamir_envs.make_agent("principalities-v0", str(path))
    with pytest.raises(ValueError, match="no setting 'simulations': use considered, futures, scale"):
        audamir_envs.make_agent("principalities-v0", str(level), simulations=8)


def test_layouts_name_players_tiles_and_shares() -> None:
    chosen = variants("principalities-v0", "2:3,4@12:1")
    assert [(v.env.num_players, v.env.observation_shape[0]) for v in chosen] == [(2, 32), (4, 12)]
    np.testing.assert_allclose([v.share for v in chosen], [0.75, 0.25])
    for text, message in (("two", "use players"), ("2@x", "use players"), ("9", "players=9")):
        with pytest.raises(ValueError, match=message):
            variants("principalities-v0", text)
    for share in ("x", "", "0", "-1", "nan", "inf"):
        with pytest.raises(ValueError, match=f"the share '{share}' is no number above 0"):
            variants("principalities-v0", f"2:{share},4:2")


def test_settings_that_do_not_fit_are_refused() -> None:
    for change, message in (
        ({"groups": 3}, "lanes=8"),
        ({"snapshot_share": 0.8, "level_share": 0.6}, "together"),
        ({"batch": 128}, "at most lanes times steps"),
        ({"level_share": -1.0}, "level_share=-1.0 is not valid: use a number from 0 to 1$"),
        ({"level_share": float("nan")}, "level_share=nan is not valid: use a number from 0 to 1$"),
        ({"levels": "nobody"}, "levels='nobody' is not valid: unknown agent 'nobody' for principalities-v0"),
        ({"groups": 0}, "groups=0 is not valid: use a whole number from 1 to"),
        ({"snapshots": -1}, "snapshots=-1 is not valid: use a whole number from 0 to"),
    ):
        with pytest.raises(ValueError, match=message):
            PPO(dataclasses.replace(TINY_PPO, **change), mesh_of(1))


def test_schedules_fall_by_half_a_cosine() -> None:
    values = [float(cosine(1.0, 0.2, 100, jnp.int32(at))) for at in (0, 50, 100, 1000)]
    np.testing.assert_allclose(values, [1.0, 0.6, 0.2, 0.2], atol=1e-6)


@pytest.mark.slow
def test_it_learns_to_beat_the_weak_level_on_six_tiles() -> None:
    settings = dataclasses.replace(
        TINY_PPO,
        layouts="2@6",
        channels=16,
        lanes=64,
        steps=32,
        maps=64,
        batch=256,
        microbatch=64,
        epochs=2,
        snapshot_iterations=15,
        snapshots=10,
        groups=4,
        decay_positions=120_000,
    )
    algorithm = PPO(settings, mesh_of(1))
    state = algorithm.start()
    match = algorithm.match("weak", 512)
    before, *_ = match(algorithm.player(state), jax.random.key(7))
    state, _ = advanced(algorithm, state, 50)
    after, unfinished, _ = match(algorithm.player(state), jax.random.key(7))
    assert not bool(jnp.any(unfinished))
    # 0.022 is the standard error of 512 games.
    assert float(jnp.mean(after)) > max(0.58, float(jnp.mean(before)) + 0.05)
