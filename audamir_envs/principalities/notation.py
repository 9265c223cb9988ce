"""Actions and positions as text.

Attacks are ``12>7`` (tiles count from 0), then ``end``, ``accept``, ``decline``. A position is one line of JSON:

=============  =========================================================================================================
neighbours     for each tile the list of its neighbours
owner, dice    for each tile its owner's seat and its dice, 1 to 8
reserve        for each seat, 0 to 64
to_move        the seat that decides now: in a vote the one whose answer is awaited
round          from 1 (optional, like all that follow; 1 if left out)
start_seat     the seat that started (if left out, to_move)
quiet_turns    turns in a row that ended without an attack (0)
attacked       whether the player in turn has attacked in this turn (false); written only where true
offered        whether the game has offered to end on points (false)
votes          for each seat true (accepted), false (declined) or null (no answer): all null
hexagons       the rows of ``hex_of_tile``, for drawing; written only where there are some
=============  =========================================================================================================
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array, whole_number
from audamir_envs.principalities import bits, rules
from audamir_envs.principalities.rules import Position
from audamir_envs.texts import clean, quoted

_REQUIRED = ("neighbours", "owner", "dice", "reserve", "to_move")
_OPTIONAL = ("round", "start_seat", "quiet_turns", "attacked", "offered", "votes", "hexagons")
_WORDS = ("end", "accept", "decline")
_ATTACK = re.compile(r"(0|[1-9][0-9]*)>(0|[1-9][0-9]*)")
_SUMS = re.compile(r"([0-9]{1,2}):([0-9]{1,2})")
_VOTES = {None: 0, True: rules.ACCEPTED, False: rules.DECLINED}
_mover = jax.jit(rules.mover)
_LARGEST = 10**9  # of what is counted on, so that the count stays inside int32


def action_to_text(action: int, tiles: int) -> str:
    """``12>7``, ``end``, ``accept`` or ``decline``. Raises: ValueError for what is no action's number."""
    number = whole_number(action)
    if number is None or not 0 <= number < rules.num_actions(tiles):
        raise ValueError(f"{quoted(action)} is no action: use 0 to {rules.num_actions(tiles) - 1}")
    if number >= tiles * tiles:
        return _WORDS[number - tiles * tiles]
    return f"{number // tiles}>{number % tiles}"


def text_to_action(text: str, tiles: int) -> int:
    """The inverse. Raises: ValueError that says where the text is wrong; TypeError for no text."""
    cleaned = clean(text, "an action")
    if cleaned in _WORDS:
        return tiles * tiles + _WORDS.index(cleaned)
    match = _ATTACK.fullmatch(cleaned)
    if match is None:
        raise ValueError(f"{quoted(text)} is no action: write an attack as 12>7, or one of {', '.join(_WORDS)}")
    for group in (1, 2):
        if len(match[group]) > 9 or int(match[group]) >= tiles:
            raise ValueError(
                f"{quoted(text)}, character {match.start(group) + 1}: there is no tile {match[group]:.20}, "
                f"tiles are 0 to {tiles - 1}"
            )
    return int(match[1]) * tiles + int(match[2])


def chance_to_text(action: int, chance: np.ndarray) -> str:
    """What chance decided (see ``rules.draw``): an attack's sums ``20:13``, the tiles where dice fell ``3 3 7``."""
    return chance_to_texts([action], np.asarray(chance)[None])[0]


def chance_to_texts(actions: Sequence[int], chance: np.ndarray) -> list[str]:
    """The same for many actions (chance: uint8 [actions, 2 + tiles])."""
    attacks = (chance.shape[1] - 2) ** 2
    texts = [
        f"{a}:{b}" if action < attacks else "" for action, (a, b) in zip(actions, chance[:, :2].tolist(), strict=True)
    ]
    fell = chance[:, 2:]
    rows, tiles = np.nonzero(fell)
    counts = fell[rows, tiles]
    ends = np.cumsum(np.bincount(np.repeat(rows, counts), minlength=len(texts))).tolist()
    names = [str(tile) for tile in np.repeat(tiles, counts).tolist()]
    for row in np.unique(rows).tolist():
        texts[row] = " ".join(names[ends[row - 1] if row else 0 : ends[row]])
    return texts


