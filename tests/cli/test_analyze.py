"""``audamir analyze``: positions as table, JSON and picture; records with what is thought of every position."""

import json
import random

import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs import analysis, records
from audamir_envs.agents import RandomAgent

ENV = "stigmergy-v0"
POSITION = "../.x./.. o 6 0 0"


@pytest.fixture
def record(tmp_path):
    """Three short games, the last of another run."""
    env = audamir_envs.make(ENV, side=2, komi=6)
    path = tmp_path / "games.jsonl"
    step = jax.jit(env.step)
    draw = random.Random(1)
    for seed, games in ((1, 2), (2, 1)):
        header = records.header_of(
            env, [("random", None), ("random", None)], seed=seed, protocol={"games": games}, versions={}
        )
        with records.Writer(path, header) as writer:
            for number in range(games):
                start = state = env.init(jax.random.key(0))
                actions = []
                while not state.terminated:
                    actions.append(draw.choice(np.flatnonzero(state.legal_action_mask).tolist()))
                    state = step(state, np.int32(actions[-1]))
                moves = [env.action_to_text(action) for action in actions]
                game = records.Game(
                    number=number,
                    seats=(0, 1),
                    starter=0,
                    start=env.to_text(start),
                    actions=tuple(actions),
                    moves=tuple(moves),
                    chance=None,
                    shares=tuple(((np.asarray(state.rewards) + 1) / 2).tolist()),
                    cut=False,
                    final=env.to_text(state),
                )
                writer.add([game])
    return path


def states_of(path, first: int = 0) -> int:
    return sum(game.plies + 1 for game in records.read(path).games[first:])


def without_analysis(path):
    return [game.to_json() | {"analysis": None} for game in records.read(path).games]


def test_a_position(audamir, tmp_path) -> None:
    table, picture = tmp_path / "a.json", tmp_path / "a.svg"
    words = ("analyze", ENV, "-o", "side=2", "--position", POSITION, "--agent", "zero-policy", "--best", "3")
    code, out, err = audamir(*words, "--json", str(table), "--svg", str(picture))
    assert (code, err) == (0, "")
    facts = json.loads(table.read_text())
    told = facts["analysis"]
    assert facts["position"] == POSITION
    assert facts["checksum"].startswith("sha256:")
    assert told["agent"] == "zero-policy"
    assert sum(told["policy"].values()) == pytest.approx(1, abs=0.02)
    best = next(iter(told["policy"]))
    assert told["variation"] == [best]
    assert sum(told["value"]) == pytest.approx(0, abs=1e-3)
    lines = out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("action"))
    assert [line.split()[0] for line in lines[start + 1 : start + 4]] == list(told["policy"])[:3]
    assert lines[-1] == f"expected: {best}"
    svg = picture.read_text()
    assert f">{100 * told['policy'][best]:.0f}<" in svg
    assert "value: " in svg


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing.jsonl", "--agent", "random"), "'nothing.jsonl' is neither an environment"),
        ((ENV, "--agent", "best"), "unknown agent 'best'"),
        ((ENV, "--agent", "random", "--position", "x"), "position"),
        ((ENV, "--agent", "numpy:argmax"), "agent 'numpy:argmax' only acts"),
        ((ENV, "--agent", "random", "--out", "x"), "--out goes with a record"),
        ((ENV, "-o", "side=2", "--agent", "random", "--position", "xxx/xxx/x.. o 6 2 0"), ""),
    ],
)
def test_bad_input_is_one_line(audamir, words, message) -> None:
    code, out, err = audamir("analyze", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_record_keeps_its_games_and_gets_thoughts(audamir, record, tmp_path) -> None:
    before = without_analysis(record)
    out = tmp_path / "out.jsonl"
    code, _, err = audamir("analyze", str(record), "--agent", "random", "--out", str(out))
    assert (code, err) == (0, f"{out}: 3 games, {states_of(record)} positions looked at now\n")
    assert without_analysis(out) == before
    env = audamir_envs.make(ENV, side=2, komi=6)
    for game in records.read(out).games:
        assert len(game.analysis) == game.plies + 1
        assert game.analysis[-1] is None  # the game is over there
        for thought, state in zip(game.analysis[:-1], records.replay(game), strict=False):
            legal = [env.action_to_text(a) for a in np.flatnonzero(state.legal_action_mask)]
            assert sorted(thought["policy"]) == sorted(legal)
            assert "value" not in thought  # it has no idea
    assert not list(records.verify(records.read(out).games))
    code, _, err = audamir("analyze", str(record), "--agent", "random")  # in its place
    assert code == 0
    assert without_analysis(record) == before
    code, _, err = audamir("analyze", str(record), "--agent", "random", "--svg", "x")
    assert code == 2
    assert "--svg goes with an environment" in err


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_what_was_stopped_goes_on(record, tmp_path, stop) -> None:
    analyst, whole, out = analysis.Analyst(RandomAgent()), tmp_path / "whole", tmp_path / "out"
    list(analysis.analyzed(analyst, record, whole))
    work = analysis.analyzed(analyst, record, out)
    for _ in range(stop):  # the first is how much is there already
        next(work)
    work.close()
    part = tmp_path / "out.part"
    if part.exists():
        with open(part, "ab") as file:  # killed while it wrote
            file.write(b'{"run":"x","ga')
    other = analysis.Analyst(RandomAgent(), "another")
    if stop > 1:
        with pytest.raises(ValueError, match=r"out\.part was begun with agent 'random': go on with it, or remove"):
            list(analysis.analyzed(other, record, out))
    steps = list(analysis.analyzed(analyst, record, out))
    assert steps[0][:2] == (stop - 1, 3)
    assert sum(positions for *_, positions in steps) == states_of(record, stop - 1)
    assert not part.exists()
    assert [set(game.analysis[0]) for game in records.read(out).games] == [{"agent", "seconds", "policy"}] * 3
    assert without_analysis(out) == without_analysis(whole)
