"""The arena on Tally, where every game between fixed policies can be reckoned by hand."""

import json

import jax
import numpy as np
import pytest
from tally.environment import Dice, Tally
from tally.scripted import Cheat, High, Low

from audamir_envs import agents, arena
from audamir_envs.shares import exact


def by_hand(picks, players, goal, rounds, starter=0):
    """Plain Python: shares and plies of a game in which seat s picks picks(s, its last pick)."""
    sums, last, plies = [0] * players, [0] * players, 0
    while max(sums) < goal and plies < rounds * players:
        seat = (starter + plies) % players
        last[seat] = picks(seat, last[seat])
        sums[seat] += last[seat]
        plies += 1
    winners = [seat for seat in range(players) if sums[seat] == max(sums)]
    return [1 / len(winners) if seat in winners else 0 for seat in range(players)], plies


def low(seat, last):
    return 0


def high(seat, last):
    return 1 if last == 2 else 2


@pytest.fixture(scope="module")
def lopsided():
    return arena.evaluate(Tally(), [High(), Low()], games=21, batch=4)


def test_every_game_is_the_game_by_hand(lopsided):
    records = lopsided.records
    for seats, shares, plies in zip(records.seats, records.shares, records.plies, strict=True):
        expected = by_hand(lambda seat, last, seats=seats: (high, low)[seats[seat]](seat, last), 2, 9, 6)
        assert (shares.tolist(), int(plies)) == expected
    assert records.decisions == records.plies.sum()


def test_figures(lopsided):
    assert lopsided.agents == ("strong", "weak")
    assert lopsided.wins == {"strong": 21, "weak": 0}
    assert lopsided.losses == {"strong": 0, "weak": 21}
    assert lopsided.draws == lopsided.unfinished == 0
    assert lopsided.score == {"strong": 1.0, "weak": 0.0}
    # Two agents that draw nothing play two games, one for each seat, over and over.
    assert lopsided.repeated == 19
    assert lopsided.interval["strong"][0] < 0.2
    assert "19 the same as others" in str(lopsided)
    assert [seat.games for seat in lopsided.by_seat["strong"]] == [11, 10]
    assert [seat.games for seat in lopsided.by_seat["weak"]] == [10, 11]
    assert lopsided.mean_length == pytest.approx((11 * 11 + 10 * 12) / 21)


def test_games_that_happen_to_be_equal_are_independent_all_the_same():
    found = arena.evaluate(Tally(), [High(), Low()], games=40, opening_plies=2, batch=8)
    ends = {(*seats, *sums) for seats, sums in zip(found.records.seats, found.records.final.sums, strict=True)}
    assert 2 < len(ends) < 40
    assert found.repeated == 0
    assert found.interval["strong"] == arena.wilson(found.score["strong"], 40)


def test_final_positions_are_those_of_each_game(lopsided):
    records = lopsided.records
    sums = records.final.sums
    np.testing.assert_array_equal(records.final.turn, records.plies)
    np.testing.assert_array_equal(sums == sums.max(axis=1, keepdims=True), records.shares > 0)
    assert (sums[np.arange(21), records.shares.argmax(axis=1)] >= 9).all()


def test_an_agent_sets_the_most_states_that_it_is_given():
    class Narrow(High):
        block = 3

        def act_batch(self, states, key):
            given.append(states.current_player.shape[0])
            return super().act_batch(states, key)

    given = []
    found = arena.evaluate(Tally(), [Narrow(), Low()], games=21, batch=8)
    assert set(given) == {3}
    wide = arena.evaluate(Tally(), [High(), Low()], games=21, batch=8)
    np.testing.assert_array_equal(found.records.shares, wide.records.shares)
    np.testing.assert_array_equal(found.records.plies, wide.records.plies)


def test_a_cut_game_stands_still():
    cut = arena.evaluate(Tally(), [High(), Low()], games=5, batch=2, max_plies=3)
    assert cut.unfinished == 5
    assert cut.records.final.turn.tolist() == [3] * 5


