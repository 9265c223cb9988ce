"""What training says of the games agrees with the games."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from audamir_training import games

import audamir_envs
from audamir_envs.colony import learning as colony
from audamir_envs.sampling import sample_legal
from audamir_envs.stigmergy import learning as stigmergy
from audamir_envs.symmetry import symmetries


@functools.cache
def program(env_id: str, actions: int):
    """Plays a random game on for some plies; one program for all options of the same shapes."""
    del actions
    env = audamir_envs.make(env_id, **({"side": 3} if env_id == "stigmergy-v0" else {}))

    def play(state, plies, first):
        def ply(number, state):  # after the end nothing changes but the rewards
            after = env.step(state, sample_legal(jax.random.key(first + number), state))
            return jax.tree.map(lambda new, old: jnp.where(state.terminated, old, new), after, state)

        return jax.lax.fori_loop(0, plies, ply, state)

    return jax.jit(play)


def played(env, plies: int, seed: int):
    state = jax.jit(env.init)(jax.random.key(seed))
    return jax.device_get(program(env.id, env.num_actions)(state, np.int32(plies), np.int32(1000 * seed)))


@pytest.mark.parametrize("options", [{}, {"board": "61", "claim_empty": True, "start": "one"}])
def test_colonys_ownership_adds_up_to_the_result(options: dict) -> None:
    env = audamir_envs.make("colony-v0", **options, max_turns=1000)
    state = played(env, 1000, 3)
    assert state.terminated
    owner = jax.jit(colony.ownership)(state.game)
    assert np.sign(int(jnp.sum(owner, dtype=jnp.int32))) == int(state.rewards[0])
    text = env.to_text(state).split()[0].replace("/", "")
    pieces = {"x": 1, "o": -1}
    seat_of_x = 1 if int(state.game.first_seat) == 0 else -1
    for cell, mark in zip(np.asarray(owner).tolist(), text, strict=True):
        if mark in pieces:
            assert cell == pieces[mark] * seat_of_x
        elif mark == "#":
            assert cell == 0


def test_stigmergys_ownership_adds_up_to_the_score() -> None:
    from audamir_envs.stigmergy import rules

    env = audamir_envs.make("stigmergy-v0", side=3, komi=2)
    counted = jax.jit(lambda game: (*rules.scores(game), stigmergy.ownership(game)))
    for plies in (0, 5, 12, 60):
        state = played(env, plies, 4)
        black, white, owner = counted(state.game)
        assert int(jnp.sum(owner, dtype=jnp.int32)) == int(black - white)
        assert owner.shape == (19,)


def test_colonys_variants_hold_all_layouts_and_weights_sum_to_one() -> None:
    (variant,) = games.variants("colony-v0", "all")
    assert variant.weights.shape == (12,)
    assert variant.weights.sum() == pytest.approx(1)
    assert variant.weights.argmax() == 0
    firsts = jax.tree.map(lambda leaf: leaf[0], variant.starts)
    default = audamir_envs.make("colony-v0").init_game(jax.random.key(0))
    jax.tree.map(np.testing.assert_array_equal, firsts, default)
    by_claim = np.asarray(variant.starts.claim_empty)
    (even,) = games.variants("colony-v0", "even")
    assert even.weights[by_claim].sum() == pytest.approx(0.5)
    cells = np.asarray(jax.vmap(lambda game: game.own.count() + game.enemy.count() + game.empty.count())(even.starts))
    assert even.weights[cells == 58].sum() == pytest.approx(0.5)


def test_stigmergys_variants_have_the_sides_and_komis_asked_for() -> None:
    chosen = games.variants("stigmergy-v0", "3:1,5:3")
    assert [(v.env.options["side"], v.share) for v in chosen] == [(3, 0.25), (5, 0.75)]
    komi = np.asarray(chosen[0].starts.komi)
    playing = np.asarray(chosen[0].starts.phase) == 2
    assert 0.3 < chosen[0].weights[(komi == 0) & playing].sum() < 0.4
    assert chosen[0].weights[~playing].sum() == pytest.approx(0.05)  # the pie
    assert (komi % 2 == 0).all()
    assert (np.abs(komi) <= 19).all()


@pytest.mark.parametrize(
    ("env_id", "layouts"),
    [("colony-v0", "58"), ("stigmergy-v0", "x"), ("stigmergy-v0", "5;6"), ("principalities-v0", "two")],
)
def test_bad_layouts_are_refused(env_id: str, layouts: str) -> None:
    with pytest.raises(ValueError, match=r"(colony|stigmergy)-v0|use players"):
        games.variants(env_id, layouts)


@pytest.mark.parametrize("share", ["x", "", "0", "-1", "nan", "inf"])
def test_bad_shares_are_refused(share: str) -> None:
    with pytest.raises(ValueError, match=f"the share '{share}' is no number above 0"):
        games.variants("stigmergy-v0", f"2:1,3:{share}")


@pytest.mark.parametrize(("env_id", "layouts"), [("colony-v0", "default"), ("stigmergy-v0", "3")])
def test_symmetries_turn_games_into_games(env_id: str, layouts: str) -> None:
    """A game played with turned actions looks turned at every ply; holes stay out of it by the plain board."""
    (variant,) = games.variants(env_id, layouts)
    options = {"board": "61"} if env_id == "colony-v0" else {"side": 3, "komi": 0}
    env = audamir_envs.make(env_id, **options)
    table = symmetries(variant.env)
    step, init, ownership = jax.jit(env.step), jax.jit(env.init), jax.jit(games.ownership(variant.env))
    sample = jax.jit(lambda number, state: sample_legal(jax.random.key(number), state))
    for symmetry in (1, 4, 7, 11):
        plain = init(jax.random.key(0))
        turned = plain
        if env_id == "colony-v0" and symmetry in (1, 11):
            continue  # these swap the corners of the two sides
        for number in range(12):
            action = int(sample(np.int32(number), plain))
            image = int(table.actions[symmetry, action])
            if not bool(turned.legal_action_mask[image]):
                pytest.fail(f"symmetry {symmetry}: the image of {action} is illegal at ply {number}")
            plain, turned = step(plain, action), step(turned, image)
            seen = np.asarray(plain.observation).reshape(-1, plain.observation.shape[-1])
            expected = seen[table.grid[symmetry]].reshape(turned.observation.shape)
            np.testing.assert_array_equal(turned.observation, expected)
            np.testing.assert_array_equal(
                turned.legal_action_mask,
                np.asarray(plain.legal_action_mask)[table.sources[symmetry, : env.num_actions]],
            )
            owner = np.asarray(ownership(plain.game))
            np.testing.assert_array_equal(ownership(turned.game), owner[table.cells[symmetry]])
            if bool(plain.terminated):
                break
