"""The board's tables against definitions written another way."""

import numpy as np
import pytest

from audamir_envs import hexboard

SIDES = range(2, 9)


@pytest.mark.parametrize("side", SIDES)
def test_cells_labels_and_neighbours(side):
    board = hexboard.hexboard(side)
    assert board.size == 3 * side * (side - 1) + 1 == len(set(board.labels))
    distance = lambda a, b: max(abs(a[0] - b[0]), abs(a[1] - b[1]), abs(a[0] + a[1] - b[0] - b[1]))  # noqa: E731
    cells = list(zip(board.q.tolist(), board.r.tolist(), strict=True))
    for number, cell in enumerate(cells):
        near = {other for other, c in enumerate(cells) if distance(cell, c) == 1}
        assert set(board.neighbours[number].tolist()) - {-1} == near
        assert board.cell(board.labels[number]) == number
        assert board.cell_of_grid[board.grid[number]] == number


def test_labels_of_side_5():
    board = hexboard.hexboard(5)
    known = {"i1": (0, -4), "i5": (4, -4), "e1": (-4, 0), "e9": (4, 0), "a1": (-4, 4), "a5": (0, 4), "e5": (0, 0)}
    for label, place in known.items():
        assert board.index[place] == board.cell(label)


@pytest.mark.parametrize("side", SIDES)
def test_symmetries_are_the_group_of_the_hexagon(side):
    board = hexboard.hexboard(side)
    seen = {tuple(image.tolist()) for image in board.symmetries}
    assert len(seen) == 12
    for s in range(12):
        image = board.symmetries[s]
        assert np.array_equal(np.sort(image), np.arange(board.size))
        assert np.array_equal(board.symmetries[board.inverse_symmetry[s]][image], np.arange(board.size))
        for d in range(6):  # the neighbour's image is the image's neighbour
            step = board.neighbours[:, d]
            expected = np.where(step < 0, -1, image[step])
            assert np.array_equal(board.neighbours[image, board.direction_symmetries[s, d]], expected)
        for t in range(12):
            assert tuple(board.symmetries[t][image].tolist()) in seen


def test_rays_follow_neighbours():
    board = hexboard.hexboard(4)
    for cell in range(board.size):
        for d in range(6):
            at = cell
            for seen in board.rays[cell, d]:
                at = -1 if at < 0 else board.neighbours[at, d]
                assert seen == at


@pytest.mark.parametrize("side", [1, 14, "5", 2.0])
def test_bad_side(side):
    with pytest.raises(ValueError, match="2 to 13"):
        hexboard.hexboard(side)


def test_bad_label():
    with pytest.raises(ValueError, match="a1 to i5"):
        hexboard.hexboard(5).cell("z9")
