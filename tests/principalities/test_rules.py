"""Hand-made positions, one for each corner of the rules."""

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from principalities.positions import environment, position

from audamir_envs.principalities import bits, rules

END = 5 * 5  # of the maps of five tiles
ACCEPT, DECLINE = END + 1, END + 2


@functools.cache
def five(players: int = 3, **options):
    """The environment of five tiles in a line, unless a position says otherwise."""
    return environment(players, [[1], [0, 2], [1, 3], [2, 4], [3]], **options)


@functools.cache
def jitted(name: str):
    """A method's program, one for all options, since those are in the position."""
    return jax.jit(getattr(five(), name), compiler_options={"xla_backend_optimization_level": 0})


def read(p: dict, **options):
    """The state of a position; options are fields of the position."""
    state = five().from_text(json.dumps(p))
    changed = {name: jnp.asarray(value, getattr(state.game, name).dtype) for name, value in options.items()}
    return jitted("state_of")(state.game.replace(**changed)) if changed else state


def score(state) -> list[int]:
    return jitted("info")(state)["score"].tolist()


def act(state, *actions, seed: int = 0):
    for n, action in enumerate(actions):
        number = five().text_to_action(action)
        assert state.legal_action_mask[number]
        state = jitted("step")(state, jnp.int32(number), jax.random.key(100 * seed + n))
        assert not state.illegal
    return state


def test_a_won_attack_moves_all_dice_but_one():
    state = read(position([0, 1, 1, 2, 2], [8, 1, 4, 2, 2], 3))
    after = act(state, "0>1")
    assert after.game.owner.tolist() == [0, 0, 1, 2, 2]
    assert after.game.dice.tolist() == [1, 7, 4, 2, 2]
    assert after.game.group.tolist() == [2, 2, 1, 2, 2]
    assert int(after.current_player) == 0
    assert after.rewards.tolist() == [0, 0, 0]


def test_a_lost_attack_costs_the_attacker_alone():
    state = read(position([0, 1, 1, 2, 2], [2, 8, 4, 2, 2], 3))
    after = act(state, "0>1")
    assert after.game.owner.tolist() == [0, 1, 1, 2, 2]
    assert after.game.dice.tolist() == [1, 8, 4, 2, 2]
    assert after.legal_action_mask.nonzero()[0].tolist() == [END]


def test_legal_actions_leave_out_single_dice_own_tiles_and_strangers():
    near = [[1, 2, 3, 4], [0, 2], [0, 1], [0], [0]]
    state = read(position([0, 0, 1, 2, 2], [1, 3, 2, 8, 8], 3, neighbours=near))
    assert state.legal_action_mask.nonzero()[0].tolist() == [1 * 5 + 2, END]


def test_the_end_of_a_turn_brings_the_largest_group_and_the_reserve():
    state = read(position([0, 0, 1, 0, 2], [1, 1, 1, 1, 8], 3, reserve=[3, 9, 0]))
    after = act(state, "end")
    assert after.game.dice.sum() == state.game.dice.sum() + 2 + 3
    assert after.game.dice[jnp.asarray([2, 4])].tolist() == [1, 8]
    assert after.game.reserve.tolist() == [0, 9, 0]
    assert (int(after.current_player), int(after.game.round)) == (1, 1)


