"""The scripted levels: the search against plain minimax, legality, tactics, determinism."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from colony.games import new_games
from colony.referee import CELLS, JUMPS, PASS, Referee, distance
from effort import FULL

import audamir_envs
from audamir_envs.colony.scripted import AGENTS, ScriptedAgent
from audamir_envs.colony.search import DELAY, MAX_MOVES, WIN

NEAR = [sum(1 << j for j, b in enumerate(CELLS) if distance(a, b) == 1) for a in CELLS]
FROM = [
    [(k, CELLS.index((q - dq, r - dr))) for k, (dq, dr) in enumerate(JUMPS) if (q - dq, r - dr) in CELLS]
    for q, r in CELLS
]
TWO = [sum(1 << origin for _, origin in pairs) for pairs in FROM]


def cells_of(board):
    return [cell for cell in range(61) if board >> cell & 1]


class Plain:
    """Minimax without pruning on Python integers, one bit a cell by number; the last ply only counts pieces."""

    def __init__(self, claim_empty, max_turns):
        self.claim_empty, self.max_turns = claim_empty, max_turns

    def moves(self, own, empty):
        found = {}
        for target in cells_of(empty):
            if NEAR[target] & own:
                found[target * 13] = (1 << target, 0, NEAR[target])
            for kind, origin in FROM[target]:
                if own >> origin & 1:
                    found[target * 13 + 1 + kind] = (1 << target, 1 << origin, NEAR[target])
        return found or {PASS: (0, 0, 0)}

    def play(self, position, move):
        own, enemy, empty, turn = position
        landing, left, near = move
        turned = enemy & near
        return enemy & ~turned, own & ~left | landing | turned, empty & ~landing | left, turn + 1

    def value(self, position, plies, ply):
        own, enemy, empty, turn = position
        lead = own.bit_count() - enemy.bit_count()
        can, other = (PASS not in self.moves(side, empty) for side in (own, enemy))
        if self.claim_empty and can != other:
            lead += empty.bit_count() * (1 if can else -1)
        elif (can or other) and own and enemy and turn < self.max_turns:
            return self.best_of(position, plies, ply)
        return lead + (WIN - DELAY * ply) * ((lead > 0) - (lead < 0))

    def best_of(self, position, plies, ply):
        after = [self.play(position, move) for move in self.moves(position[0], position[2]).values()]
        if plies == 1:
            return max(enemy.bit_count() - own.bit_count() for own, enemy, _, _ in after)
        return max(-self.value(next_, plies - 1, ply + 1) for next_ in after)

    def best_actions(self, position, plies):
        if plies == 1:
            values = {
                action: after[1].bit_count() - after[0].bit_count()
                for action, move in self.moves(position[0], position[2]).items()
                for after in [self.play(position, move)]
            }
            return {action for action, value in values.items() if value == max(values.values())}
        values = {
            action: -self.value(self.play(position, move), plies - 1, 1)
            for action, move in self.moves(position[0], position[2]).items()
        }
        return {action for action, value in values.items() if value == max(values.values())}


def random_positions(plies):
    """States of random games under many options, time first, and the options' plain searchers."""
    options = [
        {"board": board, "start": start, "claim_empty": claim, "max_turns": limit, "starter": 1}
        for board, start, claim in itertools.product(("58", "61"), ("three", "one"), (False, True))
        for limit in (400, 30)
    ] * 3
    env = audamir_envs.make("colony-v0")

    @jax.jit
    def play(states, key):
        def ply(states, key):
            return jax.vmap(env.step)(states, audamir_envs.sample_legal(key, states)), states

        return jax.lax.scan(ply, states, jax.random.split(key, plies))[1]

    searchers = [Plain(chosen["claim_empty"], chosen["max_turns"]) for chosen in options]
    return jax.tree.map(np.asarray, play(new_games(options), jax.random.key(4))), searchers


def plain_position(env, state):
    """The position of a state for ``Plain``, by way of its text."""
    rows, moving, turn, _ = env.to_text(state).split()
    symbols = rows.replace("/", "")
    boards = {s: sum(1 << cell for cell, symbol in enumerate(symbols) if symbol == s) for s in "xo."}
    return boards[moving], boards["o" if moving == "x" else "x"], boards["."], int(turn)


POSITIONS, KEYS = 32, 12


@pytest.fixture(scope="module")
def some_positions():
    """Unfinished positions with few legal moves, most of them near an end, spread over the options."""
    states, searchers = random_positions(160)
    counts = np.where(states.terminated, 0, states.legal_action_mask.sum(-1))
    rng = np.random.default_rng(0)
    chosen = []
    for lane in range(len(searchers)):
        times = np.flatnonzero((counts[:, lane] >= 2) & (counts[:, lane] <= 14))
        chosen += [(t, lane) for t in rng.choice(times, min(len(times), 2), replace=False)]
    times, lanes = np.array(chosen[:POSITIONS]).T
    return jax.tree.map(lambda leaf: leaf[times, lanes], states), [searchers[lane] for lane in lanes]


