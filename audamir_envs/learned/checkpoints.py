"""Trained levels on disk: a network's parameters, and a header that says what they are for."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from audamir_envs import registry
from audamir_envs.agents.base import BatchAgent
from audamir_envs.agents.loading import AgentSetting, is_path
from audamir_envs.core import Environment
from audamir_envs.learned import shipped, tensors
from audamir_envs.learned.families import Family, family_of
from audamir_envs.learned.tensors import CheckpointError, flatten, read_json, read_tensors, unflatten, write_tensors

FORMAT, EARLIER = "audamir-level-2", ("audamir-level-1",)
_PLAIN = ("format", "env", "env_version", "checksum")  # fields of a level's header that are no JSON
_FACTS: dict[str, tensors.Check] = {  # what may be there besides, and is read by those who write cards
    "budget": lambda value: tensors.is_table(value) and all(map(tensors.is_number(0), value.values())),
    "settings": tensors.is_table,
    "results": lambda value: isinstance(value, list) and all(map(tensors.is_table, value)),
    "commit": tensors.is_text,
    "play": tensors.is_table,
}


def save_level(path: str | os.PathLike[str], env: Environment, config: Any, parameters: Any, **facts: Any) -> None:
    """Writes a level.

    Args: env: any environment of its game; config: of its network; facts: what else the header says (budget, commit,
    results), JSON each; ``play`` among them holds defaults for the settings of its agents, see ``load_agent``.
    Raises: OSError.
    """
    header = {
        "format": FORMAT,
        "env": env.id,
        "env_version": env.version,
        "observation": json.dumps(_observation(registry.make(env.id))),
        "network": json.dumps(dataclasses.asdict(config)),
    }
    write_tensors(path, flatten(parameters), header | {name: json.dumps(fact) for name, fact in facts.items()})


def _observation(env: Environment) -> list[Any]:
    """Columns and dtype of an environment's observations; under default options they tell whether a network fits."""
    return [env.observation_shape[-1], np.dtype(env.observation_dtype).name]


def read_level(path: str | os.PathLike[str], env_id: str) -> tuple[Any, Any, dict[str, Any]]:
    """(network, parameters, header) of a level for a game. Raises: OSError, CheckpointError."""
    arrays, raw = read_tensors(path)
    header = _header(path, raw)
    if header["env"] != env_id:
        raise CheckpointError(f"{path} is a level of {header['env']}, not of {env_id}")
    env = registry.make(env_id)
    if header["env_version"] != env.version:
        raise CheckpointError(f"{path} was made for version {header['env_version']} of {env_id}; this is {env.version}")
    observation = _observation(env)
    if header["observation"] != observation:
        raise CheckpointError(
            f"{path} expects observations {header['observation']}; those of {env_id} are {observation}"
        )
    family = family_of(env_id)
    config = _config(path, header["network"], family, env_id)
    _check_parameters(path, arrays, _shapes(path, config, family, env, len(arrays)))
    header.setdefault("play", {})
    try:
        check_play(env_id, header["play"])
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: {error}") from None
    return family.make_network(config), unflatten(arrays), header


def check_play(env_id: str, settings: Any) -> None:
    """Whether these are defaults that a level of a game may have for its agents' settings.

    Raises: ValueError naming the valid ones.
    """
    family = family_of(env_id)
    kinds = (family.policy.Settings, family.search.Settings)
    valid = {name for kind in kinds for name in kind.names()}
    known = isinstance(settings, dict) and settings.keys() <= valid
    if not known or not all(type(value) in (int, float) for value in settings.values()):
        raise ValueError(f"play={settings!r} is not valid: use numbers for {', '.join(sorted(valid))}")
    for kind in kinds:  # each refuses values that its agent cannot have
        kind(**_chosen(settings, kind.names()))


def _chosen(settings: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name in names}


def _header(path: str | os.PathLike[str], raw: Mapping[str, str]) -> dict[str, Any]:
    """A level's header with its fields read. Raises: CheckpointError."""
    if raw.get("format") not in (FORMAT, *EARLIER):
        raise CheckpointError(f"{path} is no level of this suite: its format is {raw.get('format')!r}, not {FORMAT!r}")
    missing = {*_PLAIN, "observation", "network"} - raw.keys()
    if missing:
        raise CheckpointError(f"{path} is damaged: its header lacks {', '.join(sorted(missing))}")
    header = {name: text if name in _PLAIN else read_json(path, name, text) for name, text in raw.items()}
    tensors.check_facts(path, header, {name: check for name, check in _FACTS.items() if name in header})
    return header


