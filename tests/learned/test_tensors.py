"""Files of arrays: whatever is changed in one is told in one line that names it, or changes nothing."""

import random
import struct
import time
import warnings
import zlib

import jax
import numpy as np
import pytest
from safetensors.numpy import save

import audamir_envs
from audamir_envs.learned import upgrade
from audamir_envs.learned.checkpoints import FORMAT, load_agent, read_level, save_level
from audamir_envs.learned.networks import HexConfig, init_parameters, make_network
from audamir_envs.learned.tensors import CheckpointError, check_facts, is_number, is_text, is_whole, read_tensors

ENV = "stigmergy-v0"


@pytest.fixture(scope="module")
def level(tmp_path_factory) -> bytes:
    """A small level with all that a header may say."""
    env = audamir_envs.make(ENV, side=2)
    config = HexConfig.of(audamir_envs.registry.learning(ENV).network, 1, 1)
    parameters = init_parameters(make_network(config), env.observation_shape, env.num_actions, jax.random.key(0))
    path = tmp_path_factory.mktemp("level") / "level.safetensors"
    facts = {
        "budget": {"minutes": 1.5},
        "settings": {"seed": 0},
        "results": [],
        "commit": "abc",
        "play": {"noise": 0.5},
    }
    save_level(path, env, config, parameters, **facts)
    return path.read_bytes()


def same(one, other) -> bool:
    (network, parameters, header), (network_, parameters_, header_) = one, other
    equal = jax.tree.map(np.array_equal, parameters, parameters_)
    return network == network_ and header == header_ and all(jax.tree.leaves(equal))


