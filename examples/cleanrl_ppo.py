"""Masked PPO by self-play in one file, in CleanRL's style: games, network and learner live together on the device.

One policy plays both sides of every game. From one ply to the next the other side is to move, so what is good for the
next mover is bad for this one: values and advantages change their sign on the way back. Every few updates the policy's
favourite moves are played against the scripted level ``weak``.

    python examples/cleanrl_ppo.py --minutes 3
"""

import argparse
import time
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

import audamir_envs
from audamir_envs.arena import wilson


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="colony-v0", help="a two-player game without chance")
    parser.add_argument("--opponent", default="weak", help="the level of the evaluations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--total-timesteps", type=int, default=10**9, help="plies of self-play")
    parser.add_argument("--minutes", type=float, default=5.0, help="of wall clock, compiling included")
    parser.add_argument("--num-envs", type=int, default=128)
    parser.add_argument("--num-steps", type=int, default=32, help="plies of every game between two updates")
    parser.add_argument("--num-minibatches", type=int, default=8)
    parser.add_argument("--update-epochs", type=int, default=2)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--gamma", type=float, default=1.0)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--clip-coef", type=float, default=0.2)
    parser.add_argument("--ent-coef", type=float, default=0.01)
    parser.add_argument("--vf-coef", type=float, default=0.5)
    parser.add_argument("--max-grad-norm", type=float, default=0.5)
    parser.add_argument("--channels", type=int, default=32)
    parser.add_argument("--eval-every", type=int, default=20, help="updates between two evaluations")
    parser.add_argument("--eval-games", type=int, default=200)
    return parser.parse_args()


# Network


class HexConvolution(nn.Module):
    """Every cell from itself and its six neighbours on the axial grid, as one matrix product."""

    channels: int

    @nn.compact
    def __call__(self, x):
        """[batch, height, width, planes] to [batch, height, width, channels]."""
        height, width = x.shape[1:3]
        padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        places = [(1, 1), (1, 2), (2, 1), (2, 0), (1, 0), (0, 1), (0, 2)]  # here, E, SE, SW, W, NW, NE
        seen = [padded[:, row : row + height, column : column + width] for row, column in places]
        return nn.Dense(self.channels)(jnp.concatenate(seen, axis=-1))


class ActorCritic(nn.Module):
    """Policy logits [batch, actions] and value [batch] of observations [batch, height, width, planes].

    The actions of a cell are neighbours in the numbering (13 kinds of each of Colony's 61 cells, one of Stigmergy's),
    so the policy is a layer on each cell; what is no cell's action, such as a pass, comes from the pooled board.
    """

    cells: tuple[int, ...]  # places of the cells on the grid, in the order of their numbers
    actions: int
    channels: int

    @nn.compact
    def __call__(self, observation):
        """See the class."""
        x = observation.astype(jnp.float32)
        x = nn.relu(HexConvolution(self.channels)(x))
        x = nn.relu(HexConvolution(self.channels)(x))
        x = x.reshape(x.shape[0], -1, self.channels)[:, jnp.asarray(self.cells)]
        pooled = jnp.concatenate([x.mean(axis=1), x.max(axis=1)], axis=-1)
        x = nn.relu(nn.Dense(self.channels)(x) + nn.Dense(self.channels)(pooled)[:, None])
        kinds = self.actions // len(self.cells)
        near_zero = nn.initializers.orthogonal(0.01)
        of_cells = nn.Dense(kinds, kernel_init=near_zero)(x).reshape(x.shape[0], -1)
        others = nn.Dense(self.actions - kinds * len(self.cells), kernel_init=near_zero)(pooled)
        value = nn.Dense(1)(nn.relu(nn.Dense(64)(pooled)))[:, 0]
        return jnp.concatenate([of_cells, others], axis=-1), jnp.tanh(value)


def masked(logits, mask):
    """Logits that give illegal actions no probability."""
    return jnp.where(mask, logits, jnp.float32(-1e9))


def log_prob_and_entropy(logits, actions):
    """Of categorical distributions [batch, actions]."""
    log_p = jax.nn.log_softmax(logits)
    entropy = -jnp.sum(jnp.exp(log_p) * log_p, axis=-1)
    return jnp.take_along_axis(log_p, actions[:, None], axis=1)[:, 0], entropy


# Learner


class Transition(NamedTuple):
    """Of each ply; leading axes [steps, games]."""

    observation: Any
    mask: Any
    action: Any
    log_prob: Any
    value: Any  # for the mover, as predicted
    reward: Any  # for the mover
    carries: Any  # by what the next mover's value counts for this one: -gamma, or 0 at the end


