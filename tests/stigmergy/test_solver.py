"""The exact solver against a plain negamax, published values, stored positions and the environment's own rules."""

import argparse
import functools
import json
import pathlib
import random

import numpy as np
import pytest

from audamir_envs.hexboard import hexboard
from audamir_envs.stigmergy import solver, solver_tables

DATA = pathlib.Path(__file__).parents[1] / "data"
EXACT = [json.loads(line) for line in (DATA / "stigmergy_exact_side3.jsonl").read_text().splitlines()]
LATE = 15  # stones from which on the default run solves side 3


SIX = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))


class Plain:
    """Stigmergy by coordinates and strings of "x" (Black), "o" and ".", and a negamax over it, for the side to move."""

    def __init__(self, side):
        n = side - 1
        self.cells = [(q, r) for r in range(-n, n + 1) for q in range(-n, n + 1) if abs(q + r) <= n]
        letters = {r: "abcdefg"[n - r] for _, r in self.cells}
        rows = {r: [q for q, row in self.cells if row == r] for _, r in self.cells}
        self.labels = [f"{letters[r]}{rows[r].index(q) + 1}" for q, r in self.cells]
        self.rays = []
        for q, r in self.cells:
            lines = ([(q + k * dq, r + k * dr) for k in range(1, 2 * n + 1)] for dq, dr in SIX)
            self.rays.append([[self.cells.index(at) for at in line if at in self.cells] for line in lines])
        self.best = functools.cache(self._best)
        self.control = functools.cache(self._control)

    def _control(self, board, colour):
        """The cells that a colour controls."""
        found = set()
        for cell, rays in enumerate(self.rays):
            stones = [next((board[at] for at in ray if board[at] != "."), ".") for ray in rays]
            adjacent = sum(len(ray) > 0 for ray in rays)
            if 2 * stones.count(colour) > adjacent:
                found.add(cell)
        return found

    def controls(self, board, cell, colour):
        return cell in self.control(board, colour)

    def actions(self, board, mover):
        enemy = "xo"[mover == "x"]
        found, open_cells = [], 0
        for cell, stone in enumerate(board):
            mine, theirs = self.controls(board, cell, mover), self.controls(board, cell, enemy)
            if (stone == "." and not theirs) or (stone == enemy and mine):
                found.append(cell)
            open_cells += stone == "." and not mine and not theirs
        return found + (["pass"] if not open_cells else [])

    def score(self, board, mover):
        enemy = "xo"[mover == "x"]
        mine = sum(s == mover or (s == "." and self.controls(board, c, mover)) for c, s in enumerate(board))
        return mine - sum(s == enemy or (s == "." and self.controls(board, c, enemy)) for c, s in enumerate(board))

    def after(self, board, mover, passed, action):
        """The margin for the mover after its action."""
        enemy = "xo"[mover == "x"]
        if action == "pass":
            return self.score(board, mover) if passed else -self.best(board, enemy, True)
        return -self.best(board[:action] + mover + board[action + 1 :], enemy, False)

    def _best(self, board, mover, passed):
        return max(self.after(board, mover, passed, action) for action in self.actions(board, mover))

    def arguments(self, board, mover, passed):
        stones = [[label for label, s in zip(self.labels, board, strict=True) if s == colour] for colour in "xo"]
        return *stones, "black" if mover == "x" else "white", passed


@pytest.fixture(scope="module")
def side2():
    return solver.solve(2)


@pytest.fixture(scope="module")
def late3():
    """Side 3 where only positions of at least LATE stones are solved; the others hold an impossible margin."""
    board = hexboard(3)
    sets = solver_tables.group_sets(board)
    values = np.full(int(sets.starts[-1]), 100, np.int8)
    for occupied in range(board.size, LATE - 1, -1):
        assert sum(solver_tables.solve_layer(board, sets, values, occupied)) > 0
    return solver.ExactTable(3, values, sets)


@pytest.fixture(scope="module")
def side3():
    return solver.solve(3)


def from_number(number, size):
    board = ""
    for _ in range(size):
        number, digit = divmod(number, 3)
        board += ".xo"[digit]
    return board


def test_side_2_whole_against_negamax(side2):
    plain = Plain(2)
    for number in range(3**7):
        board = from_number(number, 7)
        for mover, sign in (("x", 1), ("o", -1)):
            for passed in (False, True):
                arguments = plain.arguments(board, mover, passed)
                assert side2.margin(*arguments) == sign * plain.best(board, mover, passed), (board, mover, passed)
                margins = side2.action_margins(*arguments)
                expected = {
                    action if action == "pass" else plain.labels[action]: sign
                    * plain.after(board, mover, passed, action)
                    for action in plain.actions(board, mover)
                }
                assert margins == expected