def fuzz(whole: bytes, path, changes: int, truncations: int, read) -> None:
    """Every change gives an error in one line that names the file, or what was read before."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # shown where the test fails
    draw = random.Random(seed)
    path.write_bytes(whole)
    before = read(path)
    for number in range(changes + truncations):
        broken = bytearray(whole)
        if number < changes:
            place = draw.choice((draw.randrange(len(whole)), draw.randrange(min(len(whole), 4000))))
            broken[place] = draw.choice([value for value in range(256) if value != broken[place]])
        else:
            del broken[draw.randrange(len(whole)) :]
        path.write_bytes(broken)
        after, told = outcome(path, read)
        if after is None:
            assert str(path) in told, (seed, number, told)
            assert "\n" not in told, (seed, number, told)
            assert len(told) < len(str(path)) + 600, (seed, number)
        else:
            assert number < changes, (seed, number)
            assert same(before, after), (seed, number)


def outcome(path, read):
    """(what is read, or None; the error's message)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return read(path), ""
    except CheckpointError as error:
        return None, str(error)


def test_changed_bytes_are_told(level, tmp_path) -> None:
    fuzz(level, tmp_path / "x.safetensors", 150, 30, lambda path: read_level(path, ENV))


@pytest.mark.slow
def test_many_changed_bytes_are_told(level, tmp_path) -> None:
    fuzz(level, tmp_path / "x.safetensors", 1000, 200, lambda path: read_level(path, ENV))


def test_what_a_file_says_of_itself_is_under_its_checksum(level, tmp_path) -> None:
    path = tmp_path / "x.safetensors"
    for old, new in (
        (b"0.25]", b"9.25]"),
        (b"audamir-level-2", b"audamir-level-1"),
        (b'\\"seed\\": 0', b'\\"seed\\": 1'),
    ):
        assert level.count(old) == 1
        path.write_bytes(level.replace(old, new))
        with pytest.raises(CheckpointError, match=r"x\.safetensors is damaged: its contents do not match"):
            read_level(path, ENV)
    path.write_bytes(level.replace(b'"checksum"', b'"checksun"'))
    with pytest.raises(CheckpointError, match=r"x\.safetensors is damaged or no file of this suite: .* no checksum"):
        read_level(path, ENV)


def test_sizes_that_are_only_claimed_cost_no_time(level, tmp_path) -> None:
    path = tmp_path / "x.safetensors"
    size = struct.unpack("<Q", level[:8])[0]
    claims = [
        struct.pack("<Q", 2**40) + level[8:],
        level.replace(b'"data_offsets":[0,', b'"data_offsets":[9,', 1),
        struct.pack("<Q", 2 * 10**6) + b'{"__metadata__":{"x":"' + b"[" * (2 * 10**6 - 24) + b'"}}',
        struct.pack("<Q", 10**6) + b'{"a":' * 200_000,
        level[:8] + level[8 : 8 + size].replace(b'"F32"', b'"F99"', 1) + level[8 + size :],
    ]
    for content in claims:
        path.write_bytes(content)
        start = time.monotonic()
        with pytest.raises(CheckpointError, match=r"x\.safetensors is damaged or no"):
            read_tensors(path)
        assert time.monotonic() - start < 1


def contents(path):
    arrays, header = read_tensors(path)  # the checksum in the header stands for the arrays
    return sorted(arrays), header


def earlier(arrays, metadata) -> bytes:
    """A file as versions before wrote it: the checksum is over names and bytes of the arrays alone."""
    value = 0
    for name in sorted(arrays):
        value = zlib.crc32(arrays[name].tobytes(), zlib.crc32(name.encode(), value))
    return save(arrays, metadata | {"checksum": f"{value:08x}"})


def test_a_level_of_an_earlier_version_plays_and_is_written_anew(level, tmp_path, capsys) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(level)
    arrays, header = read_tensors(path)
    kept = contents(path)
    del header["checksum"]
    header["format"] = "audamir-level-1"
    header["network"] = header["network"].replace(', "further": ["pass"], "head": "komi"', "").replace("hex-2", "hex-1")
    path.write_bytes(earlier(arrays, header))
    with pytest.warns(UserWarning, match=r"x\.safetensors was written by an earlier version.*learned\.upgrade"):
        old = load_agent(ENV, str(path), policy=True)
    upgrade.main([str(path)])
    assert "x.safetensors: written anew" in capsys.readouterr().out
    new = load_agent(ENV, str(path), policy=True)
    assert read_tensors(path)[1]["format"] == FORMAT
    assert contents(path) == kept
    state = audamir_envs.make(ENV, side=2, komi="choose").init(jax.random.key(0))
    assert int(old.act(state, jax.random.key(0))) == int(new.act(state, jax.random.key(0)))
    upgrade.main([str(path)])
    assert "is up to date" in capsys.readouterr().out
    path.write_bytes(level[:-1])
    with pytest.raises(SystemExit):
        upgrade.main([str(path)])
    assert "is damaged" in capsys.readouterr().err


def test_a_network_of_an_earlier_version_without_pie_loses_that_head(tmp_path) -> None:
    env = audamir_envs.make("colony-v0")
    config = HexConfig.of(audamir_envs.registry.learning(env.id).network, 2, 1)
    network = make_network(config)
    parameters = init_parameters(network, env.observation_shape, env.num_actions, jax.random.key(0))
    path, other = tmp_path / "x.safetensors", tmp_path / "y.safetensors"
    save_level(path, env, config, parameters)
    arrays, header = read_tensors(path)
    del header["checksum"]
    header["format"] = "audamir-level-1"
    header["network"] = (
        header["network"].replace(', "further": ["pass"], "head": "cells"', "").replace("hex-2", "hex-1")
    )
    wide = {name: np.repeat(array, 3, axis=-1) if "Dense_7" in name else array for name, array in arrays.items()}
    other.write_bytes(earlier(wide | {"komi_sharpness": np.array(0.3, np.float32)}, header))
    assert upgrade.upgrade(other)
    assert contents(other) == contents(path)


def test_facts_are_checked_by_type_and_range() -> None:
    checks = {"name": is_text, "share": is_number(0, 1), "count": is_whole(1)}
    good = {"name": "a", "share": 0.5, "count": 3, "more": None}
    check_facts("file", good, checks)
    for changes, message in (
        ({"name": 1}, "name in its header cannot be 1"),
        ({"share": 1.5}, r"share in its header cannot be 1\.5"),
        ({"share": True}, "share in its header cannot be True"),
        ({"share": float("nan")}, "share in its header cannot be nan"),
        ({"count": 0}, "count in its header cannot be 0"),
        ({"count": 1.0}, r"count in its header cannot be 1\.0"),
        ({"name": ["x"] * 1000}, r"cannot be .{80}\.\.\. \(5000 characters\)"),
    ):
        with pytest.raises(CheckpointError, match=f"^file is damaged: .*{message}$"):
            check_facts("file", good | changes, checks)
    with pytest.raises(CheckpointError, match="file is damaged: its header lacks count, share"):
        check_facts("file", {"name": "a"}, checks)
    with pytest.raises(CheckpointError, match="its header is no table of facts"):
        check_facts("file", [], checks)
