"""State, options and the functional environment that every game stands on.

The functional API has the shape of Pgx's (``init``, ``step``, ``observe`` on a frozen ``State``), so code written for
Pgx runs on these environments unchanged. A game supplies pure functions on its own position (``State.game``); this
module turns them into complete steps: legality, the illegal action, the end of a game, the mask and the observation.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.batching import varying_like
from audamir_envs.texts import clean, quoted, whole

Array = jax.Array


@dataclass_transform(frozen_default=True)
class Pytree:
    """Base of frozen dataclasses that JAX sees through: subclass it and annotate fields, all being leaves or trees."""

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(frozen=True, eq=False)(cls)
        _PYTREES.append(cls)
        jax.tree_util.register_dataclass(cls, [field.name for field in dataclasses.fields(cls)], [])  # type: ignore[arg-type]

    def replace(self, **changes: Any) -> Self:
        """A copy with the named fields replaced."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


_PYTREES: list[type[Pytree]] = []  # that flax does not know yet


def _tell_flax() -> None:
    """Makes flax's checkpoints hold our trees as they hold its own, once flax is there: importing it takes long."""
    if "flax" in sys.modules:
        while _PYTREES:
            _register_with_flax(_PYTREES.pop())


def _register_with_flax(cls: type[Pytree]) -> None:
    from flax import serialization

    names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]

    def to_state_dict(tree: Pytree) -> dict[str, Any]:
        return {name: serialization.to_state_dict(getattr(tree, name)) for name in names}

    def from_state_dict(target: Pytree, saved: dict[str, Any]) -> Pytree:
        if set(saved) != set(names):
            raise ValueError(f"{cls.__name__} has the fields {', '.join(names)}, not {', '.join(map(str, saved))}")
        return target.replace(
            **{name: serialization.from_state_dict(getattr(target, name), saved[name], name=name) for name in names}
        )

    serialization.register_serialization_state(cls, to_state_dict, from_state_dict, override=True)


class Outcome(Pytree):
    """What a position says about the end of its game."""

    terminated: Array  # bool []: ended by the rules
    truncated: Array  # bool []: cut by a limit that is not part of the rules
    rewards: Array  # float32 [players]: of the result; anything while the game goes on


class State(Pytree):
    """A game in progress, or ended, as one frozen pytree without PRNG keys among its leaves."""

    current_player: Array  # int32 []: the seat to move; after the end, the seat that would have moved
    observation: Array  # [*env.observation_shape], dtype env.observation_dtype: from the mover's point of view
    rewards: Array  # float32 [players]: of the step that led here
    terminated: Array  # bool []
    truncated: Array  # bool []
    legal_action_mask: Array  # bool [actions]; all true after the end, so that a softmax over it stays finite
    illegal: Array  # bool []: the game ended by an illegal action of current_player
    _step_count: Array  # int32 []: actions accepted since init
    game: Any  # the game's own position, a Pytree of its rules.py


@dataclasses.dataclass(frozen=True)
class Option:
    """One option of an environment: its default and what it may be.

    ``values`` are accepted as they are (type and value), integers in ``low..high`` that are multiples of ``step`` where
    ``low`` is given, and where there is ``read``, whatever that function accepts: it returns the value to keep (equal
    ones for equal environments) or raises a ValueError that names the option. ``form`` says in words what it reads.
    """

    default: Any
    help: str
    values: tuple[Any, ...] = ()
    low: int | None = None
    high: int | None = None
    step: int = 1
    read: Callable[[Any], Any] | None = None
    form: str = ""

    def describe(self) -> str:
        """The valid values in words."""
        parts = [repr(value) for value in self.values]
        if self.low is not None:
            kind = {1: "an integer", 2: "an even integer"}.get(self.step, f"a multiple of {self.step}")
            parts.append(f"{kind} from {self.low}" + ("" if self.high is None else f" to {self.high}"))
        return " or ".join([*parts, self.form] if self.form else parts)

    def check(self, name: str, value: Any) -> Any:
        """The value as a plain Python object. Raises: ValueError naming the valid values."""
        for valid in self.values:
            if type(value) is type(valid) and value == valid:
                return value
        number = None if self.low is None else whole_number(value)
        if number is not None and self._holds(number):
            return number
        if self.read is not None:
            return self.read(value)
        raise ValueError(f"option {name}={quoted(value)} is not valid: use {self.describe()}")

    def _holds(self, number: int) -> bool:
        low, high = self.low, self.high
        return number % self.step == 0 and (low is None or low <= number) and (high is None or number <= high)

    def parse(self, name: str, text: str) -> Any:
        """The value that a text (of a command line, say) stands for. Raises: ValueError naming the valid values."""
        cleaned = clean(text, f"option {name}")
        for valid in self.values:
            if cleaned == str(valid).lower():
                return valid
        number = whole(cleaned)
        if self.low is not None and number is not None:
            return self.check(name, number)
        if self.read is not None:
            return text
        raise ValueError(f"option {name}={quoted(text)} is not valid: use {self.describe()}")


