"""The games by id: those of this package, of other installed packages, and what ``audamir_envs.register`` adds.

A game of this package is a folder and one line in ``GAMES``. Another package's needs no line here: it names its games
under the entry point group ``audamir_envs.games``, or calls ``audamir_envs.register``. docs/adding-a-game.md shows the
whole way.

A game's parts are looked for in modules of these names beside each other; a game in a single module has the names
themselves in it.

===============  ===============  =====================================================================
module           name in it       what it is
===============  ===============  =====================================================================
``environment``  ``ENVIRONMENT``  the class, a ``core.Environment``: all that is needed
``scripted``     ``AGENTS``       levels by name, each a class or function that makes an ``Agent``
``learning``     ``LEARNING``     a ``learning.Learning``: what trainers must know
``benchmark``    ``BENCHMARK``    a ``benchmark.Benchmark``: what ``audamir bench`` measures
``solver``       ``run``          ``add_arguments(parser)`` and ``run(arguments)`` for ``audamir solve``
===============  ===============  =====================================================================
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import re
import types
import warnings
from collections.abc import Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # at run time this module needs no JAX: the command line lists the ids before it is there
    from audamir_envs.core import Environment
    from audamir_envs.learning import Learning

GAMES: dict[str, str] = {
    "colony-v0": "audamir_envs.colony",
    "stigmergy-v0": "audamir_envs.stigmergy",
    "principalities-v0": "audamir_envs.principalities",
}

LEVELS = "audamir_envs.learned"  # the package of the trained levels, imported when one is asked for
GROUP = "audamir_envs.games"  # of entry points: the name is the id, the value a module or module:Class

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*-v(0|[1-9][0-9]*)")
_NAMES = {
    "environment": "ENVIRONMENT",
    "scripted": "AGENTS",
    "learning": "LEARNING",
    "benchmark": "BENCHMARK",
    "solver": "run",
}


@dataclasses.dataclass(frozen=True)
class _Game:
    """Where a game is: text until it is first used, so that nothing is imported for games that are only listed."""

    id: str
    where: str  # a module, or module:Class
    given: type | None = None  # the class itself, where it was given: no module need have it under its name

    def home(self) -> types.ModuleType:
        """The package or module that the game's parts are looked for in. Raises: ValueError."""
        name = self.where.partition(":")[0]
        if self._class_name and name.endswith(".environment"):
            name = name.removesuffix(".environment")
        return self._imported(name)

    def part(self, module: str) -> Any | None:
        """A module of the game, or None. Raises: ValueError for a game that cannot be imported."""
        name = _NAMES.get(module)
        if module == "environment" and self._class_name:
            return types.SimpleNamespace(ENVIRONMENT=self.given or self._class())
        home = self.home()
        if hasattr(home, "__path__") and importlib.util.find_spec(f"{home.__name__}.{module}"):
            return self._imported(f"{home.__name__}.{module}")
        return home if name and hasattr(home, name) else None

    @property
    def _class_name(self) -> str:
        return self.where.partition(":")[2]

    def _class(self) -> Any:
        found: Any = self._imported(self.where.partition(":")[0])
        for part in self._class_name.split("."):
            if not hasattr(found, part):
                raise ValueError(f"game {self.id!r}: {self.where} is not there")
            found = getattr(found, part)
        return found

    def _imported(self, name: str) -> types.ModuleType:
        try:
            return importlib.import_module(name)
        except Exception as error:
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            if missing and (name == missing or name.startswith(f"{missing}.")):
                raise ValueError(f"game {self.id!r}: there is no module {name}") from error
            if self.id in GAMES:
                raise
            what = f"{type(error).__name__}: {error}"
            raise ValueError(f"game {self.id!r}: {name} cannot be imported: {what:.300}") from error


_OTHERS: dict[str, _Game] = {}  # by id, of other packages


def register(env_id: str, game: str | types.ModuleType | type[Environment]) -> None:
    """Makes a game known to ``make`` and all else here; ``audamir_envs.register`` tells Gymnasium and PettingZoo too.

    Args:
        env_id: such as ``tumbleweed-v0``; the ``id`` of the environment's class.
        game: the class, or the package or module of the game or its dotted name; see the module's docstring. A name is
            imported when the game is first used, and refused only then.

    Registering the same again changes nothing.
    Raises: ValueError: an id that is none, or that another game has; a game without what is needed.
    """
    if not isinstance(env_id, str) or not _ID.fullmatch(env_id):
        raise ValueError(
            f"{env_id!r:.80} is no environment id: use lower-case words and a version, such as two-words-v0"
        )
    if isinstance(game, types.ModuleType):
        where = game.__name__
    elif isinstance(game, type):
        where = f"{game.__module__}:{game.__qualname__}"
    elif isinstance(game, str) and re.fullmatch(r"\w+(\.\w+)*(:\w+(\.\w+)*)?", game):
        where = game
    else:
        raise ValueError(f"game {env_id!r}: {game!r:.80} is no Environment, no module and no module's name")
    given = game if isinstance(game, type) else None
    known = _known(env_id)  # an installed game of that id among them
    if known is not None:
        if (known.where, known.given or given) != (where, given or known.given):
            raise ValueError(f"the environment id {env_id!r} is taken, by {known.where}")
        return
    _OTHERS[env_id] = _Game(env_id, where, given)
    if not isinstance(game, str):
        try:
            _checked(env_id)
        except ValueError:
            unregister(env_id)
            raise


