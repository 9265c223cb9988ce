"""Columns of records, checked against the arena's results and a plain replay of each game."""

import dataclasses
import json

import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs import arena, cli, records
from audamir_envs.agents.base import BatchAgent, Evaluation
from audamir_envs.records import datasets

GAMES = 12


class Thinks(BatchAgent):
    """Prefers the first legal action, and is sure of what seat 0 gets."""

    name = "thinks"

    def evaluate_batch(self, states):
        first = jax.nn.one_hot(states.legal_action_mask.argmax(axis=1), states.legal_action_mask.shape[1])
        value = jax.numpy.full_like(states.rewards, -0.25).at[:, 0].set(0.5)
        return Evaluation(policy=first.astype(jax.numpy.float32), value=value)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Environment, the arena's result, and the record of three players' games, some of them cut."""
    env = audamir_envs.make("principalities-v0", players=3, tiles=9, max_rounds=8)
    path = tmp_path_factory.mktemp("data") / "games.jsonl"
    settings = {"games": GAMES, "seed": 4, "opening_plies": 2, "batch": 4, "max_plies": 60}
    return env, arena.evaluate(env, ["random", "random"], record=path, **settings), records.read(path)


@pytest.fixture(scope="module")
def rows(played):
    _, _, record = played
    ((_, found),) = datasets.columns(record.games)
    return found


def test_rows_are_what_a_plain_replay_sees(played, rows):
    *_, record = played
    row = 0
    for place, game in enumerate(record.games):
        states = records.replay(game)
        for ply, (action, state) in enumerate(zip(game.actions, states, strict=False)):
            np.testing.assert_array_equal(rows["observation"][row], state.observation)
            np.testing.assert_array_equal(rows["mask"][row], state.legal_action_mask)
            assert rows["mask"][row, action]
            assert (rows["action"][row], rows["player"][row]) == (action, int(state.current_player))
            assert (rows["game"][row], rows["ply"][row]) == (place, ply)
            assert rows["opening"][row] == (ply < 2)
            assert rows["end"][row] == (ply == game.plies - 1)
            row += 1
    assert row == len(rows["ply"])


def test_returns_are_the_arenas_results(played, rows):
    """By the arena's shares and seats, which do not come from the file."""
    _, result, record = played
    games = result.records
    assert len(np.unique(games.shares, axis=0)) > 2
    number = np.array([game.number for game in record.games])[rows["game"]]
    shares = games.shares[number, rows["player"]]
    np.testing.assert_allclose(rows["return"], (3 * shares - 1) / 2, atol=1e-6)
    np.testing.assert_array_equal(rows["cut"], games.unfinished[number])
    for place, game in enumerate(record.games):
        mine = rows["game"] == place
        assert mine.sum() == games.plies[game.number]
        assert rows["player"][mine][0] == games.starter[game.number]
    assert np.isnan(rows["value"]).all()
    assert "policy" not in rows


def test_what_agents_think(played):
    *_, record = played
    ((_, found),) = datasets.columns(record.games[:3], [Thinks()])
    np.testing.assert_array_equal(found["policy"].argmax(axis=1), found["mask"].argmax(axis=1))
    np.testing.assert_allclose(found["policy"].sum(axis=1), 1)
    np.testing.assert_array_equal(found["value"], np.where(found["player"] == 0, 0.5, -0.25).astype(np.float32))


