"""Three territory games as JAX, PettingZoo and Gymnasium environments, with scripted and trained levels."""

from audamir_envs.agents.loading import make_agent
from audamir_envs.autoreset import AutoReset, AutoResetState, auto_reset
from audamir_envs.bridges.registration import register as _register
from audamir_envs.core import Environment, State
from audamir_envs.learned import provide as _provide_levels
from audamir_envs.registry import ids, make
from audamir_envs.sampling import sample_legal

__version__ = "0.1.0"

__all__ = [
    "AutoReset",
    "AutoResetState",
    "Environment",
    "State",
    "auto_reset",
    "ids",
    "make",
    "make_agent",
    "sample_legal",
]

_provide_levels()
_register()
