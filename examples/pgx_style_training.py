"""A trainer written against Pgx's API alone, with Pgx's own auto-reset, that runs on these environments unchanged.

Gumbel AlphaZero in its simplest form: self-play by mctx, a small network fitted to what the searches found, and games
against random play. ``--env tic_tac_toe`` (or any other two-player game of Pgx without chance) runs the same lines.
"""

import argparse
import functools
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import mctx
import optax
import pgx
from pgx.experimental import auto_reset

import audamir_envs


class Network(nn.Module):
    """Policy logits [batch, actions] and value [batch] of observations [batch, ...], for the player to move."""

    actions: int

    @nn.compact
    def __call__(self, observation):
        """See the class."""
        x = observation.reshape(observation.shape[0], -1).astype(jnp.float32)
        for _ in range(2):
            x = nn.relu(nn.Dense(128)(x))
        value = nn.Dense(1, kernel_init=nn.initializers.zeros)(x)[:, 0]
        return nn.Dense(self.actions, kernel_init=nn.initializers.zeros)(x), jnp.tanh(value)


class Sample(NamedTuple):
    """Of every step of self-play; leading axes [steps, games]."""

    observation: Any
    mask: Any
    weights: Any  # the search's policy
    reward: Any  # of the player who moved
    discount: Any  # -1 where the other one is to move next, 0 at the end


def masked(logits, mask):
    """Logits with those of illegal actions pushed out of the softmax."""
    return jnp.where(mask, logits, jnp.finfo(logits.dtype).min)


def transition(env, state, action, key, step):
    """The states after a step [batch], with reward and discount for those who made it."""
    mover = state.current_player
    state = jax.vmap(step)(state, action, jax.random.split(key, action.shape[0]))
    reward = jnp.take_along_axis(state.rewards, mover[:, None], axis=1)[:, 0]
    discount = jnp.where(state.current_player == mover, 1.0, -1.0)
    return state, reward, jnp.where(state.terminated | state.truncated, 0.0, discount)


def search(env, network, params, state, key, simulations):
    """mctx's answer for a batch of states."""

    def evaluate(state):
        logits, value = network.apply(params, state.observation)
        return masked(logits, state.legal_action_mask), value

    def recurrent(_, key, action, state):
        state, reward, discount = transition(env, state, action, key, env.step)
        logits, value = evaluate(state)
        value = jnp.where(discount == 0, 0.0, value)
        output = mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=value)
        return output, state

    logits, value = evaluate(state)
    return mctx.gumbel_muzero_policy(
        params=None,
        rng_key=key,
        root=mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state),
        recurrent_fn=recurrent,
        num_simulations=simulations,
        invalid_actions=~state.legal_action_mask,
        qtransform=functools.partial(mctx.qtransform_completed_by_mix_value, use_mixed_value=True),
    )


def self_play(env, network, params, state, key, steps, simulations):
    """Plays on from the states [games], new games beginning where others end; the states after it and all samples."""
    step = auto_reset(env.step, env.init)

    def one_step(state, key):
        # Pgx's auto-reset leaves the flags of the ended game in the first state of the new one.
        running = jnp.zeros_like(state.terminated)
        state = state.replace(terminated=running, truncated=running)
        search_key, step_key = jax.random.split(key)
        found = search(env, network, params, state, search_key, simulations)
        after, reward, discount = transition(env, state, found.action, step_key, step)
        sample = Sample(state.observation, state.legal_action_mask, found.action_weights, reward, discount)
        return after, sample

    return jax.lax.scan(one_step, state, jax.random.split(key, steps))


def targets(network, params, samples, state):
    """What every sample's position turned out to be worth for its mover, float32 [steps, games]."""
    _, bootstrap = network.apply(params, state.observation)

    def backwards(value, sample):
        value = sample.reward + sample.discount * value
        return value, value

    return jax.lax.scan(backwards, bootstrap, samples, reverse=True)[1]


