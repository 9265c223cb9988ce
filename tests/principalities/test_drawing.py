"""Drawings read back: outlines by their area, numbers by their places, against the position itself."""

import functools
import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import audamir_envs
from audamir_envs.drawing.scene import Circle, Line, Polygon, Text
from audamir_envs.drawing.svg import to_svg
from audamir_envs.principalities import drawing

# Tile 1 has a void hexagon inside, tile 2 lies inside tile 0, tile 3 is apart but for a neighbour across the sea.
HEXAGONS = [
    [0, 0, 0, 0, 1, 1, 1, -1],
    [0, 0, 2, 0, 1, -1, 1, -1],
    [0, 0, 2, 0, 1, 1, 1, 3],
    [0, 0, 0, 0, 1, 1, -1, 3],
]
NEIGHBOURS = [[1, 2, 3], [0, 3], [0], [0, 1]]


@functools.cache
def environment(hints=False, hexagons=True, players=2):
    spec = {"neighbours": NEIGHBOURS, "hexagons": HEXAGONS} if hexagons else NEIGHBOURS
    return audamir_envs.make("principalities-v0", players=players, map=spec, hints=hints)


def position(env, owner=(0, 1, 1, 1), dice=(5, 3, 7, 2), **fields):
    reserve = [4] + [0] * (env.num_players - 1)
    text = {"neighbours": NEIGHBOURS, "owner": owner, "dice": dice, "reserve": reserve, "to_move": 0, **fields}
    return env.from_text(json.dumps(text))


def area(points):
    return abs(sum(x * v - u * y for (x, y), (u, v) in zip(points, points[1:] + points[:1], strict=True))) / 2


def inside(point, points):
    """Whether a ray to the right crosses the outline an odd number of times."""
    x, y = point
    crossed = False
    for (ax, ay), (bx, by) in zip(points, points[1:] + points[:1], strict=True):
        if (ay > y) != (by > y) and x < ax + (y - ay) * (bx - ax) / (by - ay):
            crossed = not crossed
    return crossed


def texts(scene):
    return [shape for shape in scene.shapes if isinstance(shape, Text)]


def check_map(scene, owner, dice, grid):
    """Every tile is drawn once, in its owner's colour, with its own area, its dice and its number on it."""
    hexagon = 3 * 3**0.5 / 2 * drawing._RADIUS**2
    side = scene.width - drawing._SIDE  # where the seats' own tokens stand
    land = [s for s in scene.shapes if isinstance(s, Polygon) and s.fill in drawing.SEATS and min(s.points)[0] < side]
    lakes = [s for s in scene.shapes if isinstance(s, Polygon) and s.fill == drawing._SEA][1:]
    assert len(land) == len(owner)
    tile_of = {}
    for tile in range(len(owner)):
        label = [t for t in texts(scene) if t.size == 8.0 and t.text == str(tile)]
        assert len(label) == 1
        (number,) = [
            t for t in texts(scene) if t.bold and t.size == 13.0 and (t.x, t.y + 12.5) == (label[0].x, label[0].y)
        ]
        assert number.text == str(dice[tile])
        # The last outline drawn over a place is what is seen there.
        top = [s for s in land if inside((number.x, number.y), s.points)][-1]
        assert top.fill == drawing.SEATS[owner[tile]]
        assert tile_of.setdefault(id(top), tile) == tile
        assert area(top.points) >= hexagon * (grid == tile).sum() - 1e-6
    return land, lakes, hexagon


def test_every_tile_is_drawn_once():
    env = environment()
    scene = env.scene(position(env))
    grid = np.array(HEXAGONS)
    land, lakes, hexagon = check_map(scene, (0, 1, 1, 1), (5, 3, 7, 2), grid)
    # Tile 0 encloses tile 2; the outlines of the others hold what is theirs, tile 1's one void hexagon more.
    assert sorted(round(area(s.points) / hexagon, 6) for s in land) == [2, 2, 11, 14 + 2]
    assert sorted(round(area(s.points) / hexagon, 6) for s in lakes) == [1, 2]
    assert [round(area(s.points) / hexagon) for s in land[:2]] == [16, 11], "the larger outlines come first"


def test_random_map():
    env = audamir_envs.make("principalities-v0", players=3, tiles=7)
    state = jax.jit(env.init)(jax.random.key(4))
    owner, dice, grid = (np.asarray(a) for a in (state.game.owner, state.game.dice, state.game.hex_of_tile))
    scene = env.scene(state)
    land, lakes, hexagon = check_map(scene, owner.tolist(), dice.tolist(), grid)
    assert sum(area(s.points) for s in land) - sum(area(s.points) for s in lakes) == pytest.approx(
        hexagon * (grid >= 0).sum()
    )
    assert all(0 <= x <= scene.width and 0 <= y <= scene.height for s in land for x, y in s.points)
    assert to_svg(scene).count("<polygon") == sum(isinstance(s, Polygon) for s in scene.shapes)
    numbers = [line.split() for line in env.board_text(state).splitlines()[: grid.shape[0]]]
    assert numbers == [["." if n < 0 else str(n) for n in row] for row in grid.tolist()]