def make_update(env, network, optimiser, config):
    """One iteration of PPO: self-play, advantages, epochs of minibatches. Jitted."""
    step = jax.vmap(audamir_envs.auto_reset(env).step)

    def ply(carry, key):
        params, state = carry
        act_key, step_key = jax.random.split(key)
        logits, value = network.apply(params, state.observation)
        logits = masked(logits, state.legal_action_mask)
        action = jax.random.categorical(act_key, logits).astype(jnp.int32)
        log_prob, _ = log_prob_and_entropy(logits, action)
        after = step(state, action, jax.random.split(step_key, config.num_envs))
        rewards = jnp.where(after.just_reset[:, None], after.final_rewards, after.rewards)
        reward = jnp.take_along_axis(rewards, state.current_player[:, None], axis=1)[:, 0]
        sign = jnp.where(after.current_player == state.current_player, jnp.float32(1), jnp.float32(-1))
        carries = jnp.where(after.just_reset, jnp.float32(0), config.gamma * sign)
        saved = Transition(state.observation, state.legal_action_mask, action, log_prob, value, reward, carries)
        return (params, after), saved

    def advantages(transitions, last_value):
        def backwards(carry, t):
            advantage, next_value = carry
            delta = t.reward + t.carries * next_value - t.value
            advantage = delta + config.gae_lambda * t.carries * advantage
            return (advantage, t.value), advantage

        return jax.lax.scan(backwards, (jnp.zeros_like(last_value), last_value), transitions, reverse=True)[1]

    def loss(params, batch):
        t, advantage, target = batch
        logits, value = network.apply(params, t.observation)
        log_prob, entropy = log_prob_and_entropy(masked(logits, t.mask), t.action)
        ratio = jnp.exp(log_prob - t.log_prob)
        advantage = (advantage - advantage.mean()) / (advantage.std() + jnp.float32(1e-8))
        clipped = jnp.clip(ratio, 1 - config.clip_coef, 1 + config.clip_coef)
        policy_loss = -jnp.minimum(ratio * advantage, clipped * advantage).mean()
        value_loss = jnp.square(value - target).mean()
        total = policy_loss + config.vf_coef * value_loss - config.ent_coef * entropy.mean()
        return total, {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy.mean()}

    def minibatch(carry, batch):
        params, memory = carry
        (_, figures), gradient = jax.value_and_grad(loss, has_aux=True)(params, batch)
        updates, memory = optimiser.update(gradient, memory, params)
        return (optax.apply_updates(params, updates), memory), figures

    @jax.jit
    def update(params, memory, state, key):
        play_key, shuffle_key = jax.random.split(key)
        (_, state), t = jax.lax.scan(ply, (params, state), jax.random.split(play_key, config.num_steps))
        advantage = advantages(t, network.apply(params, state.observation)[1])
        data = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (t, advantage, advantage + t.value))

        def epoch(carry, key):
            order = jax.random.permutation(key, config.num_envs * config.num_steps)
            batches = jax.tree.map(lambda leaf: leaf[order].reshape(config.num_minibatches, -1, *leaf.shape[1:]), data)
            return jax.lax.scan(minibatch, carry, batches)

        keys = jax.random.split(shuffle_key, config.update_epochs)
        (params, memory), figures = jax.lax.scan(epoch, (params, memory), keys)
        return params, memory, state, jax.tree.map(jnp.mean, figures)

    return update


# Evaluation


def make_evaluation(env, network, opponent, games):
    """What the policy's favourite moves score against a level, float32 [games] of 1, ½ or 0, seats alternating."""
    seats = jnp.arange(games, dtype=jnp.int32) % env.num_players

    def ply(carry):
        params, state, result, key = carry
        key, act_key = jax.random.split(key)
        logits, _ = network.apply(params, state.observation)
        ours = jnp.argmax(masked(logits, state.legal_action_mask), axis=1).astype(jnp.int32)
        theirs = opponent.act_batch(state, act_key)
        state = jax.vmap(env.step)(state, jnp.where(state.current_player == seats, ours, theirs))
        return params, state, result + jnp.take_along_axis(state.rewards, seats[:, None], axis=1)[:, 0], key

    @jax.jit
    def evaluate(params, key):
        start, key = jax.random.split(key)
        state = jax.vmap(env.init)(jax.random.split(start, games))
        carry = (params, state, jnp.zeros(games, jnp.float32), key)
        result = jax.lax.while_loop(lambda carry: ~jnp.all(carry[1].terminated | carry[1].truncated), ply, carry)[2]
        return (result + 1) / 2

    return evaluate


def main() -> None:
    """Trains, printing the learning curve."""
    config = parse_arguments()
    began = time.monotonic()
    env = audamir_envs.make(config.env)
    if env.num_players != 2 or env.stochastic:
        raise SystemExit(f"{config.env} is no two-player game without chance: try colony-v0 or stigmergy-v0")
    side = (env.observation_shape[0] + 1) // 2
    grid = np.arange(2 * side - 1) - (side - 1)  # axial coordinates of rows and columns
    cells = np.flatnonzero(np.abs(grid[:, None] + grid[None]).ravel() < side)
    network = ActorCritic(tuple(cells.tolist()), env.num_actions, config.channels)

    key, init_key, start_key = jax.random.split(jax.random.key(config.seed), 3)
    state = jax.jit(jax.vmap(audamir_envs.auto_reset(env).init))(jax.random.split(start_key, config.num_envs))
    params = jax.jit(network.init)(init_key, state.observation)
    optimiser = optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.adam(config.learning_rate, eps=1e-5))
    memory = optimiser.init(params)
    update = make_update(env, network, optimiser, config)
    evaluate = make_evaluation(env, network, audamir_envs.make_agent(env, config.opponent), config.eval_games)

    plies, number, figures, last = 0, 0, {}, False
    while not last:
        key, update_key, evaluation_key = jax.random.split(key, 3)
        params, memory, state, figures = update(params, memory, state, update_key)
        plies += config.num_envs * config.num_steps
        number += 1
        jax.block_until_ready(figures)
        last = plies >= config.total_timesteps or time.monotonic() - began >= 60 * config.minutes
        if last or number % config.eval_every == 1:
            score = float(evaluate(params, evaluation_key).mean())
            low, high = wilson(score, config.eval_games)
            told = "  ".join(f"{name} {float(value):.3f}" for name, value in figures.items())
            print(
                f"{(time.monotonic() - began) / 60:5.1f} min  {plies:>9,} plies  score against {config.opponent} "
                f"{score:.3f} ({low:.3f} to {high:.3f})  {told}",
                flush=True,
            )


if __name__ == "__main__":
    main()
