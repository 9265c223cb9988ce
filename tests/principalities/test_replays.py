"""Recorded games of another program, fed with their rolls and placements."""

import functools
import gzip
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from audamir_envs.principalities import rules

DATA = pathlib.Path(__file__).parents[1] / "data"
TILES, EVENTS = 32, 1500  # maps and games are padded to these, so that one program serves all games of as many players


def games() -> list[dict]:
    with gzip.open(DATA / "principalities_replays.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_the_file_is_as_rich_as_expected():
    recorded = games()
    assert sorted({g["players"] for g in recorded}) == [2, 4, 7]
    events = [e for g in recorded for e in g["events"]]
    assert sum("attack" in e for e in events) > 1500
    assert any(e.get("reserve", 0) > 0 for e in events)


@functools.partial(jax.jit, static_argnums=3)
def start(owner, dice, neighbours, players):
    grid = jnp.zeros((1, 1), jnp.int8)
    new = rules.start(jax.random.key(0), neighbours, grid, players, starter=0, points_offer=False)
    return new.replace(owner=owner, dice=dice, group=rules.group_sizes(new.neighbours, owner, players))


def start_of(game: dict, seat: dict[int, int]) -> rules.Position:
    """The recorded start with seats in the order of turns; tiles beyond the map are nobody's and have no neighbours."""
    tiles = len(game["owner"])
    owner, dice = np.full(TILES, -1, np.int8), np.ones(TILES, np.int8)
    owner[:tiles], dice[:tiles] = [seat[o] for o in game["owner"]], game["dice"]
    neighbours = np.zeros((TILES, TILES), bool)
    for tile, near in enumerate(game["neighbours"]):
        neighbours[tile, near] = True
    return start(owner, dice, neighbours, game["players"])


def replay(position: rules.Position, event: dict) -> tuple[rules.Position, dict]:
    """The position after an event, and what the game was like before it and after it."""
    before = {
        "over": rules.outcome(position).terminated,
        "mover": rules.mover(position),
        "largest": rules.largest_groups(position)[position.player],
        "legal": rules.attacks(position)[event["source"], event["target"]],
        "dice": jnp.stack([position.dice[event["source"]], position.dice[event["target"]]]),
    }
    fought = rules.attack(position, event["source"], event["target"], event["won"])
    ended = rules.end_turn(position, event["placed"])
    after = jax.tree.map(lambda a, b: jnp.where(event["fights"], a, b), fought, ended)
    after = jax.tree.map(lambda a, b: jnp.where(event["played"], a, b), after, position)
    return after, before | {"reserve": after.reserve[position.player]}


@pytest.mark.parametrize("players", [2, 4, 7])
def test_every_attack_and_every_end_of_turn_agrees(players):
    play = jax.jit(lambda position, events: jax.lax.scan(replay, position, events))
    for game in games():
        if game["players"] != players:
            continue
        seat = {recorded: place for place, recorded in enumerate(game["seats"])}
        fed = {
            "source": np.zeros(EVENTS, np.int32),
            "target": np.zeros(EVENTS, np.int32),
            "fights": np.zeros(EVENTS, bool),
            "won": np.zeros(EVENTS, bool),
            "placed": np.zeros((EVENTS, TILES), np.int32),
            "played": np.arange(EVENTS) < len(game["events"]),
        }
        for n, event in enumerate(game["events"]):
            if "attack" in event:
                fed["source"][n], fed["target"][n] = event["attack"]
                fed["fights"][n] = True
                fed["won"][n] = sum(event["attacker_roll"]) > sum(event["defender_roll"])
                assert fed["won"][n] == event["won"]
            else:
                fed["placed"][n] = np.bincount(event["placed"], minlength=TILES)
        last, seen = jax.device_get(play(start_of(game, seat), fed))
        for n, event in enumerate(game["events"]):
            assert not seen["over"][n]
            assert seen["mover"][n] == seat[event["player"]]
            if "attack" in event:
                assert seen["legal"][n]
                assert seen["dice"][n].tolist() == [len(event["attacker_roll"]), len(event["defender_roll"])]
            else:
                assert seen["largest"][n] == event["largest_group"]
                assert seen["reserve"][n] == event["reserve"]
        tiles = len(game["owner"])
        assert last.owner[:tiles].tolist() == [seat[o] for o in game["final_owner"]]
        assert last.dice[:tiles].tolist() == game["final_dice"]
        assert seen["over"][-1] == (len(set(game["final_owner"])) == 1)
        assert last.player == seat[game["winner"]]