class Environment(abc.ABC):
    """A game as pure functions; see the module's docstring. Equal ids and options make equal (and hashable) objects.

    A subclass sets the class attributes, assigns the others in ``_setup`` (called with every option checked), and
    implements the functions on ``game``: these must depend on nothing but array shapes and the position itself, so that
    positions made under any options can be mixed in one batch wherever their shapes agree.
    """

    id: ClassVar[str]
    version: ClassVar[str]
    OPTIONS: ClassVar[Mapping[str, Option]]
    stochastic: ClassVar[bool] = False  # whether step needs a key

    num_players: int
    num_actions: int
    observation_shape: tuple[int, ...]
    observation_dtype: Any
    observation_low: float = 0.0  # bounds of every observation, for declared spaces
    observation_high: float
    max_steps: int  # a bound on the actions of one game
    chance_shape: tuple[int, ...] | None = None
    """Of what chance decides in a step, as ``chance_of`` gives it; None: a stochastic game that does not say."""

    def __init__(self, /, **options: Any) -> None:
        _tell_flax()
        unknown = [name for name in options if name not in self.OPTIONS]
        if unknown:
            raise ValueError(f"{self.id} has no option {quoted(unknown[0])}: its options are {', '.join(self.OPTIONS)}")
        self.options: dict[str, Any] = {
            name: option.check(name, options.get(name, option.default)) for name, option in self.OPTIONS.items()
        }
        if not self.stochastic:
            self.chance_shape = (0,)
        self._setup()

    # What a game implements.

    @abc.abstractmethod
    def _setup(self) -> None:
        """Reads ``self.options`` (refusing bad combinations by ValueError) and sets the attributes listed above."""

    @abc.abstractmethod
    def init_game(self, key: Array) -> Any:
        """A new position. Consumes key."""

    @abc.abstractmethod
    def step_game(self, game: Any, action: Array, key: Array | None) -> Any:
        """The position after a legal action (int32 []) in an unfinished game. Consumes key in stochastic games."""

    @abc.abstractmethod
    def legal_actions(self, game: Any) -> Array:
        """bool [actions] for the seat to move; anything after the end."""

    @abc.abstractmethod
    def mover(self, game: Any) -> Array:
        """int32 []: the seat to move."""

    @abc.abstractmethod
    def outcome(self, game: Any) -> Outcome:
        """Whether the game is over, and its result."""

    @abc.abstractmethod
    def observe_game(self, game: Any, player: Array) -> Array:
        """[*observation_shape] observation_dtype: the position from the point of view of a seat (int32 [])."""

    def alive(self, state: State) -> Array:
        """bool [players]: who still takes part; a seat that is out stays in the game's lists but never moves again."""
        del state
        return jnp.ones(self.num_players, jnp.bool_)

    def info(self, state: State, opponents: tuple[str, ...] = ()) -> dict[str, Array]:
        """Facts that are no observation, each an array [players] ("for me, if I am this player") or a scalar.

        Args: opponents: the names of the agents that the player faces, in seat order after its own.
        """
        del state, opponents
        return {}

    @abc.abstractmethod
    def action_to_text(self, action: int) -> str:
        """The notation of any number from 0 to num_actions - 1. Raises: ValueError for other numbers."""

    @abc.abstractmethod
    def text_to_action(self, text: str) -> int:
        """The inverse. Raises: ValueError that says where the text is wrong; TypeError for no text."""

    @abc.abstractmethod
    def to_text(self, state: State) -> str:
        """The position (``state.game`` alone) as one line of text."""

    @abc.abstractmethod
    def from_text(self, text: str) -> State:
        """The inverse; the text overrides options. Raises: ValueError that says where; TypeError for no text."""

    @abc.abstractmethod
    def scene(self, state: State, last_action: int | None = None, selected: int | None = None) -> Any:
        """A ``drawing.Scene`` of the position; ``selected``: a cell or tile whose legal targets are marked."""

    @abc.abstractmethod
    def board_text(self, state: State, last_action: int | None = None) -> str:
        """The position for a terminal, several lines."""

    def places(self, state: State) -> Any:
        """``drawing.Places``: where the legal actions of ``state`` are on its scene; none, unless a game says where."""
        from audamir_envs.drawing.places import Places

        del state
        return Places()

    def pooled_init(self, key: Array, size: int) -> Callable[[Array], State]:
        """An ``init`` that draws its costly parts (random maps, say) from ``size`` prepared ones. Consumes key.

        The same as ``init`` where nothing is costly. Meant for ``auto_reset(env, init=...)``.
        """
        del key, size
        return self.init

    # Of stochastic games, so that a game can be written down and played again without a random generator. With these
    # ``step_game(game, action, key)`` must be ``step_game_given(game, action, draw_chance(game, action, key))``.

    def draw_chance(self, game: Any, action: Array, key: Array) -> Array:
        """uint8 [*chance_shape]: what chance decides when an action (int32 []) is played. Consumes key."""
        del game, action, key
        return jnp.zeros(self._known_chance_shape(), jnp.uint8)

    def step_game_given(self, game: Any, action: Array, chance: Array) -> Any:
        """``step_game`` with what chance decided."""
        del chance
        self._known_chance_shape()
        return self.step_game(game, action, None)

    def chance_possible(self, game: Any, action: Array, chance: Array) -> Array:
        """bool []: whether chance can decide so when a legal action is played."""
        del game, action
        return jnp.all(chance == jnp.uint8(0))

    def chance_to_text(self, action: int, chance: np.ndarray) -> str:
        """What chance decided after an action, in words of the game; empty for nothing."""
        del action, chance
        return ""

    def chance_to_texts(self, actions: Sequence[int], chance: np.ndarray) -> list[str]:
        """``chance_to_text`` of many actions (chance: uint8 [actions, *chance_shape]); override it to be faster."""
        return [self.chance_to_text(action, one) for action, one in zip(actions, chance, strict=True)]

    def text_to_chance(self, action: int, text: str) -> np.ndarray:
        """The inverse, uint8 [*chance_shape]. Raises: ValueError that says where the text is wrong."""
        if text:
            raise ValueError(f"{text!r:.40} is no outcome of chance: {self.id} has none after {action}")
        return np.zeros(self._known_chance_shape(), np.uint8)

    def _known_chance_shape(self) -> tuple[int, ...]:
        if self.chance_shape is None:
            raise ValueError(f"{self.id} does not say what chance decides: it needs chance_shape and draw_chance")
        return self.chance_shape

    @classmethod
    def options_for_shapes(
        cls, observation_shape: tuple[int, ...], num_actions: int, num_players: int
    ) -> dict[str, Any]:
        """Options of an environment with these shapes, for ``for_shapes``; override it where options change shapes.

        What it gives for shapes that no options have does not matter, ValueError being among it.
        """
        del observation_shape, num_actions, num_players
        return {}

    def settle(self, game: Any) -> Array:
        """float32 [players]: the rewards if the game ended here on points (for callers that cut games short).

        Override it where ``outcome`` does not give these rewards while the game goes on.
        """
        return self.outcome(game).rewards

    # What every game gets.

    @classmethod
    def for_shapes(cls, states: State) -> Self:
        """An environment whose array shapes are those of states: its functions on positions apply to them.

        Options that change no shape are at their defaults: they lie in the position, see the class's docstring.

        Args: states: a state or a batch of them, with any leading axes.
        Raises: ValueError for states of no environment of this class.
        """
        rank = states.current_player.ndim
        shape = tuple(states.observation.shape[rank:])
        return _of_shapes(cls, shape, states.legal_action_mask.shape[-1], states.rewards.shape[-1])  # type: ignore

    def init(self, key: Array) -> State:
        """A new game. Consumes key."""
        return varying_like(self.state_of(self.init_game(key)), key)

    def step(self, state: State, action: Any, key: Array | None = None) -> State:
        """The state after an action (integer []) of the current player. Consumes key in stochastic games.

        An illegal action (or a number that is none) ends the game: -1 for the offender, +1/(players-1) for the others,
        ``illegal`` set. After the end a step changes nothing and gives zero rewards.
        Raises: TypeError: a stochastic game without a key, an action that is no integer; ValueError: several actions.
        """
        if self.stochastic and key is None:
            raise TypeError(f"{self.id} rolls dice: step(state, action, key) needs a JAX PRNG key")
        return self._advance(state, action, lambda game, number: self.step_game(game, number, key))

    def chance_of(self, state: State, action: Any, key: Array) -> Array:
        """uint8 [*chance_shape]: what chance decides when an action is played. Consumes key.

        ``step_with_chance(state, action, chance_of(state, action, key))`` is ``step(state, action, key)``; what is
        drawn for an illegal action or after the end is never used. Raises: ValueError: a game that does not say.
        """
        number, _ = self._number(action)
        return self.draw_chance(state.game, number, key)

    def step_with_chance(self, state: State, action: Any, chance: Array) -> State:
        """``step`` with what chance decided (uint8 [*chance_shape]) instead of a key, for games that are played again.

        Of what is impossible (see ``chance_possible``) nothing is known. Raises: as ``step``; ValueError: a game that
        does not say what chance decides.
        """
        return self._advance(state, action, lambda game, number: self.step_game_given(game, number, chance))

    def _number(self, action: Any) -> tuple[Array, Array]:
        """An action as int32 [], 0 where it is no action's number, and whether it is one. Raises: see ``step``."""
        action = jnp.asarray(_narrowed(action))
        if action.shape:
            raise ValueError(f"step takes one action, not an array of shape {action.shape}: use jax.vmap for a batch")
        if not jnp.issubdtype(action.dtype, jnp.integer):
            raise TypeError(f"an action is an integer from 0 to {self.num_actions - 1}, not {action.dtype}")
        if action.dtype.itemsize < 4:  # which may hold less than the number of actions
            action = action.astype(jnp.int32)
        inside = (action >= 0) & (action < self.num_actions)
        return jnp.where(inside, action, 0).astype(jnp.int32), inside

    def _advance(self, state: State, action: Any, play: Callable[[Any, Array], Any]) -> State:
        """The state after an action that ``play(game, action)`` would play if it is legal."""
        action, inside = self._number(action)
        over = state.terminated | state.truncated
        legal = inside & state.legal_action_mask[action]
        goes_on = legal & ~over
        game = jax.tree.map(lambda new, old: jnp.where(goes_on, new, old), play(state.game, action), state.game)
        offence = ~legal & ~over
        illegal = state.illegal | offence
        outcome = self.outcome(game)
        terminated = outcome.terminated | illegal
        truncated = outcome.truncated & ~illegal
        offender = jnp.arange(self.num_players, dtype=jnp.int32) == state.current_player
        penalty = jnp.where(offender, jnp.float32(-1), jnp.float32(1 / (self.num_players - 1)))
        rewards = jnp.where(offence, penalty, outcome.rewards)
        rewards = jnp.where((terminated | truncated) & ~over, rewards, jnp.float32(0))
        return self._state_with(
            game, terminated, truncated, rewards, illegal, state._step_count + goes_on.astype(jnp.int32)
        )

    def observe(self, state: State, player: Any = None) -> Array:
        """[*observation_shape]: what a seat (the mover if None) sees, at any time, also after the end.

        Raises: ValueError: a number on the host that is no seat (of one on the device nothing is known here).
        """
        if player is None:
            return state.observation
        if isinstance(player, (int, np.integer)) and not 0 <= player < self.num_players:
            raise ValueError(f"{player} is no seat: use 0 to {self.num_players - 1}")
        return self.observe_game(state.game, jnp.asarray(player, jnp.int32))

    def state_of(self, game: Any, step_count: Any = 0) -> State:
        """The state of a position (as read from text, say), with nothing illegal behind it and zero rewards."""
        outcome = self.outcome(game)
        return self._state_with(
            game,
            outcome.terminated,
            outcome.truncated,
            jnp.zeros(self.num_players, jnp.float32),
            jnp.zeros((), jnp.bool_),
            jnp.asarray(step_count, jnp.int32),
        )

    def from_texts(self, texts: Iterable[str]) -> State:
        """Many positions as one batch of states, [positions] in front of every shape.

        Raises: ValueError that says which position is wrong and where, or has other shapes than the first (another
        number of tiles, say), or that there are none; TypeError: one that is no text.
        """
        states: list[State] = []
        for number, text in enumerate(texts):
            try:
                states.append(jax.device_get(self.from_text(text)))
            except ValueError as error:
                raise ValueError(f"position {number}: {error}") from error
            if _shapes(states[-1]) != _shapes(states[0]):
                raise ValueError(f"position {number} has other shapes than position 0: read them one by one")
        if not states:
            raise ValueError("there are no positions")
        return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *states)

    def _state_read(self, game: Any, step_count: Any = 0) -> State:
        """``state_of`` for a single position that comes from outside, compiled once for all equal environments."""
        try:
            env = _of_shapes(type(self), tuple(self.observation_shape), self.num_actions, self.num_players)
        except ValueError:
            env = self
        return _reader(env)(game, step_count)

    def _state_with(
        self, game: Any, terminated: Array, truncated: Array, rewards: Array, illegal: Array, step_count: Array
    ) -> State:
        player = self.mover(game)
        return State(
            current_player=player,
            observation=self.observe_game(game, player),
            rewards=rewards,
            terminated=terminated,
            truncated=truncated,
            legal_action_mask=self.legal_actions(game) | terminated | truncated,
            illegal=illegal,
            _step_count=step_count,
            game=game,
        )

    def player_name(self, seat: int) -> str:
        """What texts and drawings call a seat."""
        return f"player_{seat}"

    def _identity(self) -> tuple[Any, ...]:
        return (type(self), tuple(sorted((name, repr(value)) for name, value in self.options.items())))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Environment) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"audamir_envs.make({self.id!r}, {', '.join(f'{k}={v!r}' for k, v in self.options.items())})"

    def __reduce__(self) -> Any:
        return (_rebuild, (type(self), self.options))


