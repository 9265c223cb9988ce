"""Every game as a Gymnasium environment: one learner against opponents that play inside the same jitted call."""

from __future__ import annotations

import functools
import operator
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.bridges.episodes import Episode, Table, split_words
from audamir_envs.bridges.outside import OutsideOpponents
from audamir_envs.bridges.packing import Layout
from audamir_envs.bridges.rendering import RENDER_FPS, RENDER_MODES, Renderer
from audamir_envs.bridges.setting import environment_of, learner_seats, observation_box, position_state
from audamir_envs.bridges.table import plays_inside, table_for
from audamir_envs.bridges.vector import SingleAgentVectorEnv
from audamir_envs.core import Array, Environment, State

__all__ = ["SingleAgentEnv", "SingleAgentVectorEnv"]


class CompiledTable:
    """The functions of one table on packed episodes: each one jitted call, unless an opponent plays outside JAX."""

    def __init__(self, table: Table) -> None:
        self._table = table
        inside = all(map(plays_inside, table.agents))
        whole = jax.jit if inside else lambda function: function
        part = jax.jit if not inside else lambda function: function
        opponents = self._opponents if inside else OutsideOpponents(table).one
        start, start_at, play = part(table.start), part(table.start_at), part(self._learner)
        words = jax.ShapeDtypeStruct((2,), np.uint32)
        layout = Layout(jax.eval_shape(lambda words: self._told(table.start(words), True), words))
        self.slots = layout.slots
        report = part(lambda episode, fresh: layout.pack(self._told(episode, fresh)))
        unpack = part(lambda data: layout.unpack(data)["episode"])
        self.start = whole(lambda words: report(opponents(start(words)), True))
        self.start_at = whole(lambda state, seat, words: report(opponents(start_at(state, seat, words)), True))
        self.step = whole(lambda data, action: report(opponents(play(unpack(data), action)), False))
        self.state = jax.jit(lambda data: table.complete(layout.unpack(data)["episode"].state))

    def _told(self, episode: Episode, fresh: Any) -> dict[str, Any]:
        episode, report = self._table.report(episode, jnp.asarray(fresh))
        return {"episode": episode, "report": report}

    def _learner(self, episode: Episode, action: Array) -> Episode:
        return self._table.play(episode, action, ~self._table.finished(episode))

    def _opponents(self, episode: Episode) -> Episode:
        table = self._table

        def turn(episode: Episode) -> Episode:
            words, key = split_words(episode.key)
            state = table.complete(episode.state)
            choices = [agent.act for agent in table.agents]
            action = jax.lax.switch(table.opponent(episode), choices, state, key)
            return table.play(episode.replace(key=words), action, jnp.bool_(True))

        return jax.lax.while_loop(table.waiting, turn, episode)


compiled_table = functools.lru_cache(maxsize=64)(CompiledTable)


class SingleAgentEnv(gymnasium.Env[np.ndarray, np.int64]):
    """The learner's side of one game; see ``episodes`` for what an episode is.

    ``info``: ``action_mask`` int8 [actions], as ``action_space.sample`` takes it; ``seat``; ``illegal``; at the end
    also what ``Environment.info`` says of the learner.
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
            self._take(self._compiled.start(words))
        else:
            seats = learner_seats(self.game, start, self.seat, 1, self.np_random)
            self._take(self._compiled.start_at(start.replace(observation=None), seats[0], words))
        return self._observation(), self._info(over=False)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """The learner's action and the opponents' answers. Raises: TypeError: no integer."""
        number = operator.index(action)
        if not 0 <= number < self.game.num_actions:
            number = -1  # illegal, in a type that every number fits
        self._take(self._compiled.step(self._data, np.int32(number)))
        terminated, truncated = bool(self._told("terminated")), bool(self._told("truncated"))
        reward = float(self._told("reward"))
        return self._observation(), reward, terminated, truncated, self._info(terminated or truncated)

    def action_masks(self) -> np.ndarray:
        """bool [actions]: what is legal now (all true after the end), as sb3-contrib asks for it."""
        return self._told("action_mask").copy()

    def render(self) -> Any:
        """The position in the mode chosen when the environment was made."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing, since the environment was made without a render_mode")
            return None
        return self._renderer.render(self.functional_state, int(self._slots["episode"].last_action.read(self._host)))

    def close(self) -> None:
        """Closes the window, if one is open."""
        self._renderer.close()

    @property
    def functional_state(self) -> State:
        """The game as a state of the functional API, to search from it."""
        return self._compiled.state(self._data)

    def _compile(self) -> None:
        self._table = table_for(self.game, self.opponent, self.seat)
        self._compiled = compiled_table(self._table)
        self._slots: dict[str, Any] = self._compiled.slots

    def _take(self, data: Any) -> None:
        self._data = data
        self._host = np.asarray(data)
        if self._told("opponent_illegal"):
            raise RuntimeError(f"an opponent ({', '.join(self._table.names)}) played an illegal action")
        if self.render_mode == "human":
            self.render()

    def _told(self, name: str) -> np.ndarray:
        return getattr(self._slots["report"], name).read(self._host)

    def _observation(self) -> np.ndarray:
        return self._told("observation").astype(np.float32)

    def _info(self, over: bool) -> dict[str, Any]:
        info: dict[str, Any] = {
            "action_mask": self._told("action_mask").astype(np.int8),
            "seat": int(self._slots["episode"].seat.read(self._host)),
            "illegal": bool(self._told("illegal")),
        }
        if over:
            for name, slot in self._slots["report"].info.items():
                value = slot.read(self._host)
                info[name] = value.item() if value.ndim == 0 else value.copy()
        return info

    def __getstate__(self) -> dict[str, Any]:
        fields = self.__dict__.copy()
        del fields["_compiled"], fields["_slots"], fields["_table"], fields["_data"]
        fields["_host"] = np.array(self._host)
        return fields

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        self._compile()
        self._data = jnp.asarray(self._host)
