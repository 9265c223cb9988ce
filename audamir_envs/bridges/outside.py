"""Opponents that are no JAX functions: their turns are played from Python, between two jitted calls."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.outside import plays_inside
from audamir_envs.bridges.episodes import Episode, Table
from audamir_envs.bridges.setting import split_words
from audamir_envs.bridges.steady import steady_jit
from audamir_envs.core import Array


class OutsideOpponents:
    """Plays batches of episodes on to the learner's turns, asking each agent for the lanes where it is to move."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._look = steady_jit(jax.vmap(self._look_at_one))
        self._play = steady_jit(jax.vmap(table.play))
        self._inside = {
            number: steady_jit(jax.vmap(agent.act)) for number, agent in enumerate(table.agents) if plays_inside(agent)
        }

    def __call__(self, episodes: Episode, words: Array) -> Episode:
        """Episodes [lanes] in which no opponent is to move. Consumes words (uint32 [2])."""
        while True:
            looked = self._look(episodes)
            waiting, which = np.asarray(looked[0]), np.asarray(looked[1])
            if not waiting.any():
                return episodes
            actions = np.zeros(len(waiting), np.int32)
            for number, agent in enumerate(self._table.agents):
                lanes = np.flatnonzero(waiting & (which == number))
                if not len(lanes):
                    continue
                if number in self._inside:
                    words, key = split_words(words)
                    chosen = self._inside[number](looked[2], jax.random.split(key, len(waiting)))
                    actions[lanes] = np.asarray(chosen)[lanes]
                else:
                    outside: Any = agent
                    states = jax.tree.map(lambda leaf, lanes=lanes: np.asarray(leaf)[lanes], looked[2])
                    actions[lanes] = outside.act_states(self._table.env, states)
            episodes = self._play(episodes, jnp.asarray(actions), waiting)

    def one(self, episode: Episode) -> Episode:
        """The same for a single episode."""
        words, key = split_words(episode.key)
        lanes = self(jax.tree.map(lambda leaf: leaf[None], episode.replace(key=words)), jax.random.key_data(key))
        return jax.tree.map(lambda leaf: leaf[0], lanes)

    def _look_at_one(self, episode: Episode) -> tuple[Array, Array, Any]:
        table = self._table
        return table.waiting(episode), table.opponent(episode), table.complete(episode.state)
