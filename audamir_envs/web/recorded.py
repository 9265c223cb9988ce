"""Recorded games (``audamir_envs.records``) as the page wants them, and games of the page as records."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from audamir_envs import records, shares
from audamir_envs.arena.evaluation import versions
from audamir_envs.core import State
from audamir_envs.records import Game, Header, RecordError
from audamir_envs.web.games import BadRequest, Engine, Games, Table, read_table, sentence
from audamir_envs.web.thinking import Levels, evaluation_row, line, spots

PERSON = "person"
_MOST_LISTED = 5000
_LONGEST = 300  # characters of a name

Json = dict[str, Any]


def read_lines(header: Any, game: Any) -> Game:
    """The game of two lines of a record. Raises: BadRequest."""
    if not isinstance(header, str) or not isinstance(game, str):
        raise BadRequest("header and game must be the lines of a record")
    try:
        first = records.decode(_bytes(header), None, ("header", 1))
        if not isinstance(first, Header):
            raise BadRequest("header is a game")
        second = records.decode(_bytes(game), first, ("game", 1))
    except RecordError as error:
        raise BadRequest(error.reason) from None
    if not isinstance(second, Game):
        raise BadRequest("game is a header")
    return second


def _bytes(text: str) -> bytes:
    return text.encode(errors="replace")


def listed(path: Path) -> Json:
    """The games of a file: ``games`` with what ``summary`` says; ``more``: whether some were left out.

    Raises: BadRequest: a file that cannot be read or holds no game.
    """
    found, faults = [], []
    for item in _scan(path):
        if isinstance(item, RecordError):
            faults.append(item.reason)
        elif isinstance(item, Game):
            found.append(summary(item))
        if len(found) > _MOST_LISTED:
            break
    if not found:
        raise BadRequest(f"{path.name}: {faults[0] if faults else 'there is no game'}")
    return {"games": found[:_MOST_LISTED], "more": len(found) > _MOST_LISTED, "faults": len(faults)}


def pick(path: Path, place: Any) -> Game:
    """The game at a place of the list. Raises: BadRequest."""
    if not isinstance(place, int) or isinstance(place, bool) or place < 0:
        raise BadRequest("place must be the place of a game in the list")
    games = (item for item in _scan(path) if isinstance(item, Game))
    found = next(itertools.islice(games, place, None), None)
    if found is None:
        raise BadRequest(f"{path.name} has no game at place {place}")
    return found


def _scan(path: Path) -> Iterator[Any]:
    try:
        yield from records.scan(path)
    except OSError as error:
        raise BadRequest(f"{path.name} cannot be read: {error.strerror or 'unknown'}") from None


def summary(game: Game) -> Json:
    """What a list of games says of one: ``number, env, players`` (names by seat), ``plies, shares, cut``."""
    assert game.header is not None
    return {
        "number": game.number,
        "env": game.header.env,
        "players": players(game),
        "plies": game.plies,
        "shares": [round(share, 4) for share in game.shares],
        "cut": game.cut,
        "analysed": game.analysis is not None,
    }


def players(game: Game) -> list[str]:
    """Who sat in each seat."""
    assert game.header is not None
    agents = game.header.agents
    return [str(agents[number].get("agent"))[:_LONGEST] for number in game.seats]


def opened(games: Games, game: Game) -> Json:
    """A recorded game for the page: what ``summary`` says, ``game`` (see ``games.read_table``), ``seats``, ``moves``.

    ``evaluations``: for each position what is written of it (as ``thinking.evaluation`` says it), or null.
    Raises: BadRequest: a game that cannot be played.
    """
    assert game.header is not None
    options = game.header.options
    sent = {
        "env": game.header.env,
        "options": options,
        "start": game.start,
        "actions": list(game.actions),
        "chance": list(game.chance or ()),
    }
    table = read_table(sent)
    engine = games.engine(table)
    if engine.env.version != game.header.env_version:
        raise BadRequest(f"it was made with version {game.header.env_version} of {engine.env.id}, not the present one")
    states = games.states(table)
    if len(game.seats) != engine.env.num_players:
        raise BadRequest(f"{engine.env.id} has {engine.env.num_players} seats with these options")
    thoughts = game.analysis or ()
    return summary(game) | {
        "game": sent | {"seed": 0},
        "seats": [engine.env.player_name(seat) for seat in range(engine.env.num_players)],
        "opening": game.opening,
        "evaluations": [
            None if thought is None else _shown(engine, state, thought)
            for state, thought in itertools.zip_longest(states[: len(thoughts)], thoughts)
        ],
    }


def _shown(engine: Engine, state: State, thought: Json) -> Json | None:
    """What a record says of a position, as ``thinking.evaluation`` does; None for what makes no sense."""
    env = engine.env
    try:
        policy, visits, values = (
            _by_action(engine, thought.get(name)) for name in ("policy", "visits", "action_values")
        )
        order = sorted({*policy, *visits}, key=lambda a: (-visits.get(a, 0), -policy.get(a, 0.0)))
        places = spots(env, state)
        variation = [env.text_to_action(text) for text in thought.get("variation") or ()]
        told: Json = {
            "value": _floats(thought.get("value"), env.num_players) or [None] * env.num_players,
            "moves": [
                evaluation_row(env, places, a, policy.get(a, 0.0), visits.get(a) if visits else None, values.get(a))
                for a in order
            ],
            "line": line(engine, state, variation or order[:1]),
        }
        if thought.get("score") is not None:
            told["score"] = _floats(thought["score"], env.num_players)
        if thought.get("ownership") is not None:
            told["ownership"] = [_floats(row, env.num_players) for row in thought["ownership"]]
    except (ValueError, TypeError, AttributeError, KeyError):
        return None
    return told


def _by_action(engine: Engine, named: Any) -> dict[int, Any]:
    return {engine.env.text_to_action(text): _float(value) for text, value in (named or {}).items()}


def _floats(values: Any, count: int) -> list[float | None] | None:
    if values is None:
        return None
    if len(values) != count:
        raise ValueError(f"{count} numbers are needed")
    return [None if value is None else _float(value) for value in values]


def _float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise ValueError(f"{value!r:.40} is no number")
    return value


def written(games: Games, levels: Levels, table: Table, names: Any, evaluations: Any) -> str:
    """A game of the page as a record with one game.

    Args: names: who sits in each seat; evaluations: of positions, as the page has them, null for none. Raises:
    BadRequest.
    """
    states = games.states(table)
    engine = games.engine(table)
    env = engine.env
    fine = isinstance(names, list) and len(names) == env.num_players
    if not fine or not all(isinstance(name, str) and len(name) <= _LONGEST for name in names):
        raise BadRequest(f"players must be a list of {env.num_players} names")
    agents = list(dict.fromkeys(names))
    header = records.header_of(
        env,
        [(name, levels.loaded(env.id, name)) for name in agents],
        seed=table.seed,
        protocol={"games": 1, "openings": "none", "made_by": "audamir serve"},
        versions=versions(env),
    )
    last = states[-1]
    cut = not bool(last.terminated | last.truncated)
    settled = np.asarray(env.settle(last.game) if cut else env.outcome(last.game).rewards)
    chance = None
    if env.stochastic:
        chance = tuple(engine.chance_text(table, states[ply], ply) for ply in range(len(table.actions)))
    game = Game(
        number=0,
        seats=tuple(agents.index(name) for name in names),
        starter=int(states[0].current_player),
        start=env.to_text(states[0]),
        actions=table.actions,
        moves=tuple(env.action_to_text(action) for action in table.actions),
        chance=chance,
        shares=tuple(float(share) for share in shares.of_rewards(settled)),
        cut=cut,
        final=env.to_text(last),
        analysis=_analysis(evaluations, len(states)),
    )
    try:
        text = records.encode(header) + records.encode(game, header)
    except (ValueError, RecursionError) as error:
        raise BadRequest(sentence(error)) from None
    read_lines(*text.decode().splitlines())
    return text.decode()


def _analysis(sent: Any, positions: int) -> tuple[Json | None, ...] | None:
    if sent is None or sent == []:
        return None
    if not isinstance(sent, list) or len(sent) > positions:
        raise BadRequest("evaluations must be a list with one entry for each position")
    filled = [*sent, *[None] * (positions - len(sent))]
    if not any(filled):
        return None
    try:
        return tuple(None if one is None else _entry(one) for one in filled)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        raise BadRequest("evaluations hold what is no evaluation") from None


def _entry(told: Json) -> Json:
    """An evaluation of the page in the words of a record."""
    moves = told.get("moves", [])
    entry: Json = {"agent": str(told.get("agent", ""))[:_LONGEST]}
    if all(value is not None for value in told["value"]):
        entry["value"] = [_float(value) for value in told["value"]]
    for name, at in (("policy", 4), ("visits", 5), ("action_values", 6)):
        named = {str(move[0]): _float(move[at]) for move in moves if move[at] is not None}
        if named:
            entry[name] = named
    if told.get("score") is not None:
        entry["score"] = [_float(value) for value in told["score"]]
    if told.get("ownership") is not None:
        entry["ownership"] = [[_float(value) for value in row] for row in told["ownership"]]
    if len(told.get("line", [])) > 1:
        entry["variation"] = [str(step[0]) for step in told["line"]]
    return entry
