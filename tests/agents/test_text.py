"""Agents that read positions and write moves."""

import dataclasses

import jax
import numpy as np
import pytest
from toy import Duel, First, Nim

import audamir_envs
from audamir_envs import arena, records
from audamir_envs.agents import Question, from_callable, from_text
from audamir_envs.bridges.gymnasium import SingleAgentEnv
from audamir_envs.bridges.vector import SingleAgentVectorEnv

NIM = Nim(size=2)


def first(question):
    return question.moves[0]


def test_reads_everything_and_plays_as_its_equal_in_jax():
    seen = []

    def shouting(question):
        seen.append(question)
        return f' "{question.moves[0].upper()}"\r\n'

    agent = from_text(shouting)
    played = arena.play(NIM, [agent, First()], np.array([[0, 1], [1, 0]] * 3), np.arange(6), seed=0)
    same = arena.play(NIM, [First(), First()], np.array([[0, 1], [1, 0]] * 3), np.arange(6), seed=0)
    assert np.array_equal(played.shares, same.shares)
    assert agent.lost == 0
    question = seen[0]
    assert question.position == "2 1 1 0"
    assert question.moves == ("a1", "a2", "b1", "c1")
    for part in (question.rules, question.board, question.position, "a1, a2, b1, c1", "player_0 to move"):
        assert part in str(question)
    assert "not taken" not in str(question)


@pytest.mark.parametrize("many", [False, True])
def test_asked_again_once_then_lost(many):
    calls = []

    def careless(question):
        calls.append(question)
        return "nothing" * 100 if question.refused is None else question.moves[-1]

    agent = from_text(
        (lambda questions: [careless(one) for one in questions]) if many else careless, "careless", many=many
    )
    games = arena.play(NIM, [agent, First()], np.array([[0, 1]] * 4), np.arange(4), seed=0)
    assert agent.lost == 0
    assert len(calls) == 2 * sum(question.refused is None for question in calls)
    told = [question.refused for question in calls if question.refused is not None]
    assert all("is no legal move" in why and len(why) < 130 for why in told)
    assert (
        any(why in str(question) for why, question in zip(told, calls[1::2] if not many else calls, strict=False))
        or many
    )
    hopeless = from_text(lambda question: "b9", "hopeless")
    games = arena.play(NIM, [hopeless, First()], np.array([[0, 1], [1, 0]]), np.arange(2), seed=0)
    assert hopeless.lost == 2
    assert games.shares.tolist() == [[0, 1], [1, 0]]
    three = arena.play(Duel(), [hopeless, First()], np.array([[0, 1, 1]]), np.arange(1), seed=0)
    assert three.shares.tolist() == [[0, 0.5, 0.5]]


def test_games_lost_unread_are_written_down(tmp_path):
    """As forfeits: with what was played before, and found to be right when played again."""
    env = audamir_envs.make("stigmergy-v0", side=2)
    left = iter(range(5))
    fading = from_text(lambda question: question.moves[-1] if next(left, None) is not None else "", "fading")
    path = tmp_path / "games.jsonl"
    arena.evaluate(env, [fading, "random"], games=3, seed=0, record=path)
    games = list(records.read(path).games)
    assert fading.lost == sum(game.forfeit is not None for game in games) > 0
    for game in games:
        if game.forfeit is not None:
            assert game.shares == tuple(float(seat != game.forfeit) for seat in range(2))
    assert not list(records.verify(games))
    lost = next(game for game in games if game.forfeit is not None)
    for changes in ({"forfeit": 1 - lost.forfeit}, {"cut": True}, {"shares": lost.shares[::-1]}, {"forfeit": None}):
        assert list(records.verify([dataclasses.replace(lost, **changes)])), changes


def test_or_an_error():
    agent = from_text(lambda question: "b9", "hopeless", unreadable="error")
    with pytest.raises(ValueError, match=r"'hopeless' gave no legal move twice: 'b9' is no legal move, in '2 1 1 0'"):
        arena.play(NIM, [agent, First()], np.array([[0, 1]]), np.arange(1), seed=0)