def text_to_chance(action: int, text: str, tiles: int) -> np.ndarray:
    """The inverse, uint8 [2 + tiles]. Raises: ValueError that says where the text is wrong; TypeError for no text."""
    if not isinstance(text, str):
        raise TypeError(f"an outcome of chance is read from a string, not from {type(text).__name__}")
    chance = np.zeros(rules.chance_shape(tiles), np.uint8)
    if action < tiles * tiles:
        match = _SUMS.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r:.40} is no outcome of an attack: write the sums of both sides' dice as 20:13")
        chance[:2] = int(match[1]), int(match[2])
        return chance
    for number in text.split():
        if not (number.isascii() and number.isdigit() and len(number) < 4 and int(number) < tiles):
            raise ValueError(f"{number!r:.40} is no tile where a die can fall: tiles are 0 to {tiles - 1}")
        if chance[2 + int(number)] == rules.MOST:
            raise ValueError(f"more than {rules.MOST} dice fall on tile {number}")
        chance[2 + int(number)] += 1
    return chance


def to_text(position: Position) -> str:
    """One line of JSON; see the module's table."""
    tiles = position.owner.shape[0]
    words = np.asarray(position.neighbours)  # uint32 [W, T]; in NumPy, which is quicker for a single position
    tile = np.arange(tiles)
    of, near = np.nonzero((words[tile // 32, :].T >> (tile % 32).astype(np.uint32)) & np.uint32(1))
    ends = np.searchsorted(of, np.arange(tiles + 1)).tolist()
    listed = near.tolist()
    votes = {code: answer for answer, code in _VOTES.items()}
    fields: dict[str, Any] = {
        "neighbours": [listed[first:end] for first, end in itertools.pairwise(ends)],
        "owner": np.asarray(position.owner).tolist(),
        "dice": np.asarray(position.dice).tolist(),
        "reserve": np.asarray(position.reserve).tolist(),
        # Without an offer the player in turn moves, and a device is not asked: records make thousands of texts.
        "to_move": int(_mover(position)) if position.offered else int(position.player),
        "round": int(position.round),
        "start_seat": int(position.start_seat),
        "quiet_turns": int(position.quiet_turns),
        "offered": bool(position.offered),
        "votes": [votes[code] for code in np.asarray(position.votes).tolist()],
    }
    if bool(position.attacked):
        fields["attacked"] = True
    hexes = np.asarray(position.hex_of_tile)
    if (hexes >= 0).any():
        fields["hexagons"] = hexes.tolist()
    return json.dumps(fields, separators=(",", ":"))


def from_text(
    text: str,
    *,
    players: int,
    tiles: int,
    check_neighbours: Callable[[list[list[int]]], np.ndarray],
    hex_of_tile: np.ndarray,
    points_offer: bool,
    hints: bool,
    max_rounds: int,
) -> Position:
    """The inverse. Raises: ValueError that says where the text is wrong; TypeError for no text.

    Args: check_neighbours: makes bool [T, T] of neighbour lists, or raises ValueError; hex_of_tile: what to draw if the
    text does not say (and the shape if it does); the rest as in ``rules.start``.
    """
    cleaned = clean(text, "a position")
    try:
        fields = json.loads(cleaned)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} at line {error.lineno}, column {error.colno} of the position") from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, or thousands of brackets
        raise ValueError("no position: a number in the JSON is too long, or it is nested too deeply") from None
    if not isinstance(fields, dict):
        raise ValueError(f"a position is a JSON object with {', '.join(_REQUIRED)}, not {quoted(fields)}")
    for name in _REQUIRED:
        if name not in fields:
            raise ValueError(f"the position lacks {name!r}: it needs {', '.join(_REQUIRED)}")
    for name in fields:
        if name not in (*_REQUIRED, *_OPTIONAL):
            raise ValueError(f"{quoted(name)} is no field of a position: use {', '.join((*_REQUIRED, *_OPTIONAL))}")

    owner = _numbers(fields, "owner", tiles, 0, players - 1)
    dice = _numbers(fields, "dice", tiles, 1, rules.MOST)
    reserve = _numbers(fields, "reserve", players, 0, rules.RESERVE_CAP)
    lists = fields["neighbours"]
    if not isinstance(lists, list) or len(lists) != tiles:
        raise ValueError(f"neighbours: a list for each of {tiles} tiles is needed")
    for tile in range(tiles):
        name = f"neighbours[{tile}]"
        _numbers({name: lists[tile]}, name, None, 0, tiles - 1)
    neighbours = check_neighbours(lists)

    to_move = _number(fields, "to_move", 0, players - 1)
    if to_move not in owner:
        raise ValueError(f"to_move: seat {to_move} owns no tile")
    offered = _flag(fields, "offered")
    votes = _votes(fields, players)
    turn = _player_in_turn(to_move, [seat in owner for seat in range(players)], votes, offered)
    rows, group = _derived(jnp.asarray(neighbours, jnp.bool_), jnp.asarray(owner, jnp.int8), players)
    return Position(
        neighbours=rows,
        hex_of_tile=jnp.asarray(_hexagons(fields, hex_of_tile, tiles)),
        owner=jnp.asarray(owner, jnp.int8),
        dice=jnp.asarray(dice, jnp.int8),
        group=group,
        reserve=jnp.asarray(reserve, jnp.int32),
        player=jnp.int32(turn),
        start_seat=jnp.int32(_number(fields, "start_seat", 0, players - 1, to_move)),
        round=jnp.int32(_number(fields, "round", 1, _LARGEST, 1)),
        attacked=jnp.asarray(_flag(fields, "attacked")),
        quiet_turns=jnp.int32(_number(fields, "quiet_turns", 0, _LARGEST, 0)),
        offered=jnp.asarray(offered),
        votes=jnp.asarray(votes, jnp.int8),
        points_offer=jnp.asarray(points_offer),
        hints=jnp.asarray(hints),
        max_rounds=jnp.int32(max_rounds),
    )


@functools.partial(jax.jit, static_argnums=2)
def _derived(neighbours: Array, owner: Array, players: int) -> tuple[Array, Array]:
    """What a position keeps of its map and owners: neighbours as bits, sizes of groups."""
    rows = bits.pack(neighbours)
    return rows, rules.group_sizes(rows, owner, players)


def _numbers(fields: dict[str, Any], name: str, count: int | None, low: int, high: int) -> list[int]:
    values = fields[name]
    if not isinstance(values, list) or (count is not None and len(values) != count):
        found = len(values) if isinstance(values, list) else quoted(values)
        raise ValueError(f"{name}: a list of {count or 'some'} numbers is needed, not {found}")
    for index, value in enumerate(values):
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{name}[{index}]: {quoted(value)} is not valid, use {low} to {high}")
    return values


def _number(fields: dict[str, Any], name: str, low: int, high: int, default: int | None = None) -> int:
    value = fields.get(name, default)
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name}: {quoted(value)} is not valid, use {low} to {high}")
    return value


def _flag(fields: dict[str, Any], name: str) -> bool:
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name}: {quoted(value)} is not valid, use true or false")
    return value


