"""Colony's rules against recorded games, known counts, an independent referee, and positions made by hand."""

import gzip
import itertools
import json
import pathlib

import jax
import numpy as np
import pytest
from colony.games import new_games
from colony.referee import Referee

import audamir_envs
from audamir_envs.colony import rules

DATA = pathlib.Path(__file__).parents[1] / "data"
BOARDS = {"61": [{}], "58": [{"holes_toward": "first"}, {"holes_toward": "second"}]}
LAYOUTS = [
    {"board": board, "start": start, "claim_empty": claim, **holes}
    for board, start, claim in itertools.product(("58", "61"), ("three", "one"), (False, True))
    for holes in BOARDS[board]
]


@pytest.mark.parametrize("path", sorted(DATA.glob("colony_*.jsonl.gz")), ids=lambda path: path.name[:-9])
def test_recorded_games_replay(path, colony):
    env, steps = colony.env, 0
    for line in gzip.decompress(path.read_bytes()).splitlines():
        record = json.loads(line)
        options = {name: record[name] for name in ("board", "start", "holes_toward") if record.get(name)}
        state = audamir_envs.make("colony-v0", **options).init(jax.random.key(0))
        for move, legal in zip(record["moves"].split(), record["legal"], strict=True):
            assert not state.terminated
            mask = np.flatnonzero(np.asarray(state.legal_action_mask))
            assert sorted(env.action_to_text(action) for action in mask) == sorted(legal.split())
            state = colony.step(state, env.text_to_action(move))
            steps += 1
        assert state.terminated
        assert not state.truncated
        assert env.info(state)["pieces"].tolist() == record["final"]
        winner = {"first": [1, -1], "second": [-1, 1]}.get(record["winner"], [0, 0])
        assert state.rewards.tolist() == winner
    assert steps > 500


PERFT = {
    ("61", "three", "first"): (24, 570, 16824, 492714),
    ("58", "three", "first"): (24, 570, 16548, 476262),
    ("58", "three", "second"): (24, 570, 16548, 476406),
    ("61", "one", "first"): (8, 64, 936, 13688),
    ("58", "one", "first"): (8, 64, 904, 12768),
    ("58", "one", "second"): (8, 64, 904, 12768),
}


@pytest.fixture(scope="module")
def expand():
    """For a block of positions and actions: the positions after them, and their masks."""

    def after(positions, actions):
        played = jax.vmap(rules.play)(positions, actions)
        return played, jax.vmap(rules.legal_actions)(played)

    return jax.jit(after)


@pytest.mark.parametrize("layout", PERFT, ids="-".join)
def test_perft(layout, expand):
    board, start, toward = layout
    block = 2048
    state = audamir_envs.make("colony-v0", board=board, start=start, holes_toward=toward).init(jax.random.key(0))
    positions = jax.tree.map(lambda leaf: np.asarray(leaf)[None], state.game)
    masks = np.asarray(state.legal_action_mask)[None]
    counts = [int(masks.sum())]
    for _ in range(3):
        lanes, actions = np.nonzero(masks)
        blocks = []
        for begin in range(0, len(lanes), block):
            chosen, played = lanes[begin : begin + block], actions[begin : begin + block].astype(np.int32)
            pad = block - len(chosen)
            chosen, played = np.pad(chosen, (0, pad)), np.pad(played, (0, pad))
            result = expand(jax.tree.map(lambda leaf, rows=chosen: leaf[rows], positions), played)
            blocks.append(jax.tree.map(lambda leaf, kept=block - pad: np.asarray(leaf)[:kept], result))
        positions, masks = jax.tree.map(lambda *leaves: np.concatenate(leaves), *blocks)
        counts.append(int(masks.sum()))
    assert tuple(counts) == PERFT[layout]