def _config(path: str | os.PathLike[str], fields: Any, family: Family, env_id: str) -> Any:
    """The configuration of a header's ``network``. Raises: CheckpointError."""
    architecture = fields.get("architecture") if isinstance(fields, dict) else None
    if architecture == "hex-1":  # it had no other head
        fields = fields | {"architecture": "hex-2", "further": ["pass"], "head": "komi"}
        architecture = "hex-2"
    if architecture != family.architecture:
        raise CheckpointError(
            f"{path} has a network {architecture!r}, which cannot play {env_id}: this version reads "
            f"{family.architecture!r}"
        )
    if set(fields) != {field.name for field in dataclasses.fields(family.config)}:
        raise CheckpointError(f"{path} is damaged: the fields of its network are not those of {architecture!r}")
    try:
        return family.config(**{name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()})
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: {error}") from None


def _shapes(
    path: str | os.PathLike[str], config: Any, family: Family, env: Environment, found: int
) -> dict[str, tuple[Any, Any]]:
    """Shape and type of each parameter of a network, found out with a single one of its blocks, all being alike.

    Args: found: how many arrays there are, so that nothing is made ready for blocks of which there can be none.
    Raises: CheckpointError: the network does not fit the game, or has other blocks than the file.
    """
    one = dataclasses.replace(config, blocks=1) if family.block else config
    key = jax.random.key(0)
    try:
        tree = jax.eval_shape(
            lambda key: family.init_parameters(family.make_network(one), env.observation_shape, env.num_actions, key),
            key,
        )
    except ValueError as error:
        raise CheckpointError(f"{path}: {error}") from None
    named = {"/".join(str(key.key) for key in where): leaf for where, leaf in jax.tree_util.tree_leaves_with_path(tree)}
    shapes = {name: (leaf.shape, leaf.dtype) for name, leaf in named.items()}
    if one is config:
        return shapes
    begin = f"{family.block}0/"
    of_block = {name.removeprefix(begin): shape for name, shape in shapes.items() if name.startswith(begin)}
    if config.blocks * len(of_block) > found:
        raise CheckpointError(f"{path} is damaged: its network has {config.blocks} blocks, more than there are arrays")
    blocks = {
        f"{family.block}{number}/{name}": shape for number in range(config.blocks) for name, shape in of_block.items()
    }
    return {name: shape for name, shape in shapes.items() if not name.startswith(begin)} | blocks


def _check_parameters(
    path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], wanted: Mapping[str, tuple[Any, Any]]
) -> None:
    """Refuses arrays that are not those of a network, and numbers that are none. Raises: CheckpointError."""
    found = {name: (leaf.shape, leaf.dtype) for name, leaf in arrays.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise CheckpointError(
                f"{path}: parameter {name} is {found.get(name, 'missing')}, not {wanted.get(name, 'in use')}"
            )
        if not np.isfinite(arrays[name]).all():
            raise CheckpointError(f"{path}: parameter {name} has values that are no finite numbers")


def settings_of(env_id: str, name: str) -> list[AgentSetting]:
    """What the agent of a shipped level can be told, with its own defaults. Raises: CheckpointError, OSError."""
    bare = name not in shipped(env_id)
    header = read_level(shipped(env_id)[name.removesuffix("-policy") if bare else name], env_id)[2]
    family = family_of(env_id)
    kind = (family.policy if bare else family.search).Settings
    chosen = kind(**_chosen(header["play"], kind.names()))
    return [
        AgentSetting(field.name, getattr(chosen, field.name), field.metadata.get("help", ""))
        for field in dataclasses.fields(kind)
    ]


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
    settings.pop("policy", None)
    family = family_of(env_id)
    kind: Any = family.policy if bare else family.search
    valid = kind.Settings.names()
    for setting in settings:
        if setting not in valid:
            raise ValueError(f"agent {path_or_name!r} has no setting {setting!r}: use {', '.join(valid)}")
    chosen = kind.Settings(**_chosen(header["play"], valid) | settings)
    agent = kind.with_settings(env_id, network, parameters, chosen)
    agent.name, agent.checksum = str(path_or_name), header["checksum"]
    return agent
