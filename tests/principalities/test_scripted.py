"""The scripted levels: always legal, each in its manner, Strong's arithmetic against plain Python, and the ladder."""

import collections
import functools
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import audamir_envs
from audamir_envs.principalities import dice, ladder, rules, standing
from audamir_envs.principalities.scripted import AGENTS

TILES = 8
#  0 - 1 - 2 - 3
#  |   | \ |   |
#  4 - 5 - 6 - 7
NEIGHBOURS = [[1, 4], [0, 2, 5, 6], [1, 3, 6], [2, 7], [0, 5], [1, 4, 6], [1, 2, 5, 7], [3, 6]]
END = TILES * TILES


@functools.cache
def environment(players=3):
    return audamir_envs.make("principalities-v0", players=players, map=NEIGHBOURS)


def position(owner, counts, players=3, **fields):
    text = {"neighbours": NEIGHBOURS, "owner": owner, "dice": counts, "reserve": [0] * players, "to_move": 0, **fields}
    return environment(players).from_text(json.dumps(text))


@functools.cache
def chooser(name):
    agent = AGENTS[name]()
    return jax.jit(jax.vmap(agent.act, in_axes=(None, 0)))


def choices(name, state, count=400):
    """How often each action is taken."""
    actions = np.asarray(chooser(name)(state, jax.random.split(jax.random.key(0), count)))
    return collections.Counter(actions.tolist())


def attack(source, target):
    return source * TILES + target


