"""Games played again on the rules: one state after another, or many games at once to check them."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs import registry, shares
from audamir_envs.core import Array, Environment, State
from audamir_envs.records.format import Game, Header, RecordError

_CHUNK = 32  # plies of one call
_FINE, _OVER, _ILLEGAL, _IMPOSSIBLE = range(4)
_WORDS = {
    _OVER: "the game was over before it",
    _ILLEGAL: "it is not legal there",
    _IMPOSSIBLE: "chance cannot decide so there",
}


def environment(header: Header) -> Environment:
    """The environment of a header. Raises: ValueError: none of that name, options or version."""
    return _environment(header.env, header.env_version, header.players, json.dumps(header.options, sort_keys=True))


@functools.lru_cache(maxsize=16)
def _environment(env_id: str, version: str, players: int, options: str) -> Environment:
    env = registry.make(env_id, **json.loads(options))
    if env.version != version:
        raise ValueError(f"it was made with version {version} of {env_id}, and this is {env.version}")
    if env.num_players != players:
        raise ValueError(f"{env_id} has {env.num_players} players with these options, not {players}")
    return env


def environment_of(game: Game) -> Environment:
    """The environment of a game. Raises: RecordError."""
    if game.header is None:
        raise game.error("the game has no header")
    try:
        return environment(game.header)
    except (ValueError, TypeError) as error:
        raise game.error(f"its header: {error}") from None


def replay(game: Game) -> Iterator[State]:
    """The states of a game one by one: the start, then the state after each action.

    Raises: RecordError: a game that is no game of its environment, or at the first action that is not possible.
    """
    env = environment_of(game)
    state = start_of(env, game)
    chances = chances_of(env, game)
    check_moves(env, game)
    step = _single_step(env)
    yield state
    for ply, action in enumerate(game.actions):
        code, after = step(state, np.int32(action), chances[ply])
        if int(code) != _FINE:
            raise game.error(_wrong(game, ply, int(code)))
        state = after
        yield state


@dataclasses.dataclass(frozen=True)
class Difference:
    """Where a game played again first differs from what is written. ``ply`` is that of an action, from 0, or None."""

    game: Game
    ply: int | None
    reason: str

    def __str__(self) -> str:
        return str(self.game.error(f"game {self.game.number}: {self.reason}"))


def verify(
    games: Iterable[Game], *, batch: int = 64, progress: Callable[[int], None] | None = None
) -> Iterator[Difference]:
    """Plays games again, many at once, and yields the first difference of each that has one.

    Checked are the start, each action's text, legality and outcome of chance, who moved first, whether and how the game
    ended, shares and the final position. Args: progress: called with the number of games looked at.
    """
    seen = 0
    for group in batches(games, batch):
        seen += len(group)
        yield from _verify(group, batch)
        if progress is not None:
            progress(seen)


def batches(games: Iterable[Game], size: int) -> Iterator[list[Game]]:
    """Games in groups of at most ``size`` that share one environment, in order."""
    group: list[Game] = []
    for game in games:
        if group and (len(group) == size or _key(group[0]) != _key(game)):
            yield group
            group = []
        group.append(game)
    if group:
        yield group


def _key(game: Game) -> Any:
    header = game.header
    return header and (header.env, header.env_version, header.players, header.options)


def _verify(group: Sequence[Game], batch: int) -> Iterator[Difference]:
    try:
        env = environment_of(group[0])
    except RecordError as error:
        yield from (Difference(game, None, error.reason) for game in group)
        return
    playable = []
    for game in group:
        try:
            state = start_of(env, game)
            chances = chances_of(env, game)
            check_moves(env, game)
        except RecordError as error:
            yield Difference(game, None, error.reason)
            continue
        if int(state.current_player) != game.starter:
            yield Difference(game, None, f"player_{int(state.current_player)} moves first, not player_{game.starter}")
            continue
        playable.append((game, state, chances))
    if not playable:
        return
    played = Replayer(env, batch)
    codes = np.concatenate([chunk[0] for chunk in played.run([p[0] for p in playable], playable)] or [[]], axis=0)
    settled = np.asarray(_settle(env)(played.states.game))
    final = jax.device_get(played.states)
    for lane, (game, _, _) in enumerate(playable):
        wrong = np.flatnonzero(codes[:, lane]) if game.plies else np.zeros(0, int)
        if wrong.size:
            ply = int(wrong[0])
            yield Difference(game, ply, _wrong(game, ply, int(codes[ply, lane])))
            continue
        reason = _end_differs(env, game, jax.tree.map(lambda leaf, lane=lane: leaf[lane], final), settled[lane])
        if reason:
            yield Difference(game, None, reason)


def _end_differs(env: Environment, game: Game, state: State, settled: np.ndarray) -> str | None:
    over = bool(state.terminated | state.truncated)
    found = shares.of_rewards(settled)
    if game.forfeit is not None:
        if over or game.cut or int(state.current_player) != game.forfeit:
            return f"it is said to be lost by player_{game.forfeit}, who is not to move or lost otherwise"
        found = shares.of_forfeit(game.forfeit, len(game.shares))
    elif over == game.cut:
        return "it is said to be cut, and was over" if game.cut else "it is said to have ended, and goes on"
    if not np.allclose(found, game.shares, atol=1e-6):
        return f"the shares are {found.tolist()}, not {list(game.shares)}"
    text = env.to_text(state)
    if text != game.final:
        return f"the final position is {text!r:.200}, not {game.final!r:.200}"
    return None


def start_of(env: Environment, game: Game) -> State:
    """The state before the first action. Raises: RecordError."""
    try:
        return _start(env, game.start)
    except (ValueError, TypeError) as error:
        raise game.error(f"game {game.number}: its start: {error}") from None


@functools.lru_cache(maxsize=64)
def _start(env: Environment, text: str) -> State:
    return jax.device_get(env.from_text(text))


def chances_of(env: Environment, game: Game) -> np.ndarray:
    """uint8 [plies, *chance_shape]. Raises: RecordError naming the action that lacks what chance decided."""
    if env.chance_shape is None:
        raise game.error(f"{env.id} does not say what chance decides")
    found = np.zeros((game.plies, *env.chance_shape), np.uint8)
    if env.stochastic and game.chance is None:
        raise game.error(f"game {game.number}: it lacks what chance decided")
    for ply, text in enumerate(game.chance or ()):
        if text and game.actions[ply] >= env.num_actions:
            continue  # said of the action
        try:
            if text or env.stochastic:
                found[ply] = env.text_to_chance(game.actions[ply], text)
        except ValueError as error:
            raise game.error(f"game {game.number}, action {ply + 1} ({game.moves[ply]!r:.20}): {error}") from None
    return found


class _Texts(dict[int, str]):
    """``env.action_to_text``, remembered."""

    def __init__(self, env: Environment) -> None:
        self.env = env

    def __missing__(self, action: int) -> str:
        text = self[action] = self.env.action_to_text(action)
        return text


@functools.lru_cache(maxsize=16)
def action_texts(env: Environment) -> dict[int, str]:
    """The notation of each action, made when it is first asked for."""
    return _Texts(env)


def check_moves(env: Environment, game: Game) -> None:
    """Refuses numbers that are no actions, and texts that are not theirs. Raises: RecordError naming the first."""
    texts = action_texts(env)
    for ply, (action, text) in enumerate(zip(game.actions, game.moves, strict=True)):
        if action >= env.num_actions:
            raise game.error(f"game {game.number}, action {ply + 1}: {action} is no action of {env.id}")
        if texts[action] != text:
            raise game.error(
                f"game {game.number}, action {ply + 1}: number {action} is {texts[action]}, not {text!r:.40}"
            )


def _wrong(game: Game, ply: int, code: int) -> str:
    chance = f" with {game.chance[ply]!r:.40}" if code == _IMPOSSIBLE and game.chance else ""
    return f"game {game.number}, action {ply + 1} ({game.moves[ply]!r:.40}{chance}): {_WORDS[code]}"


class Replayer:
    """Plays up to ``batch`` games of one environment at once; ``states`` are the last ones, [lanes] in front.

    Args: look: what to keep of the states (of a batch) before their actions, ``look(states, actions) -> pytree``; pass
    the same function again to use its compiled program again.
    """

    def __init__(self, env: Environment, batch: int, look: Callable[[State, Array], Any] | None = None) -> None:
        self.env, self.batch = env, batch
        self._program = _program(env, look)
        self.states: State

    def run(
        self, games: Sequence[Game], prepared: Sequence[tuple[Game, State, np.ndarray]] | None = None
    ) -> Iterator[tuple[np.ndarray, Any]]:
        """Yields for each run of plies codes int [plies, games] (0: played) and what ``look`` saw, as NumPy.

        Lanes beyond a game's end repeat its last state. Raises: RecordError: a start or an outcome that is no text.
        """
        env, batch = self.env, self.batch
        prepared = prepared or [(game, start_of(env, game), chances_of(env, game)) for game in games]
        lanes = [*prepared, *[prepared[0]] * (batch - len(prepared))]  # one shape, so one program
        states = jax.tree.map(lambda *leaves: np.stack(leaves), *(state for _, state, _ in lanes))
        plies = np.array([game.plies for game, _, _ in lanes], np.int32)
        longest = int(plies.max())
        shape = env.chance_shape
        assert shape is not None
        actions = np.zeros((longest + _CHUNK, batch), np.int32)
        chances = np.zeros((longest + _CHUNK, batch, *shape), np.uint8)
        for lane, (game, _, chance) in enumerate(lanes):
            actions[: game.plies, lane] = game.actions
            chances[: game.plies, lane] = chance
        for ply in range(0, longest, _CHUNK):
            part = slice(ply, ply + _CHUNK)
            states, (codes, seen) = self._program(states, actions[part], chances[part], plies, np.int32(ply))
            keep = min(_CHUNK, longest - ply), len(prepared)
            codes, seen = jax.device_get((codes, seen))
            yield jax.tree.map(lambda leaf, keep=keep: leaf[: keep[0], : keep[1]], (codes, seen))
        self.states = jax.tree.map(lambda leaf: leaf[: len(prepared)], states)


def replayed(env: Environment, games: Sequence[Game]) -> State:
    """The last states of games, [games] in front. Raises: RecordError: the first difference (see ``verify``)."""
    for difference in _verify(games, len(games)):
        raise difference.game.error(f"game {difference.game.number}: {difference.reason}")
    played = Replayer(env, len(games))
    for _ in played.run(games):
        pass
    return played.states


def _move(env: Environment, state: State, action: Array, chance: Array) -> tuple[Array, State]:
    """A code, and the state after the action where it is ``_FINE``."""
    inside = action < env.num_actions
    legal = inside & state.legal_action_mask[jnp.where(inside, action, 0)]
    possible = env.chance_possible(state.game, jnp.where(inside, action, 0), chance)
    code = jnp.where(possible, jnp.int32(_FINE), jnp.int32(_IMPOSSIBLE))
    code = jnp.where(legal, code, jnp.int32(_ILLEGAL))
    code = jnp.where(state.terminated | state.truncated, jnp.int32(_OVER), code)
    after = env.step_with_chance(state, action, chance)
    return code, jax.tree.map(lambda new, old: jnp.where(code == _FINE, new, old), after, state)


@functools.lru_cache(maxsize=16)
def _single_step(env: Environment) -> Callable[..., Any]:
    return jax.jit(functools.partial(_move, env))


@functools.lru_cache(maxsize=16)
def _settle(env: Environment) -> Callable[..., Any]:
    """The rewards of finished positions, and of cut ones on points."""

    def settle(game: Any) -> Array:
        outcome = env.outcome(game)
        return jnp.where(outcome.terminated | outcome.truncated, outcome.rewards, env.settle(game))

    return jax.jit(jax.vmap(settle))


@functools.lru_cache(maxsize=16)
def _program(env: Environment, look: Callable[[State, Array], Any] | None) -> Callable[..., Any]:
    @jax.jit
    def run(states: State, actions: Array, chances: Array, plies: Array, first: Array) -> Any:
        def body(states: State, step: tuple[Array, Array, Array]) -> Any:
            action, chance, ply = step
            seen = None if look is None else look(states, action)
            codes, after = jax.vmap(functools.partial(_move, env))(states, action, chance)
            active = ply < plies
            after = jax.tree.map(
                lambda new, old: jnp.where(active.reshape(-1, *[1] * (new.ndim - 1)), new, old), after, states
            )
            return after, (jnp.where(active, codes, 0), seen)

        numbers = first + jnp.arange(actions.shape[0], dtype=jnp.int32)
        return jax.lax.scan(body, states, (actions, chances, numbers))

    return run
