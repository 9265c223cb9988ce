"""Pictures of every game: labels can be read on every cell, places can be clicked, frames fit into videos."""

import json
import math

import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs.bridges.rendering import Renderer
from audamir_envs.drawing import Circle, Polygon, Text, to_data, to_rgb, to_svg
from audamir_envs.drawing.scene import contrast, ink_on

COLONY = "x.x.o/....../......./...#..../o.ox.#..x/...#..../.ooo.x./....../x...o x 6 0"
STIGMERGY = "x.o/.xo./o.x.x/..ox/x.. o -4 0 1"
GRID = [[first + place // 4 for place in range(12)] for first in (0, 0, 0, 3, 3, 3)]
POSITIONS = [
    ("colony-v0", {}, COLONY),
    ("stigmergy-v0", {"side": 3}, STIGMERGY),
    ("stigmergy-v0", {"side": 8}, None),
    ("principalities-v0", {"players": 2, "hints": True, "map": {"hexagons": GRID}}, None),
]


@pytest.fixture(scope="module", params=POSITIONS, ids=lambda each: f"{each[0]}-{len(each[1])}")
def drawn(request):
    env_id, options, text = request.param
    env = audamir_envs.make(env_id, **options)
    state = jax.jit(env.init)(jax.random.key(0)) if text is None else env.from_text(text)
    return env, state, env.scene(state)


def test_contrast_as_defined_by_wcag():
    assert contrast("#000000", "#ffffff") == contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert ink_on("#ffffff", "#777777", "#222222") == "#222222"
    assert ink_on("#808080", "#777777", "#888888") in ("#777777", "#888888")


def test_every_text_can_be_read_where_it_stands(drawn):
    """The last shape with a colour under the middle of a text has a contrast of 4.5 or more with it."""
    _, _, scene = drawn
    number = 0
    for place, shape in enumerate(scene.shapes):
        if not isinstance(shape, Text):
            continue
        under = scene.background
        for other in scene.shapes[:place]:
            if getattr(other, "fill", None) and not isinstance(other, Text) and inside(shape, other):
                under = other.fill
        assert contrast(shape.fill, under) >= 4.5, shape
        covering = [other for other in scene.shapes[place:] if not isinstance(other, Text) and inside(shape, other)]
        assert not [other for other in covering if getattr(other, "fill", None)], shape
        number += 1
    assert number >= 10


def inside(text, shape):
    if isinstance(shape, Circle):
        return math.dist((text.x, text.y), (shape.x, shape.y)) < shape.radius
    if not isinstance(shape, Polygon):
        return False
    following = (*shape.points[1:], shape.points[0])
    crossings = 0
    for (ax, ay), (bx, by) in zip(shape.points, following, strict=True):
        if (ay > text.y) != (by > text.y) and text.x < ax + (text.y - ay) * (bx - ax) / (by - ay):
            crossings += 1
    return crossings % 2 == 1


def test_labels_lie_beside_pieces():
    env = audamir_envs.make("colony-v0")
    scene = env.scene(env.from_text(COLONY))
    pieces = [shape for shape in scene.shapes if isinstance(shape, Circle) and shape.radius > 10]
    labels = [shape for shape in scene.shapes if isinstance(shape, Text) and shape.text[1:].isdigit()]
    assert (len(pieces), len(labels)) == (COLONY[:-6].count("x") + COLONY[:-6].count("o"), 61)
    for piece in pieces:
        for label in labels:
            assert (
                abs(label.y - piece.y) > piece.radius + 0.35 * label.size or abs(label.x - piece.x) > piece.radius + 6
            )


def test_places_lie_on_the_cells_of_the_picture(drawn):
    env, state, scene = drawn
    outlines = [shape.points for shape in scene.shapes if isinstance(shape, Polygon)]
    places = env.places(state).places
    assert len(places) >= 4
    for place in places:
        assert any(np.allclose(place.outline, points) for points in outlines if len(points) == len(place.outline))
    assert 'xml:space="preserve"' in to_svg(scene)


def test_a_scene_is_plain_data_too(drawn):
    _, _, scene = drawn
    data = json.loads(json.dumps(to_data(scene), allow_nan=False))
    assert [shape["kind"] for shape in data["shapes"]] == [type(shape).__name__.lower() for shape in scene.shapes]
    assert (data["title"], data["background"]) == (scene.title, scene.background)
    texts = [shape for shape in data["shapes"] if shape["kind"] == "text"]
    assert [text["text"] for text in texts] == [shape.text for shape in scene.shapes if isinstance(shape, Text)]
    number, first = next((n, shape) for n, shape in enumerate(scene.shapes) if isinstance(shape, Polygon))
    assert np.allclose(data["shapes"][number]["points"], first.points, atol=0.006)


@pytest.mark.parametrize("scale", [0.3, 1.0, 1.37])
def test_frames_have_even_sizes(drawn, scale):
    height, width, _ = to_rgb(drawn[2], scale).shape
    assert height % 2 == width % 2 == 0
    assert abs(width - drawn[2].width * scale) < 2


def test_rendered_frames_are_large_enough_for_video(drawn):
    env, state, scene = drawn
    frame = Renderer(env, "rgb_array").render(state, None)
    assert min(frame.shape[:2]) >= 320
    assert frame.shape[1] >= 2 * scene.width - 1


def test_the_caption_shows_whose_pieces_are_whose():
    env = audamir_envs.make("colony-v0")
    scene = env.scene(env.from_text(COLONY))
    small = [shape for shape in scene.shapes if isinstance(shape, Circle) and shape.radius < 10]
    large = {shape.fill for shape in scene.shapes if isinstance(shape, Circle) and shape.radius > 10}
    assert {shape.fill for shape in small} == large
    captions = [shape.text for shape in scene.shapes if isinstance(shape, Text) and shape.text.startswith("player_")]
    assert [text.split(":")[0] for text in captions] == ["player_0", "player_1"]