def record_random_games(colony, options_of_lanes, plies, key):
    """Random legal play of a batch without resets; everything a referee needs, time first."""

    def play(states, key):
        def ply(states, key):
            actions = audamir_envs.sample_legal(key, states)
            after = jax.vmap(colony.env.step)(states, actions)
            seen = (
                states.terminated,
                states.legal_action_mask,
                states.current_player,
                actions,
                states.observation,
                jax.vmap(colony.env.observe)(states, 1 - states.current_player),
                after.terminated,
                after.rewards,
            )
            return after, seen

        return jax.lax.scan(ply, states, jax.random.split(key, plies))[1]

    return [np.asarray(leaf) for leaf in jax.jit(play)(new_games(options_of_lanes), key)]


def referee_games(colony, options_of_lanes, plies, key):
    """Compares every ply of random games with the referee; returns the plies compared and the games that ended."""
    records = record_random_games(colony, options_of_lanes, plies, key)
    over, masks, movers, actions, seen, seen_by_other, ended, rewards = records
    checked = finished = 0
    for lane, options in enumerate(options_of_lanes):
        referee = Referee(**options)
        for t in range(plies):
            if over[t, lane]:
                assert rewards[t, lane].tolist() == [0, 0]
                assert masks[t, lane].all()
                continue
            mover = referee.seat[referee.to_move]
            assert movers[t, lane] == mover
            assert set(np.flatnonzero(masks[t, lane]).tolist()) == referee.legal()
            assert seen[t, lane].tolist() == referee.observation(mover)
            assert seen_by_other[t, lane].tolist() == referee.observation(1 - mover)
            referee.play(int(actions[t, lane]))
            assert ended[t, lane] == referee.over()
            assert rewards[t, lane].tolist() == (referee.result() if ended[t, lane] else [0, 0])
            checked += 1
            finished += bool(ended[t, lane])
    return checked, finished


def lanes_of(turn_limits):
    return [
        {"holes_toward": "first", **layout, "starter": starter, "max_turns": limit}
        for layout in LAYOUTS
        for starter, limit in zip(itertools.cycle((0, 1)), turn_limits, strict=False)
    ]


def test_random_games_against_referee(colony, key):
    checked, finished = referee_games(colony, lanes_of((400, 400, 40)), 240, key)
    assert checked >= 5000
    assert finished >= 20


@pytest.mark.slow
def test_many_random_games_against_referee(colony):
    lanes, checked, seed = lanes_of((400, 400, 400, 400, 50, 49)), 0, 0
    while checked < 100_000:
        checked += referee_games(colony, lanes, 400, jax.random.key(seed))[0]
        seed += 1


def test_cap_and_decisive_ends(colony):
    """A wipe-out on the last turn is that result; the cap counts pieces; a turn earlier the game goes on."""
    env = colony.env
    lone = "x..../....../......./......../o......../......../......./....../....o"
    for turn in (398, 399):
        state = colony.step(env.from_text(f"{lone} x {turn} 0"), env.text_to_action("i2"))
        assert bool(state.terminated) == (turn == 399)
        assert state.rewards.tolist() == [0, 0]  # two pieces each: a draw at the cap, nothing before
    ended = env.from_text(f"{lone} x 400 0")
    assert ended.terminated
    assert not ended.truncated
    assert ended.legal_action_mask.all()
    again = colony.step(ended, 0)
    assert env.to_text(again) == env.to_text(ended)
    assert again.rewards.tolist() == [0, 0]
    beside = "x..o./....../......./......../........./......../......./....../....."
    for turn in (398, 399):
        state = colony.step(env.from_text(f"{beside} x {turn} 1"), env.text_to_action("i1-i3"))
        assert state.terminated
        assert state.rewards.tolist() == [-1, 1]  # x sits on seat 1 and has taken everything
    with pytest.raises(ValueError, match="0 to 400"):
        env.from_text(f"{lone} x 401 0")
    longer = audamir_envs.make("colony-v0", max_turns=402)
    for turn, over in ((399, False), (400, False), (401, True)):
        state = colony.step(longer.from_text(f"{lone} x {turn} 0"), env.text_to_action("i2"))
        assert bool(state.terminated) == over