def _votes(fields: dict[str, Any], players: int) -> list[int]:
    values = fields.get("votes", [None] * players)
    if not isinstance(values, list) or len(values) != players:
        raise ValueError(f"votes: a list of {players} answers is needed, one for each seat")
    for seat, value in enumerate(values):
        if value is not None and not isinstance(value, bool):
            raise ValueError(f"votes[{seat}]: {quoted(value)} is not valid, use true, false or null")
    return [_VOTES[value] for value in values]


def _player_in_turn(to_move: int, living: list[bool], votes: list[int], offered: bool) -> int:
    """Who has the turn: the seat itself, or in a vote the first of those that accepted just before it."""
    players = len(votes)
    answers = [seat for seat in range(players) if votes[seat]]
    if answers and not offered:
        raise ValueError(f"votes[{answers[0]}]: nobody can have answered before the game has offered")
    accepted = [seat for seat in answers if votes[seat] == rules.ACCEPTED]
    if len(answers) > len(accepted) or not accepted or all(votes[s] for s in range(players) if living[s]):
        return to_move
    order = [seat for seat in ((to_move + step) % players for step in range(players)) if living[seat]]
    first = len(order) - len(accepted)
    if sorted(order[first:]) != accepted or votes[to_move]:
        raise ValueError(f"votes[{accepted[0]}]: those who accepted must come just before to_move in turn order")
    return order[first]


def _hexagons(fields: dict[str, Any], default: np.ndarray, tiles: int) -> np.ndarray:
    """The grid of hexagons, in the default's shape, which is that of every state of the environment."""
    if "hexagons" not in fields:
        return default
    rows, (height, width) = fields["hexagons"], default.shape
    if not isinstance(rows, list) or len(rows) > height:
        raise ValueError(f"hexagons: a list of at most {height} rows is needed; leave hexagons out for none")
    grid = np.full_like(default, -1)
    for index, row in enumerate(rows):
        name = f"hexagons[{index}]"
        _numbers({name: row}, name, None, -1, tiles - 1)
        if len(row) > width:
            raise ValueError(f"{name}: at most {width} numbers are needed; leave hexagons out for none")
        grid[index, : len(row)] = row
    missing = sorted(set(range(tiles)) - set(grid.ravel().tolist()))
    if missing and (grid >= 0).any():
        raise ValueError(f"hexagons: tile {missing[0]} has none; show every tile, or leave hexagons out")
    return grid
