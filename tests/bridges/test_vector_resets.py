"""Resets of some lanes, seeds of some lanes, and copies of vector environments, as Gymnasium's own have them."""

import copy
import multiprocessing
import os
import warnings

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from toy import Duel, First, Nim, Shooter

from audamir_envs.agents import from_callable
from audamir_envs.bridges import forking
from audamir_envs.bridges.gymnasium import SingleAgentEnv
from audamir_envs.bridges.pettingzoo import GameAEC, wrapped
from audamir_envs.bridges.selfplay import SelfPlayVectorEnv
from audamir_envs.bridges.vector import SingleAgentVectorEnv

LANES = 6
FIRST = First()
OUTSIDE = from_callable(lambda observation, mask: mask.argmax(axis=1), "outside")
GAME = Nim(starter="random", size=2)
MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)


def ours(mode=MODES[0], opponent=FIRST, **settings):
    return SingleAgentVectorEnv(GAME, LANES, opponent=opponent, autoreset_mode=mode, **settings)


def last_legal(mask):
    mask = np.asarray(mask)
    return mask.shape[-1] - 1 - mask[..., ::-1].argmax(axis=-1)


@pytest.mark.parametrize(("mode", "opponent"), [(MODES[0], FIRST), (MODES[1], FIRST), (MODES[0], OUTSIDE)])
def test_resets_of_some_lanes_are_those_of_gymnasiums_own(mode, opponent):
    """Lanes are equal wherever the last reset was seeded, lanes that wait for their reset among them."""
    rng = np.random.default_rng()
    mine, theirs = (
        ours(mode, opponent),
        SyncVectorEnv([lambda: SingleAgentEnv(GAME, FIRST)] * LANES, autoreset_mode=mode),
    )
    mine.reset(seed=3)
    masks, known = theirs.reset(seed=3)[1]["action_mask"], np.ones(LANES, bool)
    compared = waited = 0
    over = np.zeros(LANES, bool)
    for _ in range(60):
        if rng.random() < 0.4 and (chosen := rng.random(LANES) < 0.4).any():
            seeds = [int(one) for one in rng.integers(0, 99, LANES)]
            waited += int((over & ~chosen).sum())
            answers = [env.reset(seed=list(seeds), options={"reset_mask": chosen.copy()}) for env in (mine, theirs)]
            assert np.array_equal(answers[0][1]["_action_mask"], answers[1][1]["_action_mask"])
            masks[chosen] = answers[1][1]["action_mask"][chosen]
            known |= chosen
            over &= ~chosen
        else:
            answers = [env.step(last_legal(masks)) for env in (mine, theirs)]
            for part in (1, 2, 3):
                assert np.array_equal(answers[0][part][known], answers[1][part][known])
            # A new episode after the end is drawn from the lane's own numbers, which are not Gymnasium's.
            known &= ~((over if mode == MODES[0] else False) | (answers[1][2] if mode == MODES[1] else False))
            over = (answers[0][2] | answers[0][3]) & (mode == MODES[0])
            masks = answers[1][-1]["action_mask"]
            masks[~known] = answers[0][-1]["action_mask"][~known]
        compared += known.sum()
        assert np.array_equal(answers[0][0][known], answers[1][0][known])
        waits = over if mode == MODES[0] else np.zeros(LANES, bool)
        assert np.array_equal(mine.action_masks()[known & ~waits], masks[known & ~waits])
        for lane in np.flatnonzero(~known):  # its own game goes on in theirs: put it where ours is by the next reset
            theirs.envs[lane].reset()
    assert compared > 60
    assert waited or mode == MODES[1]


@pytest.mark.parametrize("device_outputs", [False, True])
def test_the_other_lanes_stay_as_they_are(device_outputs):
    env = SelfPlayVectorEnv(GAME, LANES, device_outputs=device_outputs)
    other = ours(device_outputs=device_outputs)
    for one in (env, other):
        observation, info = one.reset(seed=1)
        observation, *_, info = one.step(last_legal(info["action_mask"]))
        before = jax.tree.map(np.array, (observation, info["action_mask"]))
        chosen = np.arange(LANES) % 2 == 0
        options = {"reset_mask": chosen, "position": "2 2 2 0"}
        observation, info = one.reset(options=options)
        assert set(options) == {"reset_mask", "position"}  # the caller's own
        after = jax.tree.map(np.array, (observation, info["action_mask"]))
        for old, new in zip(before, after, strict=True):
            assert np.array_equal(old[~chosen], new[~chosen])
        assert (after[1][chosen].sum(axis=1) >= 3).all()
        assert (before[1][chosen] != after[1][chosen]).any()
        one.step(last_legal(after[1]))
        one.reset(options={"reset_mask": jnp.asarray(chosen)})


