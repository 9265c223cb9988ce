"""Symmetries carry positions into positions: masks, moves and observations follow."""

import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs.colony.rules import NUM_ACTIONS
from audamir_envs.colony.symmetry import Symmetries, symmetries


@pytest.mark.parametrize(("board", "number"), [("58", 6), ("61", 12)])
def test_tables_are_permutations_that_form_a_group(board, number):
    tables = symmetries(board)
    for table, size in ((tables.cells, 61), (tables.actions, NUM_ACTIONS), (tables.grid, 81)):
        assert table.shape == (number, size)
        assert (np.sort(table, axis=1) == np.arange(size)).all()
        assert (table[0] == np.arange(size)).all()
        rows = {row.tobytes() for row in table}
        assert len(rows) == number
        assert all(a[b].tobytes() in rows for a in table for b in table)
        undone = np.take_along_axis(Symmetries.inverse(table), table, axis=1)
        assert (undone == np.arange(size)).all()


@pytest.mark.parametrize("options", [{"holes_toward": "first"}, {"holes_toward": "second"}, {"board": "61"}])
def test_images_of_positions(options, colony):
    env = audamir_envs.make("colony-v0", **options)
    tables = symmetries(env.options["board"])
    state = env.init(jax.random.key(0))
    rng = np.random.default_rng(1)
    for _ in range(12):
        action = int(rng.choice(np.flatnonzero(np.asarray(state.legal_action_mask))))
        before, state = state, colony.step(state, action)
    for s in range(1, len(tables.cells)):
        image = image_of(env, before, tables.cells[s])
        assert (image.legal_action_mask[tables.actions[s]] == before.legal_action_mask).all()
        grid = np.asarray(before.observation).reshape(81, -1)[Symmetries.inverse(tables.grid)[s]]
        assert (np.asarray(image.observation).reshape(81, -1) == grid).all()
        after = colony.step(image, int(tables.actions[s, action]))
        assert env.to_text(after) == env.to_text(image_of(env, state, tables.cells[s]))


def image_of(env, state, cells):
    rows, *fields = env.to_text(state).split()
    symbols = np.array(list(rows.replace("/", "")))
    image = np.empty_like(symbols)
    image[cells] = symbols
    lengths = [len(row) for row in rows.split("/")]
    parts = np.split(image, np.cumsum(lengths)[:-1])
    return env.from_text(" ".join(["/".join("".join(part) for part in parts), *fields]))


def test_boards_are_named():
    with pytest.raises(ValueError, match="'58' or '61'"):
        symmetries("60")
