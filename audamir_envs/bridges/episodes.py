"""One learner among opponents, as pure functions: what the single and the batched Gymnasium environments compute.

An episode is a game from the learner's seat: between two of the learner's turns the opponents play, and it ends when
the game does, by an illegal action of the learner, or as soon as the learner is out of the game. An episode that is
decided before the learner's first turn ends at its first step, whatever the action.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.base import Agent
from audamir_envs.bridges.setting import KEY_IMPL, split_words
from audamir_envs.core import Array, Environment, Pytree, State


class Episode(Pytree):
    """A game with the learner's place in it, small: the state's observation and mask are made where they are needed."""

    state: State  # without observation and legal_action_mask
    seat: Array  # int32 []: the learner's
    reported: Array  # bool []: the end has been handed out
    last_action: Array  # int32 []: of anybody, -1 at the start
    key: Array  # uint32 [2]: the words of the episode's own PRNG key, of its chance and, alone, of its opponents


class Report(Pytree):
    """What one step tells the learner."""

    observation: Array  # [*observation_shape]
    action_mask: Array  # bool [actions]; all true after the end
    reward: Array  # float32 []
    terminated: Array  # bool []
    truncated: Array  # bool []
    illegal: Array  # bool []: ended by an illegal action of the learner
    opponent_illegal: Array  # bool []: ended by an illegal action of an opponent, which is an error of that agent
    seat: Array  # int32 []
    info: dict[str, Array]  # Environment.info for the learner


@dataclasses.dataclass(frozen=True)
class Table:
    """Who sits at the table: all that the compiled functions depend on. Hashable where the agents are."""

    env: Environment
    agents: tuple[Agent, ...]  # the different ones
    order: tuple[int, ...]  # [players - 1]: the agent of each seat after the learner's, as its place in ``agents``
    seat: int | None  # the learner's, None for a random one

    @property
    def forfeits(self) -> bool:
        """Whether an opponent may lose by an illegal action, which is an error otherwise."""
        return any(getattr(agent, "forfeits", False) for agent in self.agents)

    @property
    def names(self) -> tuple[str, ...]:
        """The opponents' names in seat order after the learner's."""
        return tuple(self.agents[number].name for number in self.order)

    def start(self, words: Array) -> Episode:
        """A new episode. Consumes words (uint32 [2], the words of a PRNG key)."""
        drawn = jax.random.bits(jax.random.wrap_key_data(words, impl=KEY_IMPL), (5,), jnp.uint32)
        state = self.env.init(jax.random.wrap_key_data(drawn[:2], impl=KEY_IMPL))
        if self.seat is None:
            seat = (drawn[4] % jnp.uint32(self.env.num_players)).astype(jnp.int32)
        else:
            seat = jnp.int32(self.seat)
        return self.start_at(bare(state), seat, drawn[2:4])

    def start_at(self, state: State, seat: Array, words: Array) -> Episode:
        """An episode from a bare state. Keeps words for later."""
        reported, last_action = jnp.zeros((), jnp.bool_), jnp.int32(-1)
        return Episode(state=state, seat=seat, reported=reported, last_action=last_action, key=words)

    def ended(self, words: np.ndarray) -> Episode:
        """Placeholders with the keys (uint32 [..., 2]) of episodes to come, as if others had ended there."""
        shapes = jax.eval_shape(self.start, jax.ShapeDtypeStruct((2,), np.uint32))
        nothing: Any = jax.tree.map(lambda leaf: np.zeros((*words.shape[:-1], *leaf.shape), leaf.dtype), shapes)
        return nothing.replace(reported=~nothing.reported, key=words)

    def complete(self, state: State) -> State:
        """The state with mask and observation; what an agent does not look at, compiling drops again."""
        over = state.terminated | state.truncated
        return state.replace(
            legal_action_mask=self.env.legal_actions(state.game) | over,
            observation=self.env.observe_game(state.game, state.current_player),
        )

    def finished(self, episode: Episode) -> Array:
        """bool []: the game is over, or the learner is out of it."""
        state = episode.state
        return state.terminated | state.truncated | ~self.env.alive(state)[episode.seat]

    def waiting(self, episode: Episode) -> Array:
        """bool []: an opponent is to move."""
        return ~self.finished(episode) & (episode.state.current_player != episode.seat)

    def opponent(self, episode: Episode) -> Array:
        """int32 []: which of ``agents`` is to move, if one is."""
        distance = (episode.state.current_player - episode.seat - 1) % self.env.num_players
        return jnp.asarray((*self.order, 0), jnp.int32)[distance]

    def play(self, episode: Episode, action: Array, allowed: Array) -> Episode:
        """The episode after an action of whoever is to move, unchanged where not allowed (bool [])."""
        words, step_key = episode.key, None
        if self.env.stochastic:
            words, step_key = split_words(words)
        state = self.env.step(self.complete(episode.state), action, step_key)
        played = episode.replace(state=bare(state), last_action=jnp.asarray(action, jnp.int32), key=words)
        return jax.tree.map(lambda new, old: jnp.where(allowed, new, old), played, episode)

    def report(self, episode: Episode, fresh: Any) -> tuple[Episode, Report]:
        """What the learner is told, and the episode that remembers having told it.

        Args: fresh: bool []: an answer to a reset, which tells of no end (the next step will).
        """
        env, state, seat = self.env, episode.state, episode.seat
        over = state.terminated | state.truncated
        finished = self.finished(episode)
        result = jnp.where(over, state.rewards[seat], jnp.float32(-1 / (env.num_players - 1)))
        whole = self.complete(state)
        own = state.current_player == seat
        told = finished & ~fresh
        return (
            episode.replace(reported=told),
            Report(
                observation=env.observe_game(state.game, seat),
                action_mask=whole.legal_action_mask | finished,
                reward=jnp.where(told & ~episode.reported, result, jnp.float32(0)),
                terminated=told & ~state.truncated,
                truncated=told & state.truncated,
                illegal=state.illegal & own,
                opponent_illegal=state.illegal & ~own,
                seat=+seat,  # a buffer of its own, since the episode's is given away at the next step
                info={
                    name: value[seat] if value.shape[:1] == (env.num_players,) else value
                    for name, value in env.info(whole, self.names).items()
                },
            ),
        )


def bare(state: State) -> State:
    """The state without observation and mask, which follow from the rest."""
    return state.replace(observation=None, legal_action_mask=None)
