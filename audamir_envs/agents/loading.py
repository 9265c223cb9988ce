"""Agents by name: random, a game's scripted levels, shipped policies and checkpoints by path.

Trained levels are read by a package above this one, which the registry names. It is imported when the first is asked
for and gives its two functions to ``use_levels``.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from audamir_envs import registry
from audamir_envs.agents.base import Agent, BatchAgent, RandomAgent
from audamir_envs.agents.callable import from_callable
from audamir_envs.core import Environment

LEARNED = ("zero", "zero-policy")  # names of shipped policies in every game


class _Levels(NamedTuple):
    names: Callable[[str], tuple[str, ...]]
    load: Callable[..., Agent]


_LEVELS: list[_Levels] = []  # one, from the first use on


def use_levels(names: Callable[[str], tuple[str, ...]], load: Callable[..., Agent]) -> None:
    """Says where trained levels come from.

    Args: names: the names of those that ship with an environment, by its id; load: ``load(env_or_id, path_or_name,
    **settings)``, which makes the agent of such a name or of a file.
    """
    _LEVELS[:] = [_Levels(names, load)]


def _levels() -> _Levels:
    if not _LEVELS:
        importlib.import_module(registry.LEVELS).provide()
    return _LEVELS[0]


def agent_names(env_or_id: Environment | str) -> tuple[str, ...]:
    """The names that ``make_agent`` knows for an environment, shipped policies being those that are there.

    Raises: ValueError listing the ids.
    """
    env_id = _id_of(env_or_id)
    return ("random", *_scripted(env_id), *_shipped(env_id))


def make_agent(env_or_id: Environment | str, name: str | os.PathLike[str], /, **settings: Any) -> Agent:
    """The agent of a name: ``random``, a scripted level, ``zero``, ``zero-policy``, or the path of a checkpoint.

    Args: env_or_id: an agent plays under any options of its game, so its id is enough; settings: the agent's own.
    Raises: ValueError naming the valid ids, names or settings; TypeError: a name that is no text.
    """
    env_id = _id_of(env_or_id)
    if isinstance(name, os.PathLike):
        name = os.path.join(os.curdir, os.fspath(name))  # never a level's name
    if not isinstance(name, str):
        raise TypeError(f"the name of an agent is a string, not {type(name).__name__}")
    scripted = _scripted(env_id)
    if name == "random":
        return _build(name, RandomAgent, settings)
    if name in scripted:
        agent = _build(name, scripted[name], settings)
        if isinstance(agent, BatchAgent):
            agent.env_id = env_id
        return agent
    if name in LEARNED or is_path(name) or name in _shipped(env_id):
        return _levels().load(env_or_id, name, **settings)
    raise ValueError(
        f"unknown agent {name!r} for {env_id}: use {', '.join(agent_names(env_id))}, or a path to a .safetensors file"
    )


def is_path(name: str) -> bool:
    """Whether a name means a checkpoint file rather than a level."""
    return name.endswith(".safetensors") or os.sep in name or os.path.isfile(name)


def load_agent_text(env_or_id: Environment | str, text: str) -> Agent:
    """The agent of a text: ``name``, ``name:setting=value,...``, the path of a checkpoint, or ``module:function``.

    A function is taken by ``from_callable``; an object that has ``act`` plays itself.
    Raises: ValueError that says what is wrong with the text, or names what is valid.
    """
    module, colon, attribute = text.partition(":")
    dotted = re.fullmatch(r"\w+(\.\w+)*", module) and re.fullmatch(r"[A-Za-z_][\w.]*", attribute)
    if colon and dotted and not os.path.isfile(text):
        if module in agent_names(env_or_id):
            raise ValueError(f"agent {text!r}: {attribute!r} is not written as setting=value")
        return _load_function(text, module, attribute)
    return load_level_text(env_or_id, text)


def load_level_text(env_or_id: Environment | str, text: str) -> Agent:
    """``load_agent_text`` without functions. Raises: ValueError."""
    name, settings = (text, {}) if os.path.isfile(text) else parse_agent(text)
    try:
        return make_agent(env_or_id, name, **settings)
    except ValueError as error:  # of a setting's value: it does not know which of two agents it is about
        if settings and type(error) is ValueError and "agent " not in str(error):
            raise ValueError(f"agent {text!r}: {error}") from error
        raise


def _load_function(text: str, module: str, attribute: str) -> Agent:
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"agent {text!r}: {error}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"agent {text!r}: {module} has no {attribute!r}")
        found = getattr(found, part)
    if hasattr(found, "act") and not isinstance(found, type):
        return found
    if not callable(found) or isinstance(found, type):
        raise ValueError(f"agent {text!r}: {attribute} is neither a function nor an agent")
    try:
        return from_callable(found, name=text)
    except TypeError as error:
        raise ValueError(f"agent {text!r}: {error}") from None


def parse_agent(text: str) -> tuple[str, dict[str, Any]]:
    """Splits ``name:setting=value,setting=value`` into the name and its settings (numbers and booleans converted).

    Raises: ValueError that says where the text is wrong.
    """
    name, colon, rest = text.partition(":")
    settings: dict[str, Any] = {}
    if not name or (colon and not rest):
        raise ValueError(f"agent {text!r} is not written as name or name:setting=value,...")
    for part in rest.split(",") if colon else ():
        setting, equals, value = part.partition("=")
        if not equals or not setting.isidentifier() or not value:
            raise ValueError(f"agent {text!r}: {part!r} is not written as setting=value")
        if setting in settings:
            raise ValueError(f"agent {text!r} gives {setting} twice")
        settings[setting] = _value(value)
    return name, settings


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def _id_of(env_or_id: Environment | str) -> str:
    return env_or_id.id if isinstance(env_or_id, Environment) else env_or_id  # room() refuses what is no id


def _scripted(env_id: str) -> Mapping[str, Callable[..., Agent]]:
    return registry.room(env_id, "scripted").AGENTS


def _shipped(env_id: str) -> tuple[str, ...]:
    return _levels().names(env_id)


def _build(name: str, factory: Callable[..., Agent], settings: dict[str, Any]) -> Agent:
    parameters = inspect.signature(factory).parameters.values()
    known = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    unknown = [setting for setting in settings if setting not in known]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        valid = f"its settings are {', '.join(known)}" if known else "it has none"
        raise ValueError(f"agent {name!r} has no setting {unknown[0]!r}: {valid}")
    return factory(**settings)
