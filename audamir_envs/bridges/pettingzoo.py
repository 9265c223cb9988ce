"""Every game as a PettingZoo AEC environment: agents ``player_0``, ... move in the order of the game."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from audamir_envs.bridges.compiled import CompiledGame, compiled_game
from audamir_envs.bridges.packing import to_host
from audamir_envs.bridges.rendering import RENDER_FPS, RENDER_MODES, Renderer
from audamir_envs.bridges.setting import environment_of, observation_space, position_state
from audamir_envs.core import Array, Environment, State

Observation = dict[str, np.ndarray]


class GameAEC(AECEnv[str, Observation, int]):
    """One game; ``raw_env`` without wrappers: an illegal action ends it by the functional rule.

    ``infos[agent]`` has ``action_mask`` int8 [actions], at the end also ``illegal`` and what ``Environment.info`` says.
    Before, only the facts of it that are about single actions are told, to the agent to move: loaders take the keys of
    the first infos for those of all agents at all times.

    The game lives in one array of bytes, so copies and pickles are of plain data and continue identically.
    """

    def __init__(self, game: str | Environment, render_mode: str | None = None, **options: Any) -> None:
        """Args: game: an id, or an environment (then without options). Raises: ValueError naming what is valid."""
        super().__init__()
        self.game = environment_of(game, options)
        self.metadata = {
            "name": self.game.id.replace("-", "_"),
            "render_modes": list(RENDER_MODES),
            "is_parallelizable": False,
            "render_fps": RENDER_FPS,
        }
        self.render_mode = render_mode
        self._renderer = Renderer(self.game, render_mode)
        self._compiled: CompiledGame = compiled_game(self.game)
        self.possible_agents = [f"player_{seat}" for seat in range(self.game.num_players)]
        self.agents = self.possible_agents[:]
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.observation_spaces: dict[str, Any] = {agent: observation_space(self.game) for agent in self.agents}
        self.action_spaces: dict[str, Any] = {
            agent: gymnasium.spaces.Discrete(self.game.num_actions) for agent in self.agents
        }
        self._rng = np.random.default_rng()
        self._data: Any = None  # uint8 [size]: the packed game, on the device
        self._host = np.zeros(0, np.uint8)  # the same on the host, read-only
        self._last_action: int | None = None

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Dict(observation: Box float32, action_mask: Box int8 of 0 and 1)."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Discrete."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """A new game; ``options={"position": text}`` starts from a position, and other options are ignored.

        Raises: ValueError: a position that does not parse, or in which the game is over.
        """
        start = position_state(self.game, options)
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        words = self._rng.integers(0, 2**32, 2, np.uint32)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._last_action = None
        self._take(self._compiled.init(words) if start is None else self._compiled.start_at(start, words))
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """The action of ``agent_selection``; None where that agent is terminated or truncated.

        Raises: TypeError: no integer; ValueError: an action for an agent whose game is over.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)  # type: ignore[arg-type]
            return
        number = operator.index(action)  # type: ignore[arg-type]
        if not 0 <= number < self.game.num_actions:
            number = -1  # illegal, in a type that every number fits
        self._cumulative_rewards[agent] = 0.0
        self._last_action = number
        self._take(self._compiled.step(self._data, np.int32(number)))
        if self.terminations[agent] or self.truncations[agent]:  # before that there are no rewards
            self._accumulate_rewards()
            self._deads_step_first()
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Observation:
        """What an agent sees, at any time; its mask is all zeros unless it is the one to move."""
        data, compiled = self._host, self._compiled
        mask = self._mask(agent)
        if self._seat_of[agent] == self._mover:
            observation = compiled.observation.read(data)
        else:
            observation = np.asarray(compiled.observe(self._data, np.int32(self._seat_of[agent])))
        return {"observation": observation.astype(np.float32), "action_mask": mask}

    def render(self) -> Any:
        """The position in the mode chosen when the environment was made."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing, since the environment was made without a render_mode")
            return None
        return self._renderer.render(self.functional_state, self._last_action)

    def close(self) -> None:
        """Closes the window, if one is open."""
        self._renderer.close()

    @property
    def functional_state(self) -> State:
        """The game as a state of the functional API, to search from it or to let an ``Agent`` act."""
        return self._compiled.state(self._data)

    def _take(self, data: Array) -> None:
        """Makes packed data the current game and refreshes what agents read."""
        compiled = self._compiled
        self._data = data
        self._host = host = to_host(data)
        numbers = compiled.numbers(host)
        self._mover = numbers[compiled.player]
        terminated, truncated, illegal = (bool(numbers[place]) for place in compiled.flags)
        over = terminated or truncated
        if over:
            self.terminations = dict.fromkeys(self.agents, terminated)
            self.truncations = dict.fromkeys(self.agents, truncated)
            self.rewards = dict(zip(self.possible_agents, numbers[compiled.rewards], strict=True))
        self.agent_selection = mover = self.possible_agents[self._mover]
        self.infos = {agent: {"action_mask": self._mask(agent)} for agent in self.agents}
        if over:
            facts = {name: np.asarray(fact) for name, fact in compiled.info(data).items()}
            for agent in self.agents:
                told = {name: self._told(fact, self._seat_of[agent]) for name, fact in facts.items()}
                self.infos[agent] |= told | {"illegal": illegal and agent == mover}
        for name, slot in () if over else compiled.of_actions.items():
            self.infos[mover][name] = slot.read(host).copy()

    def _told(self, fact: np.ndarray, seat: int) -> Any:
        """One player's part of a fact: of an array [players] its own entry, of all others the whole."""
        if fact.shape in ((), (self.game.num_players,)):
            return fact.flat[seat if fact.shape else 0].item()
        return fact.copy()

    def accepts(self, action: Any) -> bool:
        """Whether an action, of any type, is a legal one of ``agent_selection``, which is not over."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            return False
        try:
            number = operator.index(action)
        except TypeError:
            return False
        return 0 <= number < self.game.num_actions and bool(self._host[self._compiled.mask.start + number])

    def _mask(self, agent: str) -> np.ndarray:
        if self._seat_of[agent] != self._mover or self.terminations.get(agent, True) or self.truncations[agent]:
            return np.zeros(self.game.num_actions, np.int8)
        return self._compiled.mask.read(self._host).astype(np.int8)

    def _deads_step_first(self) -> str:
        """Selects the first agent whose game is over, if one is.

        PettingZoo's TerminateIllegalWrapper calls this once it has ended a game: the masks in ``infos`` must say so.
        """
        for agent in self.agents:
            if self.terminations[agent] or self.truncations[agent]:
                self.infos[agent]["action_mask"] = self._mask(agent)
        return super()._deads_step_first()

    def __copy__(self) -> GameAEC:
        return copy.deepcopy(self)  # agents leave a list that would be shared

    def __getstate__(self) -> dict[str, Any]:
        fields = self.__dict__.copy()
        del fields["_compiled"], fields["_data"]  # found again and made again from the bytes on the host
        fields["_host"] = np.array(self._host)
        return fields

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        self._compiled = compiled_game(self.game)
        self._data = jnp.asarray(self._host)


def entry_points(env_id: str) -> tuple[Callable[..., AECEnv[str, Observation, int]], Callable[..., GameAEC]]:
    """``env`` and ``raw_env`` of one game, as a PettingZoo module has them."""

    def raw_env(render_mode: str | None = None, **options: Any) -> GameAEC:
        """The game without wrappers. Raises: ValueError naming the valid options and values."""
        return GameAEC(env_id, render_mode, **options)

    def env(render_mode: str | None = None, **options: Any) -> AECEnv[str, Observation, int]:
        """The game, where an illegal action ends it with -1 for the offender and 0 for the others.

        Raises: ValueError naming the valid options and values.
        """
        return wrapped(raw_env(render_mode, **options))

    return env, raw_env


class _Terminating(wrappers.TerminateIllegalWrapper):
    """With PettingZoo's usual penalty."""

    def __init__(self, env: AECEnv[str, Observation, int]) -> None:
        super().__init__(env, illegal_reward=-1)


class _Checking(wrappers.AssertOutOfBoundsWrapper, _Terminating):
    """Quick where the action is legal."""

    def step(self, action: Any) -> None:
        game: Any = self.env
        if game.accepts(action):
            game.step(action)
            return
        self.observe(self.agent_selection)  # which TerminateIllegalWrapper takes the mask from
        super().step(action)


class StrictAEC(wrappers.OrderEnforcingWrapper, _Checking):
    """What PettingZoo wraps its own board games in, as one wrapper: a stack of three costs more than a step."""

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """As PettingZoo's."""
        game: Any = self.env
        return game.last(observe) if hasattr(game, "agent_selection") else super().last(observe)

    def __str__(self) -> str:
        return str(self.env)

    def __copy__(self) -> StrictAEC:
        return copy.deepcopy(self)

    # Found without a detour through __getattr__; before the first reset that reports their absence.

    @property
    def agents(self) -> Any:
        """Who has not left yet."""
        return self.env.agents

    @property
    def agent_selection(self) -> Any:
        """Who is to move."""
        return self.env.agent_selection


def wrapped(game: GameAEC) -> StrictAEC:
    """The game as users get it."""
    return StrictAEC(game)
