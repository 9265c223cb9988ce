"""The server's answers: games as the browser sends them, played again and told as the page wants them."""

import json
import os

import jax
import numpy as np
import pytest

pytest.importorskip("starlette", reason="needs starlette: pip install audamir-envs[web]")

import audamir_envs
from audamir_envs import arena, records
from audamir_envs.drawing.svg import to_svg
from audamir_envs.web.app import make_app
from audamir_envs.web.thinking import Levels

COLONY = {"env": "colony-v0", "options": {"start": "one"}, "seed": 5}
STIGMERGY = {"env": "stigmergy-v0", "options": {"side": 3}, "seed": 1}
LINE = {"neighbours": [[1], [0, 2], [1, 3], [2]]}
PRINCIPALITIES = {"env": "principalities-v0", "options": {"players": 2, "map": LINE}, "seed": 7}
GAMES = [COLONY, STIGMERGY, PRINCIPALITIES]


def played(client, game, plies, agent="random"):
    """The game with so many more actions of an agent."""
    game = {"actions": [], **game}
    for _ in range(plies):
        action = client.answer("act", {"game": game, "agent": agent})["action"]
        game = game | {"actions": [*game["actions"], action]}
    return game


def states(env, game):
    """The states of a game by the environment's own functions, with the keys of ``audamir play --seed``."""
    key = jax.random.key(game["seed"])
    found = [jax.jit(env.init)(jax.random.fold_in(key, 0))]
    step = jax.jit(env.step)
    for ply, action in enumerate(game["actions"]):
        found.append(step(found[-1], np.int32(action), jax.random.split(jax.random.fold_in(key, ply + 1))[0]))
    return found


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game["env"])
def test_frames_are_the_games_scenes(client, game):
    game = played(client, game, 4)
    env = audamir_envs.make(game["env"], **game["options"])
    told = client.answer("frames", {"game": game, "plies": [0, 4, 2]})
    expected = states(env, game)
    assert [frame["ply"] for frame in told["frames"]] == [0, 4, 2]
    for frame in told["frames"]:
        ply = frame["ply"]
        last = game["actions"][ply - 1] if ply else None
        scene = env.scene(expected[ply], last)
        shapes = [told["shapes"][number] for number in frame["shapes"]]
        assert "\n".join(shapes) in to_svg(scene)
        assert frame["title"] == scene.title
        assert frame["mover"] == int(expected[ply].current_player)
        assert frame["last"] == (None if last is None else env.action_to_text(last))
    now = told["now"]
    assert now["text"] == env.to_text(expected[4])
    legal = np.flatnonzero(np.asarray(expected[4].legal_action_mask)).tolist()
    assert now["actions"] == [[action, env.action_to_text(action)] for action in legal]
    assert {move[0] for move in now["moves"]} <= set(legal)


def test_a_pasted_position_is_the_start(client):
    game = played(client, COLONY, 3)
    text = client.answer("position", {"game": game})["text"]
    told = client.answer("position", {"game": COLONY | {"start": text}})
    assert told["text"] == text


def test_actions_by_their_text(client):
    assert client.answer("number", {"game": COLONY, "text": " e8 "})["action"] == 429
    assert "e99" in client.refusal("number", {"game": COLONY, "text": "e99"})


def test_the_end_is_told_with_what_the_game_says(client):
    game = played(client, STIGMERGY | {"options": {"side": 2}}, 2)
    while True:
        told = client.answer("frames", {"game": game, "plies": [len(game["actions"])], "opponents": ["weak"]})
        if told["frames"][0]["over"]:
            break
        game = played(client, game, 1)
    assert sorted(told["frames"][0]["rewards"]) == [-1, 1]
    assert sum(told["facts"]["points"]) == 7
    assert told["now"]["moves"] == told["now"]["actions"] == []
    assert "over" in client.refusal("act", {"game": game, "agent": "random"})


def test_ready_says_what_has_to_be_compiled(make_client):
    client = make_client()
    question = {"game": STIGMERGY, "agent": "random", "what": "act"}
    assert client.answer("ready", question) == {"rules": False, "agent": False}
    played(client, STIGMERGY, 1)
    assert client.answer("ready", question) == {"rules": True, "agent": True}
    assert client.answer("ready", question | {"what": "evaluate"})["agent"] is False
    other = question | {"game": {"env": "stigmergy-v0", "options": {"side": 4}}}
    assert client.answer("ready", other) == {"rules": False, "agent": False}


