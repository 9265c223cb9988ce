"""Names, settings and texts of agents, and policies of other frameworks alone."""

import os
import re
from pathlib import Path

import jax
import numpy as np
import pytest
from tally.environment import Tally
from tally.scripted import High

import audamir_envs
from audamir_envs import agents, registry
from audamir_envs.agents.base import evaluate_batch
from audamir_envs.agents.loading import load_agent_text, parse_agent
from audamir_envs.bridges.gymnasium import SingleAgentEnv
from audamir_envs.testing import registered


@pytest.fixture(autouse=True)
def _tally():
    with registered("tally-v0", "tally"):
        yield


def test_names(key):
    assert isinstance(audamir_envs.make_agent("tally-v0", "strong"), High)
    agent = audamir_envs.make_agent(Tally(players=3), "random")
    state = Tally().init(key)
    assert agent.name == "random"
    assert bool(state.legal_action_mask[agent.act(state, key)])
    assert agents.agent_names("tally-v0") == ("random", "weak", "strong", "cheat")


def test_settings():
    assert audamir_envs.make_agent("tally-v0", "strong", slip=0.25).slip == 0.25
    with pytest.raises(ValueError, match="'strong' has no setting 'slop': its settings are slip"):
        audamir_envs.make_agent("tally-v0", "strong", slop=1)
    with pytest.raises(ValueError, match="'random' has no setting 'x': it has none"):
        audamir_envs.make_agent("tally-v0", "random", x=1)


def test_unknown_names():
    with pytest.raises(
        ValueError, match=r"unknown agent 'best' for tally-v0: use random, weak, strong, cheat, or a path"
    ):
        audamir_envs.make_agent("tally-v0", "best")
    with pytest.raises(ValueError, match="unknown environment 'chess': use colony-v0"):
        audamir_envs.make_agent("chess", "weak")
    with pytest.raises(TypeError, match="string, not int"):
        audamir_envs.make_agent("tally-v0", 3)  # type: ignore[arg-type]
    for name in ("nowhere/file.safetensors", "file.safetensors"):
        with pytest.raises(FileNotFoundError, match="does not exist"):
            audamir_envs.make_agent("tally-v0", name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("weak", ("weak", {})),
        ("zero:simulations=64", ("zero", {"simulations": 64})),
        ("a:b=0.5,c=true,d=False,e=word,f=-3", ("a", {"b": 0.5, "c": True, "d": False, "e": "word", "f": -3})),
        ("runs/c1.safetensors:simulations=8", ("runs/c1.safetensors", {"simulations": 8})),
        ("run:2/zero.safetensors:simulations=2", ("run:2/zero.safetensors", {"simulations": 2})),
        ("run:2/zero.safetensors", ("run:2/zero.safetensors", {})),
        ("C:zero.safetensors", ("C:zero.safetensors", {})),
        (r"C:\levels\zero.safetensors:noise=1", (r"C:\levels\zero.safetensors", {"noise": 1})),
        (r"C:\levels\zero:noise=1", (r"C:\levels\zero", {"noise": 1})),
        ("C:/levels/zero", ("C:/levels/zero", {})),
        ("a.safetensors:b.safetensors:c=d:e", ("a.safetensors:b.safetensors", {"c": "d:e"})),
    ],
)
def test_texts(text, expected):
    assert parse_agent(text) == expected


@pytest.mark.parametrize("text", ["", ":", "weak:", "weak:=1", "weak:a=", "weak:a=1,", "weak:a=1,,b=2", "weak:a b=1"])
def test_bad_texts(text):
    with pytest.raises(ValueError, match="is not written as"):
        parse_agent(text)


def test_colons_of_a_file_that_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run:2").mkdir()
    for name in ("run:2/level", "a:b=1", "a:b"):
        (tmp_path / name).write_text("")
        assert parse_agent(name) == (name, {})
        assert parse_agent(f"{name}:c=1") == (name, {"c": 1})


def test_long_texts_are_quoted_short():
    for text in ("x" * 10**6, "weak:" + "y" * 10**6, "weak:no:" + "z" * 10**6, ":" * 10**5):
        with pytest.raises(ValueError, match=r"characters\)") as refused:
            load_agent_text("tally-v0", text)
        assert len(str(refused.value)) < 500


def test_a_setting_is_given_once_and_is_no_argument_of_the_function():
    with pytest.raises(ValueError, match=r"'strong:slip=0\.1,slip=0\.2' gives slip twice"):
        load_agent_text("tally-v0", "strong:slip=0.1,slip=0.2")
    for name in ("name", "env_or_id"):
        with pytest.raises(ValueError, match=f"no setting '{name}'"):
            load_agent_text("tally-v0", f"strong:{name}=x")


def test_a_setting_out_of_reach_is_told_with_its_agent():
    # Of two agents in one match, which of them?
    for text in ("zero:simulations=0", "zero-policy:temperature=-1"):
        with pytest.raises(ValueError, match=f"agent '{text}': .* is not valid: use"):
            load_agent_text("stigmergy-v0", text)


def test_text_of_a_level_with_a_setting_that_is_none():
    with pytest.raises(ValueError, match="'slip' is not written as setting=value"):
        load_agent_text("tally-v0", "strong:slip")


