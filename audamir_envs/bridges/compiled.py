"""One game as one array of bytes, and the jitted functions on it: what turn-by-turn bridges are made of."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from audamir_envs.bridges.packing import Layout, Slot, as_one_kernel
from audamir_envs.bridges.setting import split_words
from audamir_envs.bridges.steady import steady_jit
from audamir_envs.core import Array, Environment, State


class CompiledGame:
    """The jitted functions of one environment on packed games; shared by all games with equal options."""

    def __init__(self, env: Environment) -> None:
        words = jax.ShapeDtypeStruct((2,), np.uint32)
        info = jax.eval_shape(lambda words: env.info(self._begin(env, words)[0]), words)
        of_actions = [name for name, fact in info.items() if fact.shape == (env.num_actions,)]

        def parts(state: State, words: Array) -> dict[str, Any]:
            told = env.info(state)  # what is not kept of it is not computed
            return {"state": state, "words": words, "of_actions": {name: told[name] for name in of_actions}}

        layout = Layout(jax.eval_shape(lambda words: parts(*self._begin(env, words)), words))
        state: Any = layout.slots["state"]
        self.numbers = layout.numbers
        self.of_actions: dict[str, Slot] = layout.slots["of_actions"]
        self.observation: Slot = state.observation
        self.mask: Slot = state.legal_action_mask
        self.player: int = state.current_player.place
        self.flags: list[int] = [flag.place for flag in (state.terminated, state.truncated, state.illegal)]
        self.rewards = slice(state.rewards.place, state.rewards.place + env.num_players)

        def pack(state: State, words: Array) -> Array:
            return layout.pack(parts(state, words))

        def step(data: Array, action: Array) -> Array:
            game = layout.unpack(data)
            words, step_key = split_words(game["words"]) if env.stochastic else (game["words"], None)
            return pack(env.step(game["state"], action, step_key), words)

        self.init: Callable[..., Array] = steady_jit(lambda words: pack(*self._begin(env, words)))
        self.start_at: Callable[..., Array] = steady_jit(pack)
        self.step: Callable[..., Array] = as_one_kernel(step)
        self.observe: Callable[..., Array] = steady_jit(
            lambda data, seat: env.observe(layout.unpack(data)["state"], seat)
        )
        self.state: Callable[..., State] = jax.jit(lambda data: layout.unpack(data)["state"])
        self.info: Callable[..., dict[str, Array]] = jax.jit(lambda data: env.info(layout.unpack(data)["state"]))

    @staticmethod
    def _begin(env: Environment, words: Array) -> tuple[State, Array]:
        words, init_key = split_words(words)
        return env.init(init_key), words


compiled_game = functools.lru_cache(maxsize=64)(CompiledGame)
"""``compiled_game(env)``: environments made with equal options compile once."""
