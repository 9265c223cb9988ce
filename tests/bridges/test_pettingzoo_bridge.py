"""The PettingZoo bridge on the toy games, whose rules are known by heart."""

import copy
import pickle
import warnings

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.utils import BaseWrapper
from toy import Duel, Nim

from audamir_envs import registry
from audamir_envs.bridges.pettingzoo import GameAEC, wrapped
from audamir_envs.bridges.registration import gymnasium_id, pettingzoo_id

GAMES = {"nim": Nim, "duel": Duel}


@pytest.fixture(params=GAMES)
def game(request):
    return GAMES[request.param]()


def play(env, rng, plies=1000):
    """Random legal play; yields (agent, what last() gave) until everybody is gone."""
    for agent in env.agent_iter(plies):
        seen = env.last()
        yield agent, seen
        over = seen[2] or seen[3]
        env.step(None if over else int(rng.choice(np.flatnonzero(seen[0]["action_mask"]))))


@pytest.mark.filterwarnings("ignore:Observation is not a NumPy array")
@pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be gymnasium.spaces.box")
class TestPettingZooOwnTests:
    # The toys, unlike the games, show an all-zero observation now and then; PettingZoo would warn of it.
    @pytest.mark.filterwarnings("ignore:Observation numpy array is all zeros")
    @pytest.mark.parametrize("wrap", [wrapped, lambda env: env], ids=["env", "raw_env"])
    def test_api(self, game, wrap, capsys):
        api_test(wrap(GameAEC(game)), num_cycles=20)
        assert "Passed" in capsys.readouterr().out

    def test_seed(self, game):
        seed_test(lambda: wrapped(GameAEC(game)), num_cycles=20)

    def test_render(self, game, capsys):
        render_test(
            lambda render_mode=None: wrapped(GameAEC(game, render_mode)),
            custom_tests={"svg": lambda drawn: drawn.startswith("<svg")},
        )
        assert game.board_text(game.init(np.uint32([0, 1]))).split()[0] in capsys.readouterr().out


def test_a_game_of_nim_by_hand():
    env = wrapped(GameAEC(Nim()))
    env.reset(seed=0)
    assert env.agents == env.possible_agents == ["player_0", "player_1"]
    for text, mover in [("a3", 0), ("b2", 1), ("c1", 0)]:
        assert env.agent_selection == f"player_{mover}"
        observation, reward, terminated, truncated, _ = env.last()
        assert (reward, terminated, truncated) == (0, False, False)
        assert observation["observation"].any()
        assert not env.observe(f"player_{1 - mover}")["observation"].any()
        assert env.step(env.unwrapped.game.text_to_action(text)) is None
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.truncations == {"player_0": False, "player_1": False}
    for seat, agent in enumerate(env.possible_agents):
        info = env.infos[agent]
        assert (info["left"], info["place"], info["illegal"]) == (0, seat, False)
        assert not info["action_mask"].any()
    results = [(agent, seen[1]) for agent, seen in play(env, np.random.default_rng(0))]
    assert results == [("player_0", 1.0), ("player_1", -1.0)]
    assert env.agents == []


def test_masks_are_the_movers_alone_and_fresh(game):
    env = wrapped(GameAEC(game))
    env.reset(seed=1)
    kept = []
    for agent, (observation, _, terminated, truncated, info) in play(env, np.random.default_rng(1)):
        for other in env.possible_agents:
            seen = env.observe(other)
            assert seen["action_mask"].dtype == np.int8
            assert seen["observation"].dtype == np.float32
            assert seen["action_mask"].any() == (other == agent and not (terminated or truncated))
            assert env.observation_space(other).contains(seen)
        assert np.array_equal(observation["action_mask"], info["action_mask"])
        kept += [(array, array.copy()) for array in (*observation.values(), info["action_mask"])]
        kept[-1][0].setflags(write=True)
    assert all(np.array_equal(array, copied) for array, copied in kept)
    assert not any(np.shares_memory(a, b) for n, (a, _) in enumerate(kept) for b, _ in kept[:n])
    for agent in env.possible_agents:  # still there when everybody has left
        assert not env.observe(agent)["action_mask"].any()


def test_last_without_observation_still_has_the_mask(game):
    env = wrapped(GameAEC(game))
    env.reset(seed=3)
    observation, *_, info = env.last(observe=False)
    assert observation is None
    assert info["action_mask"].any()


