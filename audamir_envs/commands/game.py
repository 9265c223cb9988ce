"""A game in the terminal: a person against agents, or agents that are watched."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from audamir_envs import records, shares, streams
from audamir_envs.agents.base import Agent
from audamir_envs.agents.outside import plays_inside
from audamir_envs.arena.evaluation import versions
from audamir_envs.arena.playing import illegal_action
from audamir_envs.core import Environment, State

HELP = """\
Type a move in the game's notation, or:
  moves [TEXT]  the legal moves (that begin with TEXT)
  undo          take back your last move and what followed it
  board         draw the position again
  text          the position as one line, for --position
  resign        give up
  quit          leave (so do Ctrl-C and Ctrl-D)"""


@dataclasses.dataclass
class _Moment:
    state: State
    last_action: int | None
    plies: int
    played: tuple[tuple[int, str], ...] = ()  # every action, and what chance decided then


class Game:
    """One game of a person against agents, or of agents alone where the person has no seat."""

    def __init__(
        self, env: Environment, seat: int | None, names: list[str], agents: list[Agent], seed: int, position: str | None
    ) -> None:
        self.env, self.seat, self.seed = env, seat, seed
        # Opponents are named in seat order after the person's own.
        first = -1 if seat is None else seat
        seats = [(first + 1 + i) % env.num_players for i in range(len(agents))]
        self.agents = dict(zip(seats, agents, strict=True))
        self.names = dict(zip(seats, names, strict=True))
        self.opponents = () if seat is None else tuple(names)
        self.key = jax.random.key(seed)
        self.step = jax.jit(env.step)
        self.chance_of = jax.jit(env.chance_of) if env.stochastic and env.chance_shape is not None else None
        # One compiled function an agent, however many seats it has.
        jitted = {id(a): jax.jit(a.act) if plays_inside(a) else self._asked(a) for a in agents}
        self.act = {place: jitted[id(agent)] for place, agent in self.agents.items()}
        self.keys = jax.jit(lambda ply: tuple(jax.random.split(jax.random.fold_in(self.key, ply))))
        with streams.waiting("compiling"):
            fresh = jax.jit(lambda: env.init(jax.random.fold_in(self.key, 0)))
            state = env.from_text(position) if position is not None else fresh()
        self.start = state
        self.now = _Moment(state, None, 0)
        self.before: list[_Moment] = []  # the person's earlier turns

    def _asked(self, agent: Any) -> Any:
        """``act`` of an agent that plays outside JAX."""
        return lambda state, _: agent.act_states(self.env, jax.tree.map(lambda leaf: np.asarray(leaf)[None], state))[0]

    def play(self) -> None:
        """Plays to the end, or until the person leaves.

        Raises: EOFError, KeyboardInterrupt; ValueError: an illegal action of an agent.
        """
        if self.seat is None:
            print(f"{', '.join(map(self._name, sorted(self.names)))}; seed {self.seed}.")
        else:
            print(f"You are {self.env.player_name(self.seat)}, seed {self.seed}. Type help for what you can type.")
        resigned = False
        while not (resigned or bool(self.now.state.terminated) or bool(self.now.state.truncated)):
            mover = int(self.now.state.current_player)
            if mover == self.seat:
                self._draw()
                resigned = not self._turn()
            else:
                if self.seat is None:
                    self._draw()
                with streams.waiting("thinking"):
                    action = int(self.act[mover](self.now.state, self.keys(np.uint32(self.now.plies + 1))[1]))
                legal = np.asarray(self.now.state.legal_action_mask)
                if not (0 <= action < legal.size and legal[action]):
                    raise ValueError(illegal_action(self.env, self.agents[mover], action, self.now.plies))
                print(f"{self._name(mover)}: {self.env.action_to_text(action)}")
                self._advance(action)
        self._report(resigned)

    def _turn(self) -> bool:
        """Asks until the person has moved or taken back (True) or resigned (False)."""
        while True:
            word, _, rest = input("> ").strip().partition(" ")
            match word.lower():
                case "":
                    pass
                case "help" | "?":
                    print(HELP)
                case "moves":
                    self._show_moves(rest.strip())
                case "board":
                    self._draw()
                case "text":
                    print(self.env.to_text(self.now.state))
                case "undo":
                    if self.before:
                        self.now = self.before.pop()
                        return True
                    print("There is nothing to take back.")
                case "resign":
                    return False
                case "quit" | "exit":
                    raise EOFError
                case _:
                    action = self._read(f"{word} {rest}".strip())
                    if action is not None:
                        self.before.append(self.now)
                        self._advance(action)
                        return True

    def _read(self, text: str) -> int | None:
        """The legal action of a text, or None after saying what is wrong with it."""
        try:
            action = self.env.text_to_action(text)
        except ValueError as error:
            print(f"{error} (type help for what else you can type)")
            return None
        if not self.now.state.legal_action_mask[action]:
            print(f"{text} is not legal here: moves shows what is.")
            return None
        return action

    def _advance(self, action: int) -> None:
        moment = self.now
        with streams.waiting("compiling"):
            step_key = self.keys(np.uint32(moment.plies + 1))[0] if self.env.stochastic else None
            state = jax.block_until_ready(self.step(moment.state, np.int32(action), step_key))
            chance = ""
            if self.chance_of is not None:
                decided = self.chance_of(moment.state, np.int32(action), step_key)
                chance = self.env.chance_to_text(action, np.asarray(decided))
        self.now = _Moment(state, action, moment.plies + 1, (*moment.played, (action, chance)))

    def record(self, path: str) -> None:
        """Appends the game as it stands; one that is not over is cut. Raises: ValueError, OSError."""
        env, state = self.env, self.now.state
        people: list[tuple[str, Any]] = [] if self.seat is None else [("person", None)]
        agents = people + [(self.names[seat], self.agents[seat]) for seat in sorted(self.agents)]
        place = {seat: number for number, seat in enumerate(sorted(self.agents), start=len(people))}
        protocol = {"games": 1, "command": "play"}
        header = records.header_of(env, agents, seed=self.seed, protocol=protocol, versions=versions(env))
        over = bool(state.terminated) or bool(state.truncated)
        rewards = env.outcome(state.game).rewards if over else env.settle(state.game)
        actions = tuple(action for action, _ in self.now.played)
        game = records.Game(
            number=0,
            seats=tuple(place.get(seat, 0) for seat in range(env.num_players)),
            starter=int(self.start.current_player),
            start=env.to_text(self.start),
            actions=actions,
            moves=tuple(map(env.action_to_text, actions)),
            chance=tuple(chance for _, chance in self.now.played) if env.stochastic else None,
            shares=tuple(shares.of_rewards(np.asarray(rewards)).tolist()),
            cut=not over,
            final=env.to_text(state),
        )
        with records.Writer(path, header, resume=False) as writer:
            writer.add([game])

    def _show_moves(self, start: str) -> None:
        legal = np.flatnonzero(np.asarray(self.now.state.legal_action_mask))
        texts = [text for text in map(self.env.action_to_text, legal.tolist()) if text.startswith(start)]
        print("  ".join(texts) if texts else f"No legal move begins with {start!r}.")

    def _draw(self) -> None:
        print()
        print(self.env.board_text(self.now.state, self.now.last_action))

    def _name(self, seat: int) -> str:
        return f"{self.env.player_name(seat)} ({self.names.get(seat, 'you')})"

    def _report(self, resigned: bool) -> None:
        if resigned:
            print("You resigned.")
            return
        self._draw()
        state = self.now.state
        # Not state.rewards, which are zero in a finished position that was read from text.
        rewards = np.asarray(self.env.outcome(state.game).rewards)
        best = np.flatnonzero(np.isclose(rewards, rewards.max()))
        if best.size == 1:
            print("You win." if best[0] == self.seat else f"{self._name(int(best[0]))} wins.")
        else:
            print(f"Draw between {', '.join(self._name(int(seat)) for seat in best)}.")
        for name, value in self.env.info(state, self.opponents).items():
            print(f"{name}: {self._for_me(np.asarray(value))}")

    def _for_me(self, value: Any) -> str:
        if self.seat is None:
            return " ".join(f"{one:g}" for one in np.ravel(value))
        mine = value[self.seat] if value.ndim and value.shape[0] == self.env.num_players else value
        return f"{mine:g}" if np.ndim(mine) == 0 and mine.dtype != np.bool_ else str(mine)
