"""The scripted levels: their values against brute force, legal and sane play, and the ladder."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from effort import FULL
from stigmergy import play
from stigmergy.referee import Referee
from stigmergy.test_rules import random_game

from audamir_envs import arena
from audamir_envs.stigmergy import lookahead, rules, scripted, worth

LEVELS = ("weak", "normal", "strong")


def position_after(side, actions):
    """The referee's stones and sight as arrays over the grid, whose turn it is, and passes in a row."""
    t = rules.tables(side)
    referee = Referee(side)
    for action in actions:
        referee.play("pass" if action == t.board.size else action)
    stones, sight = np.zeros((2, t.board.width**2), np.uint8)
    for cell, place in enumerate(t.board.grid):
        stones[place] = ".xo".index(referee.stones.get(cell, "."))
        sight[place] = referee.seen(cell).count("x") + 16 * referee.seen(cell).count("o")
    return stones, sight, referee.to_move == "x", referee.passes


def positions_of(side, seed, komi=2):
    """Positions of random games, as one batch [16, ...], many of them near the end."""
    rng = np.random.default_rng(seed)
    games = [random_game(side, rng)[0] for _ in range(play.BATCH)]
    plies = [max(0, len(game) - int(rng.integers(1, 2 + len(game) * (b % 2)))) for b, game in enumerate(games)]
    positions = [position_after(side, game[:ply]) for game, ply in zip(games, plies, strict=True)]
    stones, sight, black_to_move, passes = (np.stack(facts) for facts in zip(*positions, strict=True))
    return rules.Position(
        stones=jnp.asarray(stones),
        sight=jnp.asarray(sight),
        black_to_move=jnp.asarray(black_to_move),
        passes=jnp.asarray(passes, jnp.uint8),
        komi=jnp.full(play.BATCH, komi, jnp.int16),
        phase=jnp.full(play.BATCH, rules.PLAY, jnp.uint8),
        black_seat=jnp.zeros(play.BATCH, jnp.uint8),
    )