def test_what_the_record_holds_of_thoughts(played):
    *_, record = played
    game = record.games[0]
    thought = {"value": [0.5, -0.25, -0.25], "policy": {game.moves[1]: 0.75, "end": 0.25}}
    told = dataclasses.replace(game, cut=True, analysis=(None, thought, *[None] * (game.plies - 2)))
    ((_, found),) = datasets.columns([told])
    assert found["value"][1] == thought["value"][found["player"][1]]
    assert np.isnan(found["value"][[0, 2]]).all()
    assert found["cut"].all()
    assert np.isnan(found["policy"][0]).all()
    assert found["policy"][1].sum() == 1
    assert found["policy"][1, game.actions[1]] in (0.75, 0.25)
    wrong = dataclasses.replace(told, analysis=(None, {"policy": {"99>1": 1}}, *[None] * (game.plies - 2)))
    with pytest.raises(records.RecordError, match="analysis of action 2: KeyError"):
        list(datasets.columns([wrong]))


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_shards(played, rows, tmp_path, kind):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    _, _, record = played
    told = []
    made = datasets.write(record.games, tmp_path / "d", kind=kind, rows=50, progress=told.append)
    assert made.facts["rows"] == told[-1] == len(rows["ply"])
    assert made.facts["games"] == GAMES
    again = datasets.read(tmp_path / "d")
    assert [len(part["ply"]) for part in again.shards()][:-1] == [50] * (len(rows["ply"]) // 50)
    loaded = again.load()
    assert set(loaded) == set(rows)
    for name, values in rows.items():
        np.testing.assert_array_equal(loaded[name], values)
        assert loaded[name].dtype == values.dtype
    with pytest.raises(FileExistsError, match="holds a dataset already"):
        datasets.write(record.games, tmp_path / "d", kind=kind)


def test_bad_input(played, tmp_path):
    _, _, record = played
    game = record.games[0]
    with pytest.raises(ValueError, match="no games"):
        datasets.write([], tmp_path / "d")
    with pytest.raises(ValueError, match="npz or parquet, not 'csv'"):
        datasets.write(record.games, tmp_path / "d", kind="csv")
    other = dataclasses.replace(game, header=dataclasses.replace(game.header, options={"players": 3, "tiles": 10}))
    with pytest.raises(ValueError):  # noqa: PT011 - of another environment, whose start it is not
        datasets.write([game, other], tmp_path / "d")
    wrong = dataclasses.replace(game, actions=(82, *game.actions[1:]), moves=("accept", *game.moves[1:]))
    with pytest.raises(records.RecordError, match="action 1"):
        datasets.write([wrong], tmp_path / "d")
    (tmp_path / "x").mkdir()
    for content in ("{}", "[", json.dumps({"format": "audamir-dataset-1", "files": ["../a.npz"]})):
        (tmp_path / "x" / "dataset.json").write_text(content)
        with pytest.raises(ValueError, match=r"dataset\.json"):
            datasets.read(tmp_path / "x")


def test_commands(played, tmp_path, capsys):
    *_, record = played
    out = tmp_path / "out"
    assert cli.main(["dataset", record.path, "--out", str(out), "--policy", "random"]) == 0
    assert "12 games" in capsys.readouterr().out
    data = datasets.read(out).load()
    np.testing.assert_allclose(data["policy"], data["mask"] / data["mask"].sum(axis=1, keepdims=True), rtol=1e-6)
    assert cli.main(["dataset", record.path, "--out", str(out)]) == 2
    assert "holds a dataset already" in capsys.readouterr().err
    assert cli.main(["dataset", record.path]) == 2
    assert "give --out DIR or --minari ID" in capsys.readouterr().err
    words = [
        "generate",
        "stigmergy-v0",
        "random",
        "random",
        "-o",
        "side=2",
        "--games",
        "4",
        "--out",
        str(tmp_path / "g"),
    ]
    assert cli.main(words) == 0
    made = datasets.read(tmp_path / "g")
    assert made.facts["games"] == 4
    assert "policy" in made.facts["columns"]
    assert records.read(tmp_path / "g" / "games.jsonl").complete
    capsys.readouterr()


@pytest.mark.frameworks
def test_minari(played, rows, tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    from audamir_envs.records import minari as writing

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    _, _, record = played
    writing.write(record.games, "audamir/test-v0", seat=1)
    dataset = minari.load_dataset("audamir/test-v0")
    mine = [np.flatnonzero((rows["game"] == n) & (rows["player"] == 1)) for n in range(GAMES)]
    mine = [one for one in mine if one.size]
    assert dataset.total_episodes == len(mine)
    for episode, own in zip(dataset.iterate_episodes(), mine, strict=True):
        assert len(episode.observations) == len(own) + 1
        np.testing.assert_array_equal(episode.observations[:-1], rows["observation"][own])
        np.testing.assert_array_equal(episode.actions, rows["action"][own])
        assert (episode.rewards[:-1] == 0).all()
        assert episode.rewards[-1] == rows["return"][own][0]
        assert (episode.terminations | episode.truncations).sum() == 1
        np.testing.assert_array_equal(episode.infos["action_mask"][:-1], rows["mask"][own])
