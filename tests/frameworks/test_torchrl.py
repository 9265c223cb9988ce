"""TorchRL: ``PettingZooWrapper`` plays whole games of every environment, and every number in it is ours."""

import warnings

import numpy as np
import pytest
from frameworks.games import GAMES, aec, replay

torch = pytest.importorskip("torch", reason="PyTorch is not installed: see docs/frameworks.md")
pytest.importorskip("torchrl", reason="TorchRL is not installed: see docs/frameworks.md")

from torchrl.envs import PettingZooWrapper, check_env_specs  # noqa: E402
from torchrl.envs.utils import MarlGroupMapType  # noqa: E402

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested using version"),
]

every_game = pytest.mark.parametrize("game", GAMES)


@every_game
def test_specs(game):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own check, which is about its own classes
        check_env_specs(PettingZooWrapper(aec(game), use_mask=True), seed=0)


@every_game
def test_rollouts_to_the_end(game):
    env, ours = PettingZooWrapper(aec(game), use_mask=True), aec(game)
    agents, ended = ours.possible_agents, 0
    for seed in range(5):
        rollout = env.rollout(10_000, auto_reset=False, tensordict=env.reset(seed=seed))
        assert rollout["next", "done"][-1].all()
        ended += 1
        to_move = torch.stack([rollout[agent, "mask"][:, 0] for agent in agents])
        assert (to_move.sum(0) == 1).all()
        movers = [agents[number] for number in to_move.int().argmax(0).tolist()]
        actions = [int(rollout[mover, "action"][ply, 0]) for ply, mover in enumerate(movers)]
        ours.reset(seed=seed)
        plies = replay(ours, actions)
        assert [ply.mover for ply in plies] == movers
        for number, ply in enumerate(plies):
            mask = rollout[ply.mover, "action_mask"][number, 0]
            assert bool(mask[ply.action])
            assert np.array_equal(mask.numpy(), ply.mask)
            for agent in agents:
                seen = rollout[agent, "observation", "observation"][number, 0]
                assert np.array_equal(seen.numpy(), ply.observations[agent])
                reward = rollout["next", agent, "reward"][number].item()
                assert reward == np.float32(ply.rewards[agent])
                assert bool(rollout["next", agent, "terminated"][number]) == ply.terminated
                assert bool(rollout["next", agent, "truncated"][number]) == ply.truncated
        assert plies[-1].terminated or plies[-1].truncated
        assert sum(plies[-1].rewards.values()) == pytest.approx(0, abs=1e-6)
    assert ended == 5


@every_game
def test_all_agents_in_one_group(game):
    """Tensors stacked over agents, as a shared policy takes them."""
    env = PettingZooWrapper(aec(game), use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP)
    rollout = env.rollout(10_000)
    assert rollout["next", "done"][-1].all()
    assert rollout["next", "agents", "reward"].shape == (len(rollout), len(env.possible_agents), 1)
    assert rollout["next", "agents", "reward"].sum().item() == pytest.approx(0, abs=1e-6)
    assert (rollout["agents", "mask"].sum(1) == 1).all()


def test_other_infos_beside_two_masks_are_too_many_for_it():
    """A limit of the wrapper; when this fails, docs/frameworks.md has something to take back."""
    env = PettingZooWrapper(aec("principalities-v0", hints=True), use_mask=True)
    with pytest.raises(TypeError, match="'NoneType' object does not support item assignment"):
        env.reset()


def test_a_masked_policy_learns_from_it():
    """One gradient step of a shared policy through TorchRL's own masked distribution."""
    from tensordict.nn import TensorDictModule
    from torchrl.modules import MaskedCategorical, ProbabilisticActor

    env = PettingZooWrapper(aec("stigmergy-v0"), use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP, seed=0)
    shape, actions = env.observation_spec["agents", "observation", "observation"].shape, env.action_space("player_0").n
    flat = int(np.prod(shape[1:]))
    network = torch.nn.Sequential(torch.nn.Flatten(start_dim=-len(shape) + 1), torch.nn.Linear(flat, int(actions)))
    policy = ProbabilisticActor(
        TensorDictModule(network, in_keys=[("agents", "observation", "observation")], out_keys=[("agents", "logits")]),
        spec=env.full_action_spec,
        in_keys={"logits": ("agents", "logits"), "mask": ("agents", "action_mask")},
        out_keys=[("agents", "action")],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=("agents", "log_prob"),
    )
    rollout = env.rollout(10_000, policy)
    assert rollout["next", "done"][-1].all()
    chosen = rollout["agents", "action_mask"].gather(-1, rollout["agents", "action"].unsqueeze(-1))
    assert chosen.all()
    moving = rollout["agents", "mask"]
    results = rollout["next", "agents", "reward"].sum(0).squeeze(-1)
    before = network[1].weight.detach().clone()
    loss = -(rollout["agents", "log_prob"] * results * moving).sum() / moving.sum()
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    loss.backward()
    optimiser.step()
    assert torch.isfinite(network[1].weight).all()
    assert not torch.equal(network[1].weight, before)
