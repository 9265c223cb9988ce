"""Spaces as JAX learners ask for them: those of the package in use, or of the same shape where it is not there."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array, Environment


@dataclasses.dataclass(frozen=True)
class Discrete:
    """The integers from 0 to n - 1."""

    n: int
    shape: tuple[int, ...] = ()
    dtype: Any = jnp.int32

    def sample(self, key: Array) -> Array:
        """int32 []. Consumes key."""
        return jax.random.randint(key, (), 0, self.n, self.dtype)

    def contains(self, x: Any) -> Array:
        """bool []."""
        return (x >= 0) & (x < self.n)


@dataclasses.dataclass(frozen=True)
class Box:
    """Arrays with all numbers between two."""

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: Any = jnp.float32

    def sample(self, key: Array) -> Array:
        """float32 [*shape]. Consumes key."""
        return jax.random.uniform(key, self.shape, jnp.float32, self.low, self.high).astype(self.dtype)

    def contains(self, x: Any) -> Array:
        """bool []."""
        return jnp.all((x >= self.low) & (x <= self.high))


def discrete(package: str, n: int) -> Any:
    """``Discrete`` of a package's module of spaces (``gymnax.environments.spaces``), or our own without it."""
    return _module(package).Discrete(n)


def box(package: str, env: Environment, shape: tuple[int, ...]) -> Any:
    """A ``Box`` float32 of that shape within the bounds of the environment's observations."""
    return _module(package).Box(float(env.observation_low), float(env.observation_high), shape, jnp.float32)


def flat_size(env: Environment) -> int:
    """The numbers of one observation."""
    return int(np.prod(env.observation_shape))


def _module(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        return importlib.import_module(__name__)