def test_an_analysis_holds_policy_and_value(client):
    game = played(client, STIGMERGY, 2)
    told = client.answer("evaluate", {"game": game, "agent": "random", "plies": [0, 2]})
    assert told["plies"] == [0, 2]
    first, third = told["evaluations"]
    assert first["value"] == [None, None]  # it has no idea
    assert len(first["moves"]) == 19
    text, path, x, y, policy, visits, value = first["moves"][0]
    assert policy == pytest.approx(1 / 19, abs=1e-4)
    assert visits is value is None
    place = client.answer("position", {"game": STIGMERGY | {"actions": []}})["places"][path[0]]
    assert place[:3] == [text, x, y]
    assert sum(move[4] for move in third["moves"]) == pytest.approx(1, abs=1e-3)


def test_finished_positions_are_worth_their_result(client):
    game = played(client, STIGMERGY | {"options": {"side": 2}}, 3)
    while client.answer("position", {"game": game})["actions"]:
        game = played(client, game, 1)
    last = len(game["actions"])
    told = client.answer("evaluate", {"game": game, "agent": "random", "plies": [last]})
    rewards = client.answer("frames", {"game": game, "plies": [last]})["frames"][0]["rewards"]
    assert told["evaluations"] == [{"value": rewards}]


class Seer(audamir_envs.agents.RandomAgent):
    """Says all that can be said of a position."""

    def evaluate_batch(self, states):
        from audamir_envs.agents.base import Evaluation

        batch, actions = states.legal_action_mask.shape
        zeros = np.zeros((batch, actions), np.float32)
        return Evaluation(
            policy=zeros + np.float32(0.25) * (np.arange(actions) < 4),
            value=np.float32([[0.5, -0.5]]).repeat(batch, 0),
            visits=np.arange(actions, dtype=np.int32)[None].repeat(batch, 0) % 4,
            action_values=np.where(np.arange(actions) == 3, np.float32(0.25), np.float32(np.nan)) + zeros,
            ownership=np.full((batch, 19, 2), 0.5, np.float32),
            score=np.float32([[3.5, -3.5]]).repeat(batch, 0),
            variation=np.int32([[3, 0, -1]]).repeat(batch, 0),
        )


def test_all_that_an_agent_says_is_told_and_kept_in_a_record(make_client, tmp_path):
    levels = Levels()
    levels._agents["stigmergy-v0", "random"], levels._written["stigmergy-v0", "random"] = Seer(), None
    client = make_client(levels)
    game = played(client, STIGMERGY, 0) | {"actions": [7]}
    (told,) = client.answer("evaluate", {"game": game, "agent": "random", "plies": [0]})["evaluations"]
    assert told["value"] == [0.5, -0.5]
    best = told["moves"][0]
    assert best[0] == "d1"
    assert best[5:] == [3, 0.25]
    assert [move[5] for move in told["moves"]] == sorted((move[5] for move in told["moves"]), reverse=True)
    assert [step[0] for step in told["line"]] == ["d1", "e1"]
    assert told["ownership"] == [[0.5, 0.5]] * 19
    assert told["score"] == [3.5, -3.5]
    text = client.answer("record", {"game": game, "players": ["a", "b"], "evaluations": [told | {"agent": "seer"}]})[
        "text"
    ]
    header, line = text.splitlines()
    opened = client.answer("opened", {"header": header, "game": line})
    again = opened["evaluations"][0]
    assert again["value"] == told["value"]
    assert again["moves"] == told["moves"]
    assert again["line"] == told["line"]
    assert again["ownership"] == told["ownership"]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game["env"])
def test_a_game_as_a_record_and_back(client, game, tmp_path):
    game = played(client, game, 6)
    players = ["person", "weak"]
    text = client.answer("record", {"game": game, "players": players})["text"]
    path = tmp_path / "game.jsonl"
    path.write_text(text)
    (found,) = records.read(path).games
    for state in records.replay(found):
        final = state
    assert audamir_envs.make(game["env"], **game["options"]).to_text(final) == found.final
    assert list(found.actions) == game["actions"]
    opened = client.answer("opened", dict(zip(("header", "game"), text.splitlines(), strict=True)))
    assert opened["players"] == players
    assert opened["game"]["actions"] == game["actions"]
    assert opened["cut"] is True
    ours = client.answer("position", {"game": game})
    assert client.answer("position", {"game": opened["game"]}) == ours


def test_records_named_at_the_start_are_listed_and_opened(client, make_client, tmp_path):
    game = played(client, COLONY, 2)
    text = client.answer("record", {"game": game, "players": ["x", "y"]})["text"]
    path = tmp_path / "games.jsonl"
    path.write_text(text + "no record\n")
    server = make_client(record_files=[path])
    assert server.answer("about", {})["records"] == ["games.jsonl"]
    listed = server.answer("recorded", {"record": 0})
    assert listed["faults"] == 1
    assert listed["games"][0]["players"] == ["x", "y"]
    opened = server.answer("opened", {"record": 0, "place": 0})
    assert opened["game"]["actions"] == game["actions"]
    assert "place 1" in server.refusal("opened", {"record": 0, "place": 1})
    assert "below 1" in server.refusal("recorded", {"record": 1})


