"""Episodes in batches: the jitted step behind the Gymnasium ``VectorEnv``."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from audamir_envs.agents.outside import plays_inside
from audamir_envs.bridges.episodes import Episode, Report, Table
from audamir_envs.bridges.lanes import on_all, on_some
from audamir_envs.bridges.outside import OutsideOpponents
from audamir_envs.bridges.setting import split_words
from audamir_envs.bridges.steady import steady_jit
from audamir_envs.core import Array, Pytree

_RESET_GROUP = 8  # lanes reset together: large enough to vectorise, small enough to waste little when one game ends
_GROUPS = 8  # parts of the batch that are played one after another, so that few waiting lanes cost little


class Batch(Pytree):
    """What is carried from step to step."""

    episodes: Episode  # [lanes]
    words: Array  # uint32 [2]: of the opponents' PRNG key


class Answer(Pytree):
    """What a step hands out. No leaf is a buffer of the batch, which is given away at the next step."""

    report: Report  # [lanes]: of the new episode where one was begun in this very step
    final: Report | None  # [lanes]: SAME_STEP only: before new episodes were begun
    done: Array  # bool [lanes]: an episode ended in this step
    opponent_illegal: Array  # bool []


class CompiledBatch:
    """The step of one table on batches: one jitted call, unless an opponent plays outside JAX.

    ``step(batch, actions, acting)`` plays the learners' actions where acting (bool []), and otherwise answers to a
    reset: new episodes are begun where others have ended, and those set up elsewhere played on to the learner's turn.
    """

    def __init__(self, table: Table, same_step: bool, device_outputs: bool) -> None:
        self._table = table
        self._on_device = device_outputs
        inside = all(map(plays_inside, table.agents))
        part: Any = (lambda function: function) if inside else steady_jit
        self._played = self._play_inside if inside else _OutsideBatch(table)
        self._renewed = part(self._renew)
        self._told = part(jax.vmap(self._tell))
        self._answered = part(self._answer)
        self._twice = _fori if inside else _python_fori
        step = self._step_same if same_step else self._step_next
        self.step: Any = steady_jit(step, donate_argnums=0) if inside else step
        self.start_at: Any = steady_jit(jax.vmap(table.start_at, in_axes=(None, 0, 0)))
        self.reset_some: Any = steady_jit(self._reset_some, donate_argnums=0) if inside else self._reset_some

    def _step_next(self, batch: Batch, actions: Array, acting: Array) -> tuple[Batch, Answer]:
        ended = batch.episodes.reported
        batch = batch.replace(episodes=self._renewed(batch.episodes, ended))
        batch = self._played(batch, actions, acting & ~ended)
        episodes, report = self._told(batch.episodes, ended | ~acting)
        return batch.replace(episodes=episodes), self._answered(report, None)

    def _step_same(self, batch: Batch, actions: Array, acting: Array) -> tuple[Batch, Answer]:
        ended = batch.episodes.reported
        _, nothing = jax.eval_shape(jax.vmap(self._tell), batch.episodes, ended)
        nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), nothing)

        def half(number: Any, carry: tuple[Batch, Array, Report, Report]) -> tuple[Batch, Array, Report, Report]:
            # First the learners' actions, then the opponents' first moves where a new episode was begun.
            batch, fresh, _, before = carry
            batch = self._played(batch, actions, acting & ~fresh & (number == 0))
            episodes, report = self._told(batch.episodes, fresh | ~acting)
            done = episodes.reported | (ended & (number == 0))
            batch = batch.replace(episodes=self._renewed(episodes, done))
            return batch, done, before, report

        batch, _, final, report = self._twice(half, (batch, ended, nothing, nothing))
        return batch, self._answered(report, final)

    def _reset_some(self, batch: Batch, begun: Episode, chosen: Array) -> tuple[Batch, Answer]:
        """New episodes in the chosen lanes (bool [lanes]); the others stay, and wait for their own reset if they did.

        Args: begun: episodes [lanes] to put there, placeholders (``Table.ended``) or set up elsewhere.
        """
        episodes = self._renewed(_select(chosen, begun, batch.episodes), chosen & begun.reported)
        nothing = jnp.zeros(chosen.shape, jnp.int32)
        played = self._played(batch.replace(episodes=episodes), nothing, jnp.zeros(chosen.shape, jnp.bool_))
        told, report = self._told(played.episodes, jnp.ones(chosen.shape, jnp.bool_))
        episodes = _select(chosen, told, batch.episodes)
        return played.replace(episodes=episodes), self._answered(report, None)

    def _renew(self, episodes: Episode, chosen: Array) -> Episode:
        def begin(ended: Episode, numbers: Array) -> Episode:
            del numbers
            return jax.vmap(self._table.start)(ended.key)

        return on_all(chosen, episodes, begin, _RESET_GROUP)

    def _play_inside(self, batch: Batch, actions: Array, acting: Array) -> Batch:
        """The learners' actions where acting (bool [lanes]), then the opponents' until every lane waits for a learner.

        Lanes are played in groups, and only those where somebody else than the learner is to move.
        """
        table = self._table
        lanes = acting.shape[0]
        group = max(min(lanes, 8), -(-lanes // _GROUPS))

        def unsettled(carry: tuple[Batch, Array]) -> Array:
            batch, acting = carry
            return jnp.any(acting | jax.vmap(table.waiting)(batch.episodes))

        def turn(carry: tuple[Batch, Array]) -> tuple[Batch, Array]:
            batch, acting = carry
            words, key = split_words(batch.words)
            learners = jnp.any(acting)

            def move(episodes: Episode, numbers: Array) -> Episode:
                chosen = jax.lax.cond(
                    learners, lambda: actions[numbers].astype(jnp.int32), lambda: self._choose(episodes, key)
                )
                return jax.vmap(table.play)(episodes, chosen, ~jax.vmap(table.finished)(episodes))

            waiting = jax.vmap(table.waiting)(batch.episodes)
            episodes, now = on_some(jnp.where(learners, acting, waiting), batch.episodes, move, group)
            return Batch(episodes=episodes, words=words), acting & ~now

        return jax.lax.while_loop(unsettled, turn, (batch, acting))[0]

    def _choose(self, episodes: Episode, key: Array) -> Array:
        """int32 [lanes]: the opponents' actions. Consumes key."""
        table = self._table
        states = jax.vmap(table.complete)(episodes.state)
        keys = [key] if len(table.agents) == 1 else jax.random.split(key, len(table.agents))
        actions = [_act_batch(agent, states, keys[number]) for number, agent in enumerate(table.agents)]
        which = jax.vmap(table.opponent)(episodes)
        return functools.reduce(
            lambda chosen, number: jnp.where(which == number, actions[number], chosen),
            range(1, len(actions)),
            actions[0],
        )

    def _tell(self, episode: Episode, fresh: Array) -> tuple[Episode, Report]:
        episode, report = self._table.report(episode, fresh)
        if self._on_device:
            report = report.replace(observation=report.observation.astype(jnp.float32))
        return episode, report

    @staticmethod
    def _answer(report: Report, final: Report | None) -> Answer:
        told = report if final is None else final
        done = told.terminated | told.truncated
        return Answer(report=report, final=final, done=done, opponent_illegal=jnp.any(told.opponent_illegal))