def test_published_values_of_side_2(side2):
    assert side2.value == 7
    assert side2.first_moves() == {"b2": 7} | dict.fromkeys(("c1", "c2", "b1", "b3", "a1", "a2"), -7)
    assert side2.best_komi() == (6, None)


def test_late_positions_of_side_3_are_the_stored_ones(late3):
    late = [line for line in EXACT if len(line["black"].split() + line["white"].split()) >= LATE]
    assert len(late) >= 80
    for line in late:
        assert stored_margin(late3, line) == line["margin"], line


def stored_margin(table, line):
    return table.margin(line["black"].split(), line["white"].split(), line["to_move"], line["passed"])


def test_late_positions_of_side_3_against_negamax(late3):
    plain = Plain(3)
    draw = random.Random(7)
    for _ in range(20):
        stones = draw.sample(range(19), draw.choice((17, 17, 18, 19)))
        board = "".join(draw.choice("xo") if cell in stones else "." for cell in range(19))
        mover, passed = draw.choice("xo"), draw.random() < 0.5
        margin = late3.margin(*plain.arguments(board, mover, passed))
        assert margin == (1 if mover == "x" else -1) * plain.best(board, mover, passed), (board, mover, passed)


def test_symmetries_and_colours(late3):
    board = hexboard(3)
    draw = random.Random(1)
    for _ in range(50):
        cells = draw.sample(range(19), draw.randint(LATE, 19))
        black, white = cells[: len(cells) // 2], cells[len(cells) // 2 :]
        passed = draw.random() < 0.5
        margin = None
        for symmetry in board.symmetries:
            images = [[board.labels[symmetry[cell]] for cell in side] for side in (black, white)]
            margin = late3.margin(*images, "black", passed) if margin is None else margin
            assert late3.margin(*images, "black", passed) == margin
            assert late3.margin(*reversed(images), "white", passed) == -margin


def test_symmetry_classes_count_as_listed_plainly():
    board = hexboard(2)
    sets = solver_tables.group_sets(board)
    orbits = {
        min(tuple(sorted(board.symmetries[s][cell] for cell in range(7) if mask >> cell & 1)) for s in range(12))
        for mask in range(2**7)
    }
    assert len(sets.representatives) == len(orbits)
    assert int(sets.starts[-1]) == sum(2 ** len(cells) for cells in orbits)


def test_every_action_of_both_rules_codes(side2):
    """Legal actions and scores of the solver's rules equal the plain ones on boards of side 3."""
    plain, board = Plain(3), hexboard(3)
    draw = random.Random(3)
    for _ in range(60):
        text = "".join(draw.choice(".xo") for _ in range(19))
        mover = draw.choice("xo")
        masks = [sum(1 << cell for cell in range(19) if text[cell] == colour) for colour in "xo"]
        legal, margin = solver.rules_of(board, solver.Stones(*masks, mover == "x", False))
        assert [19 if action == "pass" else action for action in plain.actions(text, mover)] == legal
        assert margin == plain.score(text, "x")


def test_save_and_load(side2, tmp_path):
    path = tmp_path / "table.npz"
    side2.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["table.npz"]
    again = solver.load(path)
    assert again.side == 2
    np.testing.assert_array_equal(again.values, side2.values)
    assert again.margin(["b2"], [], "white") == 7


def damaged(good):
    half = len(good) // 2
    return {
        "empty": b"",
        "text": b"not a table",
        "cut": good[:half],
    }


@pytest.mark.parametrize("kind", ["empty", "text", "cut"])
def test_a_damaged_file_is_refused(side2, tmp_path, kind):
    path = tmp_path / "table.npz"
    side2.save(path)
    path.write_bytes(damaged(path.read_bytes())[kind])
    with pytest.raises(ValueError, match=r"table\.npz is not a table of the Stigmergy solver, or is damaged"):
        solver.load(path)


def test_no_changed_byte_changes_the_table(side2, tmp_path):
    """A changed byte is harmless (in the archive's dates, say) or refused."""
    path = tmp_path / "table.npz"
    side2.save(path)
    good, refused = path.read_bytes(), 0
    for place in range(0, len(good), 3):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        try:
            table = solver.load(path)
        except ValueError:
            refused += 1
        else:
            np.testing.assert_array_equal(table.values, side2.values)
    assert refused > len(good) // 6


@pytest.mark.parametrize(
    "change",
    [
        {"format": np.array("something else")},
        {"version": np.int64(99)},
        {"side": np.int64(3)},
        {"side": np.int64(4)},
        {"side": np.array([2, 2])},
        {"values": np.zeros(549, np.int16)},
        {"values": np.zeros(548, np.int8)},
        {"values": np.full(549, 9, np.int8)},
        {"values": np.array([{}], object)},
    ],
)
def test_a_foreign_file_is_refused(side2, tmp_path, change):
    path = tmp_path / "table.npz"
    side2.save(path)
    with np.load(path) as content:
        fields = dict(content)
    np.savez(path, **(fields | change))
    with pytest.raises(ValueError, match="is not a table of the Stigmergy solver"):
        solver.load(path)
    np.savez(path, other=np.zeros(3))
    with pytest.raises(ValueError, match="is not a table of the Stigmergy solver"):
        solver.load(path)
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match="is not a table of the Stigmergy solver"):
        solver.load(path)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        solver.load(tmp_path / "none.npz")


