"""Levels on disk: one safetensors file with a metadata header, written whole or not at all, read without pickle."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from audamir_envs import files, registry
from audamir_envs.agents.base import BatchAgent
from audamir_envs.agents.loading import is_path
from audamir_envs.core import Environment
from audamir_envs.learned import shipped
from audamir_envs.learned.networks import HexConfig, HexNetwork, init_parameters, make_network
from audamir_envs.learned.search import SearchConfig
from audamir_envs.learned.tile_network import TileConfig, TileNetwork, init_tile_parameters
from audamir_envs.learned.tile_zero import TilePolicy, TileZero
from audamir_envs.learned.zero import Zero, ZeroPolicy

FORMAT = "audamir-level-1"
_PLAIN = ("format", "env", "env_version", "checksum")  # fields of a level's header that are no JSON
_MOST = 2**16  # of whatever is counted: channels, simulations, ...

Config = HexConfig | TileConfig
Network = HexNetwork | TileNetwork


class CheckpointError(ValueError):
    """A file that is no level, is damaged, or belongs to another game or version."""


def write_tensors(path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Writes arrays and a header of strings atomically, with a checksum over the arrays.

    Raises: OSError when it cannot be written; what was there before stays.
    """
    # safetensors writes the memory behind an array, in whatever order it lies there.
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    files.write_bytes(path, save(arrays, {**metadata, "checksum": _checksum(arrays)}))


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the header. Raises: OSError; CheckpointError for a file that is damaged or of no use."""
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder: name the .safetensors file in it")
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist")
    if not Path(path).is_file():  # a pipe or a device, which reading might wait for
        raise CheckpointError(f"{path} is no regular file")
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = dict(file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged or no safetensors file ({error})") from None
    if "checksum" in metadata and metadata["checksum"] != _checksum(arrays):
        raise CheckpointError(f"{path} is damaged: its contents do not match their checksum")
    return arrays, metadata


def _checksum(arrays: Mapping[str, np.ndarray]) -> str:
    value = 0
    for name in sorted(arrays):
        value = zlib.crc32(name.encode(), value)
        value = zlib.crc32(np.ascontiguousarray(arrays[name]).view(np.uint8).reshape(-1).data, value)
    return f"{value:08x}"


def flatten(tree: Any) -> dict[str, np.ndarray]:
    """A tree of dicts (of parameters, say) as arrays named by their path, ``block/kernel``."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {"/".join(str(key.key) for key in path): np.asarray(leaf) for path, leaf in leaves}


