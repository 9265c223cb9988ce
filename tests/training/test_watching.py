"""The last self-play game of a run, put together from what one lane played."""

import jax
import numpy as np
from audamir_training.watching import FILE, LastGame, Shown

import audamir_envs
from audamir_envs import records, sample_legal


def lane(env, count, key):
    """What a lane plays at random, [count] plies, games one after the other."""
    start_key, *keys = jax.random.split(key, count + 1)
    state, step, found = env.init(start_key), jax.jit(env.step), []
    for key in keys:
        action = sample_legal(key, state.legal_action_mask)
        after = step(state, action, key)
        over = after.terminated | after.truncated
        chance = env.chance_of(state, action, key)
        found.append(Shown(state.game, action, chance, after.game, over, after.rewards))
        state = env.init(key) if over else after
    return jax.tree.map(lambda *leaves: np.stack(leaves), *found)


def test_the_last_whole_game_is_written_and_replays(tmp_path) -> None:  # one with dice: tests/training/test_ppo.py
    env = audamir_envs.make("stigmergy-v0", side=2)
    shown = lane(env, 60, jax.random.key(0))
    ends = np.flatnonzero(shown.over)
    assert len(ends) >= 2
    watcher = LastGame(tmp_path, "learner")
    watcher.see(env, jax.tree.map(lambda leaf: leaf[: ends[0] + 1], shown))
    watcher.write(1)
    assert not (tmp_path / FILE).exists()  # nobody has seen that game's beginning
    for first in range(ends[0] + 1, 60, 7):
        watcher.see(env, jax.tree.map(lambda leaf, first=first: leaf[first : first + 7], shown))
    watcher.write(9)
    record = records.read(tmp_path / FILE)
    (game,) = record.games
    assert list(records.verify(record.games)) == []
    assert list(game.actions) == shown.action[ends[-2] + 1 : ends[-1] + 1].tolist()
    assert record.sections[0].header.agents[0]["agent"] == "learner@9"
    (tmp_path / FILE).unlink()
    watcher.write(10)
    assert not (tmp_path / FILE).exists()  # it is written once