def cell_worth(table, side, position, mover):
    """The static value, cell by cell from the position's stones and sight alone."""
    t = rules.tables(side)
    total = 0
    for place in t.board.grid:
        stone, sight = int(position["stones"][place]), int(position["sight"][place])
        counts = (sight % 16, sight // 16)
        kind = {4: worth.INTERIOR, 3: worth.EDGE, 2: worth.CORNER}[int(t.needed[place])]
        mine = 0 if stone == 0 else 1 if stone == mover else 2
        total += int(table.cells[kind, mine, counts[mover - 1], counts[2 - mover]])
    return total


@pytest.mark.parametrize(("side", "table"), [(3, worth.EXPECTED), (5, worth.EXPECTED), (3, worth.SCORE)])
def test_move_values(side, table):
    """The values of all moves together against playing each and counting anew."""
    games = positions_of(side, seed=side)
    batch = lookahead.batch_last(games)
    static = lookahead.static_values(batch, table)
    values = np.asarray(jax.jit(lookahead.move_values, static_argnums=2)(batch, static, table))
    legal = np.asarray(rules.legal_actions(games, 0))
    t = rules.tables(side)
    rows = [*t.board.grid.tolist(), len(t.on_board)]
    assert np.array_equal(values[rows].T > lookahead.ILLEGAL, legal)
    after = jax.device_get(
        jax.jit(jax.vmap(jax.vmap(rules.play, in_axes=(None, 0)), in_axes=(0, None)))(
            games, jnp.arange(t.board.size + 1, dtype=jnp.int32)
        )
    )
    checked = passes_decided = 0
    for b in range(play.BATCH):
        mover = 1 if bool(games.black_to_move[b]) else 2
        komi = int(games.komi[b]) * (-1 if mover == 1 else 1)
        for action in np.flatnonzero(legal[b]):
            position = {"stones": after.stones[b, action], "sight": after.sight[b, action]}
            expected = cell_worth(table, side, position, mover) + komi * worth.POINT
            if action == t.board.size:
                black, white = (int(score) for score in rules.scores(jax.tree.map(lambda leaf, b=b: leaf[b], games)))
                margin = (black - white) * (1 if mover == 1 else -1) + komi
                if int(games.passes[b]) == 1 or margin < 0:
                    expected = (lookahead.WIN if margin > 0 else -lookahead.WIN) + margin * worth.POINT
                    passes_decided += 1
            assert values[rows[action], b] == expected, (b, action)
            checked += 1
    assert checked > 50
    assert passes_decided


def test_search_is_minimax():
    """Widths that leave nothing out give plain minimax, two and three moves deep."""
    games = positions_of(2, seed=5)
    t = rules.tables(2)
    rows = [*t.board.grid.tolist(), len(t.on_board)]
    batch = lookahead.batch_last(games)
    searched = jax.jit(lookahead.search, static_argnums=(2, 3))
    statics = jax.jit(lookahead.static_values, static_argnums=1)
    played = jax.jit(rules.play)
    values = jax.jit(lookahead.move_values, static_argnums=2)

    def minimax(position, depth):
        """The values of all actions, [8]."""
        one = lookahead.batch_last(jax.tree.map(lambda leaf: leaf[None], position))
        found = np.asarray(values(one, statics(one, worth.EXPECTED), worth.EXPECTED))[rows, 0].copy()
        if depth > 1:
            for action in np.flatnonzero(np.abs(found) < lookahead.WIN // 2):
                found[action] = -minimax(played(position, jnp.int32(action)), depth - 1).max()
        return found

    for widths in ((8,), (8, 8)):
        static = lookahead.static_values(batch, worth.EXPECTED)
        found = np.asarray(searched(batch, static, worth.EXPECTED, widths))[rows]
        for b in range(0, play.BATCH, 5):
            position = jax.tree.map(lambda leaf, b=b: leaf[b], games)
            assert np.array_equal(found[:, b], minimax(position, len(widths) + 1)), (widths, b)


@functools.cache
def agent(name):
    level = scripted.AGENTS[name]()
    return jax.jit(level.act_batch, compiler_options=FULL if name == "strong" else None)


def with_pie():
    """The one kind of game for whose shapes the levels are compiled here; komi fixed by a text is played on it too."""
    return play.environment(3, komi="choose")


@functools.cache
def stepped():
    return jax.jit(jax.vmap(with_pie().step))


@pytest.mark.parametrize("name", LEVELS)
def test_whole_games_with_the_pie(name):
    """Legal actions from the first choice to the end, under the fair komi, in the colour that suits."""
    env = with_pie()
    states = jax.tree.map(lambda leaf: np.stack([leaf] * play.BATCH), env.init(jax.random.key(0)))
    for ply in range(env.max_steps):
        actions = agent(name)(states, jax.random.key(ply))
        if ply == 0:
            assert {env.action_to_text(int(a)) for a in actions} == {f"komi={scripted.FAIR_KOMI[3]}"}
        states = stepped()(states, actions)
        assert not bool(states.illegal.any())
        if bool(states.terminated.all()):
            break
    assert bool(states.terminated.all())


@pytest.mark.parametrize(("komi", "colour"), [(0, "black"), (18, "white")])
def test_choice_of_colour(komi, colour):
    env = with_pie()
    states = jax.tree.map(lambda leaf: np.stack([leaf] * play.BATCH), env.init(jax.random.key(0)))
    states = stepped()(states, np.full(play.BATCH, env.text_to_action(f"komi={komi}"), np.int32))
    for name in LEVELS:
        assert {env.action_to_text(int(a)) for a in agent(name)(states, jax.random.key(1))} == {colour}


@pytest.mark.parametrize("name", ["normal", "strong"])
def test_passes_no_win_away(name):
    """All cells are taken or controlled and the opponent has just passed: a second pass ends the game at once."""
    env = with_pie()
    passing = env.text_to_action("pass")
    behind, ahead = (env.from_text(f"xxx/x.xx/xx.xx/xxox/xxo x {komi} 1 0") for komi in (18, 0))
    mask = behind.legal_action_mask
    assert bool(mask[passing])
    assert int(mask.sum()) > 1
    # Behind by the komi, it plays on.
    states = jax.tree.map(lambda leaf: np.stack([leaf] * play.BATCH), behind)
    assert not (np.asarray(agent(name)(states, jax.random.key(2))) == passing).any()
    # Ahead, it wins, whether by the pass or by taking more.
    states = jax.tree.map(lambda leaf: np.stack([leaf] * play.BATCH), ahead)
    total = np.zeros(play.BATCH)
    for ply in range(30):
        states = stepped()(states, agent(name)(states, jax.random.key(ply)))
        total += np.asarray(states.rewards[:, 0])
    assert (total == 1).all()


class Narrow(scripted.ScriptedAgent):
    """A search small enough to compile in a moment."""

    settings = scripted.Strong.settings._replace(widths=(3, 2), slips=100)


def test_choices_do_not_depend_on_the_batch():
    """More positions than one group holds, the same by vmap of single ones and by ``act_batch``."""
    env = play.environment(2)
    games = positions_of(2, seed=9)
    states = jax.jit(jax.vmap(env.state_of))(jax.tree.map(lambda leaf: np.concatenate([leaf] * 5), games))
    keys = jax.random.split(jax.random.key(3), 80)
    level = Narrow()
    single = jax.jit(jax.vmap(level.act))
    apart = np.asarray(single(states, keys))
    assert np.array_equal(jax.jit(level.act_batch)(states, jax.random.key(3)), apart)
    assert np.array_equal(single(jax.tree.map(lambda leaf: leaf[::-1], states), keys[::-1]), apart[::-1])


def score(side, first, second, games):
    env = play.environment(side, komi=scripted.FAIR_KOMI[side])
    return arena.evaluate(env, [first, second], games, seed=side, opening_plies=2).score[first]


def test_weak_beats_random():
    assert score(4, "weak", "random", games=200) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("side", [4, 5, 6])
@pytest.mark.parametrize(("better", "worse"), [("weak", "random"), ("normal", "weak"), ("strong", "normal")])
def test_ladder(side, better, worse):
    assert score(side, better, worse, games=200) >= 0.9
