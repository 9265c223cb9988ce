"""The exact best response to an agent: against plain recursion, and against what perfect play is worth."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from stigmergy import plain
from stigmergy.test_solver_regret import First, Perfect

import audamir_envs
from audamir_envs import agents
from audamir_envs.agents import BatchAgent, responses
from audamir_envs.cli import main
from audamir_envs.stigmergy import solver


class Hash(BatchAgent):
    """Plays a legal action that the position alone chooses, without any plan."""

    name = "hash"

    def act(self, state, key):
        stones = state.game.stones.astype(jnp.uint32).ravel()
        mixed = jnp.sum(stones * jnp.arange(1, stones.size + 1, dtype=jnp.uint32) * jnp.uint32(2654435761))
        order = (jnp.arange(state.legal_action_mask.size, dtype=jnp.uint32) * jnp.uint32(40503) + mixed) % jnp.uint32(
            97
        )
        return jnp.argmax(jnp.where(state.legal_action_mask, order + jnp.uint32(1), jnp.uint32(0))).astype(jnp.int32)


class Illegal(First):
    def act(self, state, key):
        return jnp.argmin(state.legal_action_mask).astype(jnp.int32)


@pytest.fixture(scope="module")
def side2():
    return plain.table(2)


def plainly(env, agent, seat):
    """The same value by recursion, one position after another."""
    step, act = jax.jit(env.step), jax.jit(agent.act)
    key, kept = jax.random.key(5), {}

    def value(state):
        name = (env.to_text(state), int(state.current_player))
        if name not in kept:
            own = int(state.current_player) == seat
            moves = np.flatnonzero(state.legal_action_mask) if own else [int(act(state, key))]
            kept[name] = max(after(step(state, np.int32(move))) for move in moves)
        return kept[name]

    def after(state):
        return float(state.rewards[seat]) if state.terminated or state.truncated else value(state)

    return value(env.init(jax.random.key(0)))


@functools.cache
def game(komi):
    return audamir_envs.make("stigmergy-v0", side=2, komi=komi)


@pytest.mark.parametrize("agent", [First(), Hash()], ids=lambda agent: agent.name)
def test_the_value_is_that_of_plain_recursion(agent):
    env = game(4)
    found = solver.best_response(agent, 2, 4)
    assert found.value == tuple(plainly(env, agent, seat) for seat in (0, 1))
    assert found.score == (sum(found.value) + 2) / 4


def test_the_line_is_a_game_with_that_end():
    env, agent = game(2), Hash()
    found = solver.best_response(agent, 2, 2)
    for seat in (0, 1):
        state = env.init(jax.random.key(0))
        for action in found.line[seat]:
            assert not state.terminated
            if int(state.current_player) != seat:
                assert action == int(agent.act(state, jax.random.key(0)))
            state = env.step(state, action)
        assert state.terminated
        assert float(state.rewards[seat]) == found.value[seat]


def test_nobody_gets_more_of_a_perfect_player_than_the_game_is_worth(side2):
    for komi in (2, 6):
        found = solver.best_response(Perfect(side2), 2, komi)
        black = 1.0 if side2.value > komi else -1.0
        assert found.value == (black, -black)
        assert found.score == 0.5


def test_everybody_else_gives_at_least_that(side2):
    found = solver.best_response(First(), 2, 4)
    black = 1.0 if side2.value > 4 else -1.0
    assert found.value[0] >= black
    assert found.value[1] >= -black


def test_what_it_refuses():
    with pytest.raises(ValueError, match="agent 'random' plays at random: a best response is found to fixed moves"):
        solver.best_response(agents.RandomAgent(), 2, 4)
    with pytest.raises(ValueError, match="played an illegal action"):
        solver.best_response(Illegal(), 2, 4)
    with pytest.raises(ValueError, match=r"more than 20 positions can be reached against 'first' in \d+ plies"):
        solver.best_response(First(), 2, 4, most_positions=20)
    with pytest.raises(ValueError, match=r"games for two without chance, not in .*principalities"):
        responses.best_response(audamir_envs.make("principalities-v0"), First())
    with pytest.raises(ValueError, match="begins at random: fix its start"):
        responses.best_response(audamir_envs.make("colony-v0", starter="random"), First())


def test_the_command(capsys):
    assert main(["solve", "stigmergy-v0", "--side", "2", "--komi", "4", "--against", "zero-policy"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "Stigmergy, side 2, komi 4: the best response to zero-policy, exact"
    assert told[1].startswith("as player_0 it ")
    assert told[3].startswith("score over both seats: ")
    for words, message in (
        (["--komi", "4"], "--komi means nothing without --against"),
        (["--against", "zero-policy", "--cache", "x"], "--against needs no table"),
        (["--against", "nobody", "--side", "2"], "nobody"),
        (["--against", "weak", "--side", "9"], "side"),
    ):
        assert main(["solve", "stigmergy-v0", *words]) == 2
        assert message in capsys.readouterr().err