def test_infos_of_all_agents_have_the_same_keys_at_all_times_before_the_end(game):
    env = wrapped(GameAEC(game))
    env.reset(seed=3)
    for _, (_, _, terminated, truncated, _) in play(env, np.random.default_rng(3)):
        kinds = {frozenset(info) for info in env.infos.values()}
        if terminated or truncated:
            assert kinds == {frozenset({"action_mask", "illegal", *game.info(env.unwrapped.functional_state)})}
        else:
            assert kinds == {frozenset({"action_mask"})}


def test_the_mover_is_told_facts_about_its_actions():
    class Chances(Duel):
        id = "chances-v0"

        def info(self, state, opponents=()):
            return super().info(state, opponents) | {"chances": state.legal_action_mask.astype(np.float32) / 2}

    env = GameAEC(Chances())
    env.reset(seed=0)
    while not env.terminations["player_0"]:
        for agent, info in env.infos.items():
            assert set(info) == ({"action_mask", "chances"} if agent == env.agent_selection else {"action_mask"})
        mover = env.infos[env.agent_selection]
        assert np.array_equal(mover["chances"], mover["action_mask"] / 2)
        env.step(int(mover["action_mask"].argmax()))
    assert all({"chances", "lives", "illegal"} < set(info) for info in env.infos.values())


def test_nobody_leaves_early_and_the_dead_are_skipped():
    env = wrapped(GameAEC(Duel()))
    deaths = 0
    for seed in range(8):
        env.reset(seed=seed)
        for agent, (_, _, terminated, truncated, _) in play(env, np.random.default_rng(seed)):
            lives = np.asarray(env.unwrapped.functional_state.game.lives)
            over = terminated or truncated
            assert over or len(env.agents) == 3
            assert over or lives[env.possible_agents.index(agent)] > 0
            assert set(env.terminations.values()) == {terminated}
            deaths += not over and bool((lives == 0).any())
    assert deaths > 0


def test_truncation_is_reported_as_such():
    env = GameAEC(Duel(max_rounds=1))
    env.reset(seed=0)
    env.step(3)
    assert set(env.truncations.values()) == {True}
    assert set(env.terminations.values()) == {False}
    assert sum(env.rewards.values()) == pytest.approx(0)


def test_an_illegal_action_ends_by_each_ones_rule():
    free, strict = GameAEC(Duel()), wrapped(GameAEC(Duel()))
    for env in (free, strict):
        env.reset(seed=0)
        env.step(0)  # player_0 shoots at itself
        assert set(env.terminations.values()) == {True}
        assert all(not info["action_mask"].any() for info in env.infos.values())
        assert all(not env.observe(agent)["action_mask"].any() for agent in env.possible_agents)
    assert free.rewards == {"player_0": -1.0, "player_1": 0.5, "player_2": 0.5}
    assert free.infos["player_0"]["illegal"]
    assert not free.infos["player_1"]["illegal"]
    returns = {agent: seen[1] for agent, seen in play(strict, np.random.default_rng(0))}
    assert returns == {"player_0": -1, "player_1": 0, "player_2": 0}


@pytest.mark.parametrize("action", [-1, 4, 10**30, np.int64(2**40)])
def test_numbers_that_are_no_actions(action):
    free, strict = GameAEC(Duel()), wrapped(GameAEC(Duel()))
    free.reset(seed=0)
    free.step(action)
    assert free.rewards["player_0"] == -1.0
    strict.reset(seed=0)
    with pytest.raises(AssertionError, match="action"):
        strict.step(action)


def test_actions_of_other_types():
    env = GameAEC(Nim())
    env.reset(seed=0)
    with pytest.raises(TypeError):
        env.step(1.5)
    env.step(np.int32(0))
    with pytest.raises(TypeError):
        env.step("a1")