def test_agents_are_legal():
    """In games of four, the vote included."""
    env = audamir_envs.make("principalities-v0", players=4, map=NEIGHBOURS)
    agents = [AGENTS[name]() for name in ("weak", "normal", "strong")]
    lanes = 24

    @jax.jit
    def play(key):
        def one(states, key):
            keys = jax.random.split(key, len(agents) + 2)
            actions = [agent.act_batch(states, k) for agent, k in zip(agents, keys[2:], strict=True)]
            chosen = jnp.stack(actions)
            legal = jnp.take_along_axis(states.legal_action_mask, chosen.T, axis=1)
            who = jnp.arange(lanes, dtype=jnp.int32) % len(agents)
            stepped = jax.vmap(env.step)(states, chosen[who, jnp.arange(lanes)], jax.random.split(keys[0], lanes))
            voting = jax.vmap(rules.voting)(states.game)
            return stepped, (legal, voting, states.terminated | states.truncated)

        states = jax.vmap(env.init)(jax.random.split(key, lanes))
        # A third of the games begins on the brink of a vote.
        brink = jnp.where(jnp.arange(lanes) < lanes // 3, jnp.int32(4 * 4 - 1), jnp.int32(0))
        game = states.game.replace(
            quiet_turns=brink, dice=jnp.where((brink > 0)[:, None], jnp.int8(1), states.game.dice)
        )
        states = jax.vmap(env.state_of)(game)
        return jax.lax.scan(one, states, jax.random.split(key, 150))

    last, (legal, voting, over) = play(jax.random.key(1))
    assert legal.all()
    assert voting.any()
    assert not last.illegal.any()
    assert over[-1].mean() > 0.5


@pytest.mark.parametrize("name", ["weak", "normal", "strong"])
def test_vote_is_accepted(name):
    state = position([0, 0, 1, 1, 1, 2, 2, 2], [2] * 8, offered=True, quiet_turns=12)
    assert bool(rules.voting(state.game))
    assert set(choices(name, state, 20)) == {END + 1}


@pytest.mark.parametrize("name", ["weak", "normal", "strong"])
def test_nothing_to_attack_with(name):
    state = position([0, 0, 1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 2, 2, 2, 2])
    assert set(choices(name, state, 20)) == {END}


def test_weak():
    #         0  1  2  3
    #         4  5  6  7
    owner = [0, 0, 1, 1, 1, 2, 2, 1]
    state = position(owner, [2, 4, 5, 8, 3, 6, 4, 1])
    count = choices("weak", state, 2000)
    assert set(count) == {attack(0, 4), attack(1, 2), attack(1, 6), END}
    assert count[END] / 2000 == pytest.approx(0.2, abs=4.5 * (0.2 * 0.8 / 2000) ** 0.5)
    for action in (attack(0, 4), attack(1, 2), attack(1, 6)):
        assert count[action] / 2000 == pytest.approx(0.8 / 3, abs=4.5 * (0.27 * 0.73 / 2000) ** 0.5)


def test_normal_attacks_what_is_not_stronger():
    owner = [0, 0, 1, 1, 1, 2, 2, 2]
    # 12 dice against 12 against 11: nobody has 40 %, seat 0 is the first of two leaders.
    state = position(owner, [6, 6, 5, 4, 3, 6, 4, 1])
    assert set(choices("normal", state)) == {attack(0, 4), attack(1, 2), attack(1, 5), attack(1, 6)}


def test_normal_hesitates_between_equals_that_do_not_lead():
    # 11 dice against 12 against 13: only seat 2 leads. One equal attack on seat 1, one on seat 2.
    state = position([0, 0, 1, 1, 1, 2, 2, 2], [5, 6, 6, 1, 5, 6, 6, 1])
    count = choices("normal", state, 4000)
    equal_led = [attack(1, 5), attack(1, 6)]
    equal = [attack(0, 4), attack(1, 2)]
    assert set(count) == {*equal_led, *equal}, "attacks on the leader are always there"
    # The other two are each missing one time in ten (26 in 256), so they are taken less often.
    miss = 26 / 256
    both, one = (1 - miss) ** 2, miss * (1 - miss)
    expected = both / 4 + one / 3
    for action in equal:
        assert count[action] / 4000 == pytest.approx(expected, abs=4.5 * (expected * (1 - expected) / 4000) ** 0.5)
    alone = position([0, 0, 1, 1, 1, 2, 2, 2], [5, 1, 1, 1, 5, 3, 3, 2])
    assert choices("normal", alone, 4000)[END] / 4000 == pytest.approx(miss, abs=4.5 * (0.09 / 4000) ** 0.5)


def test_normal_gangs_up_on_a_leader():
    # Seat 2 has 20 of 40 dice.
    state = position([0, 0, 1, 1, 1, 2, 2, 2], [4, 8, 2, 3, 3, 8, 4, 8])
    assert set(choices("normal", state)) == {attack(1, 5), attack(1, 6)}
    # Seat 0 itself has more than 40 %: it fights with everybody.
    state = position([0, 0, 1, 1, 1, 2, 2, 2], [8, 8, 2, 3, 3, 4, 4, 1])
    assert set(choices("normal", state)) == {attack(0, 4), attack(1, 2), attack(1, 5), attack(1, 6)}


def test_alliances_and_caution_end_after_round_100():
    state = position([0, 0, 1, 1, 1, 2, 2, 2], [4, 8, 2, 3, 3, 8, 4, 8])

    def at(round_):
        return state.replace(game=state.game.replace(round=jnp.full_like(state.game.round, round_)))

    assert set(choices("normal", at(100))) == {attack(1, 5), attack(1, 6)}
    assert set(choices("normal", at(101))) == {attack(0, 4), attack(1, 2), attack(1, 6)}
    # A fight of equals: seat 0 does not lead, then it does.
    state = position([0, 0, 1, 1, 1, 2, 2, 2], [8, 4, 4, 3, 3, 8, 8, 8])
    assert attack(1, 2) not in choices("normal", at(101))
    state = position([0, 0, 1, 1, 1, 2, 2, 2], [8, 4, 4, 3, 3, 1, 2, 1])
    assert attack(1, 2) in choices("normal", at(101))
    # Walls of full tiles: an attack costs Strong more than it may, until the game has gone on for long.
    wall = position([0, 0, 0, 0, 1, 1, 1, 1], [8] * 8)
    state = wall
    assert set(choices("strong", at(1))) == {END}
    assert END not in choices("strong", at(400))


def test_strong_takes_the_win_and_stops_when_nothing_is_worth_it():
    winning = position([0, 0, 0, 0, 0, 0, 0, 1], [1, 1, 1, 2, 1, 1, 8, 2], players=2)
    assert set(choices("strong", winning, 20)) == {attack(6, 7)}
    hopeless = position([0, 0, 1, 1, 1, 1, 1, 1], [2, 2, 8, 8, 8, 8, 8, 8], players=2)
    assert set(choices("strong", hopeless, 20)) == {END}


def test_strong_joins_its_groups():
    """Of two targets alike it takes the one that connects its tiles."""
    owner, counts = [0, 1, 0, 0, 1, 1, 1, 0], [8, 2, 3, 3, 2, 5, 5, 5]
    state = position(owner, counts, players=2)
    assert set(choices("strong", state, 20)) == {attack(0, 1)}


# Strong's arithmetic, written again.


def group_sizes(owner):
    sizes = []
    for tile in range(TILES):
        seen, stack = {tile}, [tile]
        while stack:
            for other in NEIGHBOURS[stack.pop()]:
                if owner[other] == owner[tile] and other not in seen:
                    seen.add(other)
                    stack.append(other)
        sizes.append(len(seen))
    return sizes


def odds(a, d):
    return float(dice.odds()[a, d])


def features(owner, counts, reserve, me, players):
    sizes = group_sizes(owner)
    largest = [max((sizes[t] for t in range(TILES) if owner[t] == seat), default=0) for seat in range(players)]
    mine = [t for t in range(TILES) if owner[t] == me]
    open_ = [t for t in mine if counts[t] < 8]
    coming = largest[me] + reserve[me]
    placed = min(coming, sum(8 - counts[t] for t in mine))
    grown = {t: min(8, counts[t] + (placed / len(open_) if open_ else 0)) for t in mine}
    risk, border = 0.0, 0.0
    for t in mine:
        foes = [counts[o] for o in NEIGHBOURS[t] if owner[o] != me]
        if foes:
            border += grown[t]
            strongest = max(foes)
            low = math.floor(grown[t])
            if strongest > 1:
                part = grown[t] - low
                risk += ((1 - part) * odds(strongest, low) + part * odds(strongest, min(low + 1, 8))) ** 2
    others = [seat for seat in range(players) if seat != me]
    own = sum(grown.values())
    theirs = [sum(counts[t] for t in range(TILES) if owner[t] == seat) for seat in others]
    return [
        1,
        own / (own + sum(theirs)),
        own / (8 * TILES),
        (own / (8 * TILES)) ** 2,
        max(theirs) / (8 * TILES),
        largest[me] / TILES,
        max(largest[seat] for seat in others) / TILES,
        len(mine) / TILES,
        border / (8 * TILES),
        risk / TILES,
        (coming - placed) / 64,
        max(reserve[seat] for seat in others) / 64,
    ]


def chance(owner, counts, reserve, me, players, weights):
    if set(owner) == {me}:
        return 1.0
    x = sum(w * f for w, f in zip(weights, features(owner, counts, reserve, me, players), strict=True))
    return 1 / (1 + math.exp(-x))


def test_attack_values_by_hand():
    rng = np.random.default_rng(0)
    values = jax.jit(standing.attack_values)
    checked = 0
    for players in (2, 3):
        for _ in range(25):
            owner = rng.integers(0, players, TILES).tolist()
            if rng.random() < 0.2:
                owner = [0] * (TILES - 1) + [1]
            counts = rng.integers(1, 9, TILES).tolist()
            reserve = rng.choice([0, 0, 5, 40], players).tolist()
            me = int(rng.choice(owner))
            living = len(set(owner))
            if living == 1:
                continue
            state = position(owner, counts, players, reserve=reserve, to_move=me)
            attacks = [
                (i, j)
                for i in range(TILES)
                for j in NEIGHBOURS[i]
                if owner[i] == me != owner[j] and counts[i] > 1
            ]  # fmt: skip
            actions = np.zeros(12, np.int32)
            actions[: len(attacks)] = [i * TILES + j for i, j in attacks][:12]
            found, stop = values(state.game, jnp.asarray(actions))
            weights = standing._WEIGHTS[int(living > 2)].tolist()
            assert float(stop) == pytest.approx(chance(owner, counts, reserve, me, players, weights), abs=1e-5)
            for n, (i, j) in enumerate(attacks[:12]):
                lost = [*counts[:i], 1, *counts[i + 1 :]]
                moved, taken = lost.copy(), owner.copy()
                moved[j], taken[j] = counts[i] - 1, me
                p = odds(counts[i], counts[j])
                win = chance(taken, moved, reserve, me, players, weights)
                expected = p * win + (1 - p) * chance(owner, lost, reserve, me, players, weights)
                assert float(found[n]) == pytest.approx(expected, abs=1e-5)
                checked += 1
    assert checked > 100


@pytest.mark.slow
def test_ladder_of_few_games(capsys):
    record = ladder.duel(AGENTS["normal"](), AGENTS["weak"](), groups=40, lanes=40)
    mean, half = record.score()
    assert mean - half > 0.65
    assert 0 < half < 0.12
    assert record.starts.sum(1).tolist() == [1] * 40
    assert not record.cut.any()
    assert (record.rounds <= 500).all()
    assert (record.decisions >= record.rounds).all()
    assert "of 80 games" in record.line()
    with pytest.raises(SystemExit):
        ladder.main(["--pairings", "normal:best"])
    assert "no pairing" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "players", "least"),
    [("normal", "weak", 2, 0.65), ("strong", "normal", 2, 0.58), ("strong", "normal", 4, 0.42)],
)
def test_ladder(first, second, players, least):
    record = ladder.duel(AGENTS[first](), AGENTS[second](), players=players, groups=1000 // players)
    assert record.score()[0] >= least
    assert (record.cut | record.on_points).mean() < 0.01