def loss_of(network, params, samples, values):
    """The usual one: cross-entropy to the search's policy, squared error to the outcome."""
    logits, value = network.apply(params, samples.observation)
    policy = optax.softmax_cross_entropy(masked(logits, samples.mask), samples.weights)
    return policy.mean() + jnp.square(value - values).mean()


def against_random(env, network, params, key, games, max_steps):
    """The mean result, -1 to 1, of the network's favourite moves against random ones, seats alternating."""
    seats = jnp.arange(games) % env.num_players

    def one_step(carry, key):
        state, result = carry
        logits, _ = network.apply(params, state.observation)
        best = jnp.argmax(masked(logits, state.legal_action_mask), axis=1)
        chance, step_key = jax.random.split(key)
        anything = jax.random.categorical(chance, masked(jnp.zeros_like(logits), state.legal_action_mask))
        action = jnp.where(state.current_player == seats, best, anything)
        state = jax.vmap(env.step)(state, action, jax.random.split(step_key, games))
        return (state, result + jnp.take_along_axis(state.rewards, seats[:, None], axis=1)[:, 0]), None

    start, key = jax.random.split(key)
    begun = (jax.vmap(env.init)(jax.random.split(start, games)), jnp.zeros(games))
    (_, result), _ = jax.lax.scan(one_step, begun, jax.random.split(key, max_steps))
    return result.mean()


def train(env, *, iterations, games, steps, simulations, max_steps, learning_rate=1e-3, seed=0):
    """Trains a network by self-play and returns its parameters and the lines of the learning curve.

    Args: max_steps: plies after which games against random play are left. The curve is [(loss, result)].
    """
    network = Network(env.num_actions)
    key, start, init = jax.random.split(jax.random.PRNGKey(seed), 3)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(start, games))
    params = network.init(init, state.observation)
    optimiser = optax.adam(learning_rate)

    def fit(carry, batch):
        params, memory = carry
        loss, gradient = jax.value_and_grad(lambda params: loss_of(network, params, *batch))(params)
        updates, memory = optimiser.update(gradient, memory)
        return (optax.apply_updates(params, updates), memory), loss

    @jax.jit
    def iterate(params, memory, state, key):
        play_key, shuffle_key = jax.random.split(key)
        state, samples = self_play(env, network, params, state, play_key, steps, simulations)
        data = (samples, targets(network, params, samples, state))
        # Twice over the samples, each time in four minibatches.
        order = jnp.stack([jax.random.permutation(key, steps * games) for key in jax.random.split(shuffle_key)])
        order = order[:, : steps * games // 4 * 4].reshape(8, -1)
        batches = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[order], data)
        (params, memory), losses = jax.lax.scan(fit, (params, memory), batches)
        return params, memory, state, losses.mean()

    test = jax.jit(lambda params, key: against_random(env, network, params, key, 64, max_steps))
    memory, curve = optimiser.init(params), []
    for iteration in range(iterations):
        key, play_key, test_key = jax.random.split(key, 3)
        params, memory, state, loss = iterate(params, memory, state, play_key)
        if (iteration + 1) % max(1, iterations // 5) == 0:
            curve.append((float(loss), float(test(params, test_key))))
            print(f"iteration {iteration + 1}: loss {curve[-1][0]:.3f}, result against random {curve[-1][1]:+.3f}")
    return params, curve


def main() -> None:
    """Trains and prints the curve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="stigmergy-v0", help="of this package, or any of Pgx")
    parser.add_argument("--side", type=int, default=3, help="of Stigmergy's board")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--games", type=int, default=32)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--simulations", type=int, default=16)
    arguments = parser.parse_args()

    if arguments.env in audamir_envs.ids():
        options = {"side": arguments.side} if arguments.env == "stigmergy-v0" else {}
        env = audamir_envs.make(arguments.env, **options)
        max_steps = min(env.max_steps, 200)
    else:
        env, max_steps = pgx.make(arguments.env), 200
    train(
        env,
        iterations=arguments.iterations,
        games=arguments.games,
        steps=arguments.steps,
        simulations=arguments.simulations,
        max_steps=max_steps,
    )


if __name__ == "__main__":
    main()
