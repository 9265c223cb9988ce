"""OpenSpiel's own algorithms play our games, through the adapter, as the functional API plays them."""

import dataclasses
import json
import pickle
import subprocess
import sys

import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs import arena, records

pytestmark = pytest.mark.frameworks
pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install open_spiel")

from open_spiel.python.algorithms import mcts  # noqa: E402
from open_spiel.python.observation import make_observation  # noqa: E402

from audamir_envs.bridges import open_spiel  # noqa: E402

GAMES = [
    ("stigmergy-v0", {"side": 3, "komi": 4}),
    ("stigmergy-v0", {"side": 3, "komi": "choose"}),
    ("colony-v0", {"board": "61", "max_turns": 60}),
    ("colony-v0", {}),
]
every_game = pytest.mark.parametrize(("env_id", "options"), GAMES, ids=lambda value: str(value))


def randomly(state, rng, plies=10**9):
    """Random legal play, in place."""
    while plies and not state.is_terminal():
        state.apply_action(int(rng.choice(state.legal_actions())))
        plies -= 1
    return state


def replayed(env, actions):
    """The functional state after a game's actions, each found legal on the way, and who made them."""
    step = jax.jit(env.step)
    state, movers = env.init(jax.random.key(0)), []
    for action in actions:
        assert state.legal_action_mask[action]
        assert not state.terminated
        movers.append(int(state.current_player))
        state = step(state, action)
    return state, movers


@every_game
def test_the_api_is_kept(env_id, options):
    game = open_spiel.load_game(env_id, **options)
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)


@every_game
def test_random_games_are_ours(env_id, options):
    game = open_spiel.load_game(env_id, **options)
    env = audamir_envs.make(env_id, **options)
    assert game.env == env
    assert game.num_distinct_actions() == env.num_actions
    assert game.max_game_length() == env.max_steps
    observer = make_observation(game)
    state = randomly(game.new_initial_state(), np.random.default_rng(0), plies=7)
    ours, movers = replayed(env, state.history())
    assert state.current_player() == ours.current_player
    assert state.legal_actions() == np.flatnonzero(ours.legal_action_mask).tolist()
    assert str(state) == env.to_text(ours)
    assert state.action_to_string(state.legal_actions()[0]) == env.action_to_text(state.legal_actions()[0])
    for seat in range(2):
        observer.set_from(state, seat)
        assert np.array_equal(observer.dict["observation"], np.asarray(env.observe(ours, seat), np.float32))
        assert np.array_equal(state.observation_tensor(seat), observer.tensor)
        assert state.observation_string(seat) == env.to_text(ours)
    state = randomly(state, np.random.default_rng(1))
    ours, movers = replayed(env, state.history())
    assert ours.terminated
    assert movers == [pair.player for pair in state.full_history()]
    assert state.returns() == ours.rewards.tolist()
    assert state.legal_actions() == []


@every_game
def test_states_clone_and_serialise(env_id, options):
    game = open_spiel.load_game(env_id, **options)
    state = randomly(game.new_initial_state(), np.random.default_rng(2), plies=5)
    text = str(state)
    copies = [
        state.clone(),
        pickle.loads(pickle.dumps(state)),
        pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))[1],
    ]
    ends = {tuple(randomly(copy, np.random.default_rng(3)).history()) for copy in copies}
    assert str(state) == text
    assert ends == {tuple(randomly(state, np.random.default_rng(3)).history())}
    again = pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, game.new_initial_state()))[0]
    assert again.env == game.env
    assert pickle.loads(pickle.dumps(game)).env == game.env


def play(game, bots, rng, opening=2):
    """A game after a random opening, with every answer of a bot found legal."""
    state = randomly(game.new_initial_state(), rng, opening)
    while not state.is_terminal():
        action = bots[state.current_player()].step(state)
        assert action in state.legal_actions()
        state.apply_action(action)
    return state