def test_capped_game_with_more_pieces_wins(colony):
    env = colony.env
    state = env.from_text("x..../x...../......./......../o......../......../......./....../..... o 399 0")
    state = colony.step(state, env.text_to_action("e1-e3"))
    assert state.terminated
    assert state.rewards.tolist() == [1, -1]


def test_a_stuck_player_passes_unless_empty_cells_are_claimed(colony):
    env, claiming = colony.env, audamir_envs.make("colony-v0", claim_empty=True)
    # x in the top left corner is walled in two deep by o; the empty cells lie at the bottom.
    text = "xoo../ooo.../oooo.../......../........./......../......./....../..... x 10 0"
    state = env.from_text(text)
    assert not state.terminated
    assert np.flatnonzero(np.asarray(state.legal_action_mask)).tolist() == [rules.PASS]
    after = colony.step(state, rules.PASS)
    assert not after.terminated
    assert after.current_player == 1
    assert not after.legal_action_mask[rules.PASS]
    assert claiming.from_text(text).terminated
    # The same end reached by a move: o closes the wall, and the board is claimed though x has fewer pieces or more.
    open_text = "xoo../ooo.../.ooo.../......../........./......../......./....../..... o 9 0"
    closing = env.text_to_action("g1")
    plain = colony.step(env.from_text(open_text), closing)
    assert not plain.terminated
    claimed = colony.step(claiming.from_text(open_text), closing)
    assert claimed.terminated
    assert claimed.rewards.tolist() == [-1, 1]


def test_claimed_cells_decide(colony):
    """x cannot move: o's pieces and the empty cells are counted against x's pieces, to a loss, a win and a draw."""
    claiming = audamir_envs.make("colony-v0", claim_empty=True)
    wall = "xxxxx/xxxxxx/xxxxxxx/xxxxxxxx/########o/oooooooo/ooooooo"  # 26 x, 16 o
    for bottom, winner in (("......", -1), ("#ooo..", 0), ("##oo..", 1)):
        text = f"{wall}/{bottom}/....o x 30 0"  # 26 cells of o's or empty make a draw
        state = claiming.from_text(text)
        assert state.terminated
        assert claiming.outcome(state.game).rewards.tolist() == [winner, -winner]
        assert not colony.env.from_text(text).terminated


def test_full_board_ends_without_passes(colony):
    env = colony.env
    board = "oxoxo/xxxxxx/ooooooo/oooooooo/ooooooooo/oooooooo/ooooooo/xxxxxx/xxxx."
    state = colony.step(env.from_text(f"{board} x 60 0"), env.text_to_action("a5"))
    assert state.terminated
    x = env.to_text(state).split()[0].count("x")
    assert state.rewards.tolist() == [np.sign(2 * x - 61), -np.sign(2 * x - 61)]
    # Neither can move although cells are empty: blocked off from both.
    sealed = ".##xo/###xoo/######o/#######o/########o/#######x/######o/#####x/####o x 60 0"
    assert env.from_text(sealed).terminated


def test_turning_does_not_chain(colony):
    env = colony.env
    state = env.from_text("...../....../......./......../x.oo.o.../......../......./....../..... x 4 0")
    state = colony.step(state, env.text_to_action("e2"))
    assert env.to_text(state).split()[0].split("/")[4] == "xxxo.o..."


def test_jump_over_blocked_cells(colony):
    env = colony.env
    state = env.from_text("...../....../......./......../..x#...../......../......./....../....o x 4 0")
    state = colony.step(state, env.text_to_action("e3-e5"))
    assert not state.illegal
    assert env.to_text(state).split()[0].split("/")[4] == "...#x...."
    refused = colony.step(
        env.from_text("...../....../......./......../..x#...../......../......./....../....o x 4 0"),
        env.text_to_action("e4"),
    )
    assert refused.illegal


