"""What holds of every game that can be learned; see ``audamir_envs.testing``.

from audamir_training import testing

class TestLearned(testing.Learned):
    cases = [("copse-v0", "2")]  # layouts that are quick to compile
"""

import dataclasses
import functools

import jax
import numpy as np
import pytest

from audamir_envs.agents.loading import make_agent
from audamir_envs.learning import HexInterface
from audamir_envs.sampling import sample_legal
from audamir_envs.symmetry import symmetries
from audamir_training import games, presets
from audamir_training.algorithms import build, settings_class

PLIES = 10
_TINY = {"channels": 4, "blocks": 1, "lanes": 8, "batch": 16, "microbatch": 8, "groups": 2}
_OF_ALGORITHM = {
    "alphazero": {
        "plies": 8,
        "simulations": 4,
        "full_share": 1.0,
        "considered": 4,
        "slots": 8,
        "opening_plies": 1,
        "reuse": 0.5,
        "replay_positions": 512,
        "warmup_positions": 0,
        "window_positions": 256,
        "evaluate_simulations": 2,
    },
    "ppo": {
        "steps": 8,
        "snapshots": 2,
        "snapshot_share": 0.25,
        "level_share": 0.0,
        "levels": "",
        "maps": 4,
        "epochs": 1,
    },
}


@functools.cache
def algorithm(env_id, layouts):
    """The smallest program that learns a game."""
    learning = games.learning_of(env_id)
    settings = settings_class(learning.algorithm)(
        env=env_id, layouts=layouts, **_TINY, **_OF_ALGORITHM[learning.algorithm]
    )
    return build(settings)


class Learned:
    """What ``LEARNING`` says is true, and the game is learned for two iterations. Cases: (id, layouts)."""

    cases = ()

    def pytest_generate_tests(self, metafunc):
        """Every check for every case."""
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", list(metafunc.cls.cases), ids="-".join)

    def test_layouts_and_presets(self, case):
        env_id, layouts = case
        learning = games.learning_of(env_id)
        assert learning.layouts_help
        with pytest.raises(ValueError, match="use"):
            learning.variants("nonsense")
        for text in (layouts, ""):
            assert sum(variant.share for variant in games.variants(env_id, text)) == pytest.approx(1)
        for name in presets.NAMES:
            settings, _ = presets.preset(env_id, name)
            assert games.variants(env_id, settings.layouts)

    def test_states_of_every_shape_find_their_rules(self, case):
        for variant in games.variants(*case):
            env = variant.env
            states = jax.eval_shape(jax.vmap(env.init), jax.random.split(jax.random.key(0), 2))
            found = type(env).for_shapes(states)
            assert (found.observation_shape, found.num_actions) == (env.observation_shape, env.num_actions)
        with pytest.raises(ValueError, match=f"{env.id} has no states with observations"):
            type(env).for_shapes(states.replace(legal_action_mask=jax.ShapeDtypeStruct((2, 10**6), np.bool_)))

    def test_symmetries_turn_games_into_games(self, case):
        """A game played with turned actions looks turned at every ply, and so do the owners of its cells."""
        learning, (variant, *_) = games.learning_of(case[0]), games.variants(*case)
        if not isinstance(learning.network, HexInterface):
            pytest.skip("the game is played on no hexagonal board")
        env = variant.env
        games.check_environment(env)
        tables, ownership = symmetries(env), jax.jit(games.ownership(env))
        step = jax.jit(env.step)
        sample = jax.jit(lambda number, state: sample_legal(jax.random.key(number), state))
        start = jax.jit(lambda key: env.state_of(games.start_of(variant, key)))(jax.random.key(0))
        turned_alike = 0
        for image in range(1, len(learning.symmetries)):
            if not np.array_equal(self._turned(start, tables, image), start.observation):
                continue  # the start is another one when turned
            turned_alike += 1
            plain = turned = start
            for number in range(PLIES):
                action = int(sample(np.int32(number), plain))
                assert turned.legal_action_mask[tables.actions[image, action]]
                plain, turned = step(plain, action), step(turned, tables.actions[image, action])
                assert np.array_equal(turned.observation, self._turned(plain, tables, image))
                mask = np.asarray(plain.legal_action_mask)
                assert np.array_equal(turned.legal_action_mask, mask[tables.sources[image]])
                owners = np.asarray(ownership(plain.game))
                assert np.array_equal(ownership(turned.game), owners[tables.cells[image]])
                assert owners.dtype == np.int8
                assert np.abs(owners).max() <= 1
                if bool(plain.terminated | plain.truncated):
                    break
        assert turned_alike or len(learning.symmetries) == 1

    @staticmethod
    def _turned(state, tables, image):
        seen = np.asarray(state.observation)
        return seen.reshape(-1, seen.shape[-1])[tables.grid[image]].reshape(seen.shape)

    def test_two_iterations(self, case, tmp_path):
        learner = algorithm(*case)
        state = learner.start()
        before = jax.tree.map(np.array, state.learner.parameters)
        for _ in range(2):
            state, measured = learner.iterate(state)
            assert all(np.isfinite(float(value)) for name, value in measured.items() if name != "play_over_network")
        assert learner.iteration(state) == 2
        changed = jax.tree.map(lambda old, new: bool((old != np.asarray(new)).any()), before, state.learner.parameters)
        assert any(jax.tree.leaves(changed))
        path = tmp_path / "zero.safetensors"
        learner.export(path, learner.player(state), {"budget": {}})
        env = games.variants(*case)[0].env
        fresh = jax.jit(env.init)(jax.random.key(0))
        for settings in ({"policy": True}, {}):
            agent = make_agent(case[0], str(path), **settings)
            action = jax.jit(agent.act)(fresh, jax.random.key(1))
            assert fresh.legal_action_mask[action]

    def test_settings_are_stored_as_they_are(self, case):
        settings = algorithm(*case).settings
        assert type(settings)(**dataclasses.asdict(settings)) == settings
