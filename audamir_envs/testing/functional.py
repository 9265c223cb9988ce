"""What holds of every game's functional environment, whatever its rules."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from audamir_envs import registry
from audamir_envs.core import State
from audamir_envs.sampling import sample_legal
from audamir_envs.testing.cases import LANES, Checks, compiled, environment, start, walk


def over(states):
    """bool [...]: which games have ended."""
    return np.asarray(states.terminated | states.truncated)


class Functional(Checks):
    """The contract of ``core.Environment``, for every set of options that matters."""

    def test_shape_and_types_of_a_state(self, case):
        env = environment(case)
        state = jax.eval_shape(env.init, jax.random.key(0))
        assert isinstance(state, State)
        wanted = {
            "current_player": ((), np.int32),
            "observation": (tuple(env.observation_shape), env.observation_dtype),
            "rewards": ((env.num_players,), np.float32),
            "terminated": ((), np.bool_),
            "truncated": ((), np.bool_),
            "legal_action_mask": ((env.num_actions,), np.bool_),
            "illegal": ((), np.bool_),
            "_step_count": ((), np.int32),
        }
        for field, (shape, dtype) in wanted.items():
            leaf = getattr(state, field)
            assert leaf.shape == shape, field
            assert leaf.dtype == dtype, field
        assert not any(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in jax.tree.leaves(state))
        assert (env.id, env.version) == (case[0], case[0][-1])

    def test_a_step_keeps_every_shape_and_type_with_and_without_x64(self, case):
        env = environment(case)
        shape = jax.ShapeDtypeStruct
        # What a position is made of does not depend on the options behind it, so one step serves all that look alike.
        steps = compiled(case).env == env

        def kinds(tree):
            return [(leaf.shape, str(leaf.dtype)) for leaf in jax.tree.leaves(tree)]

        found = []
        for x64 in (False, True):
            with jax.enable_x64(x64):
                for old, key in enumerate((jax.random.key(0), jax.random.PRNGKey(0))):
                    state = jax.eval_shape(env.init, key)
                    found.append(kinds(state))
                    if not steps or (old and not env.stochastic):
                        continue  # whose steps make no use of a key
                    for action in (shape((), np.int32), shape((), np.uint8)):
                        found.append(kinds(jax.eval_shape(env.step, state, action, key)))
                    seen = jax.eval_shape(env.observe, state, 0)
                    assert (seen.shape, seen.dtype) == (state.observation.shape, state.observation.dtype)
        assert all(one == found[0] for one in found)

    def test_random_play(self, case):
        env = environment(case)
        fresh = start(case)
        assert not over(fresh).any()
        assert not np.asarray(fresh.rewards).any()
        assert not np.asarray(fresh._step_count).any()
        path = walk(case)
        for (states, _), (following, _) in itertools.pairwise(path):
            before, after = over(states), over(following)
            mask, observation = np.asarray(following.legal_action_mask), np.asarray(following.observation)
            rewards, player = np.asarray(following.rewards), np.asarray(following.current_player)
            assert mask.any(axis=1).all()
            assert mask[after].all()
            assert ((player >= 0) & (player < env.num_players)).all()
            assert not np.asarray(following.illegal).any()
            assert not (np.asarray(following.terminated) & np.asarray(following.truncated)).any()
            assert observation.min() >= env.observation_low
            assert observation.max() <= env.observation_high
            assert np.array_equal(observation.astype(np.float32), observation)
            assert not rewards[~after].any()
            assert not rewards[before].any()
            assert np.allclose(rewards.sum(axis=1), 0, atol=1e-6)
            assert (np.abs(rewards) <= 1).all()
            assert np.array_equal(following._step_count - states._step_count, ~before)
            assert (np.asarray(following._step_count) <= env.max_steps).all()
            assert np.asarray(following._step_count)[after].max(initial=0) <= env.max_steps
            alive = np.asarray(compiled(case).alive(following))
            assert alive.shape == (LANES, env.num_players)
            assert alive[np.arange(LANES), player][~after].all()

    def test_the_end_stands_still(self, case):
        path = walk(case)
        for (states, _), (following, _) in itertools.pairwise(path):
            lanes = over(states)
            same = jax.tree.map(
                lambda one, other, lanes=lanes: np.array_equal(np.asarray(one)[lanes], np.asarray(other)[lanes]),
                states.replace(rewards=states.current_player),
                following.replace(rewards=following.current_player),
            )
            assert all(jax.tree.leaves(same))

    def test_observe_shows_every_player_at_any_time(self, case):
        env = environment(case)
        for states, _ in walk(case)[::13]:
            seen = [np.asarray(compiled(case).observe(states, player)) for player in range(env.num_players)]
            for player, observation in enumerate(seen):
                assert observation.shape == (LANES, *env.observation_shape)
                assert observation.dtype == env.observation_dtype
                assert observation.min() >= env.observation_low
                assert observation.max() <= env.observation_high
                mine = np.asarray(states.current_player) == player
                assert np.array_equal(observation[mine], np.asarray(states.observation)[mine])

    def test_the_mask_is_what_step_accepts(self, case):
        env = environment(case)
        for states, _ in (walk(case)[0], walk(case)[7]):
            numbers = np.arange(-1, env.num_actions + 1, dtype=np.int32)
            accepted = np.asarray(compiled(case).accepts(states, numbers))
            mask, ended = np.asarray(states.legal_action_mask)[0], over(states)[0]
            assert np.array_equal(accepted, np.concatenate([[ended], mask, [ended]]))

    def test_an_illegal_action(self, case):
        env = environment(case)
        states, _ = walk(case)[3]
        mask, running = np.asarray(states.legal_action_mask), ~over(states)
        known = (np.arange(LANES) % 2 == 1) & ~mask.all(axis=1)  # a game may have moments when everything is legal
        actions = np.where(known, mask.argmin(axis=1), env.num_actions).astype(np.int32)
        after = compiled(case).step(states, actions, jnp.int32(0))
        offenders = np.arange(env.num_players) == np.asarray(states.current_player)[:, None]
        penalty = np.where(offenders, np.float32(-1), np.float32(1 / (env.num_players - 1)))
        assert np.array_equal(np.asarray(after.rewards)[running], penalty[running])
        assert after.illegal[running].all()
        assert after.terminated[running].all()
        assert not after.truncated[running].any()
        assert after.legal_action_mask.all()
        for field in ("game", "_step_count", "current_player", "observation"):
            for one, other in zip(*(jax.tree.leaves(getattr(tree, field)) for tree in (after, states)), strict=True):
                assert np.array_equal(one, other)
        again = compiled(case).step(after, jnp.zeros(LANES, jnp.int32), jnp.int32(1))
        assert not np.asarray(again.rewards).any()
        for one, other in zip(*(jax.tree.leaves(tree.replace(rewards=None)) for tree in (after, again)), strict=True):
            assert np.array_equal(one, other)

    def test_texts_of_actions(self, case):
        env = environment(case)
        texts = [env.action_to_text(action) for action in range(env.num_actions)]
        assert len(set(texts)) == env.num_actions
        legal = np.unique(
            np.concatenate([np.flatnonzero(np.asarray(states.legal_action_mask)[0]) for states, _ in walk(case)[:3]])
        )
        for action in legal[:: max(1, len(legal) // 40)]:
            assert env.text_to_action(texts[action]) == action
        for bad in (-1, env.num_actions, 10**9, "x", None, 1.5, True):
            with pytest.raises(ValueError, match=r"\d"):
                env.action_to_text(bad)
        for bad in ("", "z99", "nonsense", "é"):
            with pytest.raises(ValueError):  # noqa: PT011  the wording is each game's own
                env.text_to_action(bad)
        for bad in (None, 3, b"e5"):
            with pytest.raises(TypeError):
                env.text_to_action(bad)

    def test_texts_of_positions(self, case):
        env = environment(case)
        path = walk(case)
        for ply, lane in ((0, 0), (1, 3), (6, 1), (len(path) - 1, 2)):
            state = jax.tree.map(lambda leaf, lane=lane: leaf[lane], path[ply][0])
            text = env.to_text(state)
            assert "\n" not in text
            back = env.from_text(text)
            assert env.to_text(back) == text
            assert back.current_player == state.current_player
            assert bool(over(back)) == bool(over(state))
            assert np.array_equal(back.legal_action_mask, state.legal_action_mask)
            if not over(state):
                assert np.array_equal(back.observation, state.observation)
            for leaf, same in zip(jax.tree.leaves(state), jax.tree.leaves(back), strict=True):
                assert (jnp.shape(same), jnp.result_type(same)) == (leaf.shape, leaf.dtype)
        for bad in ("", "nonsense", "{}", "[1, 2]", text[:-1] + "?", text + " x"):
            with pytest.raises(ValueError):  # noqa: PT011  the wording is each game's own
                env.from_text(bad)
        for bad in (None, 3, b"x"):
            with pytest.raises(TypeError):
                env.from_text(bad)

    def test_drawings(self, case):
        env = environment(case)
        for ply in (0, 5):
            states, _ = walk(case)[ply]
            action = None if ply == 0 else int(walk(case)[ply - 1][1][0])
            state = jax.tree.map(lambda leaf: leaf[0], states)
            scene = env.scene(state, action)
            assert scene.shapes
            assert scene.width > 0
            text = env.board_text(state, action)
            assert isinstance(text, str)
            assert "\n" in text

    def test_equal_options_are_equal_environments(self, case):
        env = environment(case)
        again = registry.make(case[0], **case[1])
        assert again == env
        assert hash(again) == hash(env)
        with pytest.raises(ValueError, match="nonsense.*" + ".*".join(env.OPTIONS)):
            registry.make(case[0], nonsense=1)
        for option in env.OPTIONS:
            with pytest.raises(ValueError, match=option):
                registry.make(case[0], **{option: "nonsense"})


class Keys(Checks):
    """Games by their keys under every transformation; these take long to compile, so a case a game will do."""

    def test_same_key_same_game_under_jit_vmap_and_scan(self, case):
        env = environment(case)
        plies = 12

        def play(key):
            def ply(state, key):
                sampled, stepped = jax.random.split(key)
                state = env.step(state, sample_legal(sampled, state), stepped)
                return state, state

            init_key, play_key = jax.random.split(key)
            return jax.lax.scan(ply, env.init(init_key), jax.random.split(play_key, plies))[1]

        many = jax.jit(jax.vmap(play))
        keys = jax.random.split(jax.random.key(5), 3)
        lanes, turned = many(keys), many(keys[::-1])
        assert all(jax.tree.leaves(jax.tree.map(lambda one, other: np.array_equal(one, other[::-1]), lanes, turned)))
        if not env.stochastic:  # whose single games the bridges play, and which take long to compile
            again = jax.jit(play)(keys[1])
            same = jax.tree.map(lambda many, one: np.array_equal(np.asarray(many)[1], np.asarray(one)), lanes, again)
            assert all(jax.tree.leaves(same))
        assert not np.array_equal(lanes.legal_action_mask[0], lanes.legal_action_mask[1])

    def test_old_and_new_keys_mean_the_same_game(self, case):
        env = environment(case)
        old = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(1), LANES))
        assert all(jax.tree.leaves(jax.tree.map(np.array_equal, start(case), old)))

    def test_step_needs_what_it_says(self, case):
        env = environment(case)
        state = jax.tree.map(lambda leaf: leaf[0], start(case))
        if env.stochastic:
            with pytest.raises(TypeError, match="key"):
                env.step(state, 0)
        else:
            jax.eval_shape(lambda state: env.step(state, 0), state)
        with pytest.raises(TypeError, match="integer"):
            env.step(state, 0.5, jax.random.key(0))
