"""Games of evaluations: fair, complete, and the same on any number of devices; what is recorded of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from audamir_training import evaluation
from audamir_training.recording import Recorder
from tiny_run import mesh_of

import audamir_envs
from audamir_envs import records


def likeliest(parameters, states, key):
    """Plays the legal action with the largest parameter."""
    del key
    return jnp.argmax(jnp.where(states.legal_action_mask, parameters, -jnp.inf), axis=-1).astype(jnp.int32)


def test_two_devices_play_the_games_of_one(tmp_path) -> None:
    games = 10  # five openings, so that one device has a place too many
    env = audamir_envs.make("stigmergy-v0", side=2, komi=2)
    opponent = audamir_envs.make_agent(env, "random")
    parameters = jnp.asarray(np.random.default_rng(0).normal(size=env.num_actions), jnp.float32)
    found = []
    for devices in (1, 2):
        told = devices == 2
        match = evaluation.two_player_match(env, likeliest, opponent, games, 2, env.max_steps, mesh_of(devices), told)
        shares, unfinished, taken = match(parameters, jax.random.key(3))
        assert shares.shape == unfinished.shape == (games,)
        assert not np.asarray(unfinished).any()
        found.append(np.asarray(shares))
    np.testing.assert_array_equal(*found)
    assert 0 < found[0].mean() < 1
    check_record(tmp_path / "games.jsonl", match, shares, unfinished, taken)


def check_record(path, match, shares, unfinished, taken) -> None:
    """Writes the games, of which each evaluation's are written once, and plays them again."""
    recorder = Recorder(path, "learner")
    told = jax.tree.map(np.asarray, (unfinished, taken))
    for iteration in (1, 2, 1):
        recorder.write("random", match, iteration, 10, *told)
    record = records.read(path)
    assert [section.header.protocol["iteration"] for section in record.sections] == [1, 2]
    assert record.complete
    assert list(records.verify(record.games)) == []
    games = record.sections[0].games
    assert [game.number for game in games] == list(range(len(shares)))
    assert [game.shares[game.seats.index(0)] for game in games] == pytest.approx(np.asarray(shares).tolist())
    assert record.sections[0].header.agents[0]["agent"] == "learner@1"
    path.write_text("a list\n")
    with pytest.raises(records.RecordError, match="no line of a record"):
        Recorder(path, "learner")


@pytest.mark.slow
def test_rotated_games_are_the_same_on_two_devices(tmp_path) -> None:
    env = audamir_envs.make("principalities-v0", players=3, tiles=6)
    opponent = audamir_envs.make_agent(env, "random")
    parameters = jnp.asarray(np.random.default_rng(0).normal(size=env.num_actions), jnp.float32)
    found = []
    for devices in (1, 2):
        match = evaluation.rotated_match(env, likeliest, opponent, 9, 300, mesh_of(devices), told=True)
        found.append(jax.tree.map(np.asarray, match(parameters, jax.random.key(3))))
    assert found[0][0].shape == (9,)
    jax.tree.map(np.testing.assert_array_equal, *found)
    check_record(tmp_path / "games.jsonl", match, *found[0])
    bare = evaluation.rotated_match(env, likeliest, opponent, 9, 300, mesh_of(1))(parameters, jax.random.key(3))
    np.testing.assert_array_equal(bare[0], found[0][0])


def test_options_of_evaluations_are_checked() -> None:
    assert evaluation.environment("stigmergy-v0", "side=2,komi=4").options["komi"] == 4
    with pytest.raises(ValueError, match="evaluate_options: stigmergy-v0 has no option 'size'; it has side"):
        evaluation.environment("stigmergy-v0", "size=2")
