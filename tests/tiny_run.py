"""Settings of the smallest run that learns, meshes for it, and steps of any algorithm."""

import dataclasses

import jax
import numpy as np
from audamir_training.devices import AXIS
from audamir_training.settings import AlphaZeroSettings

TINY = AlphaZeroSettings(
    env="stigmergy-v0",
    layouts="2",
    channels=4,
    blocks=1,
    lanes=8,
    plies=8,
    simulations=4,
    full_share=1.0,
    considered=4,
    slots=8,
    opening_plies=1,
    batch=16,
    microbatch=8,
    reuse=0.5,
    replay_positions=512,
    warmup_positions=64,
    window_positions=256,
    groups=2,
    evaluate_simulations=2,
    evaluate_options="side=2",
)


def mesh_of(devices: int) -> jax.sharding.Mesh:
    return jax.sharding.Mesh(np.array(jax.devices()[:devices]), (AXIS,))


def changed(**changes) -> AlphaZeroSettings:
    return dataclasses.replace(TINY, **changes)


def copied(tree):
    """The tree on the host, safe from being used up by an iteration."""
    return jax.tree.map(lambda leaf: np.array(leaf), tree)


def advanced(algorithm, state, iterations: int):
    """The state so many iterations later, and the metrics of each."""
    metrics = []
    for _ in range(iterations):
        state, measured = algorithm.iterate(state)
        metrics.append({name: float(value) for name, value in measured.items()})
    return state, metrics
