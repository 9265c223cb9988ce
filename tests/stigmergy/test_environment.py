"""Options, texts, the pie, observations, symmetries and drawing."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from stigmergy import play
from stigmergy.referee import Referee
from stigmergy.test_rules import random_game

import audamir_envs
from audamir_envs.drawing.scene import Circle, Text
from audamir_envs.stigmergy import observation, rules
from audamir_envs.symmetry import symmetries

make = functools.partial(audamir_envs.make, "stigmergy-v0")
MIDDLE = "x.o/.xo./o.x.x/..ox/x.. o -4 0 1"  # a position of side 3 with control on both sides


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"komi": 3}, "komi=3 .* 'choose' or an even integer"),
        ({"komi": 62}, "komi=62 .* from -60 to 60"),
        ({"komi": -62}, "from -60 to 60"),
        ({"komi": 4.0}, "komi=4.0"),
        ({"komi": True}, "komi=True"),
        ({"komi": "pie"}, "komi='pie' .* 'choose'"),
        ({"komi": None}, "komi=None"),
        ({"side": 3, "komi": 20}, "from -18 to 18"),
        ({"side": 1}, "side=1 .* from 2 to 12"),
        ({"side": 13}, "side=13 .* from 2 to 12"),
        ({"side": "5"}, "side='5'"),
        ({"komi": "choose", "max_komi": 7}, "max_komi=7 .* None or an even integer"),
        ({"komi": "choose", "max_komi": -2}, "max_komi=-2"),
        ({"komi": "choose", "max_komi": 62}, "max_komi=62"),
        ({"size": 5}, "no option 'size': its options are side, komi, max_komi"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_sizes():
    env = make()
    assert (env.side, env.komi, env.num_actions, env.observation_shape) == (5, 0, 62, (9, 9, 16))
    assert make(side=2).max_steps == 2 * (7 + 3 * 1 + 2 * 0 + 6) + 2
    pie = make(side=3, komi="choose")
    assert (pie.num_actions, pie.max_komi, pie.max_steps) == (20 + 10 + 2, 18, 120)
    assert make(side=3, komi="choose", max_komi=6).num_actions == 20 + 4 + 2
    assert make(side=3, komi=np.int64(-4)).komi == -4
    assert int(make(side=3, komi=-4).init(jax.random.key(0)).game.komi) == -4


def test_action_texts():
    env = make(side=3, komi="choose", max_komi=4)
    texts = [env.action_to_text(a) for a in range(env.num_actions)]
    assert texts[:3] == ["e1", "e2", "e3"]
    assert texts[18:] == ["a3", "pass", "komi=0", "komi=2", "komi=4", "black", "white"]
    assert [env.text_to_action(text) for text in texts] == list(range(env.num_actions))
    for bad in ("f1", "e4", "komi=3", "komi=6", "komi=-2", "komi=", "komi=000", "blac k", "", "c 3", "e"):
        with pytest.raises(ValueError, match="use "):
            env.text_to_action(bad)
    for bad in (-1, env.num_actions):
        with pytest.raises(ValueError, match=f"from 0 to {env.num_actions - 1}"):
            env.action_to_text(bad)
    for bad in (None, 3, b"c3"):
        with pytest.raises(TypeError, match="text"):
            env.text_to_action(bad)
    for bad in ("c3", True, 1.0, None):
        with pytest.raises(ValueError, match="integer"):
            env.action_to_text(bad)
    fixed = make(side=3)
    for bad in ("komi=0", "black", "white"):
        with pytest.raises(ValueError, match="use a cell from a1 to e3, pass"):
            fixed.text_to_action(bad)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "5 fields"),
        ("x.o/.xo./o.x.x/..ox/x.. o 0 0", "5 fields"),
        ("x.o/.xo./o.x.x/..ox/x..  o 0 0 1", "5 fields"),
        ("x.o/.xo./o.x.x/..ox o 0 0 1", "4 rows joined by '/': it needs 5"),
        ("x.o/.xo./o.x./..ox/x.. o 0 0 1", "row 3 of the board, 'o.x.', has 4 cells: it needs 5"),
        ("x.o/.xo./o.x.x/..o#/x.. o 0 0 1", "row 4 of the board has '#' at place 4"),
        ("x.o/.xo./o.x.x/..ox/x.. b 0 0 1", "field 2"),
        ("x.o/.xo./o.x.x/..ox/x.. o 3 0 1", "field 3"),
        ("x.o/.xo./o.x.x/..ox/x.. o 20 0 1", "field 3 .* from -18 to 18"),
        ("x.o/.xo./o.x.x/..ox/x.. o four 0 1", "field 3"),
        ("x.o/.xo./o.x.x/..ox/x.. o 0 3 1", "field 4"),
        ("x.o/.xo./o.x.x/..ox/x.. o 0 0 2", "field 5"),
        (".../..../..x../..../... o 4 1 0", "field 4 .* is 1: use 0"),
        (".../..../..x../..../... x 4 2 0", "field 4 .* is 2: use 0"),
        (".../..../...../..../... x ? 0 ?", "field 3 is \\?, which needs the pie"),
        (".../..../...../..../... x 4 0 ?", "field 5 is \\?, which needs the pie"),
    ],
)
def test_bad_position_texts(text, message):
    with pytest.raises(ValueError, match=message):
        make(side=3).from_text(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".../..../..x../..../... x ? 0 ?", "empty board"),
        (".../..../...../..../... o 4 0 ?", "empty board, x to move"),
        (".../..../...../..../... x 4 1 ?", "0 passes"),
        (".../..../...../..../... x ? 0 0", "field 5"),
    ],
)
def test_bad_pie_texts(text, message):
    with pytest.raises(ValueError, match=message):
        make(side=3, komi="choose").from_text(text)


def test_position_is_no_text():
    with pytest.raises(TypeError, match="text"):
        make(side=3).from_text(None)


@pytest.mark.parametrize("side", [2, 4])  # 3, 5 and 8 by tests/conformance
def test_texts_of_positions(side):
    env = play.environment(side)
    rng = np.random.default_rng(side)
    actions, *_ = random_game(side, rng)
    found = play.replay(env, [actions], [4])
    for ply in {0, len(actions) // 2, len(actions) - 1, len(actions)}:
        passes = 2 if ply == len(actions) else int(actions[ply - 1] == env.num_actions - 1) if ply else 0
        symbols = iter("".join(".xo"[s] for s in found["stones"][ply, 0][rules.tables(side).board.grid]))
        lengths = [2 * side - 1 - abs(row) for row in range(1 - side, side)]
        rows = "/".join("".join(next(symbols) for _ in range(n)) for n in lengths)
        text = f"{rows} {'xo'[ply % 2]} 4 {passes} 0"
        state = env.from_text(text)
        assert env.to_text(state) == text
        # What is worked out anew from the text is what was kept step by step.
        for name in ("stones", "sight"):
            assert np.array_equal(getattr(state.game, name), found[name][ply, 0])
        assert np.array_equal(state.legal_action_mask, found["mask"][ply, 0])
        assert np.array_equal(state.observation, found["observation"][ply, 0])
        assert bool(state.terminated) == (ply == len(actions))


@pytest.fixture(scope="module")
def pie():
    env = make(side=3, komi="choose", max_komi=8)
    return env, jax.jit(env.step)


def act(env, step, state, *texts):
    for text in texts:
        state = step(state, jnp.int32(env.text_to_action(text)))
    return state


def legal_texts(env, state):
    return [env.action_to_text(int(a)) for a in np.flatnonzero(state.legal_action_mask)]


def test_pie_phases(pie):
    env, step = pie
    state = env.init(jax.random.key(0))
    assert env.to_text(state) == ".../..../...../..../... x ? 0 ?"
    assert legal_texts(env, state) == ["komi=0", "komi=2", "komi=4", "komi=6", "komi=8"]
    assert int(state.current_player) == 0
    state = act(env, step, state, "komi=6")
    assert env.to_text(state) == ".../..../...../..../... x 6 0 ?"
    assert legal_texts(env, state) == ["black", "white"]
    assert int(state.current_player) == 1
    for colour, black_seat in (("black", 1), ("white", 0)):
        chosen = act(env, step, state, colour)
        assert env.to_text(chosen) == f".../..../...../..../... x 6 0 {black_seat}"
        assert int(chosen.current_player) == black_seat
        assert legal_texts(env, chosen) == [env.action_to_text(c) for c in range(19)]
        moved = act(env, step, chosen, "c3")
        assert int(moved.current_player) == 1 - black_seat
        for text in (env.to_text(state), env.to_text(chosen), env.to_text(moved)):
            assert env.to_text(env.from_text(text)) == text
    assert env.to_text(env.from_text(".../..../...../..../... x -18 0 ?")).endswith("-18 0 ?")


@pytest.mark.parametrize(
    ("before", "bad"),
    [
        ([], "c3"),
        ([], "pass"),
        ([], "black"),
        (["komi=4"], "komi=4"),
        (["komi=4"], "c3"),
        (["komi=4", "black"], "white"),
        (["komi=4", "black"], "komi=0"),
        (["komi=4", "black"], "pass"),
    ],
)
def test_actions_in_the_wrong_phase(pie, before, bad):
    env, step = pie
    state = act(env, step, env.init(jax.random.key(0)), *before)
    offender = int(state.current_player)
    after = act(env, step, state, bad)
    assert bool(after.terminated & after.illegal)
    assert after.rewards.tolist() == [(-1, 1)[offender], (1, -1)[offender]]
    assert f"illegal action of player_{offender}" in env.board_text(after)


@pytest.mark.parametrize("colour", ["black", "white"])
def test_pie_keeps_seats_and_colours_apart(pie, colour):
    """The same moves: whoever sits at Black's board gets Black's rewards, sights and names."""
    env, step = pie
    black_seat = int(colour == "black")
    state = act(env, step, env.init(jax.random.key(0)), "komi=6", colour, "c3", "b2", "d3")
    fixed = play.environment(3)
    same = fixed.from_text(env.to_text(state).rsplit(" ", 1)[0] + " 0")
    for seat in (0, 1):
        assert np.array_equal(env.observe(state, seat), fixed.observe(same, seat ^ black_seat))
    assert np.array_equal(state.observation, env.observe(state, 1 - black_seat))
    assert f"Black (player_{black_seat})" in env.board_text(state)
    assert f"White (player_{1 - black_seat}) to move" in env.scene(state).title
    points = env.info(state)["points"]
    black, white = (int(score) for score in rules.scores(state.game))
    assert points[black_seat] == black
    assert points[1 - black_seat] == white + 6
    rng = np.random.default_rng(3)
    while not bool(state.terminated):
        state = step(state, jnp.int32(rng.choice(np.flatnonzero(state.legal_action_mask))))
    black, white = (int(score) for score in rules.scores(state.game))
    winner = black_seat if black > white + 6 else 1 - black_seat
    assert state.rewards.tolist() == ([1, -1] if winner == 0 else [-1, 1])
    assert f"(player_{winner}) wins" in env.board_text(state)


def referee_planes(text, player):
    """The observation of a position of side 3 after the pie, worked out from its text alone."""
    rows, to_move, komi, passes, seat = text.split()
    symbols = rows.replace("/", "")
    stones = {i: s for i, s in enumerate(symbols) if s != "."}
    me, them = "xo" if player == int(seat) else "ox"
    referee = Referee(3, stones, to_move=me)
    favour = int(komi) * (1 if me == "o" else -1)
    expected = np.zeros((5, 5, 16), int)
    for i, (q, r) in enumerate(referee.cells):
        expected[r + 2, q + 2] = [
            1,
            stones.get(i) == me,
            stones.get(i) == them,
            referee.controls(me, i),
            referee.controls(them, i),
            referee.seen(i).count(me),
            referee.seen(i).count(them),
            i in referee.placements(),
            i in referee.flips(),
            max(favour, 0) // 2,
            max(-favour, 0) // 2,
            int(passes),
            0,
            0,
            to_move == me,
            referee.adjacent[i] // 2 + 1,
        ]
    return expected


def swapped(text):
    """Colours exchanged, everybody keeping his stones: what each seat sees must stay."""
    rows, to_move, komi, passes, seat = text.split()
    exchange = str.maketrans("xo01", "ox10")
    return f"{rows.translate(exchange)} {to_move.translate(exchange)} {-int(komi)} {passes} {seat.translate(exchange)}"


def test_observation(pie):
    env, step = pie
    rng = np.random.default_rng(11)
    state = act(env, step, env.init(jax.random.key(0)), "komi=6", "black")
    texts = [MIDDLE]
    while not bool(state.terminated):
        state = step(state, jnp.int32(rng.choice(np.flatnonzero(state.legal_action_mask))))
        texts.append(env.to_text(state))
    for text in texts[::3] + texts[-2:]:
        state, other = env.from_text(text), env.from_text(swapped(text))
        for player in (0, 1):
            seen = env.observe(state, player)
            assert seen.dtype == jnp.uint8
            assert np.array_equal(seen, referee_planes(text, player)), (text, player)
            assert np.array_equal(seen, env.observe(other, player))
            assert np.array_equal(seen, env.observe(env.from_text(text[:-1] + str(1 - int(text[-1]))), 1 - player))


def test_observation_in_the_pie(pie):
    env, step = pie
    state = env.init(jax.random.key(0))
    on_board = np.asarray(state.observation[..., 0])
    for texts, offered, phase in (([], 4, (1, 0)), (["komi=6"], 3, (0, 1))):
        now = act(env, step, state, *texts)
        for player in (0, 1):
            seen = np.asarray(env.observe(now, player))
            assert not seen[..., 1:10].any()
            expected = [offered, 0, *phase, int(player == now.current_player)]
            for plane, value in enumerate(expected, start=10):
                assert np.array_equal(seen[..., plane], value * on_board)
    assert make(side=12, komi=-396).init(jax.random.key(0)).observation.max() == observation.HIGH


@pytest.mark.parametrize("s", range(12))
def test_symmetries(s):
    """The turned game is the game of the turned actions."""
    side = 4
    env = play.environment(side)
    tables = symmetries(env)
    actions, *_ = random_game(side, np.random.default_rng(5))
    turned = [int(tables.actions[s, a]) for a in actions]
    found = play.replay(env, [actions, turned], [0, 0])
    mask, seen = found["mask"], found["observation"]
    places = seen.reshape(*seen.shape[:2], -1, seen.shape[-1])
    assert np.array_equal(mask[:, 0][:, tables.sources[s]], mask[:, 1])
    assert np.array_equal(places[:, 0][:, tables.grid[s]], places[:, 1])
    assert np.array_equal(found["score"][:, 0], found["score"][:, 1])


def test_drawing():
    env = make(side=3)
    state = env.from_text(MIDDLE)
    picture = env.scene(state, last_action=env.text_to_action("c3"))
    assert sum(isinstance(shape, Circle) for shape in picture.shapes) == sum(MIDDLE.split()[0].count(s) for s in "xo")
    words = " ".join(shape.text for shape in picture.shapes if isinstance(shape, Text))
    black, white = Referee(3, {i: s for i, s in enumerate(MIDDLE.split()[0].replace("/", "")) if s != "."}).score()
    line = f"Black (player_1) {black}   White (player_0) {white} - komi 4 = {white - 4}"
    assert line in words
    assert "White (player_0) to move" in words
    text = env.board_text(state, last_action=env.text_to_action("c3"))
    assert "[x]" in text
    assert line in text
    for side in (2, 12):
        large = make(side=side)
        assert large.scene(large.init(jax.random.key(0))).width > 0


def test_control_is_tinted():
    env = make(side=2)
    # Three black stones see the centre's neighbours: b2 sees x on most sides.
    state = env.from_text("xx/x.x/xx x 0 0 0")
    assert "+" in env.board_text(state)
    fills = {shape.fill for shape in env.scene(state).shapes}
    plain = {shape.fill for shape in env.scene(env.init(jax.random.key(0))).shapes}
    assert fills - plain
