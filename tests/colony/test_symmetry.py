"""Symmetries carry positions into positions: masks, moves and observations follow."""

import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs.colony.cells import BOARD
from audamir_envs.colony.rules import NUM_ACTIONS
from audamir_envs.symmetry import symmetries


def test_tables_are_permutations_that_form_a_group():
    tables = symmetries(audamir_envs.make("colony-v0"))
    for table, size in (
        (tables.cells, 61),
        (tables.actions, NUM_ACTIONS),
        (tables.sources, NUM_ACTIONS),
        (tables.grid, 81),
    ):
        assert table.shape == (12, size)
        assert (np.sort(table, axis=1) == np.arange(size)).all()
        assert (table[0] == np.arange(size)).all()
        rows = {row.tobytes() for row in table}
        assert len(rows) == 12
        assert all(a[b].tobytes() in rows for a in table for b in table)
    assert (np.take_along_axis(tables.sources, tables.actions, axis=1) == np.arange(NUM_ACTIONS)).all()


@pytest.mark.parametrize("options", [{"holes_toward": "first"}, {"holes_toward": "second"}, {"board": "61"}])
def test_images_of_positions(options, colony):
    env = audamir_envs.make("colony-v0", **options)
    tables = symmetries(env)
    state = env.init(jax.random.key(0))
    rng = np.random.default_rng(1)
    for _ in range(12):
        action = int(rng.choice(np.flatnonzero(np.asarray(state.legal_action_mask))))
        before, state = state, colony.step(state, action)
    for s in range(1, 12):
        image = image_of(env, before, BOARD.symmetries[s])
        assert (image.legal_action_mask[tables.actions[s]] == before.legal_action_mask).all()
        grid = np.asarray(before.observation).reshape(81, -1)[tables.grid[s]]
        assert (np.asarray(image.observation).reshape(81, -1) == grid).all()
        after = colony.step(image, int(tables.actions[s, action]))
        assert env.to_text(after) == env.to_text(image_of(env, state, BOARD.symmetries[s]))


def image_of(env, state, cells):
    rows, *fields = env.to_text(state).split()
    symbols = np.array(list(rows.replace("/", "")))
    image = np.empty_like(symbols)
    image[cells] = symbols
    lengths = [len(row) for row in rows.split("/")]
    parts = np.split(image, np.cumsum(lengths)[:-1])
    return env.from_text(" ".join(["/".join("".join(part) for part in parts), *fields]))


def test_a_game_without_a_hexagonal_board_has_none():
    with pytest.raises(ValueError, match="hexagonal board"):
        symmetries(audamir_envs.make("principalities-v0"))
