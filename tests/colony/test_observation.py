"""What seats see: the referee compares every plane in test_rules.py; here what must not, and what must, change it."""

import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs.colony.observation import PLANES

TEXT = "x..oo/.x..../..xo.../...#..../o....#..x/...#..../...x.../....../x...o {} {} {}"


def swapped(text):
    return text.translate(str.maketrans("xo", "ox"))


@pytest.mark.parametrize("moving", ["x", "o"])
def test_swapping_seats_or_colours_changes_nothing_for_the_mover(colony, moving):
    env = colony.env
    states = [env.from_text(TEXT.format(moving, 17, seat)) for seat in (0, 1)]
    states.append(env.from_text(swapped(TEXT.format(moving, 17, 0))))
    for state in states[1:]:
        assert (state.observation == states[0].observation).all()
        assert (state.legal_action_mask == states[0].legal_action_mask).all()
        for seat in (0, 1):
            other = int(states[0].current_player) ^ int(state.current_player) ^ seat
            assert (env.observe(state, seat) == env.observe(states[0], other)).all()


def test_the_other_seat_sees_the_sides_exchanged(colony):
    state = colony.env.from_text(TEXT.format("x", 3, 0))
    mine, theirs = np.asarray(colony.env.observe(state)), np.asarray(colony.env.observe(state, 1))
    assert (mine[..., 0] == theirs[..., 1]).all()
    assert (mine[..., 1] == theirs[..., 0]).all()
    assert (mine[..., 2:] == theirs[..., 2:]).all()


def test_every_option_that_matters_is_seen(colony):
    text = TEXT.format("x", 3, 0)
    plain = colony.env.from_text(text).observation
    for option, value, plane in (("claim_empty", True, 3), ("max_turns", 399, 4), ("max_turns", 400 + 512, 13)):
        seen = audamir_envs.make("colony-v0", **{option: value}).from_text(text).observation
        assert (seen[..., plane] != plain[..., plane]).all()
    holes = [
        audamir_envs.make("colony-v0", holes_toward=toward).init(jax.random.key(0)) for toward in ("first", "second")
    ]
    assert (holes[0].observation[..., 2] != holes[1].observation[..., 2]).sum() == 6


def test_declared_form(colony):
    env = colony.env
    state = env.init(jax.random.key(0))
    assert state.observation.shape == env.observation_shape == (9, 9, len(PLANES))
    assert state.observation.dtype == env.observation_dtype == np.bool_
    assert (env.observation_low, env.observation_high) == (0, 1)
    counts = dict(zip(PLANES, np.asarray(state.observation).sum((0, 1)).tolist(), strict=True))
    assert (counts["mine"], counts["theirs"], counts["empty"], counts["claim_empty"]) == (3, 3, 52, 0)
    left = sum(1 << bit for bit in range(10) if counts[f"turns_left_{1 << bit}"] == 81)
    assert left == 400
