"""Behaviour cloning: games of a level become a dataset, a small network learns to play as the level does."""

import argparse
import os
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import optax

import audamir_envs
from audamir_envs import agents, arena, records
from audamir_envs.records import datasets


def init(key, inputs, hidden, actions):
    """Parameters of a network with one hidden layer."""
    first, second = jax.random.split(key)
    return {
        "w1": jax.random.normal(first, (inputs, hidden)) * np.sqrt(2 / inputs),
        "b1": jnp.zeros(hidden),
        "w2": jax.random.normal(second, (hidden, actions)) * np.sqrt(1 / hidden),
        "b2": jnp.zeros(actions),
    }


@jax.jit
def logits(parameters, observation, mask):
    """Float32 [batch, actions]: illegal actions have none of the probability."""
    flat = observation.reshape(observation.shape[0], -1).astype(jnp.float32)
    hidden = jax.nn.relu(flat @ parameters["w1"] + parameters["b1"])
    return jnp.where(mask, hidden @ parameters["w2"] + parameters["b2"], -1e9)


def learn(data, hidden, steps, batch=256):
    """Fits the actions of a dataset by cross-entropy. Opening plies are nobody's choice and are left out."""
    chosen = np.flatnonzero(~data["opening"])
    parameters = init(jax.random.key(0), data["observation"][0].size, hidden, data["mask"].shape[1])
    optimizer = optax.adam(1e-3)

    @jax.jit
    def step(parameters, state, observation, mask, action):
        def loss(parameters):
            found = logits(parameters, observation, mask)
            return optax.softmax_cross_entropy_with_integer_labels(found, action).mean()

        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(parameters, updates), state, value

    state = optimizer.init(parameters)
    random = np.random.default_rng(0)
    for number in range(steps):
        rows = random.choice(chosen, batch)
        part = (data[name][rows] for name in ("observation", "mask", "action"))
        parameters, state, value = step(parameters, state, *part)
        if number % 200 == 0 or number == steps - 1:
            print(f"step {number}: cross-entropy {float(value):.3f}")
    return parameters


def main() -> None:
    """Plays, learns, and rates the clone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--level", default="weak", help="who is imitated")
    parser.add_argument("--games", type=int, default=400, help="of the dataset")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--eval-games", type=int, default=200)
    parser.add_argument("--data", help="a dataset of stigmergy-v0, side 3, komi 4 (default: a new one is made)")
    arguments = parser.parse_args()

    env = audamir_envs.make("stigmergy-v0", side=3, komi=4)
    if arguments.data:
        data = datasets.read(arguments.data).load()
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "games.jsonl")
            arena.evaluate(env, [arguments.level] * 2, arguments.games, opening_plies=2, record=path)
            data = datasets.write(records.read(path).games, folder).load()
    print(f"{len(data['action'])} decisions")

    parameters = learn(data, 128, arguments.steps)
    clone = agents.from_callable(
        lambda observation, mask: np.asarray(logits(parameters, observation, mask)).argmax(axis=1), name="clone"
    )
    print(arena.evaluate(env, [clone, "random"], arguments.eval_games, opening_plies=2))


if __name__ == "__main__":
    main()
