"""The solver's files, cache, refusals and command."""

import argparse

import numpy as np
import pytest
from stigmergy import plain

from audamir_envs.stigmergy import solver, solver_exact, solver_tables


@pytest.fixture(scope="module")
def side2():
    return plain.table(2)


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
    assert solver_exact.cache_file(2, folder).exists()
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
