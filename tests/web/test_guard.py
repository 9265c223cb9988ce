"""Who is answered, and that nothing a browser may send harms the server."""

import json
import logging
import random

import pytest

GAME = {"env": "colony-v0", "options": {"start": "one"}, "seed": 5, "actions": [429]}
QUESTIONS = {
    "about": {},
    "seats": {"game": GAME},
    "ready": {"game": GAME, "agent": "random", "what": "act"},
    "frames": {"game": GAME, "plies": [0, 1], "opponents": ["weak"]},
    "position": {"game": GAME},
    "number": {"game": GAME, "text": "e8"},
    "act": {"game": GAME, "agent": "random"},
    "evaluate": {"game": GAME, "agent": "random", "plies": [0]},
    "record": {
        "game": GAME,
        "players": ["a", "b"],
        "evaluations": [{"value": [0, 0], "moves": [["e8", [], 0, 0, 1, 2, 0.5]]}],
    },
    "opened": {"header": "{}", "game": "{}"},
    "run": {"run": 0},
}


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:9", "127.0.0.1", "localhost:8000.evil.example", ""])
def test_other_hosts_are_refused(client, host):
    status, body = client.request("GET", "/", headers=[(b"host", host.encode())])
    assert status == 400
    assert "own address" in json.loads(body)["error"]


def test_two_hosts_or_none_are_refused(client):
    good = (b"host", b"127.0.0.1:8000")
    assert client.request("GET", "/", headers=[good, good])[0] == 400
    assert client.request("GET", "/", headers=[good])[0] == 200
    assert client.request("GET", "/", headers=[(b"host", b"localhost:8000")])[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1:8000", "null", "http://127.0.0.1:9", ""])
def test_other_origins_are_refused(client, origin):
    body = json.dumps(QUESTIONS["seats"]).encode()
    status, told = client.request("POST", "/api/seats", body, [(b"origin", origin.encode())])
    assert status == 400
    assert "other pages" in json.loads(told)["error"]


def test_the_pages_own_origin_is_answered(client):
    body = json.dumps(QUESTIONS["seats"]).encode()
    own = [(b"origin", b"http://127.0.0.1:8000"), (b"sec-fetch-site", b"same-origin")]
    assert client.request("POST", "/api/seats", body, own)[0] == 200
    assert client.request("POST", "/api/seats", body, [(b"sec-fetch-site", b"cross-site")])[0] == 400
    # What a form of another page can send without asking first.
    assert client.request("POST", "/api/seats", body, [(b"content-type", b"text/plain")])[0] == 400


@pytest.mark.parametrize("parts", [1, 7])
def test_bodies_have_a_limit(client, parts):
    limit = 1_000_000
    filler = json.dumps({"game": GAME, "text": "e8"}).encode()
    assert client.request("POST", "/api/number", filler.ljust(limit), parts=parts)[0] == 200
    status, body = client.request("POST", "/api/number", filler.ljust(limit + 1), parts=parts)
    assert status == 400
    assert "1,000,000 bytes" in json.loads(body)["error"]
    assert client.request("POST", "/api/number", b"{}", [(b"content-length", b"9" * 30)])[0] == 400


def test_answers_bring_the_safe_headers(client):
    client.request("GET", "/")
    policy = client.headers[b"content-security-policy"].decode()
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert client.headers[b"x-content-type-options"] == b"nosniff"
    client.request("POST", "/api/seats", b"{", [(b"host", b"evil.example")])
    assert b"content-security-policy" in client.headers


def test_other_methods_and_names(client):
    for method, path in (
        ("PUT", "/"),
        ("DELETE", "/api/about"),
        ("GET", "/api/about"),
        ("POST", "/"),
        ("POST", "/api/x"),
    ):
        status, body = client.request(method, path, b"{}")
        assert 400 <= status < 500, (method, path)
        assert set(json.loads(body)) == {"error"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"env": "chess-v0"}, "use colony-v0"),
        ({"env": None}, "unknown environment"),
        ({"options": {"board": "62"}}, "'58' or '61'"),
        ({"options": {"sides": 3}}, "no option 'sides'"),
        ({"options": []}, "options must be a JSON object"),
        ({"seed": -1}, "seed must be"),
        ({"seed": 2**31}, "seed must be"),
        ({"seed": True}, "seed must be"),
        ({"actions": [429, 429]}, "action e8 of ply 1 is not legal"),
        ({"actions": [794]}, "action 794 of ply 0 is not legal"),
        ({"actions": ["e8"]}, "actions must be"),
        ({"actions": [0] * 500}, "at most 400 actions"),
        ({"start": "x/o"}, "position: "),
        ({"start": 3}, "start must be"),
        ({"start": "x" * 100_001}, "at most 100000 characters"),
        ({"chance": ["1", "2"]}, "more entries than actions"),
        ({"komi": 3}, "no field 'komi'"),
    ],
)
def test_what_is_wrong_with_a_game_is_said(client, changes, words):
    assert words in client.refusal("frames", {"game": GAME | changes, "plies": [0]})


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("frames", {"plies": []}, "1 to 64"),
        ("frames", {"plies": [2]}, "0 to 1"),
        ("frames", {"plies": [True]}, "0 to 1"),
        ("frames", {"plies": [0] * 65}, "1 to 64"),
        ("frames", {"game": None}, "game must be a JSON object"),
        ("act", {"agent": "nobody"}, "use random, weak"),
        ("act", {"agent": ["random"]}, "unknown agent"),
        ("ready", {"what": "think"}, "act or evaluate"),
        ("record", {"players": ["a"]}, "2 names"),
        ("record", {"evaluations": [{"value": 3}]}, "no evaluation"),
        ("record", {"evaluations": [None] * 3}, "one entry for each position"),
        ("run", {}, "no run was given"),
    ],
)
def test_what_is_wrong_with_a_question_is_said(client, name, changes, words):
    assert words in client.refusal(name, QUESTIONS[name] | changes)


