"""The lines of ``audamir-record-1``: headers and games as JSON objects, each with a checksum of its own.

A line is ``{...,"crc32":"0123abcd"}``: the checksum comes last and covers all bytes before its comma.
"""

from __future__ import annotations

import dataclasses
import json
import math
import zlib
from collections.abc import Sequence
from typing import Any

FORMAT = "audamir-record-1"
LONGEST_LINE = 64 * 2**20  # bytes; the longest game that any rules allow is far below

_MARK = b',"crc32":"'


class RecordError(ValueError):
    """A line that cannot be used. ``path``, ``line`` (from 1) and ``reason`` are in its message, cut to one line."""

    def __init__(self, path: str, line: int, reason: str) -> None:
        self.path, self.line, self.reason = path, line, shortened(reason)
        super().__init__(f"{path}, line {line}: {self.reason}")


def shortened(text: str, most: int = 300) -> str:
    """The text in one line of bounded length."""
    text = " ".join(text[: 4 * most].split()) if len(text) > 4 * most else " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}..."


@dataclasses.dataclass(frozen=True)
class Header:
    """What all games behind it share.

    ``agents`` holds for each agent an object with ``agent`` (its text or name), ``settings`` and ``checksum`` (of the
    checkpoint; null for none). ``protocol`` holds how games were made; its ``games`` is how many there are to be.
    """

    env: str
    env_version: str
    options: dict[str, Any]
    players: int
    agents: tuple[dict[str, Any], ...]
    seed: int | None
    protocol: dict[str, Any]
    versions: dict[str, str]
    checksum: str = dataclasses.field(init=False, repr=False, compare=False)  # of its line, by which games know it

    def __post_init__(self) -> None:
        object.__setattr__(self, "checksum", seal(self.to_json())[-11:-3].decode())

    @property
    def games(self) -> int | None:
        """How many games there are to be; None: nobody has said."""
        return self.protocol.get("games")

    def to_json(self) -> dict[str, Any]:
        """The line's object without its checksum."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "checksum"}
        return {"format": FORMAT} | fields


@dataclasses.dataclass(frozen=True)
class Game:
    """One game. ``header`` and ``where`` (path and line) are of the file it was read from.

    All lists but ``seats`` and ``shares`` have one entry for each action, ``plies`` of them.
    """

    number: int  # its place in the list of games that the run plays
    seats: tuple[int, ...]  # the number of the agent (of header.agents) in each seat
    starter: int  # the seat that moved first
    start: str  # the position before the first action
    actions: tuple[int, ...]
    moves: tuple[str, ...]  # the same in the game's notation
    chance: tuple[str, ...] | None  # what chance decided after each action; None: a game without chance
    shares: tuple[float, ...]  # of the win, for each seat: sum 1
    cut: bool  # ended before the rules ended it, and settled on points
    final: str  # the position after the last action
    opening: int = 0  # how many of the first actions no agent chose
    analysis: tuple[dict[str, Any] | None, ...] | None = None  # what was thought of each position; see docs/records.md
    forfeit: int | None = None  # the seat that lost by giving no legal move, after the last action
    header: Header | None = dataclasses.field(default=None, repr=False, compare=False)
    where: tuple[str, int] = dataclasses.field(default=("", 0), compare=False)

    @property
    def plies(self) -> int:
        """The number of actions."""
        return len(self.actions)

    def error(self, reason: str) -> RecordError:
        """What is wrong with this game, as an error that says where it stands."""
        return RecordError(*self.where, reason)

    def to_json(self) -> dict[str, Any]:
        """The line's object without its checksum."""
        found: dict[str, Any] = {
            "game": self.number,
            "seats": self.seats,
            "starter": self.starter,
            "start": self.start,
            "opening": self.opening,
            "plies": self.plies,
            "actions": self.actions,
            "moves": self.moves,
        }
        if self.chance is not None:
            found["chance"] = self.chance
        if self.analysis is not None:
            found["analysis"] = self.analysis
        if self.forfeit is not None:
            found["forfeit"] = self.forfeit
        return found | {"shares": self.shares, "cut": self.cut, "final": self.final}


def encode(line: Header | Game, header: Header | None = None) -> bytes:
    """The line with its end. Args: header: a game's; None: the one it has. Raises: ValueError: NaN or infinity."""
    if isinstance(line, Header):
        return seal(line.to_json())
    header = header or line.header
    if header is None:
        raise ValueError(f"game {line.number} has no header")
    return seal({"run": header.checksum} | line.to_json())


def seal(fields: dict[str, Any]) -> bytes:
    """The line of an object, with its checksum and its end. Raises: ValueError: NaN or infinity."""
    body = json.dumps(fields, separators=(",", ":"), allow_nan=False)[:-1].encode()
    return b'%b,"crc32":"%08x"}\n' % (body, zlib.crc32(body))