@pytest.mark.parametrize("change", ["flip", "cut", "header", "swap"])
def test_records_that_were_changed_are_refused(client, change):
    text = client.answer("record", {"game": played(client, COLONY, 2), "players": ["x", "y"]})["text"]
    header, line = text.splitlines()
    if change == "flip":
        line = line.replace('"plies":2', '"plies":3')
    elif change == "cut":
        line = line[:-20]
    elif change == "header":
        header = "{}"
    else:
        header, line = line, header
    assert client.refusal("opened", {"header": header, "game": line})


def test_a_run_is_told_by_its_metrics(make_client, tmp_path):
    run = tmp_path / "c1"
    run.mkdir()
    lines = [{"kind": "train", "iteration": i, "loss": 1 / i, "positions": 10 * i} for i in range(1, 1000)]
    lines.append({"kind": "evaluation", "iteration": 999, "opponent": "weak", "score": 0.5, "low": 0.4, "high": 0.6})
    text = "".join(json.dumps(line) + "\n" for line in lines) + '{"kind": "train", "iteration": 1000, "lo'
    (run / "metrics.jsonl").write_text(text)
    client = make_client(run_folders=[run])
    assert client.answer("about", {})["runs"] == ["c1"]
    told = client.answer("run", {"run": 0})
    assert told["evaluation"] == {"weak": [[999, 0.5, 0.4, 0.6]]}
    assert told["last"]["positions"] == 9990
    loss = told["train"]["loss"]
    assert len(loss) <= 400
    assert loss[-1][0] == 999
    assert loss[0][1] == pytest.approx(np.mean([1, 1 / 2, 1 / 3]), abs=1e-6)
    assert told["game"] is None
    assert "last_game.jsonl" in client.refusal("opened", {"run": 0})
    env = audamir_envs.make("stigmergy-v0", side=2)
    arena.evaluate(env, ["random", "random"], games=1, record=run / "last_game.jsonl")
    game = records.read(run / "last_game.jsonl").games[0]
    assert client.answer("run", {"run": 0})["game"]["plies"] == game.plies
    assert client.answer("opened", {"run": 0})["game"]["actions"] == list(game.actions)
    assert "run must be a number below 1" in client.refusal("opened", {"run": 1})
    (run / "metrics.jsonl").unlink()
    assert str(tmp_path) not in client.refusal("run", {"run": 0})


def test_agents_are_those_of_the_game_and_those_given(make_client, tmp_path):
    levels = Levels(["zero-policy:temperature=1", "normal"])
    names = [name for name, _ in levels.names("colony-v0")]
    assert names == ["random", "weak", "normal", "strong", "zero", "zero-policy", "zero-policy:temperature=1"]
    client = make_client(levels)
    said = client.refusal("act", {"game": COLONY, "agent": str(tmp_path / "secret.safetensors")})
    assert "unknown agent" in said
    with pytest.raises(ValueError, match="unknown agent"):
        Levels(["nobody"])


def test_a_runs_best_level_plays_and_is_read_anew_when_it_changes(make_client, tmp_path):
    run = tmp_path / "c1"
    run.mkdir()
    (run / "metrics.jsonl").write_text('{"kind": "train", "iteration": 1, "loss": 2}\n')
    levels = Levels()
    client = make_client(levels, run_folders=[run])
    assert client.answer("run", {"run": 0})["level"] is None
    shipped = audamir_envs.learned.shipped("colony-v0")["zero"]
    best = run / "best.safetensors"
    best.write_bytes(shipped.read_bytes())
    env, text, name = client.answer("run", {"run": 0})["level"]
    assert (env, name) == ("colony-v0", "c1/best.safetensors")
    first = levels._agents[env, text]
    assert client.answer("run", {"run": 0})["level"] == [env, text, name]
    assert levels._agents[env, text] is first
    os.utime(best, ns=(1, 1))
    client.answer("run", {"run": 0})
    assert levels._agents[env, text] is not first


def test_nothing_but_the_page_is_read():
    app = make_app(8000, Levels())
    from web.asgi import Client

    client = Client(app)
    for path in (
        "/../pyproject.toml",
        "/app.py",
        "/%2e%2e/guard.py",
        "/etc/passwd",
        "//etc/passwd",
        "/view.html",
        "/.",
    ):
        status, body = client.request("GET", path)
        assert status in (404, 405)
        assert json.loads(body) == {"error": "there is no such page"}
    for path, kind in (("/", b"text/html"), ("/app.js", b"text/javascript"), ("/style.css", b"text/css")):
        status, body = client.request("GET", path)
        assert status == 200
        assert client.headers[b"content-type"].startswith(kind)
        assert body
    client.close()
