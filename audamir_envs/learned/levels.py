"""What all trained levels share: a network with parameters, settings, and what they say of a position."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.base import BatchAgent
from audamir_envs.core import Array, State

MOST = 2**16  # of whatever a setting counts: simulations, actions


@dataclasses.dataclass(frozen=True)
class Settings:
    """Base of a level's settings: fields with defaults, integers from 1 or numbers from 0."""

    def __post_init__(self) -> None:
        """Makes NumPy's numbers plain ones. Raises: ValueError naming the field and what is valid."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if isinstance(field.default, int):
                if not number or isinstance(value, (float, np.floating)) or not 1 <= value <= MOST:
                    raise ValueError(f"{field.name}={value!r} is not valid: use an integer from 1 to {MOST}")
                object.__setattr__(self, field.name, int(value))
            else:
                if not number or not 0 <= value <= 1e9:
                    raise ValueError(f"{field.name}={value!r} is not valid: use a number from 0 to 1e9")
                object.__setattr__(self, field.name, float(value))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The settings."""
        return tuple(field.name for field in dataclasses.fields(cls))


def setting(default: Any, meaning: str) -> Any:
    """A field of ``Settings``: its default, and what it means (``audamir list ENV`` shows both)."""
    return dataclasses.field(default=default, metadata={"help": meaning})


@dataclasses.dataclass(frozen=True)
class PolicySettings(Settings):
    """Of a level that plays its network's policy alone."""

    temperature: float = setting(0.0, "0 plays the likeliest action, 1 draws from the policy")


class LearnedAgent(BatchAgent):
    """A network with parameters, playing under any options of its game."""

    Settings: ClassVar[type[Settings]]

    def __init__(self, env_id: str, network: Any, parameters: Any) -> None:
        self.env_id, self.network, self.parameters = env_id, network, parameters

    @classmethod
    def with_settings(cls, env_id: str, network: Any, parameters: Any, settings: Any) -> Self:
        """The agent that plays by settings, an object of ``cls.Settings``."""
        raise NotImplementedError(f"{cls.__name__} must define with_settings")

    def act(self, state: State, key: Array) -> Array:
        """int32 []: a legal action. Consumes key. Raises: ValueError for states of another game or shape."""
        return self.act_batch(jax.tree.map(lambda leaf: leaf[None], state), key)[0]


def policy_of(scores: Array, legal: Array, played: Array) -> Array:
    """float32 [batch, actions]: the softmax of scores over legal actions, in which the action played is the likeliest.

    A search plays the best among the actions that it tried longest. One that it dropped may have a higher score in the
    end, since the others' values fell later: its score is taken to lie just below that of the action played.

    Args: scores: float32 and legal: bool [batch, actions]; played: int32 [batch].
    """
    top = jnp.take_along_axis(scores, played[:, None], axis=1)
    others = jnp.minimum(scores, top - jnp.float32(1e-3) * (1 + jnp.abs(top)))
    is_played = jnp.arange(scores.shape[1], dtype=jnp.int32) == played[:, None]
    return jax.nn.softmax(jnp.where(legal, jnp.where(is_played, top, others), -jnp.inf), axis=1)