def test_seats_at_the_side():
    env = environment()
    shown = [t.text for t in texts(env.scene(position(env)))]
    for text in ("player_0", "1 tiles, 5 dice", "group 1, reserve 4", "player_1", "3 tiles, 12 dice"):
        assert shown.count(text) == 1
    assert "group 2, reserve 0" in shown, "tiles 1 and 3 touch across the sea"
    assert shown[-1] == "Round 1: player_0 to move"


def test_hints_show_the_odds_of_legal_attacks():
    env = environment(hints=True)
    state = position(env)
    scene = env.scene(state)
    odds = sorted(t.text for t in texts(scene) if t.size == 8.5)
    # 5 dice against 3, 7 and 2.
    assert odds == ["10%", "91%", "99%"]
    plain = environment()
    assert not [t for t in texts(plain.scene(position(plain))) if t.size == 8.5]
    assert "1:1/3=91% 2:1/7=10% 3:1/2=99%" in env.board_text(state)
    assert "%" not in plain.board_text(position(plain))


def test_selection_and_last_attack_are_marked():
    env = environment()
    state = position(env, dice=(5, 3, 7, 1), owner=(0, 1, 1, 0))
    scene = env.scene(state, last_action=env.text_to_action("0>3"), selected=0)
    targets = [s for s in scene.shapes if isinstance(s, Polygon) and s.stroke == drawing._TARGET]
    assert len(targets) == 2
    assert len([s for s in scene.shapes if isinstance(s, Polygon) and s.stroke == drawing._MARK]) == 2
    assert len([s for s in scene.shapes if isinstance(s, Line)]) == 1
    assert not [s for s in env.scene(state, env.text_to_action("end")).shapes if isinstance(s, Line)]
    nothing = env.scene(state, selected=3)  # one die attacks nobody
    assert not [s for s in nothing.shapes if isinstance(s, Polygon) and s.stroke == drawing._TARGET]
    for tile in (4, -1):
        with pytest.raises(ValueError, match="0 to 3"):
            env.scene(state, selected=tile)


def test_map_without_hexagons_is_a_graph():
    env = environment(hints=True, hexagons=False)
    scene = env.scene(position(env), last_action=env.text_to_action("0>3"), selected=0)
    tiles = [s for s in scene.shapes if isinstance(s, Circle) and s.radius == 15.0 and s.fill]
    assert [s.fill for s in tiles] == [drawing.SEATS[0]] + [drawing.SEATS[1]] * 3
    edges = {frozenset([s.start, s.end]) for s in scene.shapes if isinstance(s, Line) and s.stroke == drawing._FAINT}
    centres = [(s.x, s.y) for s in tiles]
    assert edges == {frozenset([centres[i], centres[j]]) for i, near in enumerate(NEIGHBOURS) for j in near}
    assert len([t for t in texts(scene) if t.size == 8.5]) == 3
    assert env.board_text(position(env)).startswith("tile seat dice")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"owner": (0, 0, 0, 0)}, "player_0 wins"),
        ({"offered": True, "quiet_turns": 8}, "player_0 votes on ending on points"),
        ({"offered": True, "votes": [True, True]}, "player_1 wins on points"),
        ({"owner": (0, 1, 1, 0), "dice": (2, 2, 2, 2), "offered": True, "votes": [True, True]},
         "a draw on points of player_0, player_1"),
        ({"round": 501, "owner": (0, 1, 0, 0)}, "player_0 wins on points"),
    ],
)  # fmt: skip
def test_status(fields, status):
    env = environment()
    state = position(env, **fields)
    round_ = min(fields.get("round", 1), 500)
    assert env.board_text(state).splitlines()[-1] == f"Round {round_}: {status}"
    assert env.scene(state).title == f"Principalities. Round {round_}: {status}"


def test_illegal_and_eliminated():
    env = environment(players=3)
    state = position(env)
    assert "player_2  out" in [t.text for t in texts(env.scene(state))]
    over = jnp.ones((), jnp.bool_)
    ended = state.replace(illegal=over, terminated=over)
    text = env.board_text(ended, env.text_to_action("0>0"))
    assert text.splitlines()[-2:] == ["Last: 0>0", "Round 1: ended by an illegal action of player_0"]
    assert re.search(r"player_2: 0 tiles, 0 dice, group 0, reserve 0, out", text)


def test_seats_differ_by_the_form_of_their_tokens():
    tokens = [drawing._token(0, 0, seat, "#ffffff", 1.0) for seat in range(8)]
    forms = {getattr(token, "points", token) for token in tokens}
    assert len(forms) == 8
    for token in tokens[1:]:
        assert inside((0, 0), token.points)
        assert all(inside((x, y), token.points) for x in (-3, 3) for y in (-4, 4)), "the number does not fit"
