"""Many games at once with every seat in the learner's hands, for self-play by learners outside JAX."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from audamir_envs.bridges.episodes import bare
from audamir_envs.bridges.lanes import on_all
from audamir_envs.bridges.setting import (
    KEY_IMPL,
    batch_actions,
    check_num_envs,
    environment_of,
    lane_words,
    lanes_to_reset,
    observation_box,
    own_parts,
    position_state,
    split_words,
)
from audamir_envs.bridges.steady import steady_jit
from audamir_envs.core import Array, Environment, Pytree, State

_RESET_GROUP = 8  # lanes reset together, as in auto_reset


class Games(Pytree):
    """What is carried from step to step."""

    states: State  # [lanes], without observations
    words: Array  # uint32 [lanes, 2]: of each lane's PRNG key


class View(Pytree):
    """What the movers see."""

    observation: Array  # float32 [lanes, *observation_shape]: from the point of view of the seat to move
    action_mask: Array  # bool [lanes, actions]
    current_player: Array  # int32 [lanes]


class Transition(Pytree):
    """What a step hands out."""

    now: View  # of the new game where one was begun in this very step
    final: View  # before that; equal to ``now`` elsewhere
    rewards: Array  # float32 [lanes, players]
    terminated: Array  # bool [lanes]
    truncated: Array  # bool [lanes]
    illegal: Array  # bool [lanes]: ended by an illegal action of ``final.current_player``
    info: dict[str, Array]  # Environment.info of the finished games: [lanes, players] or [lanes]


class CompiledGames:
    """The jitted functions of one environment on batches of games."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self.start = steady_jit(lambda words: self._begin(jax.vmap(self._new)(words)))
        self.start_at = steady_jit(self._start_at)
        self.step = steady_jit(self._step, donate_argnums=0)
        self.renew = steady_jit(self._renew, donate_argnums=0)

    def _new(self, words: Array) -> tuple[State, Array]:
        init_key, rest = jax.random.split(jax.random.wrap_key_data(words, impl=KEY_IMPL))
        return bare(self._env.init(init_key)), jax.random.key_data(rest)

    def _begin(self, new: tuple[State, Array]) -> tuple[Games, View]:
        games = Games(states=new[0], words=new[1])
        return games, self._view(games.states)

    def _start_at(self, state: State, words: Array) -> tuple[Games, View]:
        lanes = words.shape[0]
        return self._begin((jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (lanes, *leaf.shape)), state), words))

    def _renew(self, games: Games, new: Games, chosen: Array) -> tuple[Games, View]:
        """Other games in the chosen lanes (bool [lanes])."""

        def select(new: Array, old: Array) -> Array:
            return jnp.where(chosen.reshape(-1, *[1] * (new.ndim - 1)), new, old)

        games = jax.tree.map(select, new, games)
        return games, self._view(games.states)

    def _step(self, games: Games, actions: Array) -> tuple[Games, Transition]:
        env, words = self._env, games.words
        masks = jax.vmap(env.legal_actions)(games.states.game)
        before = games.states.replace(legal_action_mask=masks)
        if env.stochastic:
            words, keys = jax.vmap(split_words)(words)
            states = jax.vmap(env.step)(before, actions, keys)
        else:
            states = jax.vmap(env.step)(before, actions)
        done = states.terminated | states.truncated
        final = View(states.observation.astype(jnp.float32), states.legal_action_mask, states.current_player)
        info = jax.vmap(env.info)(states)
        ended = (bare(states), words)
        new = on_all(done, ended, lambda rows, _: jax.vmap(self._new)(rows[1]), _RESET_GROUP)
        games, now = self._begin(new)
        return games, Transition(
            now=now,
            final=final,
            rewards=states.rewards,
            terminated=states.terminated,
            truncated=states.truncated,
            illegal=states.illegal,
            info=info,
        )

    def _view(self, states: State) -> View:
        observation = jax.vmap(self._env.observe_game)(states.game, states.current_player)
        mask = jax.vmap(self._env.legal_actions)(states.game)
        # The seat is copied: the states' own buffers are given away at the next step.
        return View(observation.astype(jnp.float32), mask, +states.current_player)