compiled_batch = functools.lru_cache(maxsize=64)(CompiledBatch)


def _select(chosen: Array, yes: Any, no: Any) -> Any:
    """Lanes of one batched tree where chosen (bool [lanes]), of another elsewhere."""

    def one(new: Array, old: Array) -> Array:
        return jnp.where(chosen.reshape(-1, *[1] * (jnp.ndim(new) - 1)), new, old)

    return jax.tree.map(one, yes, no)


def _act_batch(agent: Any, states: Any, key: Array) -> Array:
    """int32 [lanes]. Consumes key."""
    if hasattr(agent, "act_batch"):
        return agent.act_batch(states, key)
    return jax.vmap(agent.act)(states, jax.random.split(key, states.current_player.shape[0]))


def _fori(body: Any, carry: Any) -> Any:
    return jax.lax.fori_loop(0, 2, body, carry)


def _python_fori(body: Any, carry: Any) -> Any:
    return body(1, body(0, carry))


class _OutsideBatch:
    """The same as ``CompiledBatch._play_inside`` with opponents that play outside JAX."""

    def __init__(self, table: Table) -> None:
        def learner(episode: Episode, action: Array, acting: Array) -> Episode:
            return table.play(episode, action, acting & ~table.finished(episode))

        self._learner = steady_jit(jax.vmap(learner))
        self._opponents = OutsideOpponents(table)

    def __call__(self, batch: Batch, actions: Array, acting: Array) -> Batch:
        words, key = split_words(batch.words)
        episodes = self._learner(batch.episodes, actions, acting)
        return Batch(episodes=self._opponents(episodes, jax.random.key_data(key)), words=words)
