"""Self-play in PyTorch: masked PPO for all seats of any of the games, on the device, without copies between libraries.

``SelfPlayVectorEnv`` plays N games in one jitted call and shows each game's mover. With ``device_outputs`` its arrays
are JAX arrays, which PyTorch takes by DLPack as they are, on a CPU and on a GPU.
"""

import argparse
import time

import torch
from torch import nn

import audamir_envs
from audamir_envs import agents, arena
from audamir_envs.bridges.selfplay import SelfPlayVectorEnv


class Network(nn.Module):
    """Logits of all actions, and the mover's value."""

    def __init__(self, inputs: int, actions: int, width: int = 256) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.policy, self.value = nn.Linear(width, actions), nn.Linear(width, 1)

    def forward(self, seen: torch.Tensor, mask: torch.Tensor) -> tuple[torch.distributions.Categorical, torch.Tensor]:
        """Args: seen float32 [batch, ...], mask int8 or bool [batch, actions]."""
        hidden = self.body(seen)
        logits = self.policy(hidden).masked_fill(mask == 0, -1e9)
        return torch.distributions.Categorical(logits=logits), self.value(hidden).squeeze(-1)


def targets(values, movers, rewards, dones, last_values, last_movers, discount=0.95):
    """Advantages [steps, games] of the movers, by generalised advantage estimation of each seat on its own.

    A seat's next value is that of its own next turn, and the rewards until then are its. At the end of the rollout only
    the mover's value is known; since rewards sum to zero, the others are taken to have equal parts of its opposite.

    Args: values, movers, dones [steps, games]; rewards [steps, games, seats]; last_values, last_movers [games].
    """
    games, seats = rewards.shape[1:]
    rows = torch.arange(games, device=values.device)
    following = (-last_values / (seats - 1)).unsqueeze(1).repeat(1, seats)
    following[rows, last_movers] = last_values
    pending, carried = torch.zeros_like(following), torch.zeros_like(following)
    advantages = torch.zeros_like(values)
    for step in reversed(range(len(values))):
        for kept in (pending, carried, following):  # nothing comes after the end of a game
            kept[dones[step]] = 0
        pending += rewards[step]
        mover = movers[step]
        error = pending[rows, mover] + following[rows, mover] - values[step]
        advantages[step] = error + discount * carried[rows, mover]
        following[rows, mover], carried[rows, mover], pending[rows, mover] = values[step], advantages[step], 0
    return advantages


def rollout(env, network, now, steps):
    """Plays on from ``now`` = (seen, mask, mover): what was seen and done [steps, games, ...], and the new ``now``."""
    told = []
    for _ in range(steps):
        seen, mask, mover = now
        with torch.no_grad():
            choice, value = network(seen, mask)
            action = choice.sample()
        observation, rewards, terminated, truncated, info = env.step(action.int())
        done = torch.from_dlpack(terminated) | torch.from_dlpack(truncated)
        told.append((seen, mask, mover, action, choice.log_prob(action), value, torch.from_dlpack(rewards), done))
        now = tuple(map(torch.from_dlpack, (observation, info["action_mask"], info["current_player"])))
    return [torch.stack(column) for column in zip(*told, strict=True)], now


def learn(network, optimiser, batch, advantages, epochs=4, size=2048):
    """PPO's clipped updates. Returns the entropy of the last minibatch."""
    seen, mask, _, action, log_prob, value, _, _ = (column.flatten(0, 1) for column in batch)
    advantage = advantages.flatten()
    returns = advantage + value
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(epochs):
        for rows in torch.randperm(len(action), device=action.device).split(size):
            choice, predicted = network(seen[rows], mask[rows])
            ratio = (choice.log_prob(action[rows]) - log_prob[rows]).exp()
            gain = torch.min(ratio * advantage[rows], ratio.clamp(0.8, 1.2) * advantage[rows]).mean()
            loss = -gain + 0.5 * (predicted - returns[rows]).square().mean() - 0.01 * choice.entropy().mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 0.5)
            optimiser.step()
    return choice.entropy().mean().item()


def main() -> None:
    """Trains, printing the score against a level before, between and after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="colony-v0", help=f"one of {', '.join(audamir_envs.ids())}")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--envs", type=int, default=128, help="games at once")
    parser.add_argument("--steps", type=int, default=64, help="steps of each game for each iteration")
    parser.add_argument("--opponent", default="weak")
    parser.add_argument("--games", type=int, default=200, help="games of each evaluation")
    arguments = parser.parse_args()
    torch.manual_seed(0)

    env = SelfPlayVectorEnv(arguments.env, arguments.envs, device_outputs=True)
    observation, info = env.reset(seed=0)
    now = tuple(map(torch.from_dlpack, (observation, info["action_mask"], info["current_player"])))
    network = Network(now[0][0].numel(), env.game.num_actions).to(now[0].device)
    optimiser = torch.optim.Adam(network.parameters(), lr=5e-4)

    def policy(seen, mask):
        with torch.no_grad():
            choice, _ = network(*(torch.from_numpy(array).to(now[0].device) for array in (seen, mask)))
        return choice.sample().cpu().numpy()

    def score() -> str:
        result = arena.evaluate(
            env.game, [agents.from_callable(policy, "learner"), arguments.opponent], games=arguments.games
        )
        return f"score against {arguments.opponent} {result.score['learner']:.3f}"

    began, positions = time.perf_counter(), arguments.envs * arguments.steps
    print(f"before: {score()}")
    for iteration in range(1, arguments.iterations + 1):
        batch, now = rollout(env, network, now, arguments.steps)
        _, _, movers, _, _, values, rewards, dones = batch
        with torch.no_grad():
            _, last_values = network(*now[:2])
        advantages = targets(values, movers.long(), rewards, dones, last_values, now[2].long())
        entropy = learn(network, optimiser, batch, advantages)
        if iteration % max(1, arguments.iterations // 10) == 0:
            seconds = time.perf_counter() - began
            done = f"{iteration * positions:,} positions in {seconds:.0f} s"
            print(f"{done}: {int(dones.sum())} games ended, entropy {entropy:.2f}, {score()}", flush=True)


if __name__ == "__main__":
    main()
