import builtins
import dataclasses
import importlib.util
import json

import pytest
from tally.environment import Tally
from tally.scripted import Low

from audamir_envs import arena
from audamir_envs.arena.ladders import cycles
from audamir_envs.commands.ladder import report


@pytest.fixture(scope="module")
def ladder():
    learned = Low()
    learned.checksum = "0123abcd"  # as loading from a file sets it
    return arena.ladder(Tally(), [learned, "strong:slip=0.7", "strong"], games=8, opening_plies=1)


def test_order_and_figures(ladder):
    assert ladder.agents == ("strong", "strong:slip=0.7", "weak")
    assert list(ladder.rating.values()) == sorted(ladder.rating.values(), reverse=True)
    assert ladder.games == 24
    assert ladder.played == {"strong": 16, "strong:slip=0.7": 16, "weak": 16}
    for a, row in ladder.against.items():
        for b, score in row.items():
            assert score + ladder.against[b][a] == pytest.approx(1)
    assert ladder.score["strong"] == pytest.approx(sum(ladder.against["strong"].values()) / 2)
    for agent, (low, high) in ladder.interval.items():
        assert low < ladder.rating[agent] < high
    assert sum(ladder.rating.values()) == pytest.approx(0, abs=0.2)


def test_intervals_of_pairs(ladder):
    for a, row in ladder.against.items():
        for b, score in row.items():
            low, high = ladder.against_interval[a][b]
            assert 0 <= low <= score <= high <= 1
            back = ladder.against_interval[b][a]
            assert (low, high) == pytest.approx((1 - back[1], 1 - back[0]))


def test_circles_are_found_once_and_only_where_sure():
    sure, unsure, lost, even = (0.55, 0.7), (0.45, 0.7), (0.3, 0.45), (0.4, 0.6)
    table = {
        "a": {"b": sure, "c": lost, "d": sure, "e": even},
        "b": {"a": lost, "c": sure, "d": sure, "e": even},
        "c": {"a": sure, "b": lost, "d": unsure, "e": even},
        "d": {"a": lost, "b": lost, "c": sure, "e": even},
        "e": {"a": even, "b": even, "c": even, "d": even},
    }
    assert cycles(table) == (("a", "b", "c"), ("a", "d", "c"))
    table["c"]["a"] = unsure
    assert cycles(table) == ()
    assert cycles({}) == ()


def test_the_report_says_whether_it_is_transitive(ladder, capsys):
    report(ladder)
    assert "no three of them surely beat each other in a circle" in capsys.readouterr().out
    report(dataclasses.replace(ladder, cycles=(("x", "y", "z"),)))
    assert "not transitive: x beats y, y beats z, z beats x" in capsys.readouterr().out


def test_json(ladder):
    fields = json.loads(json.dumps(ladder.to_json()))
    assert fields["env"] == "tally-v0"
    assert fields["rating"] == ladder.rating
    assert fields["checkpoints"] == {"weak": "0123abcd"}
    assert "records" not in fields


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_plot(ladder, tmp_path, ending, start):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"ladder.{ending}"
    ladder.plot(path)
    assert path.read_bytes().startswith(start)


def test_plots_that_cannot_be(ladder, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"\.png, \.svg or \.pdf"):
        ladder.plot(tmp_path / "ladder.doc")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="pip install matplotlib"):
        ladder.plot(tmp_path / "ladder.png")
    assert not list(tmp_path.iterdir())


def test_more_players(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("openskill"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    result = arena.ladder(Tally(players=3), ["weak", "strong"], games=6)
    assert result.agents == ("strong", "weak")
    assert result.openskill == {}
    assert result.against == {}
    assert result.score["weak"] == 0
    assert result.played["weak"] == result.played["strong"] >= 6


def test_a_ladder_needs_two():
    with pytest.raises(ValueError, match="at least two agents, not 1"):
        arena.ladder(Tally(), ["weak"])
