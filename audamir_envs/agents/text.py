"""Agents that read positions and write moves: language models, people, programs behind a pipe."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from audamir_envs.agents.callable import rows_of
from audamir_envs.agents.outside import OutsideAgent
from audamir_envs.core import Environment, State
from audamir_envs.registry import ids, optional_part

_UNREADABLE = ("lost", "error")
_LONGEST = 80  # letters of an answer that are repeated


@dataclasses.dataclass(frozen=True)
class Question:
    """One decision in words; ``str(question)`` is all of it as one prompt."""

    env_id: str
    rules: str  # of the game under the environment's options
    player: str  # who is to move, as drawings name it
    position: str  # in the game's notation, one line
    board: str  # drawn with letters, several lines
    moves: tuple[str, ...]  # all legal ones, in the game's notation
    refused: str | None = None  # why the answer before this question could not be taken

    def __str__(self) -> str:
        parts = [self.rules, f"The position, {self.player} to move:\n{self.board}", f"As text: {self.position}"]
        parts.append(f"Legal moves: {', '.join(self.moves)}")
        if self.refused is not None:
            parts.append(f"Your last answer was not taken: {self.refused}.")
        parts.append("Answer with one of the legal moves and nothing else.")
        return "\n\n".join(parts)


class TextAgent(OutsideAgent):
    """An agent that plays by text; made by ``from_text``. ``lost`` counts the games it lost by its answers."""

    def __init__(self, fn: Callable[..., Any], name: str, many: bool, unreadable: str) -> None:
        self.fn = fn
        self.name = name
        self.many = many
        self.unreadable = unreadable
        self.forfeits = unreadable == "lost"
        self.lost = 0

    def act_states(self, env: Environment, states: State) -> np.ndarray:
        """int32 [batch]: its moves; -1 where it gave no legal one twice and is to lose by that.

        Raises: ValueError naming agent, answer and position, where it is not; TypeError: answers that are no texts.
        """
        questions = [ask(env, state) for state in rows_of(states)]
        actions = np.full(len(questions), -1, np.int32)
        left = list(range(len(questions)))
        for last in (False, True):
            answers = self._answers([questions[row] for row in left])
            for row, answer in zip(left, answers, strict=True):
                found, why = read(env, questions[row], answer)
                if found is not None:
                    actions[row] = found
                elif not last:
                    questions[row] = dataclasses.replace(questions[row], refused=why)
                elif self.unreadable == "error":
                    position = questions[row].position
                    raise ValueError(f"agent {self.name!r} gave no legal move twice: {why}, in {position!r}")
            left = [row for row in left if actions[row] < 0]
            if not left:
                break
        self.lost += len(left)
        return actions

    def _answers(self, questions: list[Question]) -> Sequence[Any]:
        answers = self.fn(questions) if self.many else [self.fn(question) for question in questions]
        if not isinstance(answers, Sequence) or isinstance(answers, str) or len(answers) != len(questions):
            raise TypeError(f"agent {self.name!r} must return a list of {len(questions)} answers")
        return answers

    def __repr__(self) -> str:
        return f"from_text({self.name!r})"


def from_text(
    fn: Callable[..., Any], name: str | None = None, *, many: bool = False, unreadable: str = "lost"
) -> TextAgent:
    """An agent from ``fn(question) -> move``: position, legal moves and rules in words in, a move in notation out.

    Spaces, line ends and quotation marks around a move are taken off, and its case does not matter. An answer that is
    no legal move is asked for once more, ``question.refused`` saying why.
    Args: fn: gets a ``Question`` (a language model takes ``str(question)``) and returns the move; name: what reports
    call it; many: fn gets a list of questions, all that wait, and returns a list of as many moves; unreadable: what a
    second answer that is no legal move does: ``"lost"``: it loses the game, counted in ``agent.lost``; ``"error"``: a
    ValueError that names agent, answer and position.
    Raises: TypeError: fn is no function; ValueError: another value of unreadable.
    """
    if not callable(fn) or isinstance(fn, type):
        raise TypeError(f"from_text needs a function question -> move, not {fn!r}")
    if unreadable not in _UNREADABLE:
        raise ValueError(f"unreadable={unreadable!r} is not valid: use {' or '.join(map(repr, _UNREADABLE))}")
    return TextAgent(fn, name or getattr(fn, "__name__", type(fn).__name__), many, unreadable)


def ask(env: Environment, state: State) -> Question:
    """The decision of the seat to move in one unfinished game on the host, in words."""
    words = optional_part(env.id, "words") if env.id in ids() else None
    rules = words.rules(env.options) if words is not None else (type(env).__doc__ or env.id).strip()
    moves = np.flatnonzero(np.asarray(state.legal_action_mask))
    return Question(
        env_id=env.id,
        rules=rules,
        player=env.player_name(int(state.current_player)),
        position=env.to_text(state),
        board=env.board_text(state),
        moves=tuple(env.action_to_text(int(action)) for action in moves),
    )


def read(env: Environment, question: Question, answer: Any) -> tuple[int | None, str]:
    """The action of an answer, or None and why it is none. Raises: TypeError: the answer is no text."""
    if not isinstance(answer, str):
        raise TypeError(f"an answer is a move as text, not {type(answer).__name__}")
    plain = answer.strip().strip("\"'`").strip()
    for move in question.moves:
        if move.lower() == plain.lower():
            return env.text_to_action(move), ""
    told = plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}... ({len(plain)} letters)"
    return None, f"{told!r} is no legal move"