ODD = [
    None,
    True,
    -1,
    0,
    3,
    10**30,
    1.5,
    float("nan"),
    "",
    "x",
    "\ud800",
    "\0",
    "é" * 50,
    [],
    [[]],
    {},
    {"a": 1},
    [None] * 3,
]


def changed(value, rng):
    """The value with one part somewhere replaced, left out or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        name = rng.choice(list(value))
        if rng.random() < 0.15:
            return {key: part for key, part in value.items() if key != name}
        if rng.random() < 0.1:
            return value | {rng.choice(["", "x", "__class__", name * 2]): value[name]}
        return value | {name: changed(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.6:
        place = rng.randrange(len(value))
        return [*value[:place], changed(value[place], rng), *value[place + 1 :]]
    return rng.choice(ODD)


@pytest.mark.parametrize("requests", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_malformed_requests(client, caplog, requests):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    names = [*QUESTIONS, "nothing"]
    counts = {}
    with caplog.at_level(logging.INFO):
        for _ in range(requests):
            name = rng.choice(names)
            question = changed(QUESTIONS.get(name, {}), rng)
            body = json.dumps(question).encode()
            kind = rng.random()
            if kind < 0.1:
                body = body[: rng.randrange(len(body) + 1)]
            elif kind < 0.2:
                body = bytearray(body)
                body[rng.randrange(len(body))] = rng.randrange(256)
                body = bytes(body)
            elif kind < 0.22:
                body = b"[" * 100_000
            status, told = client.request("POST", f"/api/{name}", body)
            assert status in (200, 400), (status, name, body[:300], told[:300])
            if status == 400:
                found = json.loads(told)
                assert set(found) == {"error"}
                assert 0 < len(found["error"]) <= 600
                assert "\n" not in found["error"]
                assert "Traceback" not in found["error"]
            counts[status] = counts.get(status, 0) + 1
    assert not [record for record in caplog.records if record.exc_info]
    assert counts[400] > requests / 2
    # Whoever asks well is answered as before.
    assert client.answer("seats", QUESTIONS["seats"])["seats"] == ["player_0", "player_1"]
    assert client.answer("act", QUESTIONS["act"])
