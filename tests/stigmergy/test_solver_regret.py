"""What agents give away, on boards that are solved."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from exploitable import First
from stigmergy import plain

from audamir_envs.agents import BatchAgent, RandomAgent, from_callable
from audamir_envs.stigmergy import regret as grading
from audamir_envs.stigmergy import solver


class Perfect(BatchAgent):
    """Plays the best action of side 2 of the highest number, looked up in a table of all positions."""

    name = "perfect"

    def __init__(self, table):
        best = np.full((3**7, 2, 2), -1, np.int32)
        for code in range(3**7):
            digits = [code // 3**cell % 3 for cell in range(7)]
            masks = [sum(1 << cell for cell, digit in enumerate(digits) if digit == colour) for colour in (1, 2)]
            for black in (False, True):
                for passed in (False, True):
                    margins = table.action_margins_of(solver.Stones(*masks, black, passed))
                    margins = {action: margin if black else -margin for action, margin in margins.items()}
                    best[code, int(black), int(passed)] = max(margins, key=lambda a: (margins[a], a))
        self.best = jnp.asarray(best)
        self.grid = jnp.asarray(table.board.grid)

    def act(self, state, key):
        powers = jnp.array([3**cell for cell in range(7)], jnp.int32)
        code = jnp.sum(state.game.stones[self.grid].astype(jnp.int32) * powers)
        return self.best[code, state.game.black_to_move.astype(jnp.int32), state.game.passes.astype(jnp.int32)]


@pytest.fixture(scope="module")
def side2():
    return plain.table(2)


@pytest.fixture(scope="module")
def sample(side2):
    return solver.sample_positions(side2, 6, 60)


def text_of(stones, referee):
    return "".join("x" if stones.black >> c & 1 else "o" if stones.white >> c & 1 else "." for c in range(7))


def test_sampled_positions_can_be_thrown_away(side2, sample):
    referee = plain.Plain(2)
    assert len({dataclasses.astuple(stones) for stones in sample}) == 60
    for stones in sample:
        board, mover = text_of(stones, referee), "x" if stones.black_to_move else "o"
        level = 6 if stones.black_to_move else -6
        margins = [referee.after(board, mover, stones.passed, a) for a in referee.actions(board, mover)]
        assert min(margins) < level < max(margins)
    assert solver.sample_positions(side2, 6, 60) == sample
    assert solver.sample_positions(side2, 6, 20, seed=1) != sample[:20]


def test_figures_of_one_decision_are_the_plain_ones(side2, sample):
    """Positions of all kinds, not only those that can be thrown away."""
    referee = plain.Plain(2)
    positions = [dataclasses.replace(s, black_to_move=b) for s in sample for b in (True, False)]
    found = solver.regret(First(), 2, 6, positions, table=side2)
    won = thrown = perfect = 0
    lost, spare = [], []
    for stones in positions:
        board, mover = text_of(stones, referee), "x" if stones.black_to_move else "o"
        level = 6 if stones.black_to_move else -6
        best = referee.best(board, mover, stones.passed)
        after = referee.after(board, mover, stones.passed, referee.actions(board, mover)[0])
        won += best > level
        thrown += best > level > after
        perfect += best == after
        lost.append(best - after)
        spare.append(best - level)
    assert 0 < thrown < won < 120
    assert (found.agent, found.side, found.komi, found.positions, found.decisions) == ("first", 2, 6, 120, 120)
    assert (found.won, found.thrown, found.perfect) == (won, thrown, perfect)
    assert found.thrown_rate == thrown / won
    assert found.points_dropped == pytest.approx(np.mean(lost))
    assert (found.dropped, found.spare, found.most_dropped) == (tuple(lost), tuple(spare), max(lost))
    assert found.thrown_interval[0] < found.thrown_rate < found.thrown_interval[1]
    half = 1.980 * np.std(lost, ddof=1) / math.sqrt(120)
    assert found.points_interval == pytest.approx((np.mean(lost) - half, np.mean(lost) + half), rel=1e-3)
    assert f"threw away {thrown} of {won} won decisions" in str(found)


@pytest.mark.parametrize("play_on", [False, True])
def test_perfect_play_has_no_regret(side2, sample, play_on):
    found = solver.regret(Perfect(side2), 2, 6, sample, table=side2, play_on=play_on)
    assert (found.won, found.thrown, found.points_dropped, found.perfect) == (60, 0, 0.0, 60)
    assert found.decisions >= 60 * (2 if play_on else 1)


def test_playing_on_adds_what_is_lost_later(side2, sample):
    at_once = solver.regret(RandomAgent(), 2, 6, sample, table=side2)
    to_the_end = solver.regret(RandomAgent(), 2, 6, sample, table=side2, play_on=True)
    assert to_the_end.thrown >= at_once.thrown
    assert to_the_end.points_dropped > at_once.points_dropped
    assert to_the_end.decisions > at_once.decisions
    assert "won games" in str(to_the_end)


def test_the_key_decides_what_a_random_agent_plays(side2, sample):
    first = solver.regret(RandomAgent(), 2, 6, sample, jax.random.key(1), table=side2)
    assert solver.regret("random", 2, 6, sample, jax.random.key(1), table=side2) == first
    others = [solver.regret(RandomAgent(), 2, 6, sample, jax.random.PRNGKey(seed), table=side2) for seed in range(3)]
    assert any(other != first for other in others)


def test_numpy_policies_are_graded_too(side2, sample):
    agent = from_callable(lambda observation, mask: mask.argmax(1), name="first")
    assert solver.regret(agent, 2, 6, sample, table=side2) == solver.regret(First(), 2, 6, sample, table=side2)


def test_positions_may_be_texts(side2):
    found = solver.regret(First(), 2, 6, ["../.../.. x 0 0 0", "../.x./.. o 4 0 1"], table=side2)
    assert (found.positions, found.won, found.thrown) == (2, 1, 1)
    assert found.thrown_rate == 1.0


def test_without_a_won_game_there_is_no_rate(side2):
    found = solver.regret(First(), 2, 6, ["../.x./.. o 0 0 0"], table=side2)
    assert (found.won, found.thrown) == (0, 0)
    assert math.isnan(found.thrown_rate)
    assert all(math.isnan(bound) for bound in found.points_interval)


class Illegal(BatchAgent):
    name = "cheat"

    def act(self, state, key):
        return jnp.argmin(state.legal_action_mask).astype(jnp.int32)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"side": 4}, "37 cells have about"),
        ({"komi": 5}, "komi=5 is not valid"),
        ({"komi": 8}, "komi=8 is not valid"),
        ({"komi": "choose"}, "fixed komi"),
        ({"positions": 0}, "positions=0 is not valid"),
        ({"positions": 100}, r"only \d+ such positions were found on side 2"),
        ({"positions": []}, "no position"),
        ({"positions": ["xx/xxx/xx o 0 2 0"]}, "the game is over in"),
        ({"positions": ["../.x. o 0 2 0"]}, "has 2 rows"),
        ({"agent": "nobody"}, "nobody"),
        ({"agent": "zero-policy:temperature"}, "not written as setting=value"),
        ({"agent": Illegal(), "positions": 20}, "'cheat' played the illegal action 7"),
        ({"side": 3, "komi": 4}, "the table is of side 2, not 3"),
    ],
)
def test_bad_arguments_are_refused(side2, arguments, message):
    with pytest.raises(ValueError, match=message):
        solver.regret(**({"agent": First(), "side": 2, "komi": 6, "table": side2} | arguments))


def test_batches_are_filled_up(side2, sample, monkeypatch):
    whole = solver.regret(First(), 2, 6, sample, table=side2)
    monkeypatch.setattr(grading, "_BATCH", 25)
    assert solver.regret(First(), 2, 6, sample, table=side2) == whole