def unflatten(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The inverse."""
    tree: dict[str, Any] = {}
    for name, array in arrays.items():
        *folders, last = name.split("/")
        node = tree
        for folder in folders:
            node = node.setdefault(folder, {})
        node[last] = array
    return tree


def save_level(path: str | os.PathLike[str], env: Environment, config: Config, parameters: Any, **facts: Any) -> None:
    """Writes a level.

    Args: env: any environment of its game; facts: what else the header says (budget, commit, results), JSON each;
    ``play`` among them holds defaults for the settings of its agents, see ``load_agent``.
    Raises: OSError.
    """
    header = {
        "format": FORMAT,
        "env": env.id,
        "env_version": env.version,
        "observation": json.dumps(_observation(env.id)),
        "network": json.dumps(dataclasses.asdict(config)),
    }
    write_tensors(path, flatten(parameters), header | {name: json.dumps(fact) for name, fact in facts.items()})


def _observation(env_id: str) -> list[Any]:
    """Columns and dtype of a game's observations under its default options: they tell whether a network fits."""
    env = registry.make(env_id)
    return [env.observation_shape[-1], np.dtype(env.observation_dtype).name]


def read_level(path: str | os.PathLike[str], env_id: str) -> tuple[Network, Any, dict[str, Any]]:
    """(network, parameters, header) of a level for a game. Raises: FileNotFoundError, CheckpointError."""
    arrays, raw = read_tensors(path)
    header = _header(path, raw)
    if header["env"] != env_id:
        raise CheckpointError(f"{path} is a level of {header['env']}, not of {env_id}")
    env = registry.make(env_id)
    if header["env_version"] != env.version:
        raise CheckpointError(f"{path} was made for version {header['env_version']} of {env_id}; this is {env.version}")
    observation = _observation(env_id)
    if header["observation"] != observation:
        raise CheckpointError(
            f"{path} expects observations {header['observation']}; those of {env_id} are {observation}"
        )
    config = _config(path, header["network"])
    if isinstance(config, HexConfig) != (len(env.observation_shape) == 3):
        raise CheckpointError(f"{path} has a network {config.architecture!r}, which cannot play {env_id}")
    network = _network(config)
    expected = jax.eval_shape(lambda key: _fresh(network, env, key), jax.random.key(0))
    wanted = {name: (leaf.shape, leaf.dtype) for name, leaf in _named(expected)}
    found = {name: (leaf.shape, leaf.dtype) for name, leaf in arrays.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise CheckpointError(
                f"{path}: parameter {name} is {found.get(name, 'missing')}, not {wanted.get(name, 'in use')}"
            )
        if not np.isfinite(arrays[name]).all():
            raise CheckpointError(f"{path}: parameter {name} has values that are no finite numbers")
    header.setdefault("play", {})
    try:
        check_play(env_id, header["play"])
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: {error}") from None
    return network, unflatten(arrays), header


def check_play(env_id: str, settings: Any) -> None:
    """Whether these are defaults that a level of a game may have for its agents' settings.

    Raises: ValueError naming the valid ones.
    """
    hexagonal = len(registry.make(env_id).observation_shape) == 3
    builders = (_policy, _searching) if hexagonal else (_tile_policy, _tile_zero)
    valid = {name for build in builders for name in list(inspect.signature(build).parameters)[3:]}
    known = isinstance(settings, dict) and settings.keys() <= valid
    if not known or not all(type(value) in (int, float) for value in settings.values()):
        raise ValueError(f"play={settings!r} is not valid: use numbers for {', '.join(sorted(valid))}")
    for build in builders:  # each refuses values that its agent cannot have
        names = list(inspect.signature(build).parameters)[3:]
        build(env_id, None, None, **{name: value for name, value in settings.items() if name in names})  # type: ignore


def _header(path: str | os.PathLike[str], raw: Mapping[str, str]) -> dict[str, Any]:
    """A level's header with its fields read. Raises: CheckpointError."""
    if raw.get("format") != FORMAT:
        raise CheckpointError(f"{path} is no level of this suite: its format is {raw.get('format')!r}, not {FORMAT!r}")
    missing = {*_PLAIN, "observation", "network"} - raw.keys()
    if missing:
        raise CheckpointError(f"{path} is damaged: its header lacks {', '.join(sorted(missing))}")
    header: dict[str, Any] = {}
    for name, text in raw.items():
        try:
            header[name] = text if name in _PLAIN else json.loads(text)
        except ValueError:
            raise CheckpointError(f"{path} is damaged: {name} in its header is no JSON") from None
    return header


def _named(tree: Any) -> list[tuple[str, Any]]:
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return [("/".join(str(key.key) for key in path), leaf) for path, leaf in leaves]


def _config(path: str | os.PathLike[str], fields: Any) -> Config:
    """The configuration of a header's ``network``. Raises: CheckpointError."""
    kinds = {kind.__dataclass_fields__["architecture"].default: kind for kind in (HexConfig, TileConfig)}
    architecture = fields.get("architecture") if isinstance(fields, dict) else None
    if not isinstance(architecture, str) or architecture not in kinds:
        known = ", ".join(map(repr, kinds))
        raise CheckpointError(f"{path} has a network {architecture!r}; this version reads {known}")
    kind = kinds[architecture]
    if set(fields) != {field.name for field in dataclasses.fields(kind)}:
        raise CheckpointError(f"{path} is damaged: the fields of its network are not those of {architecture!r}")
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    counts = [value for name, value in values.items() if name not in ("architecture", "features", "scales")]
    if not all(type(value) is int and 0 < value <= _MOST for value in counts):
        raise CheckpointError(f"{path} is damaged: the sizes of its network are not from 1 to {_MOST}")
    if kind is HexConfig:
        planes, features, scales = values["planes"], values["features"], values["scales"]
        whole = isinstance(features, tuple) and all(type(value) is int and 0 <= value < planes for value in features)
        finite = isinstance(scales, tuple) and all(
            type(value) in (int, float) and math.isfinite(value) for value in scales
        )
        if not (whole and finite and len(features) == len(scales) == planes):
            raise CheckpointError(f"{path} is damaged: its network does not say how {planes} planes are read")
    return kind(**values)


def _network(config: Config) -> Network:
    return TileNetwork(config) if isinstance(config, TileConfig) else make_network(config)


def _fresh(network: Network, env: Environment, key: jax.Array) -> Any:
    if isinstance(network, TileNetwork):
        return init_tile_parameters(network, key)
    return init_parameters(network, env.observation_shape, env.num_actions, key)


def load_agent(env_or_id: Environment | str, path_or_name: str, /, **settings: Any) -> BatchAgent:
    """The agent of a shipped level's name (``zero``, ``zero-policy``) or of a file.

    Settings of ``zero``: ``simulations`` (64), ``considered`` (16), ``noise`` (0; 1 draws from the improved policy),
    ``value_scale`` (0.1; the larger it is, the more the search follows values where they differ from the policy). Of
    ``zero-policy``: ``temperature`` (0). A file plays with search, or as the bare policy with ``policy=True``. Where a
    level's header has other values under ``play``, because it was measured to play better so, these are the defaults.
    Raises: ValueError (of which CheckpointError is one) naming what is valid; FileNotFoundError.
    """
    env_id = env_or_id if isinstance(env_or_id, str) else env_or_id.id
    levels = shipped(env_id)
    path: str | os.PathLike[str] = path_or_name
    bare = settings.get("policy", False)
    if not isinstance(bare, bool):
        raise ValueError(f"policy={bare!r} is not valid: use True or False")
    if "policy" in settings and not bare and path_or_name.endswith("-policy"):
        raise ValueError(f"policy=False is not valid for {path_or_name}: use {path_or_name.removesuffix('-policy')}")
    if path_or_name in levels or path_or_name.removesuffix("-policy") in levels or not is_path(path_or_name):
        name = path_or_name.removesuffix("-policy")
        if name not in levels:
            known = f"there is {', '.join(levels)}; or give" if levels else "no level does; give"
            raise ValueError(f"no level {path_or_name!r} comes with {env_id}: {known} the path of a trained one")
        path, bare = levels[name], bare or path_or_name != name
    network, parameters, header = read_level(path, env_id)
    build: Any  # the narrower type of either branch would not fit the call below
    if isinstance(network, TileNetwork):
        build = _tile_policy if bare else _tile_zero
    else:
        build = _policy if bare else _searching
    settings.pop("policy", None)
    valid = list(inspect.signature(build).parameters)[3:]
    own = {name: value for name, value in header["play"].items() if name in valid}
    for setting in settings:
        if setting not in valid:
            raise ValueError(f"agent {path_or_name!r} has no setting {setting!r}: use {', '.join(valid)}")
    agent = build(env_id, network, parameters, **own | settings)
    agent.env_id = env_id
    agent.name, agent.checksum = str(path_or_name), header.get("checksum")
    return agent


def _searching(
    env_id: str,
    network: HexNetwork,
    parameters: Any,
    simulations: int = 64,
    considered: int = 16,
    noise: float = 0.0,
    value_scale: float = 0.1,
) -> Zero:
    _check_positive(simulations=simulations, considered=considered)
    _check_from_zero(noise=noise, value_scale=value_scale)
    config = SearchConfig(int(simulations), int(min(considered, simulations)), value_scale=float(value_scale))
    return Zero(env_id, network, parameters, config, float(noise))


def _policy(env_id: str, network: HexNetwork, parameters: Any, temperature: float = 0.0) -> ZeroPolicy:
    _check_from_zero(temperature=temperature)
    return ZeroPolicy(env_id, network, parameters, float(temperature))


def _tile_zero(
    env_id: str, network: TileNetwork, parameters: Any, considered: int = 8, futures: int = 4, scale: float = 8.0
) -> TileZero:
    _check_positive(considered=considered, futures=futures)
    _check_from_zero(scale=scale)
    return TileZero(env_id, network, parameters, int(considered), int(futures), float(scale))


def _tile_policy(env_id: str, network: TileNetwork, parameters: Any, temperature: float = 0.0) -> TilePolicy:
    del env_id
    _check_from_zero(temperature=temperature)
    return TilePolicy(network, parameters, float(temperature))


def _check_positive(**values: Any) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= _MOST:
            raise ValueError(f"{name}={value!r} is not valid: use an integer from 1 to {_MOST}")


def _check_from_zero(**values: Any) -> None:
    for name, value in values.items():
        number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1e9:
            raise ValueError(f"{name}={value!r} is not valid: use a number from 0 to 1e9")
