"""Random play and random positions for 2 to 8 players: every field of every state against the referee."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from principalities.positions import environment, random_position, states
from principalities.referee import Referee

from audamir_envs.sampling import sample_legal

LANES, STEPS = 96, 12


def rules_of(players: int) -> dict:
    """The referee's options, differing by players so that all come up."""
    return {
        "max_rounds": {2: 300, 8: 1020}.get(players, 500),
        "points_offer": players != 2,
        "hints": players % 2 == 1,
    }


def check_state(state, referee: Referee, over: bool) -> None:
    """state: of NumPy arrays; over: whether the referee saw the game end, for what happened is what counts."""
    game, p = state.game, referee.p
    assert game.owner.tolist() == p["owner"]
    assert game.dice.tolist() == p["dice"]
    assert game.reserve.tolist() == p["reserve"]
    assert game.group.tolist() == referee.group_sizes()
    assert state.current_player == p["to_move"]
    facts = (game.round, game.start_seat, game.quiet_turns, game.attacked, game.offered)
    assert facts == (p["round"], p["start_seat"], p["quiet_turns"], p["attacked"], p["offered"])
    assert (state.terminated or state.truncated) == over
    assert set(np.flatnonzero(state.legal_action_mask)) == (
        set(range(referee.tiles**2 + 3)) if over else referee.legal()
    )
    if over:
        assert bool(state.truncated) == (referee.ending() == "limit")
        assert not state.terminated or referee.ending() in ("conquest", "vote")
    np.testing.assert_array_equal(state.observation, referee.observation(p["to_move"]))


def follow(state, action: int, after, referee: Referee) -> None:
    """The referee does what the action and the dice that can be seen in the state after it say."""
    tiles = referee.tiles
    if action < tiles * tiles:
        source, target = divmod(action, tiles)
        referee.attack(source, target, won=after.game.owner[target] == referee.p["owner"][source])
    elif action == tiles * tiles:
        fell = after.game.dice.astype(int) - state.game.dice
        assert (fell >= 0).all()
        referee.end(np.repeat(np.arange(tiles), fell).tolist())
    else:
        referee.vote(accept=action == tiles * tiles + 1)


def run(players: int, seed: int, lanes: int, steps: int, cheap: bool) -> tuple[int, set[str]]:
    """(transitions checked, the endings that came up); cheap: compile with little effort, which takes less in all."""
    options = rules_of(players)
    env = environment(players, **options | {"points_offer": "vote" if options["points_offer"] else "never"})
    random = np.random.default_rng(seed)
    neighbours = [np.flatnonzero(row).tolist() for row in np.asarray(env.new_map(jax.random.key(0)).neighbours)]
    positions = [random_position(random, players, neighbours, options["max_rounds"]) for _ in range(lanes)]
    if not options["points_offer"]:
        positions = [p | {"offered": False, "votes": [None] * players} for p in positions]

    def one(state, key):
        choose_key, coin_key, step_key = jax.random.split(key, 3)
        # Random play would hardly ever end a turn: do so in one of three.
        end = env.tiles**2
        ends = (jax.random.bits(coin_key, (), jnp.uint32) % jnp.uint32(3) == 0) & state.legal_action_mask[end]
        action = jnp.where(ends, jnp.int32(end), sample_legal(choose_key, state))
        after = env.step(state, action, step_key)
        return after, (action, after, env.info(after)["score"])

    batch = states(env, positions)
    effort = {"xla_backend_optimization_level": 0} if cheap else None
    play = jax.jit(jax.vmap(lambda s, k: jax.lax.scan(one, s, jax.random.split(k, steps))[1]), compiler_options=effort)
    batch, history = jax.device_get((batch, play(batch, jax.random.split(jax.random.key(seed), lanes))))
    checked, endings = 0, set()
    for lane in range(lanes):
        state = jax.tree.map(lambda leaf, lane=lane: leaf[lane], batch)
        referee = Referee(positions[lane], **rules_of(players))
        check_state(state, referee, over=referee.ending() is not None)
        for t in range(steps):
            if referee.ending():
                break
            action, after, score = jax.tree.map(lambda leaf, lane=lane, t=t: leaf[lane, t], history)
            follow(state, int(action), after, referee)
            ending = referee.ending()
            check_state(after, referee, over=ending is not None)
            assert score.tolist() == referee.scores()
            np.testing.assert_allclose(after.rewards, referee.rewards() if ending else [0] * players, atol=1e-6)
            endings.add(ending)
            state, checked = after, checked + 1
    return checked, endings - {None}


@pytest.mark.parametrize("players", [2, 5, 8])
def test_transitions_agree_with_the_referee(players):
    checked, endings = run(players, seed=players, lanes=LANES, steps=STEPS, cheap=True)
    assert checked >= 5000 / 7
    assert endings >= {"conquest", "limit"} | ({"vote"} if players != 2 else set())


@pytest.mark.slow
@pytest.mark.parametrize("players", range(2, 9))
def test_many_transitions_agree_with_the_referee(players):
    checked, _ = run(players, seed=100 + players, lanes=900, steps=40, cheap=False)
    assert checked >= 100_000 / 7
