"""A whole game typed by a person."""

import builtins

import pytest


@pytest.fixture
def typed(monkeypatch):
    def type_lines(*lines):
        waiting = list(lines)

        def read(prompt):
            if not waiting:
                raise EOFError
            line = waiting.pop(0)
            if line is KeyboardInterrupt:
                raise KeyboardInterrupt
            return line

        monkeypatch.setattr(builtins, "input", read)
        return waiting

    return type_lines


PLAY = ("play", "tally-v0", "weak", "--seat", "0", "-o", "goal=6")


def test_a_game_to_its_end(audamir, typed):
    rest = typed(
        "help", "moves", "", "+2", "+2", "+7", "moves", "moves +1", "moves x", "+1", "text", "+2", "board", "+1"
    )
    code, out, err = audamir(*PLAY)
    assert (code, err, rest) == (0, "", [])
    assert "You are player_0, seed " in out
    assert "+0  +1  +2\n" in out
    assert "+2 is not legal here" in out  # twice running
    assert "move '+7' is not valid: use +0, +1 or +2" in out
    assert "+0  +1\n" in out
    assert "No legal move begins with 'x'." in out
    assert out.count("player_1 (weak): +0") == 3
    assert "sums 5 0" in out
    assert "3 0\n" in out
    assert "You win.\nscore: 6\n" in out


def test_undo_takes_back_the_opponents_move_too(audamir, typed):
    rest = typed("undo", "+2", "+1", "undo", "undo", "+1", "text", "+2", "+1", "+2")
    code, out, _ = audamir(*PLAY)
    assert (code, rest) == (0, [])
    assert "There is nothing to take back." in out
    assert "1 0\n" in out
    assert "score: 6" in out


def test_losing_and_drawing(audamir, typed):
    typed("+0", "+0", "+0", "+0", "+0", "+0")
    assert "player_1 (strong) wins." in audamir("play", "tally-v0", "strong", "--seat", "0")[1]
    typed("+0", "+0")
    out = audamir("play", "tally-v0", "weak", "--seat", "1", "-o", "rounds=2")[1]
    assert "Draw between player_0 (weak), player_1 (you)." in out
    assert out.index("player_0 (weak): +0") < out.index("sums 0 0")


def test_resigning_and_leaving(audamir, typed):
    typed("+1", "resign")
    code, out, _ = audamir(*PLAY)
    assert code == 0
    assert out.endswith("You resigned.\n")
    for last in ((), (KeyboardInterrupt,), ("quit",)):
        typed("+1", *last)
        code, out, err = audamir(*PLAY)
        assert (code, err) == (0, "")
        assert out.endswith("Left the game.\n")


def test_more_opponents(audamir, typed):
    typed("+2", "+1")
    words = ("play", "tally-v0", "weak", "strong", "--seat", "1", "-o", "players=3", "-o", "goal=3")
    code, out, _ = audamir(*words)
    assert code == 0
    assert out.index("player_0 (strong): +2") < out.index("player_2 (weak): +0")


def test_the_same_seed_is_the_same_game(audamir, typed):
    def game(seed):
        typed(*["+0"] * 6)
        return audamir("play", "tally-v0", "random", "--seed", str(seed))[1]

    games = [game(seed) for seed in (1, 1, 2, 3)]
    assert games[0] == games[1]
    assert len({game.partition("seed")[2][2:] for game in games}) > 1


def test_an_opponent_that_cheats_is_an_error_of_its(audamir, typed):
    typed("+1", "+1", "+1")
    code, out, err = audamir("play", "tally-v0", "cheat", "--seat", "0")
    assert code == 2
    assert "agent 'cheat' played the illegal action 2" in err
    assert "wins" not in out


def test_watching_agents_play(audamir, typed):
    typed()  # nobody is asked
    code, out, err = audamir("play", "tally-v0", "strong", "weak", "--watch", "-o", "goal=6", "--seed", "1")
    assert (code, err) == (0, "")
    assert out.startswith("player_0 (strong), player_1 (weak); seed 1.\n")
    moves = [line for line in out.splitlines() if "): +" in line]
    weak = "player_1 (weak): +0"
    strong = [f"player_0 (strong): +{taken}" for taken in (2, 1, 2, 1)]
    assert moves == [strong[0], weak, strong[1], weak, strong[2], weak, strong[3]]
    assert out.count("sums ") == 1 + len(moves)  # the position before every move, and the last
    assert out.endswith("player_0 (strong) wins.\nscore: 6 0\n")


def test_the_second_agent_fills_a_watched_table(audamir, typed):
    typed()
    words = ("play", "tally-v0", "strong", "-o", "players=3", "--watch", "weak", "-o", "goal=4")
    assert audamir(*words)[1].startswith("player_0 (strong), player_1 (weak), player_2 (weak); seed ")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("weak",), "--watch needs two agents; you gave 1"),
        (("weak", "weak", "weak"), "--watch needs two agents; you gave 3"),
        (("weak", "-o", "players=3"), "--watch needs two agents, or 3: one for each seat; you gave 1"),
        (("weak", "weak", "--seat", "0"), "--seat is yours and --watch leaves you none"),
    ],
)
def test_watching_needs_agents_in_all_seats(audamir, more, message):
    code, _, err = audamir("play", "tally-v0", "--watch", *more)
    assert code == 2
    assert message in err
