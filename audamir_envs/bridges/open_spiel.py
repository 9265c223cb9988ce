"""The games without chance as games of OpenSpiel (``pip install open_spiel``); importing this module registers them.

    from audamir_envs.bridges import open_spiel

    game = open_spiel.load_game("two-words-v0", side=4, komi="choose")
    game = pyspiel.load_game("audamir_two_words_v0(side=4,komi_choose=true)")  # the same by OpenSpiel's own means

OpenSpiel wants chance as moves of their own with all probabilities listed, which the functional API does not know:
games of chance, and those that start by chance, are not offered. States clone, pickle and serialise.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel  # type: ignore[import-not-found]
from open_spiel.python.observation import IIGObserverForPublicInfoGame  # type: ignore[import-not-found]

from audamir_envs.agents.base import Agent
from audamir_envs.agents.loading import load_agent_text
from audamir_envs.bridges.compiled import CompiledGame, compiled_game
from audamir_envs.bridges.steady import KEY_IMPL, steady_jit
from audamir_envs.core import Array, Environment, Option, State
from audamir_envs.records import Game, replay
from audamir_envs.records.replaying import environment_of
from audamir_envs.registry import environment_class, make, working
from audamir_envs.sampling import sample_legal

_SEEDS = 16  # games begun to see whether the start is always the same


def short_name(env_id: str) -> str:
    """``two-words-v0`` -> ``audamir_two_words_v0``."""
    return "audamir_" + env_id.replace("-", "_")


def load_game(env_id: str, **options: Any) -> OpenSpielGame:
    """The game with an environment's options. Raises: ValueError naming what is valid, or what is not offered."""
    if env_id not in _offered():
        raise ValueError(f"{env_id!r} is not offered to OpenSpiel: use {', '.join(_offered())}")
    env = make(env_id, **options)
    return pyspiel.load_game(short_name(env_id), _parameters(env))


def load_registered(name: str, params: dict[str, Any]) -> OpenSpielGame:
    """``pyspiel.load_game``, as something that can be pickled."""
    return pyspiel.load_game(name, params)


def trajectory(game: Game) -> Any:
    """A recorded game (``audamir_envs.records``) as a ``pyspiel.Trajectory``: OpenSpiel's own form, in JSON.

    ``str(trajectory(game).to_string())`` is what OpenSpiel reads again by ``pyspiel.Trajectory(text)``.
    Raises: ValueError: a game that is not offered, was set up by hand, lost by no legal move or cut, which OpenSpiel's
    form cannot say; records.RecordError: one that does not follow the rules.
    """
    env = environment_of(game)
    for _ in replay(game):  # every fault has the words of the record
        pass
    state = load_game(env.id, **env.options).new_initial_state()
    if env.to_text(state.functional_state) != game.start:
        raise ValueError(f"game {game.number} starts from a position of its own, which OpenSpiel's form cannot say")
    if game.cut or game.forfeit is not None:
        raise ValueError(f"game {game.number} was not played to its end, and OpenSpiel knows no other result")
    for action in game.actions:
        state.apply_action(action)
    return pyspiel.Trajectory(state)


class OpenSpielGame(pyspiel.Game):
    """One environment as a ``pyspiel.Game``; ``env`` is the environment."""

    env_id: ClassVar[str]

    def __init__(self, params: dict[str, Any]) -> None:
        """Args: params: OpenSpiel's parameters. Raises: ValueError naming valid options."""
        self.env = make(self.env_id, **_options(environment_class(self.env_id), params))
        super().__init__(_game_type(self.env_id), _game_info(self.env), params)
        self.compiled: CompiledGame = compiled_game(self.env)
        self.start = self._start()

    def _start(self) -> bytes:
        """The packed start position. Raises: ValueError where it is drawn by chance."""
        words = jnp.stack([jnp.zeros(_SEEDS, jnp.uint32), jnp.arange(_SEEDS, dtype=jnp.uint32)], axis=1)
        keys = jax.vmap(functools.partial(jax.random.wrap_key_data, impl=KEY_IMPL))(words)
        for leaf in jax.tree.leaves(steady_jit(jax.vmap(self.env.init))(keys)):
            if not (leaf == leaf[0]).all():
                raise ValueError(f"{self.env} starts by chance, which OpenSpiel wants as moves: fix the options")
        return np.asarray(self.compiled.init(words[0])).tobytes()

    def new_initial_state(self, state: Any = None) -> OpenSpielState:
        """The start of a game."""
        if state is not None:
            raise ValueError("states are restored by pyspiel.deserialize_game_and_state")
        return OpenSpielState(self)

    def __reduce__(self) -> Any:
        return (load_registered, (self.get_type().short_name, self.get_parameters()))

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Any:
        """An observer of ``observation``, float32 [*observation_shape], from any seat; or of the history as text."""
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return _Observer(self.env, params)
        return IIGObserverForPublicInfoGame(iig_obs_type, params)


