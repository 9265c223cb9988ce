"""Texts of actions and positions: round trips, and errors that say where."""

import json

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from principalities.positions import environment, position, random_position
from principalities.referee import hexagons

ENV = environment(4)
LINE = environment(3, [[1], [0, 2], [1, 3], [2, 4], [3]])
FIVE = position([0, 0, 1, 1, 2], [3, 1, 2, 8, 4], 3)


def test_every_action_has_its_own_text():
    texts = [ENV.action_to_text(n) for n in range(ENV.num_actions)]
    assert len(set(texts)) == ENV.num_actions == 32 * 32 + 3
    assert [ENV.text_to_action(t) for t in texts] == list(range(ENV.num_actions))
    assert texts[12 * 32 + 7] == "12>7"
    assert texts[-3:] == ["end", "accept", "decline"]
    assert ENV.action_to_text(np.int64(33)) == "1>1"


@pytest.mark.parametrize("number", [-1, 1027, 2.0, "3", None, True])
def test_other_numbers_are_refused(number):
    with pytest.raises(ValueError, match="0 to 1026"):
        ENV.action_to_text(number)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("12>32", "character 4: there is no tile 32"),
        ("40>1", "character 1: there is no tile 40"),
        ("1>99999999999999999999", "character 3"),
        ("01>2", "12>7"),
        ("1 > 2", "12>7"),
        ("1>", "12>7"),
        ("²>1", "12>7"),
        ("the end", "end, accept, decline"),
        ("", "12>7"),
    ],
)
def test_bad_actions_say_where(text, where):
    with pytest.raises(ValueError, match=where):
        ENV.text_to_action(text)


@pytest.mark.parametrize("text", [None, 3, b"end"])
def test_what_is_no_text_is_a_type_error(text):
    with pytest.raises(TypeError):
        ENV.text_to_action(text)
    with pytest.raises(TypeError):
        ENV.from_text(text)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_positions_survive_the_round_trip(seed):
    p = random_position(np.random.default_rng(seed), 4, hexagons(4, 8), 500)
    state = ENV.from_text(json.dumps(p))
    text = ENV.to_text(state)
    assert "\n" not in text
    written = json.loads(text)
    assert written.pop("attacked", False) == p.pop("attacked")
    assert written == p
    again = ENV.from_text(text)
    for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(again), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_what_is_left_out_has_its_default():
    short = {name: FIVE[name] for name in ("neighbours", "owner", "dice", "reserve", "to_move")}
    written = json.loads(LINE.to_text(LINE.from_text(json.dumps(short | {"to_move": 2}))))
    assert written == short | {
        "to_move": 2,
        "round": 1,
        "start_seat": 2,
        "quiet_turns": 0,
        "offered": False,
        "votes": [None, None, None],
    }


def test_hexagons_are_kept_and_given_back():
    grid = [[0, 0, 1], [2, 1, -1], [2, 3, 4]]
    env = environment(3, {"hexagons": grid})
    near = [np.flatnonzero(row).tolist() for row in np.asarray(env.new_map(jax.random.key(0)).neighbours)]
    text = env.to_text(env.from_text(json.dumps(FIVE | {"neighbours": near})))
    written = json.loads(text)
    assert written["hexagons"] == grid
    np.testing.assert_array_equal(env.from_text(text).game.hex_of_tile, grid)
    smaller = env.from_text(json.dumps(written | {"hexagons": [[0, 1, 2], [3, 4]]})).game.hex_of_tile
    np.testing.assert_array_equal(smaller, [[0, 1, 2], [3, 4, -1], [-1, -1, -1]])
    with pytest.raises(ValueError, match="hexagons: tile 3 has none; show every tile"):  # it could not be drawn
        env.from_text(json.dumps(written | {"hexagons": grid[:2]}))
    written["hexagons"][1] = [0] * 4
    with pytest.raises(ValueError, match=r"hexagons\[1\]"):
        env.from_text(json.dumps(written))


def without(name: str) -> dict:
    return {key: value for key, value in FIVE.items() if key != name}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "line 1, column 1"),
        ('{"owner": [0, 1', "line 1, column 16"),
        ("[" * 100_000, "JSON"),
        ('{"round": ' + "3" * 5000 + "}", "a number in the JSON is too long"),
        ("[]", "object"),
        ("7", "object"),
        (without("dice"), "lacks 'dice'"),
        (FIVE | {"dices": 1}, "'dices'"),
        (FIVE | {"owner": [0, 0, 1, 1]}, "owner: .* 5"),
        (FIVE | {"owner": [0, 0, 1, 1, 3]}, r"owner\[4\]: 3"),
        (FIVE | {"owner": [0, 0, 1, True, 2]}, r"owner\[3\]: True"),
        (FIVE | {"owner": [0, 0, 1, 1.0, 2]}, r"owner\[3\]: 1.0"),
        (FIVE | {"owner": "00112"}, "owner"),
        (FIVE | {"dice": [3, 0, 2, 8, 4]}, r"dice\[1\]: 0 .* 1 to 8"),
        (FIVE | {"dice": [3, 9, 2, 8, 4]}, r"dice\[1\]: 9"),
        (FIVE | {"reserve": [0, 0]}, "reserve: .* 3"),
        (FIVE | {"reserve": [0, 65, 0]}, r"reserve\[1\]: 65 .* 0 to 64"),
        (FIVE | {"to_move": 3}, "to_move: 3 .* 0 to 2"),
        (FIVE | {"to_move": None}, "to_move"),
        (FIVE | {"owner": [0, 0, 1, 1, 0], "to_move": 2}, "to_move: seat 2 owns no tile"),
        (FIVE | {"round": 0}, "round: 0"),
        (FIVE | {"round": 2**31}, "round"),
        (FIVE | {"quiet_turns": 2**31 - 1}, "quiet_turns: 2147483647"),  # one more turn would wrap round
        (FIVE | {"start_seat": -1}, "start_seat: -1"),
        (FIVE | {"quiet_turns": -1}, "quiet_turns: -1"),
        (FIVE | {"offered": 1}, "offered: 1 .* true or false"),
        (FIVE | {"attacked": None}, "attacked"),
        (FIVE | {"votes": [None, None]}, "votes: .* 3"),
        (FIVE | {"offered": True, "votes": [None, 0, None]}, r"votes\[1\]: 0"),
        (FIVE | {"votes": [None, True, None]}, r"votes\[1\]: .* offered"),
        (FIVE | {"offered": True, "votes": [None, True, None]}, r"votes\[1\]: .* just before"),
        (FIVE | {"offered": True, "votes": [True, None, None]}, r"votes\[0\]: .* just before"),
        (FIVE | {"neighbours": [[1], [0, 2], [1, 3], [2, 4]]}, "neighbours: .* 5"),
        (FIVE | {"neighbours": [[1], [0, 2], 1, [2, 4], [3]]}, r"neighbours\[2\]"),
        (FIVE | {"neighbours": [[1], [0, 2], [1, 3], [2, 5], [3]]}, r"neighbours\[3\]\[1\]: 5"),
        (FIVE | {"neighbours": [[1], [0, 2], [1], [2, 4], [3]]}, "2|3"),
        (FIVE | {"neighbours": [[1], [0], [3], [2, 4], [3]]}, "connected"),
        (FIVE | {"neighbours": [[0, 1], [0, 2], [1, 3], [2, 4], [3]]}, "0"),
    ],
)
def test_bad_positions_say_where(text, where):
    with pytest.raises(ValueError, match=where):
        LINE.from_text(text if isinstance(text, str) else json.dumps(text))
