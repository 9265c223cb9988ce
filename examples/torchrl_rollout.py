"""TorchRL: whole games through ``PettingZooWrapper``, and a masked policy for all seats that learns by REINFORCE."""

import argparse
import math

import torch
from tensordict.nn import TensorDictModule
from torchrl.envs import PettingZooWrapper
from torchrl.envs.utils import MarlGroupMapType
from torchrl.modules import MaskedCategorical, ProbabilisticActor

from audamir_envs import stigmergy_v0


def main() -> None:
    """Plays and learns, printing the share of games that Black won and the loss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=10)
    parser.add_argument("--games", type=int, default=4, help="games for each update")
    parser.add_argument("--side", type=int, default=4)
    arguments = parser.parse_args()
    torch.manual_seed(0)

    env = PettingZooWrapper(
        stigmergy_v0.env(side=arguments.side),
        use_mask=True,  # which seat is to move is in ("agents", "mask")
        group_map=MarlGroupMapType.ALL_IN_ONE_GROUP,  # one policy for all seats; by default each seat is a group
    )
    _, *shape = env.observation_spec["agents", "observation", "observation"].shape
    network = torch.nn.Sequential(
        torch.nn.Flatten(-len(shape)),
        torch.nn.Linear(math.prod(shape), 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, int(env.action_space("player_0").n)),
    )
    policy = ProbabilisticActor(
        TensorDictModule(network, in_keys=[("agents", "observation", "observation")], out_keys=[("agents", "logits")]),
        spec=env.full_action_spec,
        in_keys={"logits": ("agents", "logits"), "mask": ("agents", "action_mask")},
        out_keys=[("agents", "action")],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=("agents", "log_prob"),
    )
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    for update in range(arguments.updates):
        loss, black = torch.zeros(()), 0
        for _ in range(arguments.games):
            game = env.rollout(env.game.max_steps, policy)
            to_move = game["agents", "mask"]  # [plies, seats]
            results = game["next", "agents", "reward"].sum(0).squeeze(-1)  # [seats]
            black += int(results[0] > 0)
            loss = loss - (game["agents", "log_prob"] * results * to_move).sum() / to_move.sum()
        optimiser.zero_grad()
        (loss / arguments.games).backward()
        optimiser.step()
        print(f"update {update}: Black won {black} of {arguments.games}, loss {loss.item() / arguments.games:.3f}")


if __name__ == "__main__":
    main()
