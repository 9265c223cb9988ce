"""How long self-play takes over the network evaluations in it, the share that search and rules add."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.core import Array, Environment
from audamir_envs.learned.networks import HexNetwork, bind
from audamir_training.programs import Program

_REPEATS = 16  # evaluations timed together, so that the call's own cost does not count


class Overhead:
    """Times the network alone on a batch like self-play's; the first call compiles."""

    def __init__(self, network: HexNetwork, env: Environment, batch: int) -> None:
        self._observation = jnp.zeros((batch, *env.observation_shape), env.observation_dtype)

        def repeated(parameters: Any, observation: Array) -> Array:
            evaluate = bind(network, parameters, env.num_actions)

            def once(_: Array, observation: Array) -> Array:
                said = evaluate(observation)
                # Each evaluation hangs on the one before, or the compiler would make them one.
                never = (said.value + jnp.sum(said.logits, axis=1)) > 1e9
                return jnp.where(never[:, None, None, None], jnp.zeros_like(observation), observation)

            return jax.lax.fori_loop(0, _REPEATS, once, observation)

        self._program = Program(repeated)

    @property
    def compile_seconds(self) -> float:
        """Spent on compiling so far."""
        return self._program.compile_seconds

    def seconds(self, parameters: Any) -> float:
        """Of one evaluation of the batch."""
        before, start = self.compile_seconds, time.perf_counter()
        jax.block_until_ready(self._program(parameters, self._observation))
        return (time.perf_counter() - start - (self.compile_seconds - before)) / _REPEATS