class OpenSpielState(pyspiel.State):
    """A position as a ``pyspiel.State``. Its one attribute is immutable plain data, so clones and pickles are cheap."""

    def __init__(self, game: OpenSpielGame) -> None:
        super().__init__(game)
        self.data = game.start

    # What OpenSpiel asks for.

    def current_player(self) -> int:
        """The seat to move, or ``pyspiel.PlayerId.TERMINAL``."""
        if self.is_terminal():
            return pyspiel.PlayerId.TERMINAL
        compiled = self.get_game().compiled
        return compiled.numbers(self.data)[compiled.player]

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        compiled = self.get_game().compiled
        numbers = compiled.numbers(self.data)
        return any(numbers[place] for place in compiled.flags)

    def returns(self) -> list[float]:
        """The rewards of the whole game: all come at its end."""
        compiled = self.get_game().compiled
        return list(compiled.numbers(self.data)[compiled.rewards])

    def _legal_actions(self, player: int) -> list[int]:
        del player  # OpenSpiel asks for the one to move only
        slot = self.get_game().compiled.mask
        return np.flatnonzero(slot.read(np.frombuffer(self.data, np.uint8))).tolist()

    def _apply_action(self, action: int) -> None:
        compiled = self.get_game().compiled
        data = compiled.step(np.frombuffer(self.data, np.uint8), np.int32(action))
        self.data = np.asarray(data).tobytes()

    def _action_to_string(self, player: int, action: int) -> str:
        del player
        return self.get_game().env.action_to_text(action)

    def __str__(self) -> str:
        return self.get_game().env.to_text(self.functional_state)

    # What the rest of this package asks for.

    @property
    def functional_state(self) -> State:
        """The position as a state of the functional API."""
        return self.get_game().compiled.state(np.frombuffer(self.data, np.uint8))


class AgentBot(pyspiel.Bot):
    """An agent of this package as a bot of OpenSpiel."""

    def __init__(self, game: OpenSpielGame, agent: str | Agent, seed: int = 0) -> None:
        """Args: agent: one, or a text as on the command line. Raises: ValueError naming what is valid."""
        super().__init__()
        self._key = jax.random.key(seed, impl=KEY_IMPL)
        self.agent = load_agent_text(game.env, agent) if isinstance(agent, str) else agent
        self._act = steady_jit(self.agent.act)

    def restart_at(self, state: OpenSpielState) -> None:
        """Nothing to do: agents remember nothing."""

    def step(self, state: OpenSpielState) -> int:
        """The agent's action."""
        self._key, key = jax.random.split(self._key)
        return int(self._act(state.functional_state, key))


class RolloutEvaluator:
    """An evaluator for ``open_spiel.python.algorithms.mcts.MCTSBot``: random games to the end, all in one jitted call.

    Far quicker than OpenSpiel's own, which crosses from Python to JAX at every ply of every such game.
    """

    def __init__(self, game: OpenSpielGame, rollouts: int = 8, seed: int = 0) -> None:
        """Args: rollouts: games played from each position."""
        self._key = jax.random.key(seed, impl=KEY_IMPL)
        env = game.env

        def running(carry: tuple[State, Array]) -> Array:
            return ~jnp.all(carry[0].terminated | carry[0].truncated)

        def play(state: State, key: Array) -> Array:
            def ply(carry: tuple[State, Array]) -> tuple[State, Array]:
                states, key = carry
                key, choose = jax.random.split(key)
                after = jax.vmap(env.step)(states, sample_legal(choose, states))
                over = states.terminated | states.truncated
                # A step after the end pays nothing more: the rewards of the game are kept.
                return after.replace(rewards=jnp.where(over[:, None], states.rewards, after.rewards)), key

            states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (rollouts, *leaf.shape)), state)
            states, _ = jax.lax.while_loop(running, ply, (states, key))
            return states.rewards.mean(axis=0)

        self._play = steady_jit(play)

    def evaluate(self, state: OpenSpielState) -> np.ndarray:
        """float64 [players]: the mean result."""
        self._key, key = jax.random.split(self._key)
        return np.asarray(self._play(state.functional_state, key), np.float64)

    def prior(self, state: OpenSpielState) -> list[tuple[int, float]]:
        """Every legal action alike."""
        actions = state.legal_actions()
        return [(action, 1 / len(actions)) for action in actions]


