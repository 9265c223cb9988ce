"""Principalities drawn: as a scene of shapes, and in plain text for a terminal.

A tile is one outline in its owner's colour; maps without hexagons are drawn as a graph, their tiles in a ring.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import jax
import numpy as np

from audamir_envs.core import Environment, State
from audamir_envs.drawing.places import Move, Place, Places
from audamir_envs.drawing.scene import Circle, Line, Point, Polygon, Scene, Shape, Text
from audamir_envs.principalities import notation, rules
from audamir_envs.principalities.bits import unpack
from audamir_envs.texts import quoted

SEATS = ("#d1495b", "#3a7ca5", "#e0a526", "#4f9d69", "#8d6cab", "#e07b39", "#5bb0ba", "#9a8573")
"""The colours of the seats."""

_GROUND, _SEA, _INK, _FAINT, _EDGE = "#f7f5ef", "#dfe6e9", "#2f2b24", "#6d675b", "#3c372e"
_CHIP, _ODDS, _MARK, _TARGET = "#fdfcf8", "#fff3c4", "#ffd23f", "#1b7f3b"
_RADIUS = 11.0  # of a small hexagon
_MARGIN, _SIDE, _FOOTER, _LINE = 14.0, 176.0, 30.0, 50.0
_CORNERS = ((0, -2), (1, -1), (1, 1), (0, 2), (-1, 1), (-1, -1))
"""Of a hexagon, clockwise from the top, in half widths to the right and half radii downwards from its centre."""


@dataclasses.dataclass(frozen=True)
class _Layout:
    """Where the tiles are: outlines (none for a graph), and the places of their numbers and borders."""

    width: float
    height: float
    outlines: dict[int, tuple[Point, ...]]  # the larger ones first, so that a tile inside another stays seen
    lakes: dict[int, list[tuple[Point, ...]]]  # outlines of what lies inside a tile and is none of it
    centres: list[Point]
    borders: dict[tuple[int, int], Point]  # the middle of the border of each pair of neighbours, both ways round


def scene(env: Environment, state: State, last_action: int | None = None, selected: int | None = None) -> Scene:
    """The map, the last attack as an arrow, with hints the odds of every legal attack, and the seats at the side.

    Args: selected: a tile whose legal targets are marked. Raises: ValueError if there is no such tile.
    """
    game = _numbers(state)
    tiles = len(game["owner"])
    if selected is not None and not 0 <= selected < tiles:
        raise ValueError(f"selected={quoted(selected)} is no tile: tiles are numbered 0 to {tiles - 1}")
    layout = _layout_of(state)
    height = max(layout.height, _LINE * env.num_players + 2 * _MARGIN)
    width = layout.width + _SIDE
    shapes: list[Shape] = [Polygon(_box(0, 0, layout.width, height), fill=_SEA)]
    shapes += _land(layout, game) if layout.outlines else _graph(layout, game)
    shapes += _marks(layout, state, last_action, selected)
    shapes += _chips(layout, game)
    if bool(state.game.hints):
        shapes += _odds(layout, state)
    shapes += _seats(env, state, game, layout.width)
    status = _status(env, state)
    shapes.append(Text(_MARGIN, height + _FOOTER / 2, status, size=13.0, fill=_INK, anchor="start"))
    return Scene(width, height + _FOOTER, tuple(shapes), background=_GROUND, title=f"Principalities. {status}")


def _numbers(state: State) -> dict[str, np.ndarray]:
    """The parts of the position that are drawn, and the totals of each seat, in NumPy."""
    game = state.game
    facts = {name: np.asarray(value) for name, value in _facts(game).items()}
    dice = np.asarray(game.dice).astype(int)
    return facts | {
        "owner": np.asarray(game.owner).astype(int),
        "dice": dice,
        "hex_of_tile": np.asarray(game.hex_of_tile).astype(int),
        "reserve": np.asarray(game.reserve).astype(int),
        "tiles": facts["owned"].sum(1),
        "total": (facts["owned"] * dice).sum(1),
    }


@jax.jit  # one program: dozens of small ones take seconds to compile and a picture's time to run
def _facts(game: rules.Position) -> dict[str, jax.Array]:
    return {
        "owned": rules.owned(game),
        "alive": rules.alive(game),
        "neighbours": unpack(game.neighbours, game.owner.shape[0]),
        "largest": rules.largest_groups(game),
        "voting": rules.voting(game),
        "winners": rules.winners(game),
        "odds": rules.odds(game),
    }


def _attacks(state: State) -> np.ndarray:
    """bool [tiles, tiles]: the legal attacks, none after the end."""
    tiles = state.game.owner.shape[0]
    if bool(state.terminated | state.truncated):
        return np.zeros((tiles, tiles), bool)
    return np.asarray(state.legal_action_mask)[: tiles * tiles].reshape(tiles, tiles)


# Where things are.


def _layout_of(state: State) -> _Layout:
    grid = np.asarray(state.game.hex_of_tile)
    return _layout(grid.astype(np.int8).tobytes(), grid.shape, state.game.owner.shape[0])


@functools.lru_cache(maxsize=16)  # a game's map stays, and its outlines cost more than all else that is drawn
def _layout(grid: bytes, shape: tuple[int, int], tiles: int) -> _Layout:
    hexagons = np.frombuffer(grid, np.int8).reshape(shape).astype(int)
    return _hexagons(hexagons, tiles) if (hexagons >= 0).any() else _ring(tiles)


def _place(x: float, y: float) -> Point:
    """Pixels of lattice coordinates (half widths, half radii; the first hexagon's centre is the origin)."""
    return _MARGIN + _RADIUS * (x + 1) * 3**0.5 / 2, _MARGIN + _RADIUS * (y + 2) / 2


def _hexagons(grid: np.ndarray, tiles: int) -> _Layout:
    rows, cols = grid.shape
    onward: list[dict[Point, Point]] = [{} for _ in range(tiles)]  # the outline's next corner, clockwise
    cells: list[list[tuple[int, float, float]]] = [[] for _ in range(tiles)]
    shared: dict[tuple[int, int], list[Point]] = {}
    for row, col in np.argwhere(grid >= 0).tolist():
        tile = int(grid[row, col])
        odd = row % 2
        x, y = 2 * col + odd, 3 * row
        # Neighbours in the order of the edges, from the one between the first two corners: NE, E, SE, SW, W, NW.
        steps = ((-1, odd), (0, 1), (1, odd), (1, odd - 1), (0, -1), (-1, odd - 1))
        own = 0
        for edge, (down, right) in enumerate(steps):
            r, c = row + down, col + right
            other = int(grid[r, c]) if 0 <= r < rows and 0 <= c < cols else -1
            if other == tile:
                own += 1
                continue
            (ax, ay), (bx, by) = _CORNERS[edge], _CORNERS[(edge + 1) % 6]
            onward[tile][x + ax, y + ay] = (x + bx, y + by)
            if other >= 0:
                shared.setdefault((tile, other), []).append((x + (ax + bx) / 2, y + (ay + by) / 2))
        cells[tile].append((own, x, y))
    loops = {tile: sorted(_loops(onward[tile]), key=_area) for tile in range(tiles)}
    outer = {tile: loops[tile].pop() for tile in sorted(loops, key=lambda t: -_area(loops[t][-1]))}
    centres = [_place(*_innermost(places)) for places in cells]
    return _Layout(
        width=2 * _MARGIN + _RADIUS * 3**0.5 * (cols + 0.5),
        height=2 * _MARGIN + _RADIUS * (1.5 * rows + 0.5),
        outlines={tile: tuple(_place(*p) for p in loop) for tile, loop in outer.items()},
        lakes={tile: [tuple(_place(*p) for p in loop) for loop in inner] for tile, inner in loops.items()},
        centres=centres,
        borders={pair: _free_and_central([_place(*p) for p in points], centres) for pair, points in shared.items()},
    )


def _loops(onward: dict[Point, Point]) -> list[list[Point]]:
    """The closed outlines of a tile; at no corner of the grid do two outlines of one tile meet."""
    loops = []
    while onward:
        first, corner = onward.popitem()
        loop = [first]
        while corner != first:
            loop.append(corner)
            corner = onward.pop(corner)
        loops.append(loop)
    return loops


def _area(loop: list[Point]) -> float:
    """Of a clockwise outline; the outlines of what lies inside a tile go the other way and count below zero."""
    following = loop[1:] + loop[:1]
    return sum(x * v - u * y for (x, y), (u, v) in zip(loop, following, strict=True)) / 2


def _innermost(cells: list[tuple[int, float, float]]) -> Point:
    """The hexagon with the most neighbours of its own tile, the nearest to the middle among these."""
    x, y = np.mean([(x, y) for _, x, y in cells], axis=0)
    return min(cells, key=lambda cell: (-cell[0], 0.75 * (cell[1] - x) ** 2 + 0.25 * (cell[2] - y) ** 2))[1:]


def _free_and_central(points: list[Point], centres: list[Point]) -> Point:
    """The point nearest to the middle of all, of those where a plate lies free of the chips if there are some."""
    middle = np.mean(points, axis=0)

    def covered(point: Point) -> bool:
        return any(abs(point[0] - x) < 19 and abs(point[1] - y - 4.5) < 18.5 for x, y in centres)

    return min(points, key=lambda point: (covered(point), math.dist(point, middle)))


def _ring(tiles: int) -> _Layout:
    radius = max(120.0, 6.5 * tiles)
    size = 2 * (radius + 2 * _MARGIN)
    angles = [2 * math.pi * tile / tiles - math.pi / 2 for tile in range(tiles)]
    centres = [(size / 2 + radius * math.cos(a), size / 2 + radius * math.sin(a)) for a in angles]
    borders = {
        # Nearer to the attacker, so that the odds on crossing lines do not all meet in the middle.
        (i, j): (0.7 * centres[i][0] + 0.3 * centres[j][0], 0.7 * centres[i][1] + 0.3 * centres[j][1])
        for i in range(tiles)
        for j in range(tiles)
        if i != j
    }
    return _Layout(size, size, {}, {}, centres, borders)


# What is drawn.


def _box(x: float, y: float, width: float, height: float) -> tuple[Point, ...]:
    return ((x, y), (x + width, y), (x + width, y + height), (x, y + height))


def _land(layout: _Layout, game: dict[str, np.ndarray]) -> list[Shape]:
    shapes: list[Shape] = []
    for tile, outline in layout.outlines.items():
        shapes.append(Polygon(outline, fill=SEATS[game["owner"][tile]], stroke=_EDGE, stroke_width=1.6))
        shapes += [Polygon(lake, fill=_SEA, stroke=_EDGE, stroke_width=1.6) for lake in layout.lakes[tile]]
    return shapes


def _graph(layout: _Layout, game: dict[str, np.ndarray]) -> list[Shape]:
    pairs = np.argwhere(np.triu(game["neighbours"])).tolist()
    shapes: list[Shape] = [Line(layout.centres[i], layout.centres[j], stroke=_FAINT) for i, j in pairs]
    shapes += [
        Circle(*centre, 15.0, fill=SEATS[game["owner"][tile]], stroke=_EDGE, stroke_width=1.6)
        for tile, centre in enumerate(layout.centres)
    ]
    return shapes


def _chips(layout: _Layout, game: dict[str, np.ndarray]) -> list[Shape]:
    """The dice of each tile in a disc with its number on a plate below, drawn over borders and arrows."""
    shapes: list[Shape] = []
    for tile, (x, y) in enumerate(layout.centres):
        below = y + (12.5 if layout.outlines else 20.0)
        half = 3.0 + 2.2 * len(str(tile))
        shapes.append(_token(x, y, game["owner"][tile], _CHIP, 0.8))
        shapes.append(Polygon(_box(x - half, below - 5, 2 * half, 10), fill=_CHIP, stroke=_EDGE, stroke_width=0.6))
        shapes.append(Text(x, below, str(tile), size=8.0, fill=_FAINT))
        shapes.append(Text(x, y, str(game["dice"][tile]), size=13.0, fill=_INK, bold=True))
    return shapes


def _token(x: float, y: float, seat: int, fill: str, stroke_width: float) -> Shape:
    """A seat's own form, for those who do not see its colour; a number fits into each."""
    if seat == 0:
        return Circle(x, y, 8.5, fill=fill, stroke=_EDGE, stroke_width=stroke_width)
    if seat == 7:
        return Polygon(_box(x - 12, y - 7, 24, 14), fill=fill, stroke=_EDGE, stroke_width=stroke_width)
    corners, radius, turn, down = _FORMS[seat - 1]
    angles = [math.radians(turn + 360 * k / corners) for k in range(corners)]
    points = tuple((x + radius * math.cos(a), y + down + radius * math.sin(a)) for a in angles)
    return Polygon(points, fill=fill, stroke=_EDGE, stroke_width=stroke_width)


_FORMS = (
    (4, 11.5, 45, 0.0),
    (3, 15.0, -90, 1.5),
    (4, 12.5, 0, 0.0),
    (5, 10.5, -90, 0.0),
    (3, 15.0, 90, -1.5),
    (6, 10.0, 0, 0.0),
)
"""Of the tokens of seats 1 to 6: corners, their distance from the middle, angle of the first, a shift downwards."""


def _outlined(layout: _Layout, tile: int, colour: str) -> Shape:
    if layout.outlines:
        return Polygon(layout.outlines[tile], stroke=colour, stroke_width=4.0)
    return Circle(*layout.centres[tile], 15.0, stroke=colour, stroke_width=4.0)


def _marks(layout: _Layout, state: State, last_action: int | None, selected: int | None) -> list[Shape]:
    shapes: list[Shape] = []
    tiles = len(layout.centres)
    if last_action is not None and 0 <= last_action < tiles * tiles:
        source, target = divmod(int(last_action), tiles)
        shapes += [_outlined(layout, source, _MARK), _outlined(layout, target, _MARK)]
        shapes += _arrow(layout.centres[source], layout.centres[target])
    if selected is not None:
        shapes.append(_outlined(layout, selected, _CHIP))
        shapes += [_outlined(layout, int(t), _TARGET) for t in np.flatnonzero(_attacks(state)[selected])]
    return shapes


def _arrow(start: Point, end: Point) -> list[Shape]:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    ux, uy = dx / length, dy / length
    short = 10 + 8 * max(0.0, -uy)  # an arrow from below ends at the plate with the number
    tip = (end[0] - short * ux, end[1] - short * uy)
    back = (tip[0] - 9 * ux, tip[1] - 9 * uy)
    head = (tip, (back[0] - 5 * uy, back[1] + 5 * ux), (back[0] + 5 * uy, back[1] - 5 * ux))
    return [Line(start, back, stroke=_MARK, stroke_width=3.5), Polygon(head, fill=_MARK)]


def _odds(layout: _Layout, state: State) -> list[Shape]:
    """In per cent, on the border of the two tiles; on a graph nearer to the attacker."""
    chances = np.asarray(_facts(state.game)["odds"])
    shapes: list[Shape] = []
    for source, target in np.argwhere(_attacks(state)).tolist():
        x, y = _between(layout, source, target)
        shapes.append(Polygon(_box(x - 11, y - 5.5, 22, 11), fill=_ODDS, stroke=_FAINT, stroke_width=0.5))
        shapes.append(Text(x, y, f"{100 * chances[source, target]:.0f}%", size=8.5, fill=_INK))
    return shapes


def _seats(env: Environment, state: State, game: dict[str, np.ndarray], left: float) -> list[Shape]:
    shapes: list[Shape] = []
    turn, mover = int(state.game.player), int(state.current_player)
    over = bool(state.terminated | state.truncated)
    for seat in range(env.num_players):
        top = _MARGIN + seat * _LINE
        if not over and seat == turn:
            shapes.append(Polygon(_box(left + 4, top - 4, _SIDE - 8, _LINE - 4), fill="#ece6d8"))
        shapes.append(_token(left + 18, top + 9, seat, SEATS[seat], 1.0))
        name = env.player_name(seat)
        if game["tiles"][seat] == 0:
            name += "  out"
        elif game["voting"] and not over:
            answer = int(state.game.votes[seat])
            name += "  accepts" if answer == rules.ACCEPTED else ("  votes" if seat == mover else "")
        shapes.append(Text(left + 32, top + 9, name, size=12.0, fill=_INK, anchor="start", bold=seat == turn))
        counts = f"{game['tiles'][seat]} tiles, {game['total'][seat]} dice"
        groups = f"group {game['largest'][seat]}, reserve {game['reserve'][seat]}"
        shapes.append(Text(left + 32, top + 22, counts, size=9.5, fill=_FAINT, anchor="start"))
        shapes.append(Text(left + 32, top + 34, groups, size=9.5, fill=_FAINT, anchor="start"))
    return shapes


def _status(env: Environment, state: State) -> str:
    """The round and who moves or won, in one line."""
    game = state.game
    facts = {name: np.asarray(value) for name, value in _facts(game).items()}
    mover = env.player_name(int(state.current_player))
    turn = f"Round {min(int(game.round), int(game.max_rounds))}"
    if bool(state.illegal):
        return f"{turn}: ended by an illegal action of {mover}"
    if bool(state.terminated | state.truncated):
        winners = [env.player_name(seat) for seat in np.flatnonzero(facts["winners"]).tolist()]
        on_points = "" if facts["alive"].sum() == 1 else " on points"
        if len(winners) > 1:
            return f"{turn}: a draw{on_points} of {', '.join(winners)}"
        return f"{turn}: {winners[0]} wins{on_points}"
    if facts["voting"]:
        return f"{turn}: {mover} votes on ending on points"
    return f"{turn}: {mover} to move"


def places(state: State) -> Places:
    """Every tile, and the attacks, their numbers belonging on the border of the two tiles."""
    layout = _layout_of(state)
    tiles = tuple(
        Place(str(tile), centre, layout.outlines[tile] if layout.outlines else _disc(*centre, 15.0))
        for tile, centre in enumerate(layout.centres)
    )
    attacks = np.argwhere(_attacks(state)).tolist()
    count = len(tiles)
    moves = tuple(Move(i * count + j, (i, j), at=_between(layout, i, j)) for i, j in attacks)
    return Places(tiles, moves, SEATS[: state.game.reserve.shape[0]])


def _disc(x: float, y: float, radius: float) -> tuple[Point, ...]:
    angles = [math.radians(30 * k) for k in range(12)]
    return tuple((x + radius * math.cos(a), y + radius * math.sin(a)) for a in angles)


def _between(layout: _Layout, source: int, target: int) -> Point:
    """Where numbers on an attack stand."""
    if (source, target) in layout.borders:
        return layout.borders[source, target]
    a, b = layout.centres[source], layout.centres[target]  # neighbours across the sea, on a user's map
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2


def board_text(env: Environment, state: State, last_action: int | None = None) -> str:
    """The map with the number of every hexagon's tile, then a line for each tile and for each seat.

    A tile's line names its owner's seat, its dice, and its neighbours as number:owner/dice; with hints the odds of
    legal attacks stand behind these in per cent.
    """
    game = _numbers(state)
    tiles = len(game["owner"])
    legal = _attacks(state)
    chances = np.asarray(_facts(state.game)["odds"]) if bool(state.game.hints) else None
    lines = []
    if (game["hex_of_tile"] >= 0).any():
        for row, numbers in enumerate(game["hex_of_tile"].tolist()):
            cells = "".join(f"{number:>3}" if number >= 0 else "  ." for number in numbers)
            lines.append((" " * (row % 2) + cells).rstrip())
        lines.append("")
    lines.append("tile seat dice  neighbours")
    for tile in range(tiles):
        near = []
        for other in np.flatnonzero(game["neighbours"][tile]).tolist():
            odds = "" if chances is None or not legal[tile, other] else f"={100 * chances[tile, other]:.0f}%"
            near.append(f"{other}:{game['owner'][other]}/{game['dice'][other]}{odds}")
        lines.append(f"{tile:4} {game['owner'][tile]:4} {game['dice'][tile]:4}  {' '.join(near)}")
    lines.append("")
    for seat in range(env.num_players):
        out = "" if game["tiles"][seat] else ", out"
        lines.append(
            f"{env.player_name(seat)}: {game['tiles'][seat]} tiles, {game['total'][seat]} dice, "
            f"group {game['largest'][seat]}, reserve {game['reserve'][seat]}{out}"
        )
    if last_action is not None:
        lines.append(f"Last: {notation.action_to_text(last_action, tiles)}")
    lines.append(_status(env, state))
    return "\n".join(lines)
