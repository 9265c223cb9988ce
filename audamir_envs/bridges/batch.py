"""Episodes in batches: the jitted step behind the Gymnasium ``VectorEnv``."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.bridges.episodes import Episode, Report, Table, split_words
from audamir_envs.bridges.lanes import chosen_lanes, put_lanes, renew_in_groups, take_lanes
from audamir_envs.bridges.outside import OutsideOpponents
from audamir_envs.bridges.table import plays_inside
from audamir_envs.core import Array, Pytree

_RESET_GROUP = 8  # lanes reset together: large enough to vectorise, small enough to waste little when one game ends


class Batch(Pytree):
    """What is carried from step to step."""

    episodes: Episode  # [lanes]
    words: Array  # uint32 [2]: of the opponents' PRNG key


class Answer(Pytree):
    """What a step hands out."""

    report: Report  # [lanes]: of the new episode where one was begun in this very step
    final: Report | None  # [lanes]: SAME_STEP only: before new episodes were begun
    done: Array  # bool [lanes]: an episode ended in this step
    opponent_illegal: Array  # bool []


class CompiledBatch:
    """The functions of one table on batches, each one jitted call, unless an opponent plays outside JAX."""

    def __init__(self, table: Table, same_step: bool, device_outputs: bool) -> None:
        self._table = table
        self._on_device = device_outputs
        inside = all(map(plays_inside, table.agents))
        whole = jax.jit if inside else lambda function, **_: function
        self._part: Any = jax.jit if not inside else lambda function: function
        self._opponents = self._play_opponents if inside else _batched(OutsideOpponents(table))
        self._start = self._part(jax.vmap(table.start))
        self._start_at = self._part(jax.vmap(table.start_at, in_axes=(None, 0, 0)))
        self._learner = self._part(self._play_learner)
        self._renew = self._part(self._new_episodes)
        self._told = self._part(jax.vmap(self._report))
        self._finish = self._part(self._answer)
        self.start = whole(lambda words, key: self._begin(self._start(words), key))
        self.start_at = whole(lambda state, seats, words, key: self._begin(self._start_at(state, seats, words), key))
        self.step = whole(self._step_same if same_step else self._step_next, donate_argnums=0)

    def _begin(self, episodes: Episode, words: Array) -> tuple[Batch, Answer]:
        batch = self._opponents(Batch(episodes=episodes, words=words))
        fresh = jnp.ones(episodes.seat.shape, jnp.bool_)
        episodes, report = self._told(batch.episodes, fresh)
        return batch.replace(episodes=episodes), self._finish(report, None)

    def _step_next(self, batch: Batch, actions: Array) -> tuple[Batch, Answer]:
        fresh = batch.episodes.reported
        episodes = self._renew(fresh, self._learner(batch.episodes, actions))
        batch = self._opponents(batch.replace(episodes=episodes))
        episodes, report = self._told(batch.episodes, fresh)
        return batch.replace(episodes=episodes), self._finish(report, None)

    def _step_same(self, batch: Batch, actions: Array) -> tuple[Batch, Answer]:
        batch = self._opponents(batch.replace(episodes=self._learner(batch.episodes, actions)))
        episodes, final = self._told(batch.episodes, jnp.zeros(batch.episodes.seat.shape, jnp.bool_))
        done = episodes.reported
        batch = self._opponents(batch.replace(episodes=self._renew(done, episodes)))
        _, report = self._told(batch.episodes, done)
        return batch, self._finish(report, final)

    def _play_learner(self, episodes: Episode, actions: Array) -> Episode:
        def play(episode: Episode, action: Array) -> Episode:
            return self._table.play(episode, action, ~self._table.finished(episode))

        return jax.vmap(play)(episodes, actions)

    def _new_episodes(self, chosen: Array, episodes: Episode) -> Episode:
        return renew_in_groups(chosen, episodes, lambda ended: jax.vmap(self._table.start)(ended.key), _RESET_GROUP)

    def _play_opponents(self, batch: Batch) -> Batch:
        """Until every lane waits for its learner. Only lanes where an opponent is to move are played, in groups."""
        table = self._table
        lanes = batch.episodes.seat.shape[0]
        group = max(min(lanes, 8), lanes // 8)

        def turn(batch: Batch) -> Batch:
            words, key = split_words(batch.words)
            waiting = jax.vmap(table.waiting)(batch.episodes)
            few = jnp.sum(waiting, dtype=jnp.int32) <= group

            def some(episodes: Episode) -> Episode:
                numbers = chosen_lanes(waiting, group)
                return put_lanes(episodes, numbers, self._turn(take_lanes(episodes, numbers), numbers < lanes, key))

            def everywhere(episodes: Episode) -> Episode:
                return self._turn(episodes, waiting, key)

            if group == lanes:
                episodes = everywhere(batch.episodes)
            else:
                episodes = jax.lax.cond(few, some, everywhere, batch.episodes)
            return Batch(episodes=episodes, words=words)

        return jax.lax.while_loop(lambda batch: jnp.any(jax.vmap(table.waiting)(batch.episodes)), turn, batch)

    def _turn(self, episodes: Episode, allowed: Array, key: Array) -> Episode:
        """One opponent's move in each allowed lane. Consumes key."""
        table = self._table
        states = jax.vmap(table.complete)(episodes.state)
        keys = jax.random.split(key, len(table.agents))
        actions = [_act_batch(agent, states, keys[number]) for number, agent in enumerate(table.agents)]
        which = jax.vmap(table.opponent)(episodes)
        chosen = actions[0]
        for number in range(1, len(actions)):
            chosen = jnp.where(which == number, actions[number], chosen)
        return jax.vmap(table.play)(episodes, chosen, allowed)

    def _report(self, episode: Episode, fresh: Array) -> tuple[Episode, Report]:
        episode, report = self._table.report(episode, fresh)
        if self._on_device:
            report = report.replace(observation=report.observation.astype(jnp.float32))
        return episode, report

    @staticmethod
    def _answer(report: Report, final: Report | None) -> Answer:
        told = report if final is None else final
        # Nothing here may be a buffer of the batch, which is given away at the next step.
        done = told.terminated | told.truncated
        return Answer(report=report, final=final, done=done, opponent_illegal=jnp.any(told.opponent_illegal))


compiled_batch = functools.lru_cache(maxsize=64)(CompiledBatch)


def _act_batch(agent: Any, states: Any, key: Array) -> Array:
    """int32 [lanes]. Consumes key."""
    if hasattr(agent, "act_batch"):
        return agent.act_batch(states, key)
    return jax.vmap(agent.act)(states, jax.random.split(key, states.current_player.shape[0]))


def _batched(outside: OutsideOpponents) -> Any:
    def play(batch: Batch) -> Batch:
        words, key = split_words(batch.words)
        return Batch(episodes=outside(batch.episodes, jax.random.key_data(key)), words=words)

    return play
