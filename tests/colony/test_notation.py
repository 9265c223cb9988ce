"""Texts of moves and positions: round trips, and errors that say where."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import audamir_envs
from audamir_envs.colony import notation, rules
from audamir_envs.colony.cells import to_bool

LENGTHS = (5, 6, 7, 8, 9, 8, 7, 6, 5)


def test_every_action_has_a_text_of_its_own():
    texts = [notation.action_to_text(action) for action in range(rules.NUM_ACTIONS)]
    assert len(set(texts)) == rules.NUM_ACTIONS
    assert [notation.text_to_action(text) for text in texts] == list(range(rules.NUM_ACTIONS))
    assert texts[-1] == "pass"
    assert notation.text_to_action(" E5 ") == notation.text_to_action("e5")
    assert (texts[0], texts[13 * 30]) == ("i1", "e5")
    assert sum(text.startswith("off") for text in texts) == 12 * 61 - int((rules.ORIGIN >= 0).sum())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no cell"),
        ("j1", "'j1' is no cell"),
        ("e10", "cells run from a1 to i5"),
        ("e5-e6", "e6 is not two from e5"),
        ("a1-i5", "exactly two"),
        ("e5-e7-e9", "3 parts"),
        ("passing", "use 'e5' .copy., 'c3-e5' .jump. or 'pass'"),
    ],
)
def test_bad_moves(text, message):
    with pytest.raises(ValueError, match=message):
        notation.text_to_action(text)


def test_wrong_types():
    for wrong in (5, None, b"e5"):
        with pytest.raises(TypeError):
            notation.text_to_action(wrong)
        with pytest.raises(TypeError):
            notation.from_text(wrong, claim_empty=False, max_turns=400)
    for action in (-1, 794):
        with pytest.raises(ValueError, match="0 to 793"):
            notation.action_to_text(action)


@st.composite
def positions(draw):
    rows = ["".join(draw(st.lists(st.sampled_from("xo.#"), min_size=n, max_size=n))) for n in LENGTHS]
    return f"{'/'.join(rows)} {draw(st.sampled_from('xo'))} {draw(st.integers(0, 400))} {draw(st.integers(0, 1))}"


@settings(max_examples=60, deadline=None)
@given(positions())
def test_positions_round_trip(text):
    position = notation.from_text(text, claim_empty=False, max_turns=400)
    assert notation.to_text(position) == text
    rows, moving, turn, seat = text.split()
    own = np.array(list(rows.replace("/", ""))) == moving
    assert (to_bool(position.own) == own).all()
    assert int(position.turn) == int(turn)
    assert int(position.mover) == (int(seat) if moving == "x" else 1 - int(seat))


def test_text_overrides_options_and_keeps_the_rest():
    env = audamir_envs.make("colony-v0", board="61", claim_empty=True, max_turns=77, starter=0)
    text = "x...o/....../......./...#..../o....#..x/...#..../......./....../x...o o 12 1"
    state = env.from_text(text)
    assert env.to_text(state) == text
    assert int(state.current_player) == 0
    assert int(state._step_count) == 12
    assert bool(state.game.claim_empty)
    assert int(state.game.max_turns) == 77
    fresh = audamir_envs.make("colony-v0").init(jax.random.key(0))
    again = audamir_envs.make("colony-v0").from_text(env.to_text(fresh))
    for a, b in zip(jax.tree.leaves(fresh), jax.tree.leaves(again), strict=True):
        assert a.dtype == b.dtype
        assert (a == b).all()


GOOD = "x...o/....../......./...#..../o....#..x/...#..../......./....../x...o x 0 0"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (" x 0 0", " x 0", "4 fields"),
        ("x...o x", "x...o/ x", "10 rows"),
        ("x...o/......", "x...o/.....", "row 2 of the board.*5 cells: it needs 6"),
        ("....#..x", "....?..x", "row 5 of the board has '\\?' at place 6"),
        (" x 0 0", " y 0 0", "side to move, is 'y'"),
        (" x 0 0", " x -1 0", "turns played, is '-1'"),
        (" x 0 0", " x 401 0", "from 0 to 400"),
        (" x 0 0", " x 0 2", "seat of x, is '2'"),
    ],
)
def test_bad_positions_say_where(old, new, message):
    with pytest.raises(ValueError, match=message):
        audamir_envs.make("colony-v0").from_text(GOOD.replace(old, new, 1))


@pytest.mark.parametrize("action", [-1, 794, 3.7, True, "5", None, float("nan")])
def test_what_is_no_actions_number_has_no_text(action):
    with pytest.raises(ValueError, match="is no action: actions are numbered 0 to 793"):
        audamir_envs.make("colony-v0").action_to_text(action)
