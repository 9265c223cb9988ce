"""Compiled functions whose random numbers do not depend on JAX's settings: a seed always means the same game."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

KEY_IMPL = "threefry2x32"
"""The PRNG of the bridges: named, so that a seed means the same game whatever JAX's default becomes."""


def steady_jit(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """``jax.jit(function, **options)`` that draws as with ``jax_threefry_partitionable``, be that set or not."""
    compiled = jax.jit(function, **options)

    @functools.wraps(function, updated=())
    def call(*arguments: Any) -> Any:
        if jax.config.jax_threefry_partitionable:  # type: ignore[attr-defined]
            return compiled(*arguments)
        with jax.threefry_partitionable(True):
            return compiled(*arguments)

    return call
