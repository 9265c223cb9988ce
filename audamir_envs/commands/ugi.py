"""Plays a level as an engine: any program that speaks the Universal Game Interface (cutegames, say) can run it.

Lines come in on stdin and answers go out on stdout, positions and moves in the game's notation. Player 1 is player_0,
who moves first from startpos. Games of two players only.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, TextIO, cast

from audamir_envs.commands import common

if TYPE_CHECKING:
    from audamir_envs.agents.base import Agent
    from audamir_envs.core import Environment, State

EXAMPLE = "audamir ugi {env} strong -o board=61"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    common.add_environment(parser)
    parser.add_argument("agent", metavar="AGENT", nargs="?", default="normal", help="who plays (default: normal)")
    parser.add_argument("--seed", type=common.whole(0), default=0, metavar="N", help="of start and play (default: 0)")


def run(arguments: argparse.Namespace) -> int:
    """Answers until ``quit`` or the end of the input. Raises: ValueError for bad arguments."""
    from audamir_envs.agents.loading import load_agent_text

    env = common.make_environment(arguments)
    if env.num_players != 2:
        raise ValueError(
            f"UGI knows games of two players, not of {env.num_players}: use -o players=2 where there is one"
        )
    agent = load_agent_text(env, arguments.agent)
    Session(env, agent, f"{env.id} {arguments.agent}", arguments.seed).serve(sys.stdin, sys.stdout)
    return 0


class Session:
    """One conversation: a position and an agent that moves in it."""

    def __init__(self, env: Environment, agent: Agent, name: str, seed: int) -> None:
        import jax

        from audamir_envs.agents.outside import plays_inside

        self.env, self.agent, self.name = env, agent, name
        self.key, self.plies = jax.random.key(seed), 0
        self.step = jax.jit(env.step)
        self.act: Any = jax.jit(agent.act) if plays_inside(agent) else self._ask
        self._initial: State | None = None
        self._state: State | None = None

    def serve(self, lines: TextIO, out: TextIO) -> None:
        """Answers every line until ``quit``; what is wrong with one is told in an ``info string``."""
        for line in lines:
            word, _, rest = line.strip().partition(" ")
            if word == "quit":
                return
            try:
                answer = self._answer(word, rest.strip())
            except ValueError as error:
                answer = f"info string error: {' '.join(str(error).split())}"
            if answer:
                print(answer, file=out, flush=True)

    def _answer(self, word: str, rest: str) -> str:
        match word:
            case "ugi":
                return f"id name audamir {self.name}\nid author audamir-envs\nugiok"
            case "isready":
                self._best()  # compiles now, so that no move waits for it
                return "readyok"
            case "uginewgame":
                self._state = None
            case "position":
                self._state = self._position(rest)
            case "query":
                return f"response {self._response(rest)}"
            case "go":
                return f"bestmove {self._best()}"
        return ""  # stop: a search ends by itself; unknown words are passed over, as engines should

    def _position(self, text: str) -> State:
        start, _, moves = text.partition(" moves ")
        kind, _, fen = start.strip().partition(" ")
        if kind == "startpos":
            state = self._startpos()
        elif kind == "fen":
            state = self.env.from_text(fen.strip())
        else:
            raise ValueError("a position is startpos or fen, then moves")
        for move in moves.split():
            action = self.env.text_to_action(move)
            if not state.legal_action_mask[action]:
                raise ValueError(f"{move} is not legal in {self.env.to_text(state)}")
            state = self._after(state, action)
        return state

    def _startpos(self) -> State:
        import jax

        if self._initial is None:
            init = jax.jit(self.env.init)
            # Where lots decide who moves first, it is player_0, so that player 1 of the protocol is one player always.
            starts = (init(jax.random.fold_in(self.key, lot)) for lot in range(64))
            self._initial = next(state for state in starts if int(state.current_player) == 0)
        return cast("State", self._initial)

    def _after(self, state: State, action: int) -> State:
        import jax
        import numpy as np

        self.plies += 1
        key = jax.random.fold_in(self.key, 1000 + self.plies) if self.env.stochastic else None
        return self.step(state, np.int32(action), key)

    def _best(self) -> str:
        import jax

        state = self._startpos() if self._state is None else self._state
        if bool(state.terminated) or bool(state.truncated):
            return "0000"
        self.plies += 1
        action = int(self.act(state, jax.random.fold_in(self.key, 1000 + self.plies)))
        return self.env.action_to_text(action)

    def _response(self, question: str) -> str:
        state = self._startpos() if self._state is None else self._state
        over = bool(state.terminated) or bool(state.truncated)
        match question:
            case "gameover":
                return str(over).lower()
            case "p1turn":
                return str(int(state.current_player) == 0).lower()
            case "result":
                if not over:
                    return "none"
                first, second = map(float, self.env.outcome(state.game).rewards)
                return "draw" if first == second else "p1win" if first > second else "p2win"
            case "fen":
                return self.env.to_text(state)
        raise ValueError(f"there is no query {question!r}: use gameover, p1turn, result or fen")

    def _ask(self, state: State, key: Any) -> int:
        import jax
        import numpy as np

        del key
        one = jax.tree.map(lambda leaf: np.asarray(leaf)[None], state)
        return int(self.agent.act_states(self.env, one)[0])  # type: ignore[attr-defined]