def test_json_has_the_fixed_names(lopsided):
    fields = json.loads(json.dumps(lopsided.to_json()))
    fixed = "env options agents games wins draws score interval by_seat mean_length unfinished seconds versions"
    assert set(fixed.split()) <= set(fields)
    assert fields["env"] == "tally-v0"
    assert fields["options"]["goal"] == 9
    assert fields["agents"] == ["strong", "weak"]
    for name in ("wins", "score", "interval", "by_seat"):
        assert set(fields[name]) == {"strong", "weak"}
    assert len(fields["by_seat"]["weak"]) == 2
    assert "jax" in fields["versions"]
    assert "strong: 21 won" in str(lopsided)


def test_draws_count_half():
    """Equal sums after equally many picks."""
    result = arena.evaluate(Tally(goal=99, rounds=3), [Low(), Low()], games=6)
    assert result.draws == 6
    assert result.agents == ("weak", "weak#2")
    assert result.score == {"weak": 0.5, "weak#2": 0.5}
    assert result.wins == result.losses == {"weak": 0, "weak#2": 0}


def test_more_players_than_agents():
    result = arena.evaluate(Tally(players=3), [Low(), High()], games=9)
    share, _ = by_hand(lambda seat, last: (low if seat == 2 else high)(seat, last), 3, 9, 6)
    assert share == [1, 0, 0]  # the first of the two high ones wins; the low one loses in every seat
    assert result.wins == {"weak": 0, "strong": 9}
    assert result.score == {"weak": 0.0, "strong": 0.5}  # a seat
    assert result.interval["strong"][1] == 0.5
    assert result.draws == 0


def test_an_agent_for_each_seat():
    env = Tally(players=3, goal=99, rounds=2)
    result = arena.evaluate(env, [High(), Low(), High()], games=6)
    assert result.agents == ("strong", "weak", "strong#2")
    assert result.score == {"strong": 0.5, "weak": 0.0, "strong#2": 0.5}
    assert result.draws == 6
    assert result.losses == {"strong": 0, "weak": 6, "strong#2": 0}
    assert sum(result.score.values()) == pytest.approx(1)


def test_a_cut_game_is_unfinished_and_settled_on_points():
    result = arena.evaluate(Tally(), [High(), Low()], games=4, max_plies=1)
    assert result.unfinished == 4
    # After one ply only the opener has picked: high leads, low draws with somebody who has not moved.
    assert result.by_seat["strong"][0].score == 1.0
    assert result.by_seat["strong"][1].score == 0.5
    assert result.mean_length == 1