def test_functions_in_texts():
    agent = load_agent_text("tally-v0", "numpy:argmax")
    assert isinstance(agent, agents.CallableAgent)
    assert agent.name == "numpy:argmax"
    assert agent.fn is np.argmax


def first_legal(observation, action_mask):
    return action_mask.argmax(axis=1)


def test_from_callable_sees_float_observations_and_boolean_masks():
    seen = {}

    def policy(observation, action_mask):
        seen.update(observation=observation, action_mask=action_mask)
        action_mask[:] = True  # writing into what it got must not matter
        return np.zeros(len(action_mask), np.int64)

    agent = agents.from_callable(policy, name="mine")
    assert agent.name == "mine"
    mask = np.array([[True, False], [True, True]])
    actions = agent.act_numpy(np.ones((2, 3), np.uint8), mask)
    assert actions.dtype == np.int32
    assert seen["observation"].dtype == np.float32
    assert seen["action_mask"].dtype == np.bool_
    assert not mask[0, 1]


def test_from_callable_acts_on_one_state(key):
    state = Tally().init(key)
    agent = agents.from_callable(first_legal)
    assert agent.name == "first_legal"
    assert int(agent.act(state, key)) == 0
    with pytest.raises(jax.errors.TracerArrayConversionError):
        jax.jit(agent.act)(state, key)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(3, np.int32), r"integers of shape \(2,\), not int32 of shape \(3,\)"),
        (np.zeros((2, 1), np.int32), r"of shape \(2, 1\)"),
        (np.zeros(2), "not float64"),
        (np.array([0, 1]), "illegal action 1"),
        (np.array([0, -1]), "illegal action -1"),
        (np.array([0, 2]), "illegal action 2"),
    ],
)
def test_bad_answers_name_the_agent(answer, message):
    agent = agents.from_callable(lambda observation, action_mask: answer, name="mine")
    with pytest.raises(ValueError, match=f"agent 'mine' .*{message}"):
        agent.act_numpy(np.zeros((2, 3)), np.array([[True, True], [True, False]]))


def test_from_callable_needs_a_function():
    with pytest.raises(TypeError, match=r"\(observation, action_mask\) -> actions, not 3"):
        agents.from_callable(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"\(observation, action_mask\) -> actions, not <"):
        agents.from_callable(lambda observation: 0)  # type: ignore[arg-type]


def test_folders_and_pipes_are_no_levels(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"is a folder: name the \.safetensors file in it"):
        audamir_envs.make_agent("tally-v0", str(tmp_path))
    pipe = tmp_path / "pipe.safetensors"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match=r"pipe\.safetensors is no regular file"):
        audamir_envs.make_agent("tally-v0", str(pipe))


def test_a_bad_setting_of_an_opponent_is_told_with_its_text():
    with pytest.raises(ValueError, match=r"agent 'strong:slip=2': .*use a share from 0 to 1"):
        SingleAgentEnv(Tally(), opponent="strong:slip=2")


def test_a_file_with_a_colon_in_its_name_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "with:colon.safetensors").write_text("no tensors")
    with pytest.raises(ValueError, match=r"with:colon\.safetensors is damaged or no safetensors file"):
        load_agent_text("tally-v0", "with:colon.safetensors")
    with pytest.raises(ValueError, match=r"with:colon\.safetensors is damaged or no safetensors file"):
        SingleAgentEnv(Tally(), opponent="with:colon.safetensors")


def test_a_file_in_the_working_directory_needs_no_ending(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "level").write_text("no tensors")
    with pytest.raises(ValueError, match="level is damaged or no safetensors file"):
        audamir_envs.make_agent("tally-v0", "level")


def test_what_an_agent_thinks(key):
    env = Tally(players=3)
    state = env.init(key)
    thought = agents.RandomAgent().evaluate(state)
    legal = np.asarray(state.legal_action_mask)
    np.testing.assert_allclose(thought.policy, legal / legal.sum())
    assert thought.value.shape == (3,)
    assert np.isnan(thought.value).all()
    assert thought.visits is None
    with pytest.raises(NotImplementedError, match="agent 'mine' only acts"):
        evaluate_batch(agents.from_callable(first_legal, name="mine"), state)
    with pytest.raises(NotImplementedError, match=r"BatchAgent must define act"):
        agents.BatchAgent().evaluate(state)


def test_what_an_agent_of_ones_own_thinks_of_a_batch(key):
    class Sure:
        name = "sure"

        def act(self, state, key):
            return state.legal_action_mask.argmax()

        def evaluate(self, state):
            return agents.Evaluation(policy=jax.nn.one_hot(self.act(state, None), 5), value=state.rewards)

    states = jax.vmap(Tally(players=3).init)(jax.random.split(key, 4))
    assert evaluate_batch(Sure(), states).policy.shape == (4, 5)


def test_agents_do_not_know_who_trains_them_and_name_no_game():
    """Arrows between packages run one way: agents know neither learned ones nor a game."""
    folder = Path(agents.__file__).parent
    for path in folder.glob("*.py"):
        imported = re.findall(r"audamir_envs[.\w]*", path.read_text())
        above = ("learned", "arena", "bridges", "commands", *(game.split(".")[1] for game in registry.GAMES.values()))
        assert not [name for name in imported if name.split(".")[1:2] and name.split(".")[1] in above], path