@pytest.fixture(scope="module")
def repeated(some_positions):
    """Every position KEYS times in one batch: the one shape for which levels are compiled here."""
    return jax.tree.map(lambda leaf: np.repeat(leaf, KEYS, axis=0), some_positions[0])


@pytest.fixture(scope="module", params=["weak", "normal", "strong"])
def level(request):
    """A level that never slips (slips are tested apart), and its compiled choice for a batch."""
    agent = AGENTS[request.param](slip=0.0)
    return agent, jax.jit(agent.act_batch, compiler_options=FULL if agent.depth == 4 else None)


def test_levels_find_what_minimax_finds(level, some_positions, repeated, colony):
    agent, act_batch = level
    states, searchers = some_positions
    actions = act_batch(repeated, jax.random.key(1))
    assert actions.dtype == jnp.int32
    found = np.asarray(actions).reshape(POSITIONS, KEYS)
    checked = tied = all_tied_found = 0
    for i, searcher in enumerate(searchers):
        assert states.legal_action_mask[i][found[i]].all()
        if states.legal_action_mask[i].sum() > (8 if agent.depth == 4 else 14):
            continue
        state = jax.tree.map(lambda leaf, i=i: leaf[i], states)
        best = searcher.best_actions(plain_position(colony.env, state), agent.depth)
        played = set(found[i].tolist())
        assert played <= best
        checked += 1
        tied += len(best) == 2
        all_tied_found += len(best) == 2 and played == best
    assert checked >= 10
    assert all_tied_found >= 0.9 * tied  # 12 keys miss one of two moves once in 2,048


def test_levels_depend_on_the_key_alone(level, repeated):
    _, act_batch = level
    actions = act_batch(repeated, jax.random.key(7))
    assert (actions == act_batch(repeated, jax.random.key(7))).all()
    assert (actions != act_batch(repeated, jax.random.key(8))).any()


def test_levels_take_a_win(level, repeated, colony):
    """The last enemy is within one jump; to gather more pieces first would end in more, and later."""
    _, act_batch = level
    winning = colony.env.from_text("x..o./....../......./......../........./......../......./....../..... x 8 0")
    ended = colony.env.from_text("xxxxx/xxxxxx/xxxxxxx/xxxxxxxx/xxxxxxxxx/xxxxxxxx/xxxxxxx/xxxxxx/xxxxx x 80 0")
    passing = colony.env.from_text("xoo../ooo.../oooo.../......../........./......../......./....../..... x 10 0")
    states = jax.tree.map(
        lambda leaf, *others: np.concatenate([[np.asarray(other) for other in others], leaf[3:]]),
        repeated,
        winning,
        ended,
        passing,
    )
    actions = act_batch(states, jax.random.key(2))
    assert actions[0] == colony.env.text_to_action("i1-i3")
    assert 0 <= actions[1] < 794  # after the end: anything
    assert actions[2] == PASS


def test_one_state_and_vmap_choose_as_the_batch(some_positions):
    """With the default slips and old keys; how the batch is searched has no part in it."""
    agent = AGENTS["weak"]()
    states, _ = some_positions
    key = jax.random.PRNGKey(3)
    keys = jax.random.split(key, POSITIONS)
    actions = jax.jit(jax.vmap(agent.act))(states, keys)
    assert (actions == jax.jit(agent.act_batch)(states, key)).all()
    act = jax.jit(agent.act)
    assert [int(act(jax.tree.map(lambda leaf, i=i: leaf[i], states), keys[i])) for i in range(4)] == actions[
        :4
    ].tolist()


def test_slips(colony):
    """Of the moves of a level that slips, a share is spread over all legal moves."""
    state = colony.env.from_text("x..o./....../......./......../........./......../......./....../..... x 8 0")
    states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (2000, *leaf.shape)), state)
    actions = jax.jit(AGENTS["weak"](slip=0.25).act_batch)(states, jax.random.key(0))
    legal = int(state.legal_action_mask.sum())
    others = float((actions != colony.env.text_to_action("i1-i3")).mean())
    assert abs(others - 0.25 * (1 - 1 / legal)) < 0.04
    assert set(np.flatnonzero(np.asarray(state.legal_action_mask)).tolist()) == set(np.asarray(actions).tolist())
    assert [AGENTS[name]().slip for name in ("weak", "normal", "strong")] == [0.5, 0.1, 0.01]


def test_no_position_has_more_moves_than_the_bound():
    """A pair of cells serves one jump at most; a third of the cells in a pattern comes nowhere near the bound."""
    assert sum(distance(a, b) == 2 for a, b in itertools.combinations(CELLS, 2)) + 61 == MAX_MOVES
    referee = Referee("61", "three", "first", False, 0, 400)
    for cell in CELLS:
        referee.board[cell] = "x" if (cell[0] - cell[1]) % 3 == 0 else "."
    assert 100 < len(referee.moves_of("x")) < MAX_MOVES


def test_bad_settings():
    with pytest.raises(ValueError, match="depth=2"):
        ScriptedAgent("odd", 2, 0.0)
    with pytest.raises(ValueError, match="from 0 to 1"):
        AGENTS["weak"](slip=1.5)