def _narrowed(action: Any) -> Any:
    """The action, where a number on the host that fits no int32 is -1: JAX would refuse it or take its lowest bits."""
    if isinstance(action, np.ndarray):
        action = action.astype(action.dtype.newbyteorder("="), copy=False)[()]  # JAX takes no other byte order
    if isinstance(action, (int, np.integer)) and not isinstance(action, bool):
        return np.int32(action if 0 <= action < 2**31 else -1)
    return action


def whole_number(value: Any) -> int | None:
    """The integer that a value is, of Python, NumPy or JAX; None for all others, booleans and texts among them."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


@functools.lru_cache(maxsize=256)
def _of_shapes(
    cls: type[Environment], observation_shape: tuple[int, ...], num_actions: int, num_players: int
) -> Environment:
    asked = (observation_shape, num_actions, num_players)
    try:
        env = cls(**cls.options_for_shapes(*asked))
    except ValueError:
        env = None
    if env is None or (tuple(env.observation_shape), env.num_actions, env.num_players) != asked:
        raise ValueError(
            f"{cls.id} has no states with observations {list(observation_shape)}, {num_actions} actions and "
            f"{num_players} players"
        )
    return env


def _shapes(tree: Any) -> list[tuple[int, ...]]:
    return [np.shape(leaf) for leaf in jax.tree.leaves(tree)]


@functools.lru_cache(maxsize=16)  # a program each
def _reader(env: Environment) -> Callable[[Any, Any], State]:
    return jax.jit(env.state_of)


def _rebuild(cls: type[Environment], options: dict[str, Any]) -> Environment:
    return cls(**options)