def test_seeds_of_some_lanes():
    for env in (ours(), SelfPlayVectorEnv(Duel(), LANES), SingleAgentVectorEnv(Duel(), LANES, Shooter(), seat=0)):
        seeds = [1, None, 3, None, None, 6]
        numbered = [n for n, seed in enumerate(seeds) if seed is not None]
        whole = env.reset(seed=1)[0]
        first, again = (env.reset(seed=seeds)[0] for _ in range(2))
        assert np.array_equal(first[numbered], again[numbered])
        assert np.array_equal(first[numbered], whole[numbered])
        others = [env.reset(seed=seeds)[0][[1, 3, 4]].tolist() for _ in range(8)]
        assert len({str(other) for other in others}) > 1 or isinstance(env.game, Nim)
        for wrong, text in (([1.0] * LANES, "1.0"), (1.5, "1 seeds"), ([1, None], "2 seeds"), ("ab" * 3, "'a'")):
            with pytest.raises(ValueError, match=text):
                env.reset(seed=wrong)


def test_masks_that_are_none():
    for env in (ours(), SelfPlayVectorEnv(GAME, LANES)):
        with pytest.raises(gymnasium.error.ResetNeeded, match="some lanes"):
            env.reset(options={"reset_mask": np.ones(LANES, bool)})
        env.reset(seed=0)
        for mask, error in (
            ([True] * LANES, TypeError),
            (np.ones(LANES), TypeError),
            (np.ones(3, bool), ValueError),
            (np.zeros(LANES, bool), ValueError),
        ):
            with pytest.raises(error, match="reset_mask"):
                env.reset(options={"reset_mask": mask})


@pytest.mark.parametrize("make", [ours, lambda: SelfPlayVectorEnv(GAME, LANES), lambda: SingleAgentEnv(GAME, FIRST)])
def test_shallow_copies_go_on_alike_and_apart(make):
    env = make()
    mask = env.reset(seed=0)[1]["action_mask"]
    other = copy.copy(env)
    actions = last_legal(mask)
    one, two = env.step(actions), other.step(actions)
    assert np.array_equal(one[0], two[0])
    env.step(last_legal(one[4]["action_mask"]))
    other.step(last_legal(two[4]["action_mask"]))
    assert [np.array_equal(env.reset()[0], other.reset()[0]) for _ in range(4)] == [True] * 4


@pytest.mark.parametrize("make", [lambda: GameAEC(GAME), lambda: wrapped(GameAEC(GAME))])
def test_shallow_copies_of_pettingzoo_games_share_nothing(make):
    env = make()
    env.reset(seed=0)
    other = copy.copy(env)
    while env.agents:
        _, _, over, _, info = env.last()
        env.step(None if over else int(info["action_mask"].argmax()))
    assert len(other.agents) == 2
    assert not any(other.terminations.values())
    assert other.observe(other.agent_selection)["action_mask"].any()


@pytest.mark.parametrize("dtype", [">i4", ">i8", "int8", "uint8", ">u2", "uint64"])
def test_actions_of_any_integer_type(dtype):
    for env in (ours(), SelfPlayVectorEnv(GAME, LANES)):
        mask = env.reset(seed=0)[1]["action_mask"]
        wanted = copy.deepcopy(env).step(last_legal(mask))
        told = env.step(last_legal(mask).astype(dtype))
        for part in range(4):
            assert np.array_equal(told[part], wanted[part])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_process_forked_after_jax_ran_is_refused():
    jnp.zeros(1).block_until_ready()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's and JAX's own, about fork
        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        process = context.Process(target=_made, args=(queue,))
        process.start()
        process.join(60)
    assert process.exitcode == 0
    assert "spawn" in queue.get()
    forking.refuse_if_forked()  # not in this process


def _made(queue):
    try:
        ours()
        queue.put("made")
    except RuntimeError as error:
        queue.put(str(error))
