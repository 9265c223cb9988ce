"""Agents by name: random, a game's scripted levels, shipped policies and checkpoints by path.

Trained levels are read by a package above this one, which the registry names. It is imported when the first is asked
for and gives its two functions to ``use_levels``.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from audamir_envs import registry
from audamir_envs.agents.base import Agent, BatchAgent, RandomAgent
from audamir_envs.agents.callable import from_callable
from audamir_envs.agents.ugi import from_ugi
from audamir_envs.core import Environment
from audamir_envs.texts import quoted

_FILE = ".safetensors"
LEARNED = ("zero", "zero-policy")  # names of shipped policies in every game


class AgentSetting(NamedTuple):
    """What an agent can be told: ``name:setting=value``."""

    name: str
    default: Any
    help: str


class _Levels(NamedTuple):
    names: Callable[[str], tuple[str, ...]]
    load: Callable[..., Agent]
    settings: Callable[[str, str], Sequence[AgentSetting]]


_LEVELS: list[_Levels] = []  # one, from the first use on


def use_levels(
    names: Callable[[str], tuple[str, ...]],
    load: Callable[..., Agent],
    settings: Callable[[str, str], Sequence[AgentSetting]] = lambda env_id, name: (),
) -> None:
    """Says where trained levels come from.

    Args: names: the names of those that ship with an environment, by its id; load: ``load(env_or_id, path_or_name,
    **settings)``, which makes the agent of such a name or of a file; settings: those of a name of an id.
    """
    _LEVELS[:] = [_Levels(names, load, settings)]


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


def agent_settings(env_or_id: Environment | str, name: str) -> tuple[AgentSetting, ...]:
    """What the agent of a name can be told, with its defaults and what they mean.

    What the settings of a scripted level mean stands in the docstring of its constructor: ``Args: depth: plies to
    search; slip: the chance of a random move.``
    Raises: ValueError listing the ids or the names.
    """
    env_id = _id_of(env_or_id)
    scripted = _scripted(env_id)
    if name in scripted:
        return _settings_of(scripted[name])
    if name in _shipped(env_id):
        return tuple(_levels().settings(env_id, name))
    if name != "random":
        raise ValueError(f"unknown agent {quoted(name)} for {env_id}: use {', '.join(agent_names(env_id))}")
    return ()


def _settings_of(factory: Callable[..., Agent]) -> tuple[AgentSetting, ...]:
    function: Any = factory.func if isinstance(factory, functools.partial) else factory
    text = inspect.getdoc(function.__init__ if isinstance(function, type) else function) or ""
    _, _, listed = " ".join(text.split()).partition("Args: ")
    listed = re.split(r"\.(?: |$)", listed)[0]
    meanings = dict(re.findall(r"(\w+): (.*?)(?:; (?=\w+: )|$)", listed))
    return tuple(
        AgentSetting(parameter.name, parameter.default, meanings.get(parameter.name, ""))
        for parameter in inspect.signature(factory).parameters.values()
        if parameter.default is not inspect.Parameter.empty
    )


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
    known = ", ".join(agent_names(env_id))
    raise ValueError(f"unknown agent {quoted(name)} for {env_id}: use {known}, or a path to a {_FILE} file")


def is_path(name: str) -> bool:
    """Whether a name means a checkpoint file rather than a level."""
    return name.endswith(_FILE) or os.sep in name or os.path.isfile(name)


def load_agent_text(env_or_id: Environment | str, text: str) -> Agent:
    """The agent of a text: ``name``, ``name:setting=value,...``, the path of a checkpoint, or of one's own.

    ``module:function`` is taken by ``from_callable``, and ``module:object`` plays itself where it has ``act``;
    ``ugi:program`` is an engine (``agents.ugi``).
    Raises: ValueError that says what is wrong with the text, or names what is valid.
    """
    if text.startswith("ugi:"):
        return from_ugi(text)
    module, colon, attribute = text.partition(":")
    dotted = re.fullmatch(r"\w+(\.\w+)*", module) and re.fullmatch(r"[A-Za-z_][\w.]*", attribute)
    if colon and dotted and not attribute.endswith(_FILE) and not os.path.isfile(text):
        if module in agent_names(env_or_id):
            raise ValueError(f"agent {quoted(text)}: {quoted(attribute)} is not written as setting=value")
        return _load_function(text, module, attribute)
    return load_level_text(env_or_id, text)


def load_level_text(env_or_id: Environment | str, text: str) -> Agent:
    """``load_agent_text`` without functions. Raises: ValueError."""
    name, settings = parse_agent(text)
    try:
        return make_agent(env_or_id, name, **settings)
    except ValueError as error:  # of a setting's value: it does not know which of two agents it is about
        if settings and type(error) is ValueError and "agent " not in str(error):
            raise ValueError(f"agent {quoted(text)}: {error}") from error
        raise


def _load_function(text: str, module: str, attribute: str) -> Agent:
    try:
        found = _import(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"agent {quoted(text)}: {error}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"agent {quoted(text)}: {module} has no {attribute!r}")
        found = getattr(found, part)
    if hasattr(found, "act") and not isinstance(found, type):
        return found
    if not callable(found) or isinstance(found, type):
        raise ValueError(f"agent {quoted(text)}: {attribute} is neither a function nor an agent")
    try:
        return from_callable(found, name=text)
    except TypeError as error:
        raise ValueError(f"agent {quoted(text)}: {error}") from None


def _import(module: str) -> Any:
    """A module that is installed or lies in the working folder, which is on the path for this import alone.

    It stands behind everything installed: a file there cannot take another module's place. Raises: ImportError.
    """
    folder = os.getcwd()
    sys.path.append(folder)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module)
    finally:
        for place in reversed(range(len(sys.path))):  # the last: it may have been there before, and the module may add
            if sys.path[place] == folder:
                del sys.path[place]
                break


def parse_agent(text: str) -> tuple[str, dict[str, Any]]:
    """Splits ``name:setting=value,setting=value`` into the name and its settings (numbers and booleans converted).

    Colons in the path of a file (``run:2/zero.safetensors``, ``C:\\levels\\zero.safetensors``) belong to the name.
    Raises: ValueError that says where the text is wrong.
    """
    name, colon, rest = _split(text)
    settings: dict[str, Any] = {}
    if not name or (colon and not rest):
        raise ValueError(f"agent {quoted(text)} is not written as name or name:setting=value,...")
    for part in rest.split(",") if colon else ():
        setting, equals, value = part.partition("=")
        if not equals or not setting.isidentifier() or not value:
            raise ValueError(f"agent {quoted(text)}: {quoted(part)} is not written as setting=value")
        if setting in settings:
            raise ValueError(f"agent {quoted(text)} gives {setting} twice")
        settings[setting] = _value(value)
    return name, settings


def _split(text: str) -> tuple[str, str, str]:
    """(name, colon, settings): the longest name that is a file, or ends as one; else up to the first colon."""
    ends = [place for place, letter in enumerate(text) if letter == ":"]
    if len(ends) <= 100:  # every colon costs a look at the disk, and no path has more
        for end in (len(text), *reversed(ends)):
            if os.path.isfile(text[:end]):
                return text[:end], text[end : end + 1], text[end + 1 :]
    for end in (len(text), *reversed(ends)):
        if text.endswith(_FILE, 0, end):
            return text[:end], text[end : end + 1], text[end + 1 :]
    drive = re.match(r"[A-Za-z]:[\\/]", text)
    end = text.find(":", drive.end()) if drive else text.find(":")
    return (text, "", "") if end < 0 else (text[:end], ":", text[end + 1 :])


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
    return env_or_id.id if isinstance(env_or_id, Environment) else env_or_id  # part() refuses what is no id


def _scripted(env_id: str) -> Mapping[str, Callable[..., Agent]]:
    return registry.part(env_id, "scripted").AGENTS


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
