"""``audamir view`` and ``audamir serve`` on the command line."""

import json
import re

import pytest

from audamir_envs.cli import main

pytest.importorskip("starlette", reason="needs starlette: pip install audamir-envs[web]")


@pytest.fixture
def record(client, tmp_path):
    game = {"env": "colony-v0", "options": {"start": "one"}, "seed": 5, "actions": [429]}
    thought = [{"value": [0.25, -0.25], "moves": [["e8", [], 0, 0, 0.75, None, None]], "line": []}]
    text = client.answer("record", {"game": game, "players": ["person", "weak"], "evaluations": thought})["text"]
    path = tmp_path / "games.jsonl"
    path.write_text(text)
    return path


def errors(capsys):
    """The one line on stderr."""
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    return text


def test_view_writes_one_document_with_everything_in_it(record, tmp_path):
    out = tmp_path / "game.html"
    assert main(["view", str(record), "-o", str(out), "--title", "<b> & co"]) == 0
    text = out.read_text()
    assert "<title>&lt;b&gt; &amp; co</title>" in text
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert [frame["last"] for frame in data["frames"]] == [None, "e8"]
    assert data["players"] == ["person", "weak"]
    assert data["evaluations"][0]["value"] == [0.25, -0.25]
    assert data["evaluations"][0]["moves"][0][4] == 0.75
    assert len(data["places"]) == 61
    policy = re.search(r'content-security-policy" content="([^"]*)"', text)[1]
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["view", "RECORD", "--game", "9", "-o", "x.html"], "has no game 9"),
        (["view", "none.jsonl", "-o", "x.html"], "none.jsonl"),
        (["view", "OTHER", "-o", "x.html"], "other.txt, line 1"),
        (["view", "RECORD", "-o", "no/"], "folder"),
        (["serve", "--port", "70000"], "is not a port"),
        (["serve", "--agent", "nobody"], "unknown agent 'nobody'"),
        (["serve", "FOLDER"], "no training run"),
        (["serve", "none.jsonl"], "none.jsonl"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(record, tmp_path, capsys, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.txt").write_text("no record\n")
    places = {"RECORD": str(record), "OTHER": "other.txt", "FOLDER": str(tmp_path)}
    assert main([places.get(word, word) for word in words]) == 2
    assert said in errors(capsys)
    assert not (tmp_path / "x.html").exists()