compiled_games = functools.lru_cache(maxsize=64)(CompiledGames)


class SelfPlayVectorEnv(VectorEnv[Any, Any, Any]):
    """``num_envs`` games; each step takes an action of the seat to move in every game, and starts ended games anew.

    As a ``VectorEnv`` in the mode SAME_STEP, but with rewards [num_envs, players], one for each seat. ``info`` holds
    ``action_mask`` int8 [num_envs, actions] and ``current_player`` int32 [num_envs] for the next action, ``illegal``
    bool [num_envs], and, when games end, of these (``_final_obs`` says which): ``final_obs`` float32 [num_envs, ...],
    ``final_action_mask`` (all ones), ``final_player`` and what ``Environment.info`` says.

    With ``device_outputs`` everything is a JAX array, which other frameworks take by DLPack without a copy, and all
    keys are there at every step.
    """

    def __init__(
        self, game: str | Environment, num_envs: int = 1, device_outputs: bool = False, **options: Any
    ) -> None:
        """Args: game: an id, or an environment (then without options). Raises: ValueError naming what is valid."""
        self.game = environment_of(game, options)
        self.num_envs = check_num_envs(num_envs)
        self.device_outputs = device_outputs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": [], "jax": device_outputs}
        self.single_observation_space = observation_box(self.game)
        self.single_action_space = gymnasium.spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._compiled: CompiledGames = compiled_games(self.game)
        self._games: Games | None = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """New games everywhere; ``options={"position": text}`` starts them from a position.

        Args: seed: lane i is seeded by seed + i, or by the i-th of a sequence, where None goes on unseeded; options:
        ``reset_mask``, bool [num_envs]: resets these lanes alone; the answer is that of all lanes.
        Raises: ValueError: a sequence or mask of another length, a mask without lanes; a position that does not parse
        or in which the game is over; TypeError: a mask that is no array of bool; ResetNeeded: a mask at the first.
        """
        start = position_state(self.game, options)
        chosen = lanes_to_reset(options, self.num_envs)
        before = self._games
        if chosen is not None and before is None:
            raise gymnasium.error.ResetNeeded("reset() of some lanes before the first reset() of all")
        words = lane_words(self, seed, chosen)
        if start is None:
            self._games, view = self._compiled.start(words)
        else:
            self._games, view = self._compiled.start_at(bare(start), words)
        if chosen is not None:
            self._games, view = self._compiled.renew(before, self._games, chosen)
        return self._own(view.observation), self._info(view)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One action of each mover (integers [num_envs]: NumPy, JAX, or any array that speaks DLPack).

        Raises: ValueError: another shape; TypeError: no integers.
        """
        if self._games is None:
            raise gymnasium.error.ResetNeeded("step() before the first reset()")
        self._games, told = self._compiled.step(self._games, batch_actions(actions, self.num_envs))
        done = told.terminated | told.truncated
        info = self._info(told.now) | {"illegal": self._own(told.illegal)}
        if self.device_outputs or np.asarray(done).any():
            final = told.final
            info |= {"final_obs": self._own(final.observation), "_final_obs": self._own(done)}
            info |= {"final_action_mask": self._own(final.action_mask, np.int8)}
            info |= {"final_player": self._own(final.current_player)}
            info |= {name: self._own(value) for name, value in told.info.items()}
        rewards, terminated, truncated = map(self._own, (told.rewards, told.terminated, told.truncated))
        return self._own(told.now.observation), rewards, terminated, truncated, info

    def __getstate__(self) -> dict[str, Any]:
        fields = self.__dict__.copy()
        del fields["_compiled"]
        return fields | own_parts(fields, "_games")

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        self._compiled = compiled_games(self.game)

    def _info(self, view: View) -> dict[str, Any]:
        mask = self._own(view.action_mask, np.int8)
        return {"action_mask": mask, "current_player": self._own(view.current_player)}

    def _own(self, array: Any, dtype: Any = None) -> Any:
        """An array for the caller alone: on the host a writable copy."""
        if self.device_outputs:
            return array if dtype is None else array.astype(dtype)
        return np.array(array, dtype)