def unseal(line: bytes) -> tuple[dict[str, Any], str]:
    """The object of a line (with or without its end) and its checksum. Raises: ValueError that says what is wrong."""
    body, mark, checksum = line.rstrip(b"\r\n").rpartition(_MARK)
    if not mark:
        raise ValueError("no line of a record, or one that was cut: it has no checksum at its end")
    if checksum != b'%08x"}' % zlib.crc32(body):
        raise ValueError("the line was changed or cut: its checksum is not that of its content")
    try:
        fields = json.loads(body.decode() + "}", parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("the line is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(fields, dict):
        raise ValueError("a line is a JSON object")
    return fields, checksum[:8].decode()


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def decode(line: bytes, header: Header | None = None, where: tuple[str, int] = ("", 0)) -> Header | Game:
    """The header or game of a line (with or without its end).

    Args: header: the last one before the line; None: the line has to be one. where: path and line, for errors.
    Raises: RecordError.
    """
    try:
        return _decode(line, header, where)
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(*where, str(error)) from None


def _decode(line: bytes, header: Header | None, where: tuple[str, int]) -> Header | Game:
    fields, checksum = unseal(line)
    if "format" in fields:
        if fields["format"] != FORMAT:
            raise ValueError(f"its format is {fields['format']!r:.40}, not {FORMAT}")
        found = _header(fields)
        object.__setattr__(found, "checksum", checksum)  # others may write the same otherwise
        return found
    if header is None:
        raise ValueError("a game without a header before it: a record begins with its header")
    if fields.get("run") != header.checksum:
        raise ValueError("the game belongs to another header than the one before it")
    return _game(fields, header, where)


def _header(fields: dict[str, Any]) -> Header:
    take = Fields(fields)
    agents = take("agents", list)
    for agent in agents:
        if not isinstance(agent, dict) or not isinstance(agent.get("agent"), str):
            raise ValueError("agents: each is an object with its text under 'agent'")
    protocol = take("protocol", dict)
    games = protocol.get("games")
    if games is not None and not _whole(games, 0, 2**53):
        raise ValueError(f"protocol: games is {games!r:.40}, not a number of games")
    return Header(
        env=take("env", str),
        env_version=take("env_version", str),
        options=take("options", dict),
        players=take.whole("players", 2, 1000),
        agents=tuple(agents),
        seed=None if fields.get("seed") is None else take.whole("seed", 0, 2**63 - 1),
        protocol=protocol,
        versions=take("versions", dict),
    )


def _game(fields: dict[str, Any], header: Header, where: tuple[str, int]) -> Game:
    take = Fields(fields)
    players, plies = header.players, take.whole("plies", 0, 2**31 - 1)
    shares = take("shares", list)
    fine = [isinstance(share, (int, float)) and not isinstance(share, bool) and 0 <= share <= 1 for share in shares]
    if len(shares) != players or not all(fine) or not math.isclose(sum(shares), 1, abs_tol=1e-6):
        raise ValueError(f"shares: {players} numbers from 0 to 1 with sum 1 are needed, one for each seat")
    chance = take.each("chance", str, plies) if "chance" in fields else None
    analysis = None
    if "analysis" in fields:
        analysis = take("analysis", list)
        if len(analysis) not in (plies, plies + 1) or not all(isinstance(a, (dict, type(None))) for a in analysis):
            raise ValueError("analysis: an object or null for each position is needed")
    return Game(
        number=take.whole("game", 0, 2**53),
        seats=take.wholes("seats", players, len(header.agents) - 1),
        starter=take.whole("starter", 0, players - 1),
        start=take("start", str),
        actions=take.wholes("actions", plies, 2**31 - 1),
        moves=take.each("moves", str, plies),
        chance=chance,
        shares=tuple(float(share) for share in shares),
        cut=take("cut", bool),
        final=take("final", str),
        opening=take.whole("opening", 0, plies) if "opening" in fields else 0,
        analysis=None if analysis is None else tuple(analysis),
        forfeit=take.whole("forfeit", 0, players - 1) if "forfeit" in fields else None,
        header=header,
        where=where,
    )


def _whole(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


class Fields:
    """The fields of an object, taken by name with their type checked. Raises: ValueError."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def __call__(self, name: str, kind: type) -> Any:
        """A value of exactly this type."""
        if name not in self.fields:
            raise ValueError(f"the line lacks {name!r}")
        value = self.fields[name]
        if type(value) is not kind:
            raise ValueError(f"{name}: {value!r:.40} is no {_KINDS[kind]}")
        return value

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number in these bounds."""
        value = self(name, int)
        if not low <= value <= high:
            raise ValueError(f"{name}: {value!r:.40} is not from {low} to {high}")
        return value

    def wholes(self, name: str, count: int, high: int) -> tuple[int, ...]:
        """So many whole numbers from 0 to a bound."""
        values = self.each(name, int, count)
        for value in values:
            if not 0 <= value <= high:
                raise ValueError(f"{name}: {value!r:.40} is not from 0 to {high}")
        return values

    def each(self, name: str, kind: type, count: int) -> tuple[Any, ...]:
        """So many values of exactly this type."""
        values: Sequence[Any] = self(name, list)
        if len(values) != count:
            raise ValueError(f"{name}: {count} entries are needed, not {len(values)}")
        for value in values:
            if type(value) is not kind:
                raise ValueError(f"{name}: {value!r:.40} is no {_KINDS[kind]}")
        return tuple(values)


_KINDS = {str: "text", int: "whole number", list: "list", dict: "object", bool: "true or false"}