def test_what_does_not_fit_waits_in_the_reserve_up_to_the_cap():
    # Two own tiles take one die more; 2 + 62 fall, so 63 are left over: below the cap.
    p = position([0, 0, 1, 1, 2], [8, 7, 1, 1, 1], 3, reserve=[62, 0, 0])
    assert act(read(p), "end").game.reserve.tolist() == [63, 0, 0]
    # 2 + 64 fall, one finds room, 65 are left over: the cap holds.
    after = act(read(p | {"reserve": [64, 0, 0]}), "end")
    assert after.game.reserve.tolist() == [64, 0, 0]
    assert after.game.dice.tolist() == [8, 8, 1, 1, 1]
    # The cap holds for what is left over, not for what falls: of 64 + 2 dice 14 find room.
    after = act(read(p | {"dice": [1, 1, 8, 8, 8], "reserve": [64, 0, 0]}), "end")
    assert after.game.dice.tolist() == [8, 8, 8, 8, 8]
    assert after.game.reserve.tolist() == [52, 0, 0]
    # Full at both ends: nothing falls, the reserve stays at its cap.
    after = act(read(p | {"dice": [8] * 5, "reserve": [64, 0, 0]}), "end")
    assert after.game.reserve.tolist() == [64, 0, 0]
    assert after.game.dice.tolist() == [8] * 5


def test_a_player_killed_while_next_to_move_is_skipped():
    p = position([0, 1, 2, 2, 2], [8, 1, 2, 2, 2], 3, reserve=[0, 40, 0], start_seat=1)
    state = act(read(p), "0>1")
    assert not state.terminated
    assert five().alive(state).tolist() == [True, False, True]
    after = act(state, "end")
    # Seat 1, which had started, is out: play passes it, so the second round begins. Its reserve stays as it was.
    assert (int(after.current_player), int(after.game.round)) == (2, 2)
    assert after.game.reserve.tolist() == [0, 40, 0]
    later = act(after, "end")
    assert (int(later.current_player), int(later.game.round)) == (0, 2)


def test_the_last_capture_ends_the_game_at_once():
    state = read(position([0, 0, 0, 0, 1], [1, 1, 1, 8, 1], 3, round=7))
    after = act(state, "3>4")
    assert after.terminated
    assert not after.truncated
    np.testing.assert_allclose(after.rewards, [1, -0.5, -0.5])
    assert after.legal_action_mask.all()
    # 89 for three players, and a quick victory: 25 % of 23/30 more.
    assert score(after) == [round(89 * (1 + 0.25 * 23 / 30)), 0, 0]


def test_rounds_rise_where_play_reaches_the_seat_that_started():
    state = read(position([0, 0, 1, 1, 2], [1] * 5, 3, to_move=1))
    rounds = []
    for _ in range(7):
        state = act(state, "end")
        rounds.append((int(state.current_player), int(state.game.round)))
    assert rounds == [(2, 1), (0, 1), (1, 2), (2, 2), (0, 2), (1, 3), (2, 3)]


def test_quiet_turns_count_only_turns_without_an_attack():
    state = read(position([0, 0, 1, 1, 2], [1, 2, 8, 8, 8], 3, quiet_turns=10))
    assert int(act(state, "end").game.quiet_turns) == 11
    fought = act(state, "1>2")
    assert int(fought.game.quiet_turns) == 0
    ended = act(fought, "end")
    assert int(ended.game.quiet_turns) == 0
    assert int(act(ended, "end").game.quiet_turns) == 1
    assert not ended.game.offered


QUIET = {"quiet_turns": 11, "to_move": 1, "start_seat": 0}


def test_after_four_quiet_rounds_everybody_is_asked_from_the_player_to_move_on():
    state = act(read(position([0, 0, 0, 1, 2], [2] * 5, 3) | QUIET), "end")
    asked = []
    for _ in range(3):
        assert state.legal_action_mask.nonzero()[0].tolist() == [ACCEPT, DECLINE]
        asked.append(int(state.current_player))
        state = act(state, "accept")
    assert asked == [2, 0, 1]
    assert state.terminated
    np.testing.assert_allclose(state.rewards, [1, -0.5, -0.5])
    # On points 0.6 of 89, in round 1: 25 % of 29/30 more.
    assert score(state) == [round(89 * 0.6 * (1 + 0.25 * 29 / 30)), 0, 0]