def unregister(env_id: str) -> None:
    """Forgets a game that ``register`` added, as tests want it. Raises: ValueError for others."""
    if env_id not in _OTHERS:
        raise ValueError(f"{env_id!r:.80} was not registered")
    del _OTHERS[env_id]
    _checked.cache_clear()


def ids() -> tuple[str, ...]:
    """The ids that ``make`` knows."""
    _discover()
    return (*GAMES, *_OTHERS)


def working() -> tuple[str, ...]:
    """The ids of the games that can be imported; warns of others, so that one broken package stops nobody else's."""
    found = []
    for env_id in ids():
        try:
            optional_part(env_id, "environment")
        except ValueError as error:
            warnings.warn(f"{error}: it is left out", stacklevel=2)
        else:
            found.append(env_id)
    return tuple(found)


def part(env_id: str, module: str) -> Any:
    """A module (``environment``, ``scripted``, ``maps``, ...) of a game; ``AGENTS`` is empty where a game has none.

    Raises: ValueError listing the ids; or naming what is wrong with a registered game, or that it has no such module.
    """
    found = optional_part(env_id, module)
    if found is not None:
        return found
    if module == "scripted":
        return types.SimpleNamespace(AGENTS={})
    raise ValueError(f"{env_id} has no {module}")


def optional_part(env_id: str, module: str) -> Any | None:
    """``part``, or None where the game has no such module. Raises: ValueError listing the ids."""
    game = _known(env_id) if isinstance(env_id, str) else None
    if game is None:
        raise ValueError(f"unknown environment {env_id!r:.80}: use {', '.join(ids())}")
    if env_id in _OTHERS:
        _checked(env_id)
    return game.part(module)


def learning(env_id: str) -> Learning | None:
    """What a game says about learning it; None if nothing. Raises: ValueError listing the ids."""
    module = optional_part(env_id, "learning")
    return None if module is None else module.LEARNING


def make(env_id: str | None = None, /, **options: Any) -> Environment:
    """The environment of an id with options. Raises: ValueError naming the valid ids, options or values."""
    if env_id is None:  # it was given by name; beside an id it would be an option, which no game has
        env_id = options.pop("env_id", None)
    return environment_class(env_id)(**options)  # type: ignore[arg-type]


def environment_class(env_id: str) -> type[Environment]:
    """The class of an id, for its OPTIONS without making one. Raises: ValueError listing the ids."""
    return part(env_id, "environment").ENVIRONMENT


def _known(env_id: str) -> _Game | None:
    if env_id in GAMES:
        return _Game(env_id, GAMES[env_id])
    _discover()
    return _OTHERS.get(env_id)


@functools.cache
def _discover() -> None:
    """Registers the games of installed packages; warns of one that cannot be, so that all others go on working."""
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        where = point.value.replace(" ", "")
        known = GAMES.get(point.name) or (_OTHERS[point.name].where if point.name in _OTHERS else None)
        fault = "is no environment id" if not _ID.fullmatch(point.name) else f"is taken, by {known}" if known else ""
        if not fault:
            _OTHERS[point.name] = _Game(point.name, where)
        elif known != where:
            package = point.dist.name if point.dist else where
            warnings.warn(f"{package} names a game {point.name!r:.80}, which {fault}: it is left out", stacklevel=2)


@functools.cache
def _checked(env_id: str) -> None:
    """Raises: ValueError for a registered game that lacks what is needed, or has it in another form."""
    from audamir_envs.core import Environment
    from audamir_envs.learning import Learning

    game = _OTHERS[env_id]

    def refuse(text: str) -> ValueError:
        return ValueError(f"game {env_id!r} of {game.where}: {text}")

    environment = game.part("environment")
    if environment is None:
        raise refuse("it has no module environment, and no ENVIRONMENT itself")
    made: Any = getattr(environment, "ENVIRONMENT", None)
    if not (isinstance(made, type) and issubclass(made, Environment)):
        raise refuse(f"ENVIRONMENT is {made!r:.80}, no subclass of audamir_envs.Environment")
    missing = sorted(made.__abstractmethods__) + [
        name for name in ("id", "version", "OPTIONS") if not hasattr(made, name)
    ]
    if missing:
        raise refuse(f"{made.__name__} lacks {', '.join(missing)}")
    if made.id != env_id:
        raise refuse(f"{made.__name__} has the id {made.id!r:.80}")
    for module_name, name, kind, what in (
        ("scripted", "AGENTS", Mapping, "a dict of levels by name"),
        ("learning", "LEARNING", Learning, "an audamir_envs.learning.Learning"),
    ):
        module = game.part(module_name)
        if module is not None and not isinstance(getattr(module, name, None), kind):
            raise refuse(f"{name} in {module.__name__} is not {what}")
