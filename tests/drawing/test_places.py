"""Where actions are on the picture: every legal action has its places or is offered by its text."""

import jax
import numpy as np
import pytest
from conformance.cases import CASES
from toy import Nim

from audamir_envs.drawing.places import Places
from audamir_envs.testing.cases import LANES, environment, name, walk

CHOSEN = [case for case in CASES if case[1].get("side", 3) == 3 and case[1].get("start", "three") == "three"]


def lane(states, number):
    return jax.tree.map(lambda leaf: leaf[number], states)


@pytest.mark.parametrize("case", CHOSEN, ids=name)
def test_places_and_moves(case):
    env = environment(case)
    for ply, (states, _) in enumerate(walk(case)):
        if ply % 9:
            continue
        state = lane(states, ply % LANES)
        found = env.places(state)
        labels = [place.label for place in found.places]
        assert len(set(labels)) == len(labels)
        scene = env.scene(state)
        for place in found.places:
            xs, ys = zip(*place.outline, strict=True)
            for low, centre, high, size in zip(
                map(min, (xs, ys)), place.centre, map(max, (xs, ys)), (scene.width, scene.height), strict=True
            ):
                assert 0 <= low < centre < high <= size
        if state.terminated | state.truncated:
            assert not found.moves
            continue
        legal = set(np.flatnonzero(state.legal_action_mask).tolist())
        on_board = {move.action for move in found.moves}
        assert on_board <= legal
        for action in legal - on_board:
            text = env.action_to_text(action)
            assert not any(text == label or text.startswith((f"{label}-", f"{label}>")) for label in labels)
        for move in found.moves:
            # The notation names the places, whichever a game's separator is: c3-e5, 12>7, e5.
            text = env.action_to_text(move.action)
            shown = [labels[place] for place in move.path]
            assert text in (shown[-1], "-".join(shown), ">".join(shown))
        assert len({(move.path, move.dashed) for move in found.moves}) == len(found.moves)


def test_a_game_that_says_nothing_has_no_places():
    env = Nim()
    assert env.places(env.init(jax.random.key(0))) == Places((), ())
