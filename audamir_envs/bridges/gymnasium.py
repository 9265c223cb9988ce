"""Every game as a Gymnasium environment: one learner against opponents that play inside the same jitted call."""

from __future__ import annotations

import copy
import functools
import operator
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.outside import plays_inside
from audamir_envs.bridges.episodes import Episode, Table, bare
from audamir_envs.bridges.outside import OutsideOpponents
from audamir_envs.bridges.packing import Layout, to_host
from audamir_envs.bridges.rendering import RENDER_FPS, RENDER_MODES, Renderer
from audamir_envs.bridges.setting import (
    environment_of,
    info_for_seat,
    learner_seats,
    observation_box,
    position_state,
    split_words,
)
from audamir_envs.bridges.steady import steady_jit
from audamir_envs.bridges.table import table_for
from audamir_envs.bridges.vector import SingleAgentVectorEnv
from audamir_envs.core import Array, Environment, State

__all__ = ["SingleAgentEnv", "SingleAgentVectorEnv"]


class CompiledTable:
    """The step of one table on packed episodes: one jitted call, unless an opponent plays outside JAX.

    ``step(data, action, acting)`` plays the learner's action if acting (bool []), and otherwise answers to a reset: a
    new episode is begun where another has ended, and one that was set up is played on to the learner's turn.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        inside = all(map(plays_inside, table.agents))
        part: Any = (lambda function: function) if inside else steady_jit
        words = jax.ShapeDtypeStruct((2,), np.uint32)
        layout = Layout(jax.eval_shape(lambda words: self._tell(table.start(words), jnp.bool_(True)), words))
        self.slots: dict[str, Any] = layout.slots
        begin = part(lambda data, acting: self._begin(layout.unpack(data)["episode"], acting))
        play = self._play_inside if inside else _OutsideEpisode(table)
        tell = part(lambda episode, fresh: layout.pack(self._tell(episode, fresh)))

        def step(data: Array, action: Array, acting: Array) -> Array:
            return tell(play(begin(data, acting), action, acting), ~acting)

        self.step: Any = steady_jit(step) if inside else step
        self.set_up: Any = steady_jit(
            lambda state, seat, words: layout.pack(self._tell(table.start_at(state, seat, words), jnp.bool_(True)))
        )
        self.state: Any = steady_jit(lambda data: table.complete(layout.unpack(data)["episode"].state))
        self.numbers = layout.numbers
        self._size = layout.size

    def ended(self, words: np.ndarray) -> np.ndarray:
        """A packed placeholder with the key of an episode to come, as if another had ended there."""
        data = np.zeros(self._size, np.uint8)
        self.slots["episode"].key.read(data)[:] = words
        self.slots["episode"].reported.read(data)[...] = True
        return data

    def _begin(self, episode: Episode, acting: Array) -> Episode:
        anew = episode.reported & ~acting
        return jax.lax.cond(anew, lambda: self._table.start(episode.key), lambda: episode)

    def _tell(self, episode: Episode, fresh: Array) -> dict[str, Any]:
        episode, report = self._table.report(episode, fresh)
        return {"episode": episode, "report": report}

    def _play_inside(self, episode: Episode, action: Array, acting: Array) -> Episode:
        table = self._table

        def choose(episode: Episode, key: Array) -> Array:
            state = table.complete(episode.state)
            return jax.lax.switch(table.opponent(episode), [agent.act for agent in table.agents], state, key)

        def turn(carry: tuple[Episode, Array]) -> tuple[Episode, Array]:
            episode, acting = carry
            words, key = split_words(episode.key)
            chosen = jax.lax.cond(acting, lambda: action, lambda: choose(episode, key))
            return table.play(episode.replace(key=words), chosen, jnp.bool_(True)), jnp.zeros((), jnp.bool_)

        def unsettled(carry: tuple[Episode, Array]) -> Array:
            return carry[1] | table.waiting(carry[0])

        return jax.lax.while_loop(unsettled, turn, (episode, acting & ~table.finished(episode)))[0]


class _OutsideEpisode:
    """The same as ``CompiledTable._play_inside`` with opponents that play outside JAX."""

    def __init__(self, table: Table) -> None:
        self._learner = steady_jit(
            lambda episode, action, acting: table.play(episode, action, acting & ~table.finished(episode))
        )
        self._opponents = OutsideOpponents(table)

    def __call__(self, episode: Episode, action: Array, acting: Array) -> Episode:
        return self._opponents.one(self._learner(episode, action, acting))


compiled_table = functools.lru_cache(maxsize=64)(CompiledTable)


class SingleAgentEnv(gymnasium.Env[np.ndarray, np.int64]):
    """The learner's side of one game; see ``episodes`` for what an episode is.

    ``info``: ``action_mask`` int8 [actions], as ``action_space.sample`` takes it; ``seat``; ``illegal``; and
    what ``Environment.info`` says of the learner.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012  Gymnasium's own form

    def __init__(
        self,
        game: str | Environment,
        opponent: Any = "normal",
        seat: Any = "random",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Args: game: an id, or an environment (then without options); opponent, seat: see ``table_for``.

        Raises: ValueError naming the valid options, values, levels or seats; TypeError: an opponent that is no agent.
        """
        self.game = environment_of(game, options)
        self.opponent, self.seat = opponent, seat
        self.render_mode = render_mode
        self._renderer = Renderer(self.game, render_mode)
        self.observation_space = observation_box(self.game)
        self.action_space = gymnasium.spaces.Discrete(self.game.num_actions)
        self._host = np.zeros(0, np.uint8)  # the packed episode, read-only
        self._data: Any = None  # the same on the device
        self._numbers: tuple[Any, ...] = ()  # its small leaves
        self._compile()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """A new episode; ``options={"position": text}`` starts from a position, and other options are ignored.

        Raises: ValueError: a position that does not parse, or in which the game is over or the learner out of it.
        """
        start = position_state(self.game, options)
        super().reset(seed=seed)
        words = self.np_random.integers(0, 2**32, 2, np.uint32)
        if start is None:
            data = self._compiled.ended(words)
        else:
            seats = learner_seats(self.game, start, self.seat, 1, self.np_random)
            data = self._compiled.set_up(bare(start), seats[0], words)
        self._take(self._compiled.step(data, np.int32(0), np.bool_(False)))
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """The learner's action and the opponents' answers. Raises: TypeError: no integer; ResetNeeded."""
        self._require_reset()
        number = operator.index(action)
        if not 0 <= number < self.game.num_actions:
            number = -1  # illegal, in a type that every number fits
        self._take(self._compiled.step(self._data, np.int32(number), np.bool_(True)))
        reward, terminated, truncated = (self._number(name) for name in ("reward", "terminated", "truncated"))
        return self._observation(), reward, terminated, truncated, self._info()

    def action_masks(self) -> np.ndarray:
        """bool [actions]: what is legal now (true after the end), as sb3-contrib asks for it. Raises: ResetNeeded."""
        self._require_reset()
        return self._told("action_mask").copy()

    def render(self) -> Any:
        """The position in the mode chosen when the environment was made."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing, since the environment was made without a render_mode")
            return None
        return self._renderer.render(self.functional_state, self._numbers[self._slots["episode"].last_action.place])

    def close(self) -> None:
        """Closes the window, if one is open."""
        self._renderer.close()

    @property
    def functional_state(self) -> State:
        """The game as a state of the functional API, to search from it. Raises: ResetNeeded."""
        self._require_reset()
        return self._compiled.state(self._data)

    def _require_reset(self) -> None:
        if not self._host.size:
            raise gymnasium.error.ResetNeeded("there is no game before the first reset()")

    def _compile(self) -> None:
        self._table = table_for(self.game, self.opponent, self.seat)
        self._compiled = compiled_table(self._table)
        self._slots: dict[str, Any] = self._compiled.slots

    def _take(self, data: Any) -> None:
        self._data = data
        self._host = to_host(data)
        self._numbers = self._compiled.numbers(self._host)
        if self._number("opponent_illegal") and not self._table.forfeits:
            raise RuntimeError(f"an opponent ({', '.join(self._table.names)}) played an illegal action")
        if self.render_mode == "human":
            self.render()

    def _number(self, name: str) -> Any:
        return self._numbers[getattr(self._slots["report"], name).place]

    def _told(self, name: str) -> np.ndarray:
        return getattr(self._slots["report"], name).read(self._host)

    def _observation(self) -> np.ndarray:
        return self._told("observation").astype(np.float32)

    def _info(self) -> dict[str, Any]:
        facts = info_for_seat(self._slots["report"].info, self._host, self._numbers, 0, 0)
        mask = self._told("action_mask").astype(np.int8)
        return facts | {"action_mask": mask, "seat": self._number("seat"), "illegal": self._number("illegal")}

    def __getstate__(self) -> dict[str, Any]:
        fields = self.__dict__.copy()
        del fields["_compiled"], fields["_slots"], fields["_table"], fields["_data"]
        fields["_host"] = np.array(self._host)
        fields["_np_random"] = copy.deepcopy(self._np_random)  # a copy draws for itself
        return fields

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        self._compile()
        self._data = jnp.asarray(self._host)
