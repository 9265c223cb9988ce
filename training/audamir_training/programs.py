"""Programs that know how long they took to compile, so that a run's clock can leave it out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax


class Program:
    """A function under ``jax.jit`` compiled at its first call; all calls must have arguments of equal shapes."""

    def __init__(self, function: Callable, **options: Any) -> None:
        """Args: options: of ``jax.jit``."""
        self._jitted = jax.jit(function, **options)
        self._compiled: Any = None
        self.compile_seconds = 0.0

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives."""
        if self._compiled is None:
            start = time.perf_counter()
            self._compiled = self._jitted.lower(*arguments).compile()
            self.compile_seconds = time.perf_counter() - start
        return self._compiled(*arguments)
