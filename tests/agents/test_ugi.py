"""Programs behind pipes: every way to fail is one clear error, or a game lost, and no process is left behind."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from tally.environment import Tally

from audamir_envs import arena, make
from audamir_envs.agents import load_agent_text
from audamir_envs.agents.ugi import EngineError, UgiAgent, close_all, from_ugi
from audamir_envs.testing import registered

ROOT = Path(__file__).parents[2]
ENGINE = """
import os, signal, subprocess, sys, time
how, count = sys.argv[1], 0
log = open(sys.argv[2], "a") if len(sys.argv) > 2 else None
print(os.getpid(), "began", file=log, flush=True) if log else None
if how == "mute":
    time.sleep(1000)
if how == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(1000)"])
for line in sys.stdin:
    word = line.split()[0] if line.strip() else ""
    if log and word in ("setoption", "position"):
        print(line.strip(), file=log, flush=True)
    if word == "ugi":
        print("id name test\\noption name goal type spin\\noption name env type string\\nugiok")
    elif word == "isready":
        print("readyok")
    elif word == "go":
        count += 1
        if how == "crash":
            sys.exit("the engine's own words")
        elif how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "once" and not os.path.exists(sys.argv[2] + ".died") and count == 30:
            open(sys.argv[2] + ".died", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "silent":
            continue
        elif how == "slow":
            time.sleep(1)
        elif how == "flood":
            print("noise " * 1000 + "\\n" + "info depth 1\\n" * 20_000)
        print("bestmove", {"illegal": "+9", "empty": ""}.get(how, "+1 ponder +0"))
    elif word == "quit" and how != "stubborn":
        break
    sys.stdout.flush()
if how == "stubborn":
    time.sleep(1000)
"""


@pytest.fixture(autouse=True)
def _tally():
    with registered("tally-v0", "tally"):
        yield


@pytest.fixture
def engine(tmp_path):
    path = tmp_path / "engine.py"
    path.write_text(ENGINE)
    yield lambda how, *more: f"ugi:{sys.executable} -S -E {path} {how} " + " ".join(map(str, more))
    close_all()
    left = subprocess.run(["pgrep", "-f", str(path)], capture_output=True, text=True, check=False).stdout
    assert left == ""


@pytest.fixture(scope="module")
def state():
    env = Tally(goal=20)
    return env, jax.tree.map(lambda leaf: np.asarray(leaf)[None], env.init(jax.random.key(0)))


def test_it_is_told_where_it_is_and_what_is_played(engine, state, tmp_path):
    env, states = state
    agent = load_agent_text(env, engine("fine", tmp_path / "log").rstrip())
    assert isinstance(agent, UgiAgent)
    assert agent.act_states(env, states).tolist() == [1]
    other = Tally(goal=9)
    assert agent.act_states(other, states).tolist() == [1]
    agent.close()
    lines = [line for line in (tmp_path / "log").read_text().splitlines() if "began" not in line]
    assert sorted(lines[:2]) == [f"setoption name env value {env.id}", "setoption name goal value 20"]
    assert lines[2] == f"position fen {env.to_text(env.init(jax.random.key(0)))}"
    assert "setoption name goal value 9" in lines


FAULTS = {
    "crash": r"has ended with exit code 1 \(\"the engine's own words\"\)",
    "killed": "has ended by signal 9",
    "silent": r"gave no bestmove within 0\.3 s",
    "slow": r"gave no bestmove within 0\.3 s",
    "illegal": r"played the illegal move '\+9'",
    "empty": "played the illegal move ''",
}


@pytest.mark.parametrize("how", FAULTS)
def test_each_fault_is_one_clear_error_or_a_lost_game(engine, state, how):
    env, states = state
    short = ":movetime=100,margin=200" if how in ("silent", "slow") else ":movetime=100"
    agent = load_agent_text(env, engine(how).rstrip() + short)
    with pytest.raises(EngineError, match=FAULTS[how]) as error:
        agent.act_states(env, states)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("agent 'ugi:")
    agent = load_agent_text(env, engine(how).rstrip() + short + ",fault=lost")
    for faults in (1, 2):  # it is started again for the next
        assert agent.act_states(env, states).tolist() == [-1]
        assert agent.faults == faults


def test_one_that_never_gets_ready_ends_the_match_even_so(engine, state):
    env, states = state
    agent = from_ugi(engine("mute").rstrip() + ":start=200,fault=lost")
    assert [agent.act_states(env, states)[0] for _ in range(2)] == [-1, -1]
    with pytest.raises(EngineError, match=r"gave no ugiok within 0\.2 s"):
        agent.act_states(env, states)


def test_much_that_is_said_does_not_matter(engine, state):
    env, states = state
    assert from_ugi(engine("flood").rstrip()).act_states(env, states).tolist() == [1]


def test_a_stubborn_one_and_its_children_end(engine, state, tmp_path):
    env, states = state
    agent = from_ugi(engine("stubborn").rstrip())
    agent.act_states(env, states)
    began = time.monotonic()
    agent.close()
    assert time.monotonic() - began < 5
    # The fixture looks whether any is left.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ugi:", "there is no program ''"),
        ("ugi:./not_there --fast", "there is no program './not_there'"),
        ("ugi:'unclosed", "is no command"),
        ("ugi:true:movetime=0", "movetime=0 is not valid: use an integer from 1"),
        ("ugi:true:movetime=soon", "movetime='soon' is not valid"),
        ("ugi:true:fault=shrug", "fault='shrug' is not valid: use error or lost"),
        ("ugi:true:movetime=5,speed=3", "has no setting 'speed': use movetime, nodes, depth, margin, start, fault"),
    ],
)
def test_bad_texts(text, message):
    with pytest.raises(ValueError, match=r"ugi:|valid|setting") as refused:
        load_agent_text("tally-v0", text)
    assert message in str(refused.value)


def test_colons_and_quotes_of_a_command_stay():
    assert from_ugi("ugi:env A=b:c 'true false':movetime=5").words == ["env", "A=b:c", "true false"]


def test_a_hundred_games_and_a_kill_in_the_middle(engine, tmp_path):
    env = Tally(goal=6)
    text = engine("once", tmp_path / "log").rstrip()
    result = arena.evaluate(env, [text + ":fault=lost", "weak"], games=100, seed=1)
    assert result.games == 100
    assert (tmp_path / "log.died").exists()
    began = [line for line in (tmp_path / "log").read_text().splitlines() if "began" in line]
    assert len(began) == 2
    (tmp_path / "log.died").unlink()
    with pytest.raises(EngineError, match="has ended by signal 9"):
        arena.evaluate(env, [text, "weak"], games=100, seed=1)


def test_the_example_and_our_own_side_play_each_other():
    """Ours as an engine of another process, against the example in plain Python, which keeps to the rules."""
    env = make("colony-v0")
    example = f"ugi:{sys.executable} -S -E {ROOT / 'examples' / 'ugi_engine.py'}"
    assert len((ROOT / "examples" / "ugi_engine.py").read_text().splitlines()) < 100
    result = arena.evaluate(env, [example, "random"], games=4, max_plies=40)
    assert result.score[example] > 0.5


def test_it_agrees_with_the_example_about_moves():
    """The example's list of moves is the environment's, through a game of random ones."""
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        import ugi_engine
    finally:
        sys.path.pop(0)
    env = make("colony-v0")
    step, state = jax.jit(env.step), env.init(jax.random.key(0))
    position = ugi_engine.Position(env.to_text(state))
    random = np.random.default_rng(5)
    for _ in range(60):
        if state.terminated:
            break
        legal = np.flatnonzero(state.legal_action_mask)
        texts = {
            ugi_engine.LABEL[target] if origin is None else f"{ugi_engine.LABEL[origin]}-{ugi_engine.LABEL[target]}"
            for _, origin, target in position.moves()
        } or {"pass"}
        assert texts == {env.action_to_text(action) for action in legal.tolist()}
        action = int(random.choice(legal))
        state = step(state, action)
        position.play(env.action_to_text(action))
        assert env.to_text(state).split()[:3] == [
            "/".join("".join(position.board[cell] for cell in row) for row in ugi_engine.ROWS),
            position.mover,
            str(position.turn),
        ]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    if shutil.which("g++") is None:
        pytest.skip("there is no C++ compiler")
    program = tmp_path_factory.mktemp("cpp") / "colony"
    source = ROOT / "audamir_envs" / "colony" / "reference" / "colony_engine.cpp"
    subprocess.run(["g++", "-std=c++20", "-O0", "-o", str(program), str(source)], check=True)
    return program


def test_the_engine_in_cpp_knows_the_rules(compiled):
    """It answers positions of a random game with legal moves, and takes what there is to take."""
    env = make("colony-v0")
    agent = from_ugi(f"ugi:{compiled}:depth=2")
    step, state = jax.jit(env.step), env.init(jax.random.key(0))
    random = np.random.default_rng(3)
    for _ in range(30):
        one = jax.tree.map(lambda leaf: np.asarray(leaf)[None], state)
        assert state.legal_action_mask[agent.act_states(env, one)[0]]
        state = step(state, int(random.choice(np.flatnonzero(state.legal_action_mask))))
    last = env.from_text("...../....../......./...#..../xo...#.../...#..../......./....../..... x 9 0")
    one = jax.tree.map(lambda leaf: np.asarray(leaf)[None], last)
    final = step(last, agent.act_states(env, one)[0])
    assert final.terminated
    assert final.rewards.tolist() == [1, -1]
    agent.close()


@pytest.mark.slow
def test_the_engine_in_cpp_beats_the_weak_level(compiled):
    result = arena.evaluate("colony-v0", [f"ugi:{compiled}:depth=2", "weak"], games=4, opening_plies=2)
    assert next(iter(result.score.values())) == 1


def test_our_levels_as_an_engine():
    from audamir_envs.commands.ugi import Session

    class Out:
        def __init__(self):
            self.lines = []

        def write(self, text):
            self.lines += text.splitlines()

        def flush(self):
            pass

    env = Tally(goal=4)
    session = Session(env, load_agent_text(env, "strong"), "tally-v0 strong", 0)
    out = Out()
    said = ["ugi", "isready", "uginewgame", "position startpos", "query p1turn", "query gameover", "query result"]
    said += ["go movetime 5", "stop", "what is this", "", "position startpos moves +2 +0 +1", "query p1turn"]
    said += ["query fen", "position startpos moves +7", "position nowhere", "position startpos moves +2 +0 +1 +0 +2"]
    said += ["query gameover", "query result", "go", "query score", "quit", "go"]
    session.serve(iter(line + "\n" for line in said), out)
    lines = [line for line in out.lines if line]
    assert lines[:3] == ["id name audamir tally-v0 strong", "id author audamir-envs", "ugiok"]
    assert lines[3:8] == ["readyok", "response true", "response false", "response none", "bestmove +2"]
    assert lines[8] == "response false"
    assert lines[9].startswith("response 3 0")
    assert lines[10].startswith("info string error: ")
    assert lines[11] == "info string error: a position is startpos or fen, then moves"
    assert lines[12:15] == ["response true", "response p1win", "bestmove 0000"]
    assert lines[15].startswith("info string error: there is no query 'score'")
    assert len(lines) == 16


def test_a_real_conversation_with_the_command(tmp_path):
    command = f"ugi:{sys.executable} -m audamir_envs ugi stigmergy-v0 random -o side=2:movetime=60000,start=120000"
    env = make("stigmergy-v0", side=2)
    state = jax.tree.map(lambda leaf: np.asarray(leaf)[None], env.init(jax.random.key(0)))
    agent = from_ugi(command)
    (action,) = agent.act_states(env, state)
    assert state.legal_action_mask[0, action]
    agent.close()
