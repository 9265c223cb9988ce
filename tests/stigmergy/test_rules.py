"""The rules against recorded games of another implementation and against a brute-force referee."""

import gzip
import json
import pathlib

import jax
import numpy as np
import pytest
from stigmergy import play
from stigmergy.referee import Referee

import audamir_envs
from audamir_envs.stigmergy import rules

DATA = pathlib.Path(__file__).parent.parent / "data"


@pytest.mark.parametrize("side", [3, 4, 5, 8])
def test_recorded_games(side):
    with gzip.open(DATA / f"stigmergy_side{side}.jsonl.gz", "rt") as lines:
        games = [json.loads(line) for line in lines]
    assert games
    assert all(game["side"] == side and game["komi"] == 0 for game in games)
    env = play.environment(side)
    moves = [[env.text_to_action(text) for text in game["moves"].split()] for game in games]
    seen = play.replay(env, moves, komi=[0] * len(games))
    for b, (game, line) in enumerate(zip(games, moves, strict=True)):
        assert len(game["legal"]) == len(line)
        for ply, legal in enumerate(game["legal"]):
            mask = seen["mask"][ply, b]
            assert {env.action_to_text(a) for a in np.flatnonzero(mask)} == set(legal.split()), (b, ply)
            assert not seen["terminated"][ply, b]
            assert seen["mover"][ply, b] == ply % 2
        for ply, score in enumerate(game["score"]):
            assert seen["score"][min(ply, len(line)), b].tolist() == score, (b, ply)
        end = len(line)
        assert seen["terminated"][end, b]
        assert seen["score"][end, b].tolist() == game["final"]
        assert seen["rewards"][end, b].tolist() == ([1, -1] if game["winner"] == "black" else [-1, 1])


def random_game(side, rng):
    """A game by the referee alone: (actions, legal sets, scores, seen stones) of every state but the ended one's."""
    referee = Referee(side)
    size = len(referee.cells)
    actions, legal_sets, scores, seen = [], [], [], []
    while not referee.over:
        legal = {size if move == "pass" else move for move in referee.legal()}
        legal_sets.append(legal)
        scores.append(referee.score())
        seen.append([referee.seen(cell).count("x") + 16 * referee.seen(cell).count("o") for cell in range(size)])
        actions.append(int(rng.choice(sorted(legal))))
        referee.play("pass" if actions[-1] == size else actions[-1])
    return actions, legal_sets, [*scores, referee.score()], seen


def referee_agrees(side, games, seed):
    """Plays random games with random komi and asserts every property of them; returns how many plies were seen."""
    env = play.environment(side)
    t = rules.tables(side)
    rng = np.random.default_rng(seed)
    komi = 2 * rng.integers(-(t.max_komi // 2), t.max_komi // 2 + 1, games)
    komi[: games // 2] = 2 * rng.integers(-1, 2, games // 2)  # some where komi does not decide the game
    played = [random_game(side, rng) for _ in range(games)]
    found = play.replay(env, [actions for actions, *_ in played], komi)
    for b, (actions, legal_sets, scores, seen) in enumerate(played):
        end = len(actions)
        assert end <= env.max_steps
        for ply in range(end):
            assert set(np.flatnonzero(found["mask"][ply, b]).tolist()) == legal_sets[ply], (b, ply)
            assert found["sight"][ply, b, t.board.grid].tolist() == seen[ply], (b, ply)
            assert tuple(found["score"][ply, b]) == scores[ply], (b, ply)
            assert not found["terminated"][ply, b]
            assert not found["rewards"][ply, b].any()
        assert found["terminated"][end:, b].all()
        positions = [found["stones"][0, b].tobytes()]
        positions += [found["stones"][k + 1, b].tobytes() for k, a in enumerate(actions) if a != t.board.size]
        assert len(set(positions)) == len(positions)
        black, white = scores[end]
        assert tuple(found["score"][end, b]) == (black, white)
        assert black + white == t.board.size
        assert black != white + komi[b]
        assert found["rewards"][end, b].tolist() == ([1, -1] if black > white + komi[b] else [-1, 1])
        assert found["mask"][end, b].all()
        assert not found["rewards"][end + 1 :, b].any()
    return sum(len(actions) for actions, *_ in played)


@pytest.mark.parametrize(("side", "games"), [(2, 16), (3, 16), (4, 16), (5, 14), (6, 10), (7, 6), (8, 6)])
def test_referee_agrees(side, games):
    # 5,100 plies over all sides.
    assert referee_agrees(side, games, seed=side) > 5 * games


@pytest.mark.slow
@pytest.mark.parametrize("side", [2, 3, 4, 5, 6, 7, 8])
def test_referee_agrees_at_length(side):
    seed, plies = 100, 0
    while plies < 7200:  # above 50,000 over all sides
        plies += referee_agrees(side, play.BATCH, seed)
        seed += 1


@pytest.mark.parametrize(("side", "bound"), [(3, 118), (4, 250), (5, 430), (6, 658), (7, 934), (8, 1258)])
def test_bound_on_plies(side, bound):
    assert rules.tables(side).max_plies == bound


@pytest.mark.slow
@pytest.mark.parametrize(("side", "share", "plies"), [(3, 0.60, 23), (5, 0.56, 71), (8, 0.54, 193)])
def test_random_play(side, share, plies):
    """The known first-mover advantage and length of random games."""
    env = play.environment(side)
    games = 2048

    def run(states, key):
        def step(carry, key):
            states, total = carry
            states = jax.vmap(env.step)(states, audamir_envs.sample_legal(key, states))
            return (states, total + states.rewards), None

        carry = (states, jax.numpy.zeros((games, 2), jax.numpy.float32))
        return jax.lax.scan(step, carry, jax.random.split(key, 300))[0]

    states, total = jax.jit(run)(play.fresh(env, [0] * games), jax.random.key(7))
    assert bool(states.terminated.all())
    won = float((total[:, 0] > 0).mean())
    assert abs(won - share) < 0.035  # three standard errors
    assert abs(float(states._step_count.mean()) - plies) < 1.5