def test_cache_is_used(tmp_path, monkeypatch):
    folder = tmp_path / "new" / "cache"
    calls = []
    first = solver.solve(2, cache=folder, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (549, 549)
    assert solver.cache_file(2, folder).exists()
    monkeypatch.setattr(solver_tables, "solve_tables", None)
    np.testing.assert_array_equal(solver.solve(2, cache=folder).values, first.values)


@pytest.mark.parametrize("side", [4, 12, np.int64(5)])
def test_large_sides_are_refused_with_the_reason(side):
    with pytest.raises(ValueError, match=r"cells have about 10\^\d+ positions, far too many to solve; use 2 or 3"):
        solver.solve(side)


@pytest.mark.parametrize("side", [1, 0, -3, True, "3", 2.0, None])
def test_bad_sides_are_refused(side):
    with pytest.raises(ValueError, match="cannot be solved; use 2 or 3"):
        solver.solve(side)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"black": ["z9"]}, "'z9' is no cell"),
        ({"black": ["b2"], "white": ["b2"]}, "two stones on b2"),
        ({"black": ["b2", "b2"]}, "two stones on b2"),
        ({"to_move": "x"}, "use 'black' or 'white'"),
    ],
)
def test_bad_positions_are_refused(side2, arguments, message):
    with pytest.raises(ValueError, match=message):
        side2.margin(**arguments)


def test_a_text_in_place_of_labels_is_refused(side2):
    with pytest.raises(TypeError, match="black must be a list of labels"):
        side2.margin(black="b2")


def command(*arguments):
    parser = argparse.ArgumentParser()
    solver.add_arguments(parser)
    return solver.run(parser.parse_args(arguments))


def test_command(tmp_path, capsys):
    path = tmp_path / "two.npz"
    assert command("--side", "2", "--save", str(path), "--cache", str(tmp_path / "cache")) == 0
    printed = capsys.readouterr().out
    assert "549 positions" in printed
    assert "+7 for Black" in printed
    assert "b1 -7   b2 +7   b3 -7" in printed
    assert "Largest komi with which Black wins: 6" in printed
    assert "Smallest komi with which White wins: none within 7 cells" in printed
    assert command("--load", str(path)) == 0
    assert capsys.readouterr().out == printed


def test_command_refuses_large_sides():
    with pytest.raises(ValueError, match="37 cells have about"):
        command("--side", "4")


@pytest.mark.slow
def test_side_3_whole(side3):
    assert len(EXACT) == 281
    for line in EXACT:
        assert stored_margin(side3, line) == line["margin"], line
    moves = side3.first_moves()
    assert side3.value == moves["c3"] == 5
    assert len(moves) == 19
    assert max(margin for label, margin in moves.items() if label != "c3") < 5
    assert side3.best_komi() == (4, 6)


@pytest.mark.slow
def test_side_3_margins_are_those_of_their_best_actions(side3):
    """The stored margins of random positions of any size obey the rules as written for single positions."""
    plain = Plain(3)
    draw = random.Random(11)
    for _ in range(500):
        density = draw.random()
        board = "".join(draw.choice("xo") if draw.random() < density else "." for _ in range(19))
        mover = draw.choice("xo")
        for passed in (False, True):
            arguments = plain.arguments(board, mover, passed)
            margins = side3.action_margins(*arguments)
            names = {action if action == "pass" else plain.labels[action] for action in plain.actions(board, mover)}
            assert set(margins) == names
            assert side3.margin(*arguments) == (max if mover == "x" else min)(margins.values())
