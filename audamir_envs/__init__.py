"""Territory games as JAX, PettingZoo and Gymnasium environments, with scripted and trained levels.

What is named here is imported when it is first used: the command line shows its help without waiting for JAX.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from audamir_envs.bridges.registration import tell_all as _tell_all

if TYPE_CHECKING:
    from audamir_envs.agents.loading import make_agent
    from audamir_envs.autoreset import AutoReset, AutoResetState, auto_reset
    from audamir_envs.bridges.registration import register
    from audamir_envs.compilation import enable_compilation_cache
    from audamir_envs.core import Environment, State
    from audamir_envs.registry import ids, make
    from audamir_envs.sampling import sample_legal

__version__ = "0.1.0"

__all__ = [
    "AutoReset",
    "AutoResetState",
    "Environment",
    "State",
    "auto_reset",
    "enable_compilation_cache",
    "ids",
    "make",
    "make_agent",
    "register",
    "sample_legal",
]

_PLACES = {
    "AutoReset": "autoreset",
    "AutoResetState": "autoreset",
    "Environment": "core",
    "State": "core",
    "auto_reset": "autoreset",
    "enable_compilation_cache": "compilation",
    "ids": "registry",
    "make": "registry",
    "make_agent": "agents.loading",
    "register": "bridges.registration",
    "sample_legal": "sampling",
}
# Usable after ``import audamir_envs`` alone.
_MODULES = ("agents", "arena", "autoreset", "core", "registry", "sampling")


def __getattr__(name: str) -> Any:
    """Imports what is asked for. Raises: AttributeError."""
    module = f"{__name__}.{name}"
    if name in _MODULES or module in sys.modules:  # those of the games for PettingZoo lie there alone
        return importlib.import_module(module)
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})


_tell_all()