def test_one_turn_fewer_brings_no_offer():
    p = position([0, 0, 0, 1, 2], [2] * 5, 3) | QUIET
    assert not act(read(p | {"quiet_turns": 10}), "end").game.offered
    # With two living players eight turns are four rounds.
    two = p | {"owner": [0, 0, 0, 1, 1], "quiet_turns": 7}
    assert act(read(two), "end").game.offered
    assert not act(read(two | {"quiet_turns": 6}), "end").game.offered


@pytest.mark.parametrize("acceptances", [0, 1, 2])
def test_one_refusal_lets_play_go_on_for_good(acceptances):
    state = act(read(position([0, 0, 0, 1, 2], [2] * 5, 3) | QUIET), "end", *["accept"] * acceptances, "decline")
    assert not state.terminated
    assert int(state.current_player) == 2
    assert state.legal_action_mask[END]
    assert not state.legal_action_mask[ACCEPT]
    for _ in range(30):  # the offer comes once a game
        state = act(state, "end")
        assert state.legal_action_mask[END]


def test_the_dead_are_not_asked():
    state = act(read(position([0, 0, 0, 2, 2], [2] * 5, 3, to_move=0, quiet_turns=7)), "end")
    assert int(state.current_player) == 2
    state = act(state, "accept")
    assert int(state.current_player) == 0
    state = act(state, "accept")
    assert state.terminated
    np.testing.assert_allclose(state.rewards, [1, -0.5, -0.5])


def test_without_the_option_nobody_is_asked():
    state = read(position([0, 0, 0, 1, 2], [2] * 5, 3) | QUIET, points_offer=False)
    for _ in range(20):
        state = act(state, "end")
        assert not state.game.offered


def test_equal_points_are_shared_and_dice_decide_between_equal_tiles():
    pending = {"offered": True, "to_move": 1, "start_seat": 0, "votes": [True, None, True]}
    drawn = act(read(position([0, 0, 1, 1, 2], [2, 3, 1, 4, 8], 3, reserve=[9, 0, 0]) | pending), "accept")
    np.testing.assert_allclose(drawn.rewards, [0.25, 0.25, -0.5])
    assert score(drawn) == [0, 0, 0]
    more = act(read(position([0, 0, 1, 1, 2], [2, 3, 2, 4, 8], 3, reserve=[9, 0, 0]) | pending), "accept")
    np.testing.assert_allclose(more.rewards, [-0.5, 1, -0.5])
    everybody = act(read(position([0, 1, 2, 2, 2], [2, 2, 8, 8, 8], 3) | pending), "accept")
    np.testing.assert_allclose(everybody.rewards, [-0.5, -0.5, 1])


def test_the_round_limit_truncates_and_settles_on_points():
    state = read(position([0, 0, 1, 1, 2], [2] * 5, 3, round=3, to_move=1), max_rounds=3)
    for seat in (1, 2, 0):
        assert not state.truncated
        assert int(state.current_player) == seat
        state = act(state, "end")
    assert state.truncated
    assert not state.terminated
    # Seats 0 and 1 gained two dice each, and all found room.
    np.testing.assert_allclose(state.rewards, [0.25, 0.25, -0.5])
    assert state.legal_action_mask.all()


def test_a_conquest_in_the_last_round_is_a_conquest():
    state = read(position([0, 0, 0, 0, 1], [1, 1, 1, 8, 1], 3, round=3), max_rounds=3)
    after = act(state, "3>4")
    assert after.terminated
    assert not after.truncated


def test_the_limit_comes_before_an_offer_of_the_same_moment():
    p = position([0, 0, 0, 1, 2], [2] * 5, 3, to_move=2, start_seat=0, quiet_turns=11, round=3)
    after = act(read(p, max_rounds=3), "end")
    assert after.truncated
    # 89 x 0.6, and the quick victory is reckoned by the three rounds that were played.
    assert score(after) == [round(89 * 0.6 * (1 + 0.25 * 27 / 30)), 0, 0]
    assert int(jitted("info")(after)["round"]) == 3


