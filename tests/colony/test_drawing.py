"""Scenes and terminal text say what the position says."""

import jax
import pytest

from audamir_envs.colony.drawing import targets
from audamir_envs.drawing.scene import Circle, Line

TEXT = "x...o/....../......./...#..../o....#..x/...#..../......./....../x...o x 6 0"


def rings(scene, dashed):
    return [s for s in scene.shapes if isinstance(s, Circle) and s.fill is None and (s.dash is not None) == dashed]


def test_targets_are_ringed(colony):
    env = colony.env
    state = env.from_text(TEXT)
    cell = {label: env.text_to_action(label) // 13 for label in ("e9", "d8", "f8", "e8", "e1", "e5")}
    copies, jumps = targets(state, cell["e9"])
    assert set(copies) == {cell["d8"], cell["f8"], cell["e8"]}
    mask = state.legal_action_mask
    from_e9 = {a // 13 for a in range(793) if mask[a] and env.action_to_text(a).startswith("e9-")}
    assert set(jumps) == from_e9
    scene = env.scene(state, selected=cell["e9"])
    assert len(rings(scene, dashed=True)) == len(jumps) == 5
    assert len(rings(scene, dashed=False)) == len(copies) + 1  # and one round the piece
    for cell_without in ("e1", "e5"):  # an enemy piece, an empty cell
        assert targets(state, cell[cell_without]) == ((), ())
    with pytest.raises(ValueError, match="0 to 60"):
        targets(state, 61)


def test_pieces_and_last_move_are_drawn(colony):
    env = colony.env
    before = env.from_text(TEXT)
    jump = env.text_to_action("e9-e7")
    state = colony.step(before, jump)
    scene = env.scene(state, last_action=jump)
    assert sum(isinstance(s, Circle) and s.fill is not None and s.radius > 10 for s in scene.shapes) == 6
    assert sum(isinstance(s, Line) for s in scene.shapes) == 1
    assert not any(isinstance(s, Line) for s in env.scene(state, last_action=env.text_to_action("e7")).shapes)
    assert env.scene(state, last_action=793).shapes == env.scene(state).shapes
    assert "turn 8 of 400: o to move" in scene.title
    assert all(0 <= s.x <= scene.width and 0 <= s.y <= scene.height for s in scene.shapes if isinstance(s, Circle))


def test_board_text(colony):
    env = colony.env
    lines = env.board_text(env.from_text(TEXT), last_action=env.text_to_action("e9")).splitlines()
    assert len(lines) == 11
    assert lines[4].split() == ["e", "o", ".", ".", ".", ".", "#", ".", ".", "[x]"]
    assert lines[9] == "last move: e9"
    assert lines[10] == "x player_0: 3   o player_1: 3   turn 7 of 400: x to move"
    assert "wins" in env.board_text(env.from_text(TEXT.replace("o", ".")))
    assert "a draw" in env.board_text(env.from_text(TEXT.replace("x 6 0", "x 400 0")))
    offence = colony.step(env.init(jax.random.key(0)), 793)
    assert "illegal action of player_0" in env.board_text(offence)