def test_as_a_learners_opponent():
    """A loss by an unreadable answer is the learner's win, not an error."""
    env = SingleAgentEnv(NIM, from_text(lambda question: "b9"), seat=0)
    env.reset(seed=0)
    assert env.step(0)[1:3] == (1.0, True)
    lanes = SingleAgentVectorEnv(NIM, 3, from_text(first), seat=0)
    plain = SingleAgentVectorEnv(NIM, 3, First(), seat=0)
    for one in (lanes, plain):
        one.reset(seed=0)
    for action in (0, 2, 4):
        for mine, other in zip(lanes.step(np.full(3, action)), plain.step(np.full(3, action)), strict=True):
            if not isinstance(mine, dict):
                assert np.array_equal(mine, other)


def test_bad_functions_and_answers():
    for wrong in (None, "text", Question):
        with pytest.raises(TypeError, match="question -> move"):
            from_text(wrong)
    with pytest.raises(ValueError, match="'lost' or 'error'"):
        from_text(first, unreadable="random")
    for agent, error in (
        (from_text(lambda question: 3), "not int"),
        (from_text(lambda questions: "b1", many=True), "a list of 1"),
        (from_text(lambda questions: [], many=True), "a list of 1"),
    ):
        with pytest.raises(TypeError, match=error):
            arena.play(NIM, [agent, First()], np.array([[0, 1]]), np.arange(1), seed=0)
    with pytest.raises(TypeError, match="act_states"):
        from_text(first).act(None, None)


@pytest.mark.parametrize(
    ("env_id", "options", "words"),
    [
        ("colony-v0", {"claim_empty": True, "max_turns": 33}, ("after 33 turns", "empty cells count", "c3-e5")),
        ("stigmergy-v0", {"side": 2, "komi": "choose"}, ("komi=4", "black or white")),
        ("principalities-v0", {"players": 2, "tiles": 6}, ("accept or decline", "12>7")),
    ],
)
def test_rules_in_words(env_id, options, words):
    """The rules of each game under its options, in a game of two plies."""
    env = audamir_envs.make(env_id, **options)
    seen = []
    agent = from_text(lambda question: seen.append(question) or question.moves[0])
    arena.play(env, [agent, agent], np.array([[0, 1]]), np.arange(1), seed=0, max_plies=2)
    assert len(seen) == 2
    for part in words:
        assert part in seen[0].rules
    assert "{" not in seen[0].rules
    for move in seen[0].moves:
        env.text_to_action(move)
    assert env.to_text(env.from_text(seen[0].position)) == seen[0].position


def test_functions_may_ask_for_states_or_texts():
    seen = {}

    def by_text(texts, mask):
        seen["texts"] = texts
        return mask.argmax(axis=1)

    def by_state(states, mask):
        seen["heaps"] = states.game.heaps
        return mask.argmax(axis=1)

    for agent in (from_callable(by_text, positions="texts"), from_callable(by_state, positions="states")):
        arena.play(NIM, [agent, First()], np.array([[0, 1]] * 2), np.arange(2), seed=0)
    assert all(NIM.from_text(text) for text in seen["texts"])
    assert isinstance(seen["heaps"], np.ndarray)
    with pytest.raises(ValueError, match="positions='planes'"):
        from_callable(by_text, positions="planes")
    cheat = from_callable(lambda texts, mask: np.full(len(texts), 99), "cheat", positions="texts")
    with pytest.raises(ValueError, match="'cheat' played the illegal action 99"):
        arena.play(NIM, [cheat, First()], np.array([[0, 1]]), np.arange(1), seed=0)


def test_many_positions_are_read_at_once():
    texts = ["2 1 1 0", "0 1 1 1", "1 0 0 0"]
    states = NIM.from_texts(iter(texts))
    assert states.game.heaps.tolist() == [[2, 1, 1], [0, 1, 1], [1, 0, 0]]
    for row, text in enumerate(texts):
        alone = NIM.from_text(text)
        for leaf, many in zip(jax.tree.leaves(alone), jax.tree.leaves(states), strict=True):
            assert np.array_equal(leaf, many[row])
            assert leaf.dtype == many.dtype
    with pytest.raises(ValueError, match=r"position 1: 'no' is no position"):
        NIM.from_texts(["2 1 1 0", "no"])
    with pytest.raises(ValueError, match="no positions"):
        NIM.from_texts([])
    sides = audamir_envs.make("stigmergy-v0", side=2)
    with pytest.raises(ValueError, match=r"position 1 has other shapes|position 1: "):
        sides.from_texts(["../.../.. x 0 0 0", ".../..../...../..../... x 0 0 0"])