@pytest.mark.parametrize("players", range(2, 9))
def test_scores_by_players_hints_and_rounds(players):
    base = {2: 79, 3: 89, 4: 93, 5: 97, 6: 99, 7: 101, 8: 103}[players]
    scores = jax.jit(rules.score)
    seats = {"reserve": jnp.zeros(players, jnp.int32), "votes": jnp.zeros(players, jnp.int8)}
    won = read(position([0] * 5, [3] * 5, 3)).game.replace(**seats)
    for rounds, hints in ((1, False), (10, False), (29, True), (30, True), (31, False), (400, True)):
        exact = base * (0.75 if hints else 1) * (1 + 0.25 * max(0, 1 - rounds / 30))
        now = won.replace(hints=jnp.asarray(hints), round=jnp.int32(rounds))
        assert scores(now).tolist() == [int(exact + 0.5 + 1e-9)] + [0] * (players - 1)
    unfinished = won.replace(owner=jnp.asarray([0, 0, 0, 0, 1], jnp.int8))
    assert scores(unfinished).tolist() == [0] * players


def test_hints_show_the_exact_odds_and_only_hints_do():
    p = position([0, 1, 1, 2, 2], [3, 3, 4, 2, 2], 3)
    odds = jax.jit(five(hints=True).info)(read(p, hints=True))["odds"]
    assert odds.shape == (five().num_actions,)
    assert odds.nonzero()[0].tolist() == [1]
    assert float(odds[1]) == pytest.approx(0.4536, abs=5e-5)
    assert "odds" not in jitted("info")(read(p))


def test_illegal_actions_end_the_game():
    env, step = five(), jitted("step")
    state = read(position([0, 1, 1, 2, 2], [3, 3, 4, 2, 2], 3))
    for action in (0, 2, 5 * 1 + 0, ACCEPT, DECLINE, -1, env.num_actions):
        after = step(state, jnp.int32(action), jax.random.key(0))
        assert after.illegal
        assert after.terminated
        np.testing.assert_allclose(after.rewards, [-1, 0.5, 0.5])
        assert score(after) == [0, 0, 0]
    voting = read(position([0, 1, 1, 2, 2], [3, 3, 4, 2, 2], 3, offered=True))
    for action in (1, END):
        assert step(voting, jnp.int32(action), jax.random.key(0)).illegal


def test_the_bound_on_actions_is_the_documented_one():
    assert rules.most_actions(2, 2, 1) == 2 * 2 + 7 * 2 + 64 * 2 + 2
    assert rules.most_actions(4, 32, 500) == 500 * 4 * 30 + 7 * 32 + 64 * 4 + 4


def test_group_sizes_on_more_than_32_tiles():
    random = np.random.default_rng(0)
    tiles = 70
    touch = np.triu(random.random((tiles, tiles)) < 0.04, 1)
    touch |= touch.T
    owner = random.integers(0, 3, tiles)
    sizes = jax.jit(lambda n, o: rules.group_sizes(bits.pack(n), o, 3))(touch, owner.astype(np.int8))
    reach = touch & (owner[:, None] == owner) | np.eye(tiles, dtype=bool)
    for _ in range(tiles):
        reach = reach @ reach
    assert sizes.tolist() == reach.sum(axis=1).tolist()
    assert sizes.max() > 4


@pytest.mark.parametrize("tiles", [2, 5, 32, 36, 64, 70])
def test_sets_of_tiles_survive_packing_and_flattening(tiles):
    table = np.random.default_rng(tiles).random((tiles, tiles)) < 0.5

    @jax.jit
    def there_and_back(table):
        packed = bits.pack(table)
        return packed, bits.unpack(packed, tiles), bits.flatten(packed)

    packed, unpacked, flat = there_and_back(table)
    assert packed.shape == (-(-tiles // 32), tiles)
    assert int(packed[0, 0]) == sum(1 << n for n in range(min(32, tiles)) if table[0, n])
    np.testing.assert_array_equal(unpacked, table)
    np.testing.assert_array_equal(flat, table.reshape(-1))
