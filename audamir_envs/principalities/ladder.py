"""The scripted levels measured: ``python -m audamir_envs.principalities.ladder``.

Games come in mirrored groups: the same map, deal and starting seat, played once for every seat that the first level
can take. Intervals (95 %) are of the mean over groups. Beside the share of the win it tells what the arena does not:
rounds, games that ended on points, and games that the limit of rounds cut.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.agents.base import BatchAgent
from audamir_envs.core import Array
from audamir_envs.principalities import rules
from audamir_envs.principalities.environment import Principalities
from audamir_envs.principalities.rules import Position
from audamir_envs.principalities.scripted import AGENTS

_CHUNK = 16  # decisions between two looks at what has finished


@dataclasses.dataclass(frozen=True)
class Record:
    """Finished games: ``groups`` mirrored groups, in each the first level once in every seat."""

    share: np.ndarray  # float64 [groups, players]: the first level's share of the win, by its seat
    starts: np.ndarray  # bool [groups, players]: whether it had the first turn
    decisions: np.ndarray  # int32 [groups, players]: actions in the game
    rounds: np.ndarray  # int32 [groups, players]
    on_points: np.ndarray  # bool [groups, players]: ended by a vote
    cut: np.ndarray  # bool [groups, players]: ended by the limit of rounds

    def score(self) -> tuple[float, float]:
        """The first level's mean share, and half of its 95 % interval."""
        means = self.share.mean(1)
        return float(means.mean()), float(1.96 * means.std(ddof=1) / np.sqrt(len(means)))

    def line(self) -> str:
        """The figures in one line."""
        mean, half = self.score()
        first, later = self.share[self.starts].mean(), self.share[~self.starts].mean()
        return (
            f"{100 * mean:5.1f} % ± {100 * half:3.1f}  starting {100 * first:5.1f}  not starting {100 * later:5.1f}  "
            f"decisions {self.decisions.mean():5.0f}  rounds {np.median(self.rounds):3.0f} (90 % below "
            f"{np.quantile(self.rounds, 0.9):3.0f}, most {self.rounds.max()})  on points {self.on_points.sum()}  "
            f"cut {self.cut.sum()}  of {self.share.size} games"
        )


def duel(
    first: BatchAgent, second: BatchAgent, *, players: int = 2, groups: int = 500, seed: int = 0, lanes: int = 256
) -> Record:
    """Plays the first level in one seat against the second in all others, ``players`` games a group.

    Args: lanes: games at once.
    """
    env = Principalities(players=players)
    starts = jax.jit(jax.vmap(env.init_game))(jax.random.split(jax.random.key(seed), groups))
    seat = np.tile(np.arange(players), groups)
    group = np.repeat(np.arange(groups), players)
    advance = _program(env, (first, second))
    games = len(seat)
    lanes = min(lanes, games)
    lane = np.arange(lanes)  # the game of each lane, or -1
    begin = group[lane]  # the start of each lane's new game, or -1 where the old one goes on
    given = lanes
    key = jax.random.key(seed + 1)
    position = jax.tree.map(lambda leaf: leaf[begin], starts)
    count = jnp.zeros(lanes, jnp.int32)
    found = {name: np.zeros(games) for name in ("share", "decisions", "rounds", "on_points", "cut")}
    while (lane >= 0).any():
        key, step_key = jax.random.split(key)
        position, count, facts = advance(starts, begin, position, count, seat[lane].astype(np.int32), step_key)
        facts = jax.tree.map(np.asarray, facts)
        over = np.flatnonzero(facts.pop("over") & (lane >= 0))
        ended = lane[over]
        for name, value in facts.items():
            found[name][ended] = value[over, seat[ended]] if value.ndim == 2 else value[over]
        new = np.arange(given, given + len(over))
        given += len(over)
        lane[over] = np.where(new < games, new, -1)
        begin = np.full(lanes, -1)
        begin[over] = np.where(new < games, group[new % games], -1)
    table: dict[str, Any] = {name: value.reshape(groups, players) for name, value in found.items()}
    return Record(
        share=table["share"],
        starts=np.asarray(starts.start_seat)[:, None] == np.arange(players),
        decisions=table["decisions"].astype(np.int32),
        rounds=table["rounds"].astype(np.int32),
        on_points=table["on_points"].astype(bool),
        cut=table["cut"].astype(bool),
    )


def _program(env: Principalities, agents: Sequence[BatchAgent]) -> Callable[..., Any]:
    """A jitted function that begins new games and then plays some decisions in every lane.

    Lanes whose game is over stand still.
    """

    @jax.jit
    def advance(starts: Position, begin: Array, position: Position, count: Array, seat: Array, key: Array) -> Any:
        def chosen(condition: Array, new: Array, old: Array) -> Array:
            return jnp.where(condition.reshape(-1, *[1] * (new.ndim - 1)), new, old)

        new = begin >= 0
        fresh = jax.tree.map(lambda leaf: leaf[jnp.maximum(begin, 0)], starts)
        position = jax.tree.map(lambda start, old: chosen(new, start, old), fresh, position)
        count = jnp.where(new, jnp.int32(0), count)

        def decide(carry: tuple[Position, Array], key: Array) -> tuple[tuple[Position, Array], None]:
            position, count = carry
            states = jax.vmap(env.state_of)(position)
            keys = jax.random.split(key, len(agents) + 1)
            first, second = (agent.act_batch(states, k) for agent, k in zip(agents, keys[1:], strict=True))
            action = jnp.where(states.current_player == seat, first, second)
            over = states.terminated | states.truncated
            stepped = jax.vmap(rules.step)(position, action, jax.random.split(keys[0], seat.shape[0]))
            new = jax.tree.map(lambda a, b: a if a is b else chosen(~over, a, b), stepped, position)
            return (new, count + (~over).astype(jnp.int32)), None

        (position, count), _ = jax.lax.scan(decide, (position, count), jax.random.split(key, _CHUNK))
        outcome = jax.vmap(rules.outcome)(position)
        players = jnp.float32(env.num_players)
        facts = {
            "over": outcome.terminated | outcome.truncated,
            "share": (outcome.rewards * (players - jnp.float32(1)) + jnp.float32(1)) / players,
            "decisions": count,
            "rounds": jnp.minimum(position.round, position.max_rounds),
            "on_points": outcome.terminated & (jnp.sum(jax.vmap(rules.alive)(position), axis=1, dtype=jnp.int32) > 1),
            "cut": outcome.truncated,
        }
        return position, count, facts

    return advance


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints one line a pairing as it is done."""
    parser = argparse.ArgumentParser(prog="python -m audamir_envs.principalities.ladder", description=main.__doc__)
    parser.add_argument("--games", type=int, default=1000, help="for each pairing (default 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--players", type=int, nargs="+", default=[2, 4], help="tables of so many (default 2 4)")
    parser.add_argument(
        "--pairings",
        nargs="+",
        default=["normal:weak", "strong:normal", "strong:weak", "normal:normal", "strong:strong"],
        help="first:others, the first level taking one seat (default: all that matter)",
    )
    options = parser.parse_args(arguments)
    for players in options.players:
        for pairing in options.pairings:
            first, _, second = pairing.partition(":")
            if first not in AGENTS or second not in AGENTS:
                parser.error(f"{pairing!r} is no pairing: write first:others of {', '.join(AGENTS)}")
            groups = max(2, options.games // players)
            record = duel(AGENTS[first](), AGENTS[second](), players=players, groups=groups, seed=options.seed)
            print(f"{players} players, {first} against {second}: {record.line()}", flush=True)


if __name__ == "__main__":
    main()