@pytest.mark.parametrize("wrap", [wrapped, lambda env: env], ids=["env", "raw_env"])
@pytest.mark.parametrize("double", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_copies_continue_identically(game, wrap, double):
    env = wrap(GameAEC(game))
    env.reset(seed=5)
    env.step(int(np.flatnonzero(env.last()[0]["action_mask"])[-1]))
    twin = double(env)
    for _ in range(2):  # the rest of this game, then a whole new one without a seed
        rngs = np.random.default_rng(0), np.random.default_rng(0)
        for (agent, seen), (other, twin_seen) in zip(play(env, rngs[0]), play(twin, rngs[1]), strict=True):
            assert agent == other
            assert seen[1:4] == twin_seen[1:4]
            for name in ("observation", "action_mask"):
                assert np.array_equal(seen[0][name], twin_seen[0][name])
        env.reset()
        twin.reset()


def test_a_copy_is_independent():
    env = wrapped(GameAEC(Nim()))
    env.reset(seed=5)
    twin = copy.deepcopy(env)
    before = env.last()[0]["observation"].copy()
    twin.step(0)
    assert np.array_equal(env.last()[0]["observation"], before)
    assert twin.agent_selection != env.agent_selection


def test_copies_before_the_first_reset(game):
    twin = pickle.loads(pickle.dumps(copy.deepcopy(wrapped(GameAEC(game)))))
    twin.reset(seed=0)
    assert twin.last()[0]["action_mask"].any()


def test_seeds(game):
    def lives(seed):
        env.reset(seed=seed)
        return env.last()[0]["observation"].tolist()

    env = GameAEC(Duel())
    assert lives(4) == lives(4)
    assert len({str(lives(seed)) for seed in range(10)}) > 3
    env.reset(seed=0)
    following = [str(lives(None)) for _ in range(10)]
    assert len(set(following)) > 3
    env.reset(seed=0)
    assert following == [str(lives(None)) for _ in range(10)]


def test_reset_from_a_position():
    env = wrapped(GameAEC(Nim()))
    env.reset(options={"position": "0 2 1 1", "unknown": 7})
    assert env.agent_selection == "player_1"
    assert env.unwrapped.game.to_text(env.unwrapped.functional_state) == "0 2 1 1"
    with pytest.raises(ValueError, match="the game is over"):
        env.reset(options={"position": "0 0 0 1"})
    with pytest.raises(ValueError, match="no position"):
        env.reset(options={"position": "nonsense"})
    with pytest.raises(TypeError):
        env.reset(options={"position": 3})


def test_a_wrapper_may_assign_what_agents_read(game):
    class Doubling(BaseWrapper):
        def step(self, action):
            super().step(action)
            self.env.unwrapped.rewards = {agent: 2 * reward for agent, reward in self.rewards.items()}

    env = Doubling(wrapped(GameAEC(game)))
    env.reset(seed=0)
    while not any(env.terminations.values()) and not any(env.truncations.values()):
        assert not any(env.rewards.values())
        env.step(int(np.flatnonzero(env.last()[0]["action_mask"])[0]))
    assert max(env.rewards.values()) == 2.0


def test_spaces_are_the_same_objects(game):
    env = wrapped(GameAEC(game))
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
    first, second, *_ = map(env.observation_space, env.possible_agents)
    assert first == second
    assert first is not second


def test_render_without_a_mode_warns(game):
    env = GameAEC(game)
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None
    env.close()
    env.close()


def test_bad_arguments():
    with pytest.raises(ValueError, match="'human', 'ansi', 'rgb_array', 'svg'"):
        GameAEC(Nim(), "video")
    with pytest.raises(ValueError, match="an environment already made"):
        GameAEC(Nim(), size=2)
    with pytest.raises(ValueError, match="colony-v0"):
        GameAEC("chess-v9")


def test_equal_options_compile_once():
    assert GameAEC(Nim())._compiled is GameAEC(Nim(size=3))._compiled
    assert GameAEC(Nim())._compiled is not GameAEC(Nim(size=2))._compiled


@pytest.mark.skipif(not hasattr(pettingzoo, "aec_registry"), reason="PettingZoo before its registry")
@pytest.mark.parametrize("env_id", registry.ids())
def test_registered_in_pettingzoo(env_id):
    spec = pettingzoo.spec("aec", pettingzoo_id(env_id))
    assert spec.entry_point == f"audamir_envs.{env_id.replace('-', '_')}:env"


def test_registering_again_changes_nothing():
    import gymnasium

    from audamir_envs.bridges.registration import tell_all

    before = gymnasium.registry[gymnasium_id("colony-v0")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tell_all()
    assert gymnasium.registry[gymnasium_id("colony-v0")] is before