def test_illegal_action_ends_the_game(colony):
    state = colony.env.init(jax.random.key(0))
    for action in (rules.PASS, 0, -1, rules.NUM_ACTIONS, 10**6):
        after = colony.step(state, action)
        assert after.illegal
        assert after.terminated
        assert after.rewards.tolist() == [-1, 1]
        assert after.legal_action_mask.all()


def test_starter_and_starts():
    for starter in (0, 1):
        state = audamir_envs.make("colony-v0", starter=starter).init(jax.random.key(0))
        assert state.current_player == starter
    random = audamir_envs.make("colony-v0", starter="random")
    seats = jax.jit(jax.vmap(random.init))(jax.random.split(jax.random.key(1), 64)).current_player
    assert 10 < int(seats.sum()) < 54
    three = audamir_envs.make("colony-v0")
    text = three.to_text(three.init(jax.random.key(0)))
    assert text == "x...o/....../......./...#..../o....#..x/...#..../......./....../x...o x 0 0"
    one = audamir_envs.make("colony-v0", board="58", start="one", holes_toward="second", starter=1)
    text = one.to_text(one.init(jax.random.key(0)))
    assert text == "...../....../......./....#.../o..#....x/....#.../......./....../..... x 0 1"


def test_experience(colony):
    env = colony.env
    beside = "x..o./....../......./......../........./......../......./....../..... x 0 1"
    state = colony.step(env.from_text(beside), env.text_to_action("i1-i3"))
    for level, factor in (("weak", 0.5), ("normal", 1.0), ("strong", 2.0), ("random", 0.0)):
        assert env.info(state, (level,))["xp"].tolist() == [0, 0.5 * factor]
    assert env.info(state)["xp"].tolist() == [0, 0]
    running = env.init(jax.random.key(0))
    assert env.info(running, ("strong",))["xp"].tolist() == [0, 0]
    assert env.info(colony.step(running, rules.PASS), ("strong",))["xp"].tolist() == [0, 0]
    # A draw pays both sides half; passes are no moves.
    drawn = audamir_envs.make("colony-v0", max_turns=3)
    state = drawn.from_text("xoo../ooo.../oooo.../......../........./......../......./.x..../xxxxx x 0 0")
    assert not state.legal_action_mask[rules.PASS]
    lone = drawn.from_text("x..../....../......./......../o......../......../......./....../....o x 0 0")
    for move in ("i2", "e1-e3", "i1-g1"):
        lone = colony.step(lone, env.text_to_action(move))
    assert lone.terminated
    assert lone.rewards.tolist() == [0, 0]
    assert drawn.info(lone, ("normal",))["xp"].tolist() == [0.5, 0.25]


def test_passes_are_no_moves(colony):
    env = audamir_envs.make("colony-v0", max_turns=12)
    state = env.from_text("xoo../ooo.../oooo.../......../........./......../......./....../..... x 10 0")
    state = colony.step(state, rules.PASS)
    state = colony.step(state, int(np.flatnonzero(np.asarray(state.legal_action_mask))[0]))
    assert state.terminated
    assert env.info(state, ("strong",))["xp"].tolist() == [0, 1.0]
    state = colony.step(
        env.from_text("xoo../ooo.../oooo.../......../........./......../......./....../..... x 11 1"), rules.PASS
    )
    assert env.info(state, ("strong",))["xp"].tolist() == [0, 0]


def test_bad_options():
    with pytest.raises(ValueError, match="'58' or '61'"):
        audamir_envs.make("colony-v0", board="60")
    with pytest.raises(ValueError, match="1 to 1023"):
        audamir_envs.make("colony-v0", max_turns=0)
    with pytest.raises(ValueError, match="claim_empty"):
        audamir_envs.make("colony-v0", claims=True)
