"""Levels on disk: what is written is read, and what does not belong is refused by name."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from audamir_training.games import hex_config

import audamir_envs
from audamir_envs.agents.loading import make_agent
from audamir_envs.learned import checkpoints
from audamir_envs.learned.checkpoints import (
    CheckpointError,
    load_agent,
    read_level,
    read_tensors,
    save_level,
    write_tensors,
)
from audamir_envs.learned.networks import init_parameters, make_network


@pytest.fixture(scope="module")
def level(tmp_path_factory):
    """(environment, path, parameters) of a small level for Stigmergy."""
    env = audamir_envs.make("stigmergy-v0", side=3)
    config = hex_config(env.id, 4, 1)
    parameters = init_parameters(make_network(config), env.observation_shape, env.num_actions, jax.random.key(0))
    path = tmp_path_factory.mktemp("level") / "small.safetensors"
    save_level(path, env, config, parameters, budget={"minutes": 1})
    return env, path, parameters


def test_what_is_saved_is_read(level) -> None:
    env, path, parameters = level
    network, again, header = read_level(path, env.id)
    assert network.config == hex_config(env.id, 4, 1)
    jax.tree.map(np.testing.assert_array_equal, again, jax.tree.map(np.asarray, parameters))
    assert header["budget"] == {"minutes": 1}
    assert header["env"] == "stigmergy-v0"


def test_a_path_makes_agents_that_play_legally(level) -> None:
    env, path, _ = level
    searching = make_agent(env, str(path), simulations=4)
    bare = make_agent(env, str(path), policy=True)
    # A game of other shapes than the level was saved with.
    other = audamir_envs.make("stigmergy-v0", side=2, komi="choose")
    step = jax.jit(jax.vmap(other.step))
    acts = [jax.jit(agent.act_batch) for agent in (bare, searching)]
    states = jax.jit(jax.vmap(other.init))(jax.random.split(jax.random.key(0), 2))
    for number in range(6):
        actions = acts[number % 2](states, jax.random.key(number))
        assert np.asarray(states.legal_action_mask)[np.arange(2), np.asarray(actions)].all()
        states = step(states, actions)
    one = jax.tree.map(lambda leaf: leaf[0], jax.device_get(states))
    assert int(jax.jit(bare.act)(one, jax.random.key(0))) in np.flatnonzero(one.legal_action_mask)


def test_settings_are_checked(level) -> None:
    env, path, _ = level
    with pytest.raises(ValueError, match=r"no setting 'depth': use simulations"):
        load_agent(env, str(path), depth=3)
    with pytest.raises(ValueError, match="simulations=0"):
        load_agent(env, str(path), simulations=0)
    with pytest.raises(ValueError, match="temperature=-1"):
        load_agent(env, str(path), policy=True, temperature=-1.0)
    with pytest.raises(ValueError, match=r"value_scale=-0\.1 is not valid: use a number from 0"):
        load_agent(env, str(path), value_scale=-0.1)
    chosen = load_agent(env, str(path), simulations=8, considered=12, value_scale=0.25).config
    assert (chosen.simulations, chosen.considered, chosen.value_scale) == (8, 8, 0.25)
    with pytest.raises(ValueError, match="simulations=1000000 is not valid: use an integer from 1 to 65536"):
        load_agent(env, str(path), simulations=1_000_000)
    with pytest.raises(ValueError, match="is not valid: use a number from 0"):
        load_agent(env, str(path), noise=10**400)
    with pytest.raises(ValueError, match="no setting 'path_or_name'"):
        load_agent(env, str(path), path_or_name="x")
    numbers = load_agent(env, str(path), simulations=np.int64(3), noise=np.float32(0.5))
    assert (numbers.config.simulations, numbers.noise) == (3, 0.5)
    assert make_agent(env, path, policy=True).env_id == env.id  # a path that is no text


def rewritten(path, target, drop=(), change=lambda arrays: arrays, **changes):
    arrays, header = read_tensors(path)
    del header["checksum"]
    header = {name: value for name, value in header.items() if name not in drop}
    write_tensors(target, change(arrays), header | changes)
    return target


def test_what_does_not_belong_is_refused_by_name(level, tmp_path) -> None:
    env, path, _ = level
    with pytest.raises(CheckpointError, match="level of stigmergy-v0, not of colony-v0"):
        read_level(path, "colony-v0")
    with pytest.raises(CheckpointError, match="version 17"):
        read_level(rewritten(path, tmp_path / "a", env_version="17"), env.id)
    with pytest.raises(CheckpointError, match="observations"):
        read_level(rewritten(path, tmp_path / "b", observation='[3, "uint8"]'), env.id)
    network = read_tensors(path)[1]["network"]
    with pytest.raises(CheckpointError, match="network 'hex-0'"):
        read_level(rewritten(path, tmp_path / "c", network=network.replace("hex-2", "hex-0")), env.id)
    wider = network.replace('"channels": 4', '"channels": 5')
    with pytest.raises(CheckpointError, match="parameter"):
        read_level(rewritten(path, tmp_path / "d", network=wider), env.id)
    with pytest.raises(CheckpointError, match="no level of this suite"):
        read_level(rewritten(path, tmp_path / "e", format="other"), env.id)
    with pytest.raises(FileNotFoundError):
        read_level(tmp_path / "none.safetensors", env.id)


def with_one_value(value):
    def change(arrays):
        name = sorted(arrays)[-1]
        return arrays | {
            name: np.where(np.arange(arrays[name].size).reshape(arrays[name].shape) == 0, value, arrays[name])
        }

    return change


@pytest.mark.parametrize("value", [np.float32(np.nan), np.float32(np.inf)])
def test_parameters_that_are_no_numbers_are_refused(level, tmp_path, value) -> None:
    env, path, _ = level
    with pytest.raises(CheckpointError, match=r"nan\.safetensors: parameter .* has values that are no finite numbers"):
        read_level(rewritten(path, tmp_path / "nan.safetensors", change=with_one_value(value)), env.id)


def test_every_damaged_header_is_named(level, tmp_path) -> None:
    env, path, _ = level
    target = tmp_path / "x.safetensors"
    for field in ("env", "env_version", "network", "observation"):
        with pytest.raises(CheckpointError, match=f"x.safetensors is damaged: its header lacks {field}"):
            read_level(rewritten(path, target, drop=[field]), env.id)
    for field in ("network", "observation", "more"):
        with pytest.raises(CheckpointError, match=f"x.safetensors is damaged: {field} in its header is no JSON"):
            read_level(rewritten(path, target, **{field: "{"}), env.id)
    network = json.loads(read_tensors(path)[1]["network"])
    for fields, message in (
        ([], "network None, which cannot play stigmergy-v0: this version reads 'hex-2'"),
        (network | {"architecture": ["hex-2"]}, "this version reads"),
        (network | {"more": 1}, "the fields of its network are not those of 'hex-2'"),
        (network | {"channels": 0}, "channels=0 of the network is not valid: use an integer up to 4096"),
        (network | {"channels": "4"}, "channels='4' of the network"),
        (network | {"kinds": 10**9}, "kinds=1000000000 of the network"),
        (network | {"blocks": 1000}, "its network has 1000 blocks, more than there are arrays"),
        (network | {"blocks": 65536}, "blocks=65536 of the network"),
        (network | {"blocks": 2}, "parameter _Block_1/Dense_0/bias is missing"),
        (network | {"head": "cells"}, "parameter Dense_7/bias"),
        (network | {"head": "tail"}, "head='tail' of the network is not valid: use cells or komi"),
        (network | {"further": ["pass", "swap"]}, "1 on each of 61 cells, and pass, swap"),
        (network | {"further": ["pass", "pass"]}, "name each action once"),
        (network | {"further": 1}, "name each action once"),
        (network | {"features": [-1, *network["features"][1:]]}, "how 16 planes are read"),
        (network | {"scales": network["scales"][1:]}, "how 16 planes are read"),
        (network | {"scales": [float("nan"), *network["scales"][1:]]}, "network in its header is no JSON"),
        (network | {"scales": ["a", *network["scales"][1:]]}, "how 16 planes are read"),
    ):
        with pytest.raises(CheckpointError, match=f"x.safetensors.*{message}"):
            read_level(rewritten(path, target, network=json.dumps(fields)), env.id)
    tiles = json.dumps({"channels": 4, "blocks": 1, "pairs": 2, "architecture": "tiles-1"})
    with pytest.raises(CheckpointError, match="network 'tiles-1', which cannot play stigmergy-v0"):
        read_level(rewritten(path, target, network=tiles), env.id)
    facts = (
        ("budget", '{"minutes": "1"}'),
        ("budget", "[]"),
        ("settings", "3"),
        ("results", '[{"opponent": "strong"}, 1]'),
        ("commit", "null"),
        ("play", "[1]"),
    )
    for name, text in facts:
        with pytest.raises(CheckpointError, match=f"x.safetensors is damaged: {name} in its header cannot be"):
            read_level(rewritten(path, target, **{name: text}), env.id)
    for text in ("[" * 10**5, '{"a":' * 10**5, "NaN", "9" * 5000):
        with pytest.raises(CheckpointError, match=r"x.safetensors is damaged: more in its header is no JSON$"):
            read_level(rewritten(path, target, more=text), env.id)
    with pytest.raises(CheckpointError, match="parameter"):  # one name inside another
        read_level(
            rewritten(path, target, change=lambda a: a | {f"{name}/x": a[name] for name in sorted(a)[:1]}), env.id
        )


def test_every_kind_of_damage_is_seen(level, tmp_path) -> None:
    _, path, _ = level
    whole = path.read_bytes()
    target = tmp_path / "broken.safetensors"
    for content in (b"", whole[:-1], whole[:100], b"{}", whole[:-1] + bytes([whole[-1] ^ 255])):
        target.write_bytes(content)
        with pytest.raises(CheckpointError, match="damaged"):
            read_tensors(target)


def test_arrays_of_any_shape_and_layout_come_back(tmp_path) -> None:
    arrays = {
        "scalar": np.array(3, np.int32),
        "strided": np.arange(12, dtype=np.float32).reshape(3, 4).T,
        "bool": np.array([True, False]),
        "half": np.ones((2, 0, 3), np.float16),
        "words": np.array([2**32 - 1], np.uint32),
    }
    write_tensors(tmp_path / "x", arrays, {"fact": "1"})
    again, header = read_tensors(tmp_path / "x")
    assert header["fact"] == "1"
    for name, array in arrays.items():
        assert again[name].dtype == array.dtype
        np.testing.assert_array_equal(again[name], array)
        assert again[name].shape == array.shape


def test_states_of_another_shape_or_game_are_refused(level) -> None:
    env, path, _ = level
    one = env.init(jax.random.key(0))
    two = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), one)
    foreign = audamir_envs.make("colony-v0").init(jax.random.key(0))
    for agent in (make_agent(env, str(path), simulations=2), make_agent(env, str(path), policy=True)):
        for act, state in ((agent.act_batch, one), (agent.act, two), (agent.act, foreign)):
            with pytest.raises(ValueError, match=r"plays stigmergy-v0: act takes one state, act_batch a batch of them"):
                act(state, jax.random.key(0))


def test_an_unknown_level_names_the_known_ones(monkeypatch, level) -> None:
    _, path, _ = level
    monkeypatch.setattr(checkpoints, "shipped", lambda env_id: {"zero": path})
    assert load_agent("stigmergy-v0", "zero", simulations=2).name == "zero"
    assert load_agent("stigmergy-v0", "zero-policy").name == "zero-policy"
    with pytest.raises(ValueError, match="no level 'best' comes with stigmergy-v0: there is zero"):
        load_agent("stigmergy-v0", "best")
