"""What the arena, its ladder and play write down is what was played."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs import agents, arena, cli, records

ENVIRONMENTS = {
    "stigmergy-v0": {"side": 3, "komi": "choose"},
    "principalities-v0": {"players": 3, "tiles": 9, "max_rounds": 8},
}


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def case(request, tmp_path_factory):
    """Environment, what the arena found without recording and with it, and the file."""
    env = audamir_envs.make(request.param, **ENVIRONMENTS[request.param])
    path = tmp_path_factory.mktemp("record") / "games.jsonl"
    settings = {"games": 10, "seed": 4, "opening_plies": 2, "batch": 4}
    plain = arena.evaluate(env, ["random", "random"], **settings)
    return env, plain, arena.evaluate(env, ["random", "random"], record=path, **settings), path, settings


def equal(a, b):
    for name in ("seats", "starts", "starter", "shares", "plies", "unfinished"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    jax.tree.map(np.testing.assert_array_equal, a.final, b.final)


def test_recording_changes_nothing(case):
    _, plain, told, _, _ = case
    equal(plain.records, told.records)
    assert plain.score == told.score


def test_the_file_holds_every_game(case):
    _, _, told, path, _ = case
    record = records.read(path)
    assert record.complete
    assert sorted(game.number for game in record.games) == list(range(10))
    for game in record.games:
        assert game.plies == told.records.plies[game.number]
        assert list(game.shares) == told.records.shares[game.number].tolist()
        assert game.starter == told.records.starter[game.number]
        assert game.cut == told.records.unfinished[game.number]
        assert game.opening == min(2, game.plies)
    (section,) = record.sections
    assert [agent["agent"] for agent in section.header.agents] == ["random", "random#2"]
    assert section.header.protocol["opening_plies"] == 2
    assert section.header.versions["jax"] == jax.__version__
    assert list(records.verify(record.games)) == []


def test_a_finished_run_is_not_played_again(case):
    env, _, told, path, settings = case
    before = path.read_bytes()
    again = arena.evaluate(env, ["random", "random"], record=path, **settings | {"batch": 3})
    equal(told.records, again.records)
    assert again.records.decisions == 0
    assert path.read_bytes() == before


def test_a_run_that_was_cut_goes_on(case, tmp_path):
    env, _, told, path, settings = case
    if env.id == "principalities-v0":
        pytest.skip("two games are enough, and this one is slow to compile")
    lines = path.read_bytes().splitlines(keepends=True)
    half = tmp_path / "half.jsonl"
    half.write_bytes(b"".join(lines[:5]) + lines[5][:40])
    again = arena.evaluate(env, ["random", "random"], record=half, **settings)
    record = records.read(half)
    assert record.complete
    assert list(records.verify(record.games)) == []
    kept = [records.decode(line, record.sections[0].header).number for line in lines[1:5]]
    for name in ("shares", "plies", "starter"):
        np.testing.assert_array_equal(getattr(again.records, name)[kept], getattr(told.records, name)[kept])
    assert again.records.plies.min() > 0


@pytest.fixture(scope="module")
def side_two():
    return audamir_envs.make("stigmergy-v0", side=2)


def test_settings_and_cut_games(side_two, tmp_path):
    path = tmp_path / "r.jsonl"
    arena.evaluate(side_two, ["weak", "random"], games=3, max_plies=2, record=path)
    record = records.read(path)
    assert all(game.cut and game.plies == 2 for game in record.games)
    assert {tuple(sorted(game.seats)) for game in record.games} == {(0, 1)}
    assert list(records.verify(record.games)) == []


def test_policies_of_other_frameworks_are_recorded(side_two, tmp_path):
    path = tmp_path / "r.jsonl"
    first = agents.from_callable(lambda observation, mask: mask.argmax(axis=1), name="first")
    found = arena.evaluate(side_two, [first, "random"], games=6, batch=4, record=path)
    record = records.read(path)
    assert [agent["agent"] for agent in record.sections[0].header.agents] == ["first", "random"]
    assert list(records.verify(record.games)) == []
    assert sum(game.plies for game in record.games) == found.records.plies.sum()


def test_a_ladder_is_recorded(side_two, tmp_path):
    path = tmp_path / "r.jsonl"
    found = arena.ladder(side_two, ["random", "weak"], games=4, record=path)
    record = records.read(path)
    assert [agent["agent"] for agent in record.sections[0].header.agents] == ["random", "weak"]
    assert record.complete
    assert len(record.games) == found.games == 4


def test_a_record_that_does_not_follow_the_rules_is_not_continued(side_two, tmp_path):
    path = tmp_path / "r.jsonl"
    arena.evaluate(side_two, ["random", "random"], games=3, record=path)
    record = records.read(path)
    game = dataclasses.replace(record.games[0], shares=record.games[0].shares[::-1])
    path.write_bytes(records.encode(record.sections[0].header) + records.encode(game))
    with pytest.raises(records.RecordError, match=rf"line 2: game {game.number}: the shares are"):
        arena.evaluate(side_two, ["random", "random"], games=3, record=path)


def test_games_played_by_hand(tmp_path, monkeypatch, capsys):
    path = tmp_path / "play.jsonl"
    typed = iter(["b2", "undo", "a1", "quit"])

    def answer(_):
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", answer)
    words = ["play", "stigmergy-v0", "random", "-o", "side=2", "--record", str(path), "--seed", "1"]
    assert cli.main([*words, "--seat", "0"]) == 0
    assert cli.main([*words[:3], "random", "--watch", *words[3:]]) == 0
    watch = ["play", "principalities-v0", "random", "random", "--watch", "-o", "players=2", "-o", "tiles=4"]
    assert cli.main([*watch, "--record", str(path), "--seed", "3"]) == 0
    record = records.read(path)
    by_hand, watched, dice = record.games
    assert [agent["agent"] for agent in by_hand.header.agents] == ["person", "random"]
    assert by_hand.moves[0] == "a1"
    assert by_hand.cut
    assert not watched.cut
    assert any(":" in text for text in dice.chance)
    assert list(records.verify(record.games)) == []
    capsys.readouterr()


def test_the_command_shows_and_verifies(case, capsys, tmp_path):
    *_, path, _ = case
    assert cli.main(["replay", str(path), "--verify"]) == 0
    assert "10 games, 0 differ" in capsys.readouterr().out
    assert cli.main(["replay", str(path), "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 11
    game = records.read(path).games[2]
    assert cli.main(["replay", str(path), "--game", "3"]) == 0
    out = capsys.readouterr().out
    assert f"{game.plies}/{game.plies}  " in out
    assert all(move in out for move in game.moves)
    assert cli.main(["replay", str(path), "--game", "11"]) == 2
    assert "has 10 games, not 11" in capsys.readouterr().err
    lines = path.read_bytes().splitlines(keepends=True)
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"".join([*lines[:3], lines[3][:-30] + b"\n", *lines[4:]]))
    assert cli.main(["replay", str(bad), "--verify"]) == 2
    assert f"audamir: error: {bad}, line 4: " in capsys.readouterr().err
    assert cli.main(["replay", str(bad), "--verify", "--skip-errors"]) == 1
    told = capsys.readouterr()
    assert "9 games, 0 differ" in told.out
    assert "line 4" in told.err
    assert "9 of 10 games are there" in told.err
    assert cli.main(["replay", str(tmp_path / "none.jsonl")]) == 2
    capsys.readouterr()


def test_stepping_through_a_game(case, monkeypatch, capsys):
    *_, path, _ = case
    typed = iter(["", "b", "e", "t", "m", "3", "nonsense", "q"])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    monkeypatch.setattr("sys.stdin", type("Terminal", (), {"isatty": staticmethod(lambda: True)}))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert cli.main(["replay", str(path)]) == 0
    out = capsys.readouterr().out
    assert records.read(path).games[0].final in out
    assert next(typed, None) is None


@pytest.mark.slow
def test_a_kill_loses_no_written_game(tmp_path):
    """Kill -9 in the middle, several times, until the run is complete."""
    path = tmp_path / "games.jsonl"
    words = ["evaluate", "stigmergy-v0", "weak", "random", "-o", "side=3", "--games", "6000", "--record", str(path)]
    known: dict[int, records.Game] = {}
    for _ in range(40):
        process = subprocess.Popen([sys.executable, "-m", "audamir_envs", *words, "--json", str(tmp_path / "out.json")])
        size = path.stat().st_size if path.exists() else 0
        while process.poll() is None and (not path.exists() or path.stat().st_size < size + 300_000):
            time.sleep(0.01)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        record = records.read(path, strict=False)
        assert len(record.errors) <= 1
        found = {game.number: game for game in record.games}
        assert found.items() >= known.items()
        known = found
        if process.returncode == 0:
            break
    assert len(known) == 6000
    assert list(records.verify(records.read(path).games)) == []
    assert json.loads((tmp_path / "out.json").read_text())["games"] == 6000
