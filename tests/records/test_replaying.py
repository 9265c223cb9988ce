"""Games of Principalities, which has chance, written by hand from the environment and played again."""

import dataclasses

import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs import records, shares
from audamir_envs.sampling import sample_legal

GAMES = 5


@pytest.fixture(scope="module")
def env():
    return audamir_envs.make("principalities-v0", players=3, tiles=9, max_rounds=8)


@pytest.fixture(scope="module")
def played(env):
    """Games and their states, stepped by key."""
    header = records.header_of(env, [("random", None)], seed=1, protocol={"games": GAMES}, versions={})
    init, step, chance_of, choose = map(jax.jit, (env.init, env.step, env.chance_of, sample_legal))
    games, states = [], []
    for number in range(GAMES):
        key = jax.random.key(number)
        seen = [init(key)]
        actions, chance = [], []
        for ply in range(10_000):
            choice, dice = jax.random.split(jax.random.fold_in(key, ply))
            actions.append(int(choose(choice, seen[-1])))
            chance.append(env.chance_to_text(actions[-1], np.asarray(chance_of(seen[-1], actions[-1], dice))))
            seen.append(step(seen[-1], np.int32(actions[-1]), dice))
            if seen[-1].terminated | seen[-1].truncated | (number == 4 and ply == 20):
                break
        rewards = seen[-1].rewards if number < 4 else env.settle(seen[-1].game)
        games.append(
            records.Game(
                number=number,
                seats=(0, 0, 0),
                starter=int(seen[0].current_player),
                start=env.to_text(seen[0]),
                actions=tuple(actions),
                moves=tuple(map(env.action_to_text, actions)),
                chance=tuple(chance),
                shares=tuple(shares.of_rewards(np.asarray(rewards)).tolist()),
                cut=number == 4,
                final=env.to_text(seen[-1]),
                header=header,
                where=("f", 2 + number),
            )
        )
        states.append(jax.device_get(seen))
    return games, states


def test_states_are_those_that_were_played(played):
    for game, states in zip(*played, strict=True):
        found = list(records.replay(game))
        assert len(found) == game.plies + 1
        for one, other in zip(found, states, strict=True):
            jax.tree.map(np.testing.assert_array_equal, jax.device_get(one).game, other.game)
            assert one.legal_action_mask.tolist() == other.legal_action_mask.tolist()


def test_what_was_played_verifies_in_any_batch(played):
    games, _ = played
    told = []
    assert list(records.verify(games, batch=3, progress=told.append)) == []
    assert list(records.verify(games, batch=2)) == []
    assert told == [3, 5]


def differences(game, **changes):
    return [d.reason for d in records.verify([dataclasses.replace(game, **changes)], batch=2)]


def test_the_first_difference_is_named(env, played):
    (game, *_, cut), _ = played
    attack = next(ply for ply, text in enumerate(game.chance) if ":" in text)

    def at(values, ply, value):
        return (*values[:ply], value, *values[ply + 1 :])

    (reason,) = differences(game, chance=at(game.chance, attack, "99:1"))
    assert reason == f"game 0, action {attack + 1} ({game.moves[attack]!r} with '99:1'): chance cannot decide so there"
    (reason,) = differences(game, chance=at(game.chance, attack, "a:1"))
    assert f"action {attack + 1}" in reason
    assert "'a:1' is no outcome of an attack" in reason
    accept = {
        "actions": at(game.actions, 3, 82),
        "moves": at(game.moves, 3, "accept"),
        "chance": at(game.chance, 3, ""),
    }
    assert differences(game, **accept) == ["game 0, action 4 ('accept'): it is not legal there"]
    (reason,) = differences(game, moves=at(game.moves, 3, "decline"))
    assert reason == f"game 0, action 4: number {game.actions[3]} is {game.moves[3]}, not 'decline'"
    (reason,) = differences(game, actions=at(game.actions, 3, 84))
    assert reason == "game 0, action 4: 84 is no action of principalities-v0"
    (reason,) = differences(game, starter=(game.starter + 1) % 3)
    assert reason == f"player_{game.starter} moves first, not player_{(game.starter + 1) % 3}"
    (reason,) = differences(game, shares=(*game.shares[1:], game.shares[0]))
    assert reason.startswith("the shares are [")
    (reason,) = differences(game, final=cut.final)
    assert reason.startswith("the final position is '{")
    (reason,) = differences(game, cut=True)
    assert reason == "it is said to be cut, and was over"
    (reason,) = differences(cut, cut=False)
    assert reason == "it is said to have ended, and goes on"
    short = {name: getattr(game, name)[:-1] for name in ("actions", "moves", "chance")}
    assert differences(game, **short) == ["it is said to have ended, and goes on"]
    long = {"actions": (*game.actions, 81), "moves": (*game.moves, "end"), "chance": (*game.chance, "")}
    (reason,) = differences(game, **long)
    assert reason == f"game 0, action {game.plies + 1} ('end'): the game was over before it"
    (reason,) = differences(game, start="{}")
    assert "its start: the position lacks 'neighbours'" in reason
    (reason,) = differences(game, chance=None)
    assert reason == "game 0: it lacks what chance decided"
    assert len(differences(game, start=game.start + " " * 10_000_000 + "}")[0]) < 500


def test_a_difference_says_where(played):
    games, _ = played
    wrong = dataclasses.replace(games[2], starter=(games[2].starter + 1) % 3)
    (found,) = records.verify([*games[:2], wrong, *games[3:]], batch=2)
    assert str(found).startswith("f, line 4: game 2: player_")


def test_a_step_that_is_impossible_ends_the_replay(played):
    (game, *_), _ = played
    with pytest.raises(records.RecordError, match=r"f, line 2: game 0, action 4: 84 is no action"):
        next(records.replay(dataclasses.replace(game, actions=(*game.actions[:3], 84, *game.actions[4:]))))
    after = {"actions": (82, *game.actions[1:]), "moves": ("accept", *game.moves[1:]), "chance": ("", *game.chance[1:])}
    states = records.replay(dataclasses.replace(game, **after))
    next(states)
    with pytest.raises(records.RecordError, match=r"game 0, action 1 \('accept'\): it is not legal there"):
        next(states)


def test_other_environments_and_versions_are_refused(played):
    (game, *_), _ = played
    for changes, message in (
        ({"env": "chess-v0"}, "unknown environment 'chess-v0'"),
        ({"env_version": "x"}, "made with version x of principalities-v0, and this is 0"),
        ({"options": {"tiles": 9, "size": 3}}, "no option 'size'"),
        ({"options": {"tiles": 9, "players": 2}}, "has 2 players with these options, not 3"),
    ):
        other = dataclasses.replace(game, header=dataclasses.replace(game.header, **changes))
        with pytest.raises(records.RecordError, match=message):
            next(records.replay(other))
        (found,) = records.verify([other])
        assert message.split()[-1] in found.reason


def test_games_that_do_not_say_what_chance_decides_are_refused(env):
    class Silent(type(env)):
        def _setup(self):
            super()._setup()
            self.chance_shape = None

    with pytest.raises(ValueError, match="principalities-v0 cannot be recorded: it does not say what chance decides"):
        records.header_of(Silent(), [], seed=0, protocol={}, versions={})