class _Observer:
    """What a seat sees, in the shape that OpenSpiel asks of observers."""

    def __init__(self, env: Environment, params: Any) -> None:
        if params:
            raise ValueError(f"observations have no parameters, but there are {params}")
        self._compiled: CompiledGame = compiled_game(env)
        self.tensor = np.zeros(int(np.prod(env.observation_shape)), np.float32)
        self.dict = {"observation": self.tensor.reshape(env.observation_shape)}

    def set_from(self, state: OpenSpielState, player: int) -> None:
        """Fills ``tensor``, and ``dict``, which shares its memory."""
        data = np.frombuffer(state.data, np.uint8)
        self.dict["observation"][...] = self._compiled.observe(data, np.int32(player))

    def string_from(self, state: OpenSpielState, player: int) -> str:
        """The position as text, which is the same for all seats."""
        del player
        return str(state)


# Options as OpenSpiel's parameters, each of which has one type: words that an option takes beside whole numbers become
# truth values of their own, as ``komi_choose`` beside ``komi``, and texts of digits, as ``board="58"``, are numbers.


def _words(name: str, option: Option) -> dict[str, Any]:
    """The words of an option of whole numbers, by the names of their parameters."""
    if isinstance(option.default, (str, bool)):
        return {}
    return {f"{name}_{value}": value for value in option.values if isinstance(value, str)}


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdigit() else value


def _specification(cls: type[Environment]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, option in cls.OPTIONS.items():
        if option.default is not None:
            found[name] = _plain(option.default)
            found |= dict.fromkeys(_words(name, option), False)
    return found


def _options(cls: type[Environment], params: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, option in cls.OPTIONS.items():
        if name in params:
            options[name] = str(params[name]) if isinstance(option.default, str) else params[name]
        for parameter, word in _words(name, option).items():
            options[name] = word if params.get(parameter) else options[name]
    return options


def _parameters(env: Environment) -> dict[str, Any]:
    """Raises: ValueError for an option that has no parameter."""
    specification = _specification(type(env))
    parameters: dict[str, Any] = {}
    for name, value in env.options.items():
        option = env.OPTIONS[name]
        words = {word: parameter for parameter, word in _words(name, option).items()}
        if value in words:
            parameters[words[value]] = True
        elif name in specification:
            parameters[name] = _plain(value)
        elif value != option.default:
            raise ValueError(f"option {name}={value!r} has no parameter in OpenSpiel: leave it out")
    return parameters


@functools.cache
def _offered() -> tuple[str, ...]:
    return tuple(env_id for env_id in working() if not environment_class(env_id).stochastic)


@functools.cache
def _game_type(env_id: str) -> Any:
    kind = pyspiel.GameType
    players = make(env_id).num_players
    return kind(
        short_name=short_name(env_id),
        long_name=f"{environment_class(env_id).__name__} of audamir-envs",
        dynamics=kind.Dynamics.SEQUENTIAL,
        chance_mode=kind.ChanceMode.DETERMINISTIC,
        information=kind.Information.PERFECT_INFORMATION,
        utility=kind.Utility.ZERO_SUM,
        reward_model=kind.RewardModel.TERMINAL,
        max_num_players=players,
        min_num_players=players,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_specification(environment_class(env_id)),
    )


def _game_info(env: Environment) -> Any:
    return pyspiel.GameInfo(
        num_distinct_actions=env.num_actions,
        max_chance_outcomes=0,
        num_players=env.num_players,
        min_utility=-1.0,
        max_utility=1.0,
        utility_sum=0.0,
        max_game_length=env.max_steps,
    )


def _register(env_id: str) -> None:
    # A class, not a function: OpenSpiel lets go of what it was given when Python has ended, which only what outlives
    # Python survives.
    pyspiel.register_game(_game_type(env_id), type("OpenSpielGame", (OpenSpielGame,), {"env_id": env_id}))


for _env_id in _offered():
    _register(_env_id)
