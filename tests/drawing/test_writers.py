"""The two writers against what the shapes say: colours where they must be, and nothing without a display missing."""

import copy
import io
import pickle
import sys
import types
import xml.etree.ElementTree as ElementTree
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

from audamir_envs.drawing import Circle, Line, Polygon, Scene, Text, Window, to_rgb, to_svg
from audamir_envs.drawing.scene import axial_centre, hexagon

RED, GREEN, BLUE, WHITE, GREY = "#ff0000", "#00ff00", "#0000ff", "#ffffff", "#808080"


def colour(text):
    return [int(text[i : i + 2], 16) for i in (1, 3, 5)]


@pytest.fixture(scope="module")
def scene():
    return Scene(
        width=100,
        height=60,
        background=GREY,
        title="a < b & c",
        shapes=(
            Polygon(((10, 10), (30, 10), (30, 30), (10, 30)), fill=RED, stroke=BLUE, stroke_width=4),
            Circle(60, 30, 12, fill=GREEN),
            Circle(85, 30, 10, stroke=BLUE, stroke_width=4),
            Line((5, 50), (95, 50), stroke=WHITE, stroke_width=4),
            Text(50, 10, "x<y", size=14, fill=WHITE, bold=True),
        ),
    )


@pytest.mark.parametrize("scale", [1.0, 2.0, 0.5])
def test_pixels_have_the_colours_of_the_shapes(scene, scale):
    picture = to_rgb(scene, scale)
    assert picture.dtype == np.uint8
    assert picture.shape == (60 * scale, 100 * scale, 3)
    assert picture.flags.writeable
    expected = {
        (20, 20): RED,
        (10, 20): BLUE,  # a stroke lies on both sides of the outline
        (60, 30): GREEN,
        (85, 30): GREY,  # a ring is empty inside
        (75, 30): BLUE,
        (95, 30): BLUE,
        (50, 50): WHITE,
        (2, 2): GREY,
    }
    for (x, y), name in expected.items():
        np.testing.assert_array_equal(picture[int(y * scale), int(x * scale)], colour(name), err_msg=f"at {x}, {y}")


def test_edges_are_smooth(scene):
    picture = to_rgb(scene)
    found = {tuple(pixel) for pixel in picture.reshape(-1, 3)}
    pure = {tuple(colour(name)) for name in (RED, GREEN, BLUE, WHITE, GREY)}
    assert found > pure  # mixed colours beside the pure ones


def test_dashes_leave_gaps():
    def drawn(dash):
        ring = Circle(50, 50, 30, stroke=RED, stroke_width=4, dash=dash)
        return (to_rgb(Scene(100, 100, (ring,))) == colour(RED)).all(axis=-1).sum()

    whole, half = drawn(None), drawn((6.0, 6.0))
    assert 0.35 < half / whole < 0.65


def test_text_is_drawn_where_its_anchor_says():
    def columns(anchor):
        dark = to_rgb(Scene(200, 40, (Text(100, 20, "ABC", size=20, anchor=anchor),))).min(axis=-1) < 128
        inked = np.flatnonzero(dark.any(axis=0))
        rows = np.flatnonzero(dark.any(axis=1))
        assert abs((rows[0] + rows[-1]) / 2 - 20) < 3  # vertically centred
        return inked[0], inked[-1]

    assert columns("start")[0] >= 99
    assert columns("end")[1] <= 101
    left, right = columns("middle")
    assert abs((left + right) / 2 - 100) < 3


def test_svg_holds_every_shape(scene):
    root = ElementTree.fromstring(to_svg(scene))
    names = [element.tag.rpartition("}")[2] for element in root]
    assert names == ["title", "rect", "polygon", "circle", "circle", "line", "text"]
    assert root[0].text == "a < b & c"
    assert root[6].text == "x<y"
    assert root.get("viewBox") == "0 0 100 60"
    assert root[2].get("fill") == RED
    assert root[2].get("stroke") == BLUE
    assert root[4].get("fill") == "none"


def test_svg_dash():
    ring = Circle(5, 5, 3, stroke=RED, dash=(2, 1.5))
    assert ElementTree.fromstring(to_svg(Scene(10, 10, (ring,))))[1].get("stroke-dasharray") == "2 1.5"


def test_bad_scenes_are_refused(scene):
    with pytest.raises(ValueError, match="no pixel"):
        to_rgb(scene, 0.001)
    for write in (to_svg, to_rgb):
        with pytest.raises(TypeError, match="polygons"):
            write(Scene(10, 10, ("a circle",)))  # type: ignore[arg-type]


def test_human_without_a_display(scene, monkeypatch, capsys):
    monkeypatch.delenv("DISPLAY", raising=False)
    window = Window()
    assert window.show(scene) is False
    assert window.show(scene) is False
    error = capsys.readouterr().err
    assert error.count("\n") == 1  # said once
    assert "no window" in error
    window.close()
    for other in (copy.deepcopy(window), pickle.loads(pickle.dumps(window))):
        assert (other.title, other.scale) == (window.title, window.scale)


def test_hexagons_of_a_grid_touch_and_do_not_overlap():
    radius = 10.0
    corners = np.array(hexagon(0, 0, radius))
    for q, r in ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1)):
        other = np.array(hexagon(*axial_centre(q, r, radius), radius))
        distance = np.abs(corners[:, None] - other[None]).max(axis=-1)
        assert (distance < 1e-9).sum() == 2  # two corners, one edge


@pytest.fixture
def tk(monkeypatch):
    """A stand-in for tkinter that keeps what it is told."""

    class Error(Exception):
        pass

    class Root:
        closed = False
        windows: ClassVar[list] = []

        def __init__(self):
            self.windows.append(self)

        def title(self, text):
            self.text = text

        def update(self):
            if self.closed:
                raise Error("application has been destroyed")

        def destroy(self):
            self.closed = True

    class Label:
        def __init__(self, master):
            self.master = master

        def pack(self):
            pass

        def configure(self, image):
            self.master.image = image

    module = types.ModuleType("tkinter")
    module.Tk, module.Label, module.TclError = Root, Label, Error
    module.PhotoImage = lambda master, data, format: (data, format)
    monkeypatch.setitem(sys.modules, "tkinter", module)
    return module


def test_human_with_a_display(scene, tk):
    window = Window()
    assert window.show(scene) is True
    assert window.show(scene) is True
    (root,) = tk.Tk.windows  # one window for both
    data, kind = root.image
    assert kind == "PPM"
    with Image.open(io.BytesIO(data)) as picture:
        np.testing.assert_array_equal(np.array(picture), to_rgb(scene))
    assert root.text == scene.title
    root.destroy()  # as the user does
    assert window.show(scene) is False
    assert len(tk.Tk.windows) == 1  # and no new one pops up
    window.close()
    assert window.show(scene) is True
    window.close()
    assert tk.Tk.windows[1].closed