@pytest.mark.parametrize(
    ("env_id", "options", "games", "simulations"),
    [("stigmergy-v0", {"side": 3, "komi": 4}, 20, 50), ("colony-v0", {"max_turns": 40}, 4, 20)],
)
def test_mcts_bot_against_weak(env_id, options, games, simulations):
    game = open_spiel.load_game(env_id, **options)
    env = audamir_envs.make(env_id, **options)
    rng = np.random.RandomState(0)
    weak = open_spiel.AgentBot(game, "weak")
    search = mcts.MCTSBot(game, 2.0, simulations, open_spiel.RolloutEvaluator(game, rollouts=4), random_state=rng)
    results = []
    for number in range(games):
        seat = number % 2
        state = play(game, [search, weak] if seat == 0 else [weak, search], rng)
        ours, _ = replayed(env, state.history())
        assert ours.terminated
        assert not ours.illegal
        assert ours.rewards.tolist() == state.returns()
        results.append(state.returns()[seat])
    if games == 20:
        assert np.mean(results) > 0  # 50 simulations are more than one ply


def test_mcts_with_rollouts_of_its_own_finds_the_centre():
    game = pyspiel.load_game("audamir_stigmergy_v0(side=2)")
    rng = np.random.RandomState(0)
    search = mcts.MCTSBot(game, 2.0, 300, mcts.RandomRolloutEvaluator(1, rng), random_state=rng)
    # The centre wins, any other first move loses.
    assert game.env.action_to_text(search.step(game.new_initial_state())) == "b2"


def test_rollouts_in_jax_and_in_python_agree():
    game = open_spiel.load_game("stigmergy-v0", side=2)
    state = randomly(game.new_initial_state(), np.random.default_rng(4), plies=2)
    ours = open_spiel.RolloutEvaluator(game, rollouts=2000).evaluate(state)
    theirs = mcts.RandomRolloutEvaluator(500, np.random.RandomState(0)).evaluate(state)
    assert ours.sum() == pytest.approx(0)
    assert np.abs(ours - theirs).max() < 0.2


def test_python_ends_in_peace():
    """What OpenSpiel keeps of the games is let go of when Python has ended already."""
    subprocess.run([sys.executable, "-c", "from audamir_envs.bridges import open_spiel"], check=True, timeout=100)


@pytest.mark.parametrize(("env_id", "options"), [("stigmergy-v0", {"side": 2, "komi": 2}), ("colony-v0", {})])
def test_recorded_games_as_trajectories(env_id, options, tmp_path):
    env, path = audamir_envs.make(env_id, **options), tmp_path / "games.jsonl"
    arena.evaluate(env, ["random", "random"], games=3, record=path)
    for game in records.read(path).games:
        text = str(open_spiel.trajectory(game).to_string())
        again = pyspiel.Trajectory(text)
        assert [step["action"] for step in json.loads(text)["transitions"]] == list(game.actions)
        end = again.reconstruct_final_state()
        assert [(value + 1) / 2 for value in end.returns()] == list(game.shares)
        assert env.to_text(end.functional_state) == game.final
    arena.evaluate(env, ["random", "random"], games=1, record=path, max_plies=4)
    with pytest.raises(ValueError, match="not played to its end"):
        open_spiel.trajectory(records.read(path).games[-1])
    with pytest.raises(ValueError, match="starts from a position of its own"):
        open_spiel.trajectory(dataclasses.replace(game, start=game.final, actions=(), moves=()))


@pytest.mark.parametrize("kind", ["rbg", "unsafe_rbg"])
def test_under_other_keys_games_and_rollouts_work(kind):
    with jax.default_prng_impl(kind):
        game = open_spiel.load_game("stigmergy-v0", side=2)
        state = randomly(game.new_initial_state(), np.random.default_rng(1), 3)
        assert open_spiel.RolloutEvaluator(game, rollouts=4).evaluate(state).sum() == pytest.approx(0)
        assert open_spiel.AgentBot(game, "weak").step(state) in state.legal_actions()


def test_what_is_not_offered():
    with pytest.raises(ValueError, match="colony-v0, stigmergy-v0"):
        open_spiel.load_game("principalities-v0")
    with pytest.raises(ValueError, match="chance"):
        open_spiel.load_game("colony-v0", starter="random")
    with pytest.raises(ValueError, match="max_komi"):
        open_spiel.load_game("stigmergy-v0", komi="choose", max_komi=4)
    with pytest.raises(ValueError, match="from 2 to 12"):
        open_spiel.load_game("stigmergy-v0", side=13)