def test_same_seed_same_games_and_other_seeds_other_games():
    def run(seed):
        return arena.evaluate(Dice(), [High(slip=0.3), Low()], games=40, seed=seed, batch=16).records

    first, again, other = run(1), run(1), run(2)
    for name in ("seats", "shares", "plies", "starter", "unfinished"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert (first.plies != other.plies).any()


def test_mirrored_games_share_start_opening_and_dice():
    env = Dice(starter="random", players=3)
    same = High()
    result = arena.evaluate(env, [same, same], games=30, opening_plies=3, mirrored=True, batch=7).records
    # With one policy in all seats, the three games of a start are one game.
    for start in range(10):
        rows = result.starts == start
        assert rows.sum() == 3
        for array in (result.shares, result.plies, result.starter):
            assert (array[rows] == array[rows][0]).all()
    assert len({tuple(row) for row in result.shares}) > 1
    free = arena.evaluate(env, [same, same], games=30, opening_plies=3, batch=7).records
    assert any((free.shares[i] != free.shares[i + 1]).any() for i in range(0, 30, 3))


def test_opening_plies_are_random_and_not_the_agents_decisions():
    result = arena.evaluate(Tally(goal=99), [Low(), Low()], games=64, opening_plies=4)
    assert result.records.decisions == 64 * 8
    assert result.mean_length == 12
    scores = {tuple(row) for row in result.records.shares}
    assert scores == {(1, 0), (0, 1), (0.5, 0.5)}


def test_a_game_may_end_within_the_opening():
    result = arena.evaluate(Tally(goal=1), [High(), High()], games=32, opening_plies=50)
    assert result.records.decisions == 0
    assert (result.records.shares.max(axis=1) == 1).all()


def test_a_random_starter_is_recorded():
    result = arena.evaluate(Tally(starter="random", goal=1), [High(), High()], games=32).records
    assert set(result.starter.tolist()) == {0, 1}
    assert (result.shares[np.arange(32), result.starter] == 1).all()  # who begins wins


def test_an_illegal_action_is_an_error_that_names_its_agent():
    with pytest.raises(ValueError, match=r"agent 'cheat' played the illegal action 2 \(\+2\)"):
        arena.evaluate(Tally(), [High(), Cheat()], games=4)

    def outside(observation, action_mask):
        return np.full(len(action_mask), 3)

    with pytest.raises(ValueError, match="agent 'outside' played the illegal action 3"):
        arena.evaluate(Tally(), [High(), agents.from_callable(outside)], games=4)


def test_a_policy_of_another_framework_plays_as_the_same_policy_in_jax():
    shapes = set()

    def numpy_high(observation, action_mask):
        shapes.add((observation.dtype.name, observation.shape[1:], action_mask.dtype.name))
        return np.where(action_mask[:, 2], 2, 1)

    mine = agents.from_callable(numpy_high)
    slips = High(slip=0.4)
    for players in (2, 3):
        env = Dice(players=players)
        hosted = arena.evaluate(env, [mine, slips], games=30, seed=5, batch=8).records
        inside = arena.evaluate(env, [High(), slips], games=30, seed=5, batch=8).records
        np.testing.assert_array_equal(hosted.shares, inside.shares)
        np.testing.assert_array_equal(hosted.plies, inside.plies)
    assert shapes == {("float32", (3,), "bool"), ("float32", (4,), "bool")}


def test_texts_stand_for_agents():
    result = arena.evaluate("tally-v0", ["strong:slip=1.0", "weak"], games=4)
    assert result.agents == ("strong:slip=1.0", "weak")
    assert result.draws == 4


def test_an_agent_that_only_acts():
    class Bare:
        name = "bare"

        def act(self, state, key):
            return jax.numpy.int32(1)

    result = arena.evaluate(Tally(), [Bare(), Low()], games=4)
    assert result.wins["bare"] == 4


def test_progress_moves():
    seen = []
    arena.evaluate(Tally(), [High(), Low()], games=20, batch=4, progress=seen.append)
    assert len(seen) > 5
    assert [p.finished for p in seen] == sorted(p.finished for p in seen)
    assert (seen[-1].finished, seen[-1].games) == (20, 20)


def test_bad_arguments():
    two = [Low(), Low()]
    for arguments, message in (
        ({"games": 0}, "games must be"),
        ({"games": 4, "opening_plies": -1}, "opening_plies must be"),
        ({"games": 4, "max_plies": 0}, "max_plies must be"),
        ({"games": 4, "batch": 0}, "batch must be"),
        ({"games": 4, "seed": -1}, "seed must be"),
        ({"games": 4, "seed": 2**63}, "seed must be"),
        ({"games": 10**11}, "games must be a whole number from 1 to 10000000"),
    ):
        with pytest.raises(ValueError, match=message):
            arena.evaluate(Tally(), two, **arguments)
    with pytest.raises(ValueError, match="needs two agents, not 1"):
        arena.evaluate(Tally(), [Low()], games=2)
    with pytest.raises(ValueError, match="two agents, or one for each of the 4 seats"):
        arena.evaluate(Tally(players=4), [Low()] * 3, games=2)
    with pytest.raises(ValueError, match="unknown agent 'nobody'"):
        arena.evaluate(Tally(), ["nobody", "weak"], games=2)
    with pytest.raises(ValueError, match="no setting 'depth': its settings are slip"):
        arena.evaluate(Tally(), ["strong:depth=2", "weak"], games=2)
    with pytest.raises(ValueError, match="agent 'strong' plays colony-v0, not tally-v0"):
        arena.evaluate(Tally(), [agents.make_agent("colony-v0", "strong"), "weak"], games=2)
    with pytest.raises(TypeError, match="5 is no agent: use a level, an object with name and act"):
        arena.evaluate(Tally(), [5, "weak"], games=2)


def test_shares_are_exact_in_spite_of_float32():
    for players in range(2, 9):
        for winners in range(1, players + 1):
            share = np.where(np.arange(players) < winners, 1 / winners, 0)
            reward = ((share * players - 1) / (players - 1)).astype(np.float32)
            again = (reward * np.float32(players - 1) + 1) / np.float32(players)
            np.testing.assert_array_equal(exact(again.astype(np.float64)), share)
    np.testing.assert_array_equal(exact(np.array([0.3, 0.7])), [0.3, 0.7])
