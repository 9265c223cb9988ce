"""The measured programs do what they say; the command prints and writes its figures."""

import argparse
import json
import shutil
import time

import jax
import numpy as np
import pytest
from rich.console import Console
from toy import Nim

import audamir_envs
from audamir_envs.benchmark import checking, command, loops, rollouts
from audamir_envs.benchmark.timing import Timing, ratio, ratio_interval, time_in_turns


def _run(*flags: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(flags))


def test_command_writes_what_it_prints(tmp_path, capsys):
    path = tmp_path / "bench.json"
    assert _run("--only", "memory", "--json", str(path)) == 0
    report = json.loads(path.read_text())
    printed = capsys.readouterr().out
    for row in report["memory"]:
        assert row["name"] in printed
        assert f"{row['bytes']:,}" in printed
    assert report["machine"]["jax"] == jax.__version__


@pytest.mark.parametrize(
    ("flags", "valid"),
    [
        (("--only", "speed"), "sampled"),
        (("--against", "atari"), "pgx"),
        (("--games", "1,x"), "whole numbers"),
        (("--games", "0"), "whole numbers"),
        (("--repetitions", "0"), "whole numbers"),
    ],
)
def test_bad_flags_name_what_is_valid(flags, valid):
    with pytest.raises(ValueError, match=valid):
        _run(*flags)


def test_every_rival_is_measured():
    rivals = rollouts.rivals()
    assert set(rivals) == set(rollouts.setups())
    assert {name.removeprefix("pgx ") for name in rivals.values()} <= set(rollouts.PGX)
    assert {env_id for env_id, _ in rollouts.setups().values()} == set(audamir_envs.ids())


def test_scans_play_the_steps_they_count():
    """Both programs end where playing the same steps one by one ends."""
    game = rollouts.contender(Nim(size=5))
    replayed = rollouts.given(game, games=2, steps=3)()
    assert replayed._step_count.tolist() == [3, 3]
    assert not replayed.illegal.any()
    (state, _), _ = rollouts.sampled(game, games=2, steps=1)()
    assert state._step_count.tolist() == [2, 2]  # one step to settle the types, one timed


def test_writing_fills_whole_arrays_anew():
    game = rollouts.ours("stigmergy-v0", {"side": 3})
    word, arrays = rollouts.writing(game, games=3, steps=2)()
    shape = jax.eval_shape(game.init, jax.random.key(0))
    for name, leaf in arrays.items():
        assert leaf.shape == (3, *getattr(shape, name).shape)
        assert leaf.dtype == getattr(shape, name).dtype
    twice = (1664525 * 1013904223 + 1013904223) % 2**32  # of the game whose word was 0
    assert int(word[0]) == twice
    observations = np.asarray(arrays["observation"]).reshape(3, -1)
    assert (observations == np.asarray(word)[:, None] >> 24).all()
    assert len(set(observations[:, 0])) > 1


def test_loops_run():
    from audamir_envs import colony_v0

    loops.aec_loop(colony_v0.env(), 5)()
    assert loops.classic("no_such_game_v0") is None
    assert loops.decisions("colony-v0", "random", 4)().shape == (4,)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="the reference is compiled by g++")
def test_reference_plays_the_same_game():
    """Games of the C++ reference are as long as ours, and are won as often by the first mover."""
    from audamir_envs.colony.reference import run_reference

    run = run_reference(2_000_000)
    auto = audamir_envs.auto_reset(audamir_envs.make("colony-v0"))
    lanes = 256

    def play(state, key):
        choose, move = jax.random.split(key)
        state = jax.vmap(auto.step)(state, audamir_envs.sample_legal(choose, state), jax.random.split(move, lanes))
        return state, (state.just_reset, state.just_reset & (state.final_rewards[:, 0] > 0))

    state = jax.vmap(auto.init)(jax.random.split(jax.random.key(0), lanes))
    _, (ended, won) = jax.jit(lambda s, k: jax.lax.scan(play, s, k))(state, jax.random.split(jax.random.key(1), 4000))
    games = int(ended.sum())
    # Lanes end in the middle of a game: half of one on average, whose plies belong to no counted game.
    length = (lanes * 4000 - lanes * run.plies / run.games / 2) / games
    assert length == pytest.approx(run.plies / run.games, rel=0.03)
    error = (0.25 / games + 0.25 / run.games) ** 0.5
    assert abs(int(won.sum()) / games - run.first_mover_wins / run.games) < 4 * error


def timing(*seconds):
    return Timing(seconds, 100)


def test_intervals_of_paired_ratios():
    ours, theirs = timing(1, 2, 4, 8, 16), timing(2, 4, 8, 16, 32)  # twice as fast whatever else the machine does
    assert ratio(ours, theirs) == 2
    assert ratio_interval(ours, theirs) == (2, 2)
    rng = np.random.default_rng(int(time.time()))
    covered = 0
    for _ in range(200):
        noise = rng.lognormal(0, 0.3, (2, 25))
        low, high = ratio_interval(Timing(tuple(noise[0]), 3), Timing(tuple(noise[1]), 1))
        covered += low <= 3 <= high
    assert covered > 170


def test_runs_come_in_random_order_and_are_counted():
    order = []
    programs = {name: (lambda name=name: order.append(name), 7) for name in "abcd"}
    timings = time_in_turns(programs, 30)
    assert sorted(order) == sorted("abcd" * 31)
    rounds = {tuple(order[start : start + 4]) for start in range(4, len(order), 4)}
    assert len(rounds) > 10
    assert all(len(set(one)) == 4 for one in rounds)
    assert timings["a"].units == 7
    assert len(timings["a"].seconds) == 30


def report(**ratios):
    rows = [
        {"name": name, "games": 8, "ratio": r, "low": r * 0.98, "high": r * 1.02, "against": "x"}
        for name, r in ratios.items()
    ]
    arguments = {"against": "", "only": "given", "games": "8", "steps": 4, "repetitions": 3}
    return {"machine": {"jax": "0"}, "arguments": arguments, "given": rows, "memory": [{"name": "a", "bytes": 3}]}


@pytest.mark.parametrize(
    ("now", "code", "said"),
    [
        ({"a": 2.0, "b": 4.0}, 0, ""),
        ({"a": 1.9, "b": 4.0}, 0, ""),  # the interval reaches 95 %
        ({"a": 1.8, "b": 9.0}, 1, "1 of 2 ratios have fallen"),
        ({"a": 2.0}, 1, "1 are missing"),
    ],
)
def test_a_regression_fails(capsys, now, code, said):
    console = Console(width=200)
    assert checking.compare(console, report(a=2.0, b=4.0), report(**now)) == code
    assert said in capsys.readouterr().out


def test_check_measures_what_the_file_holds(tmp_path, monkeypatch, capsys):
    path = tmp_path / "before.json"
    path.write_text(json.dumps(report(a=2.0)))
    seen = []

    def given(self):
        seen.append((self.against, self.batches, self.steps, self.repetitions))
        return report(a=1.0)["given"]

    monkeypatch.setattr(command._Measure, "given", given)
    assert _run("--check", str(path), "--games", "1", "--only", "memory") == 1
    assert seen == [([], [8], 4, 3)]
    assert "slower" in capsys.readouterr().out
    for text in ("", "[]", "{}", '{"given": [], "arguments": {}}', json.dumps(report())):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"before\.json (is no file|holds no ratio)"):
            _run("--check", str(path))
