"""One tiny program of PPO for all tests of it, since compiling it takes longer than running it."""

import jax
import jax.numpy as jnp
import numpy as np
from audamir_training.settings import PPOSettings

TINY_PPO = PPOSettings(
    env="principalities-v0",
    layouts="2@4",
    channels=4,
    blocks=1,
    lanes=8,
    steps=8,
    snapshot_share=0.25,
    snapshots=2,
    snapshot_iterations=2,
    level_share=0.25,
    levels="weak",
    maps=4,
    batch=16,
    microbatch=8,
    epochs=1,
    groups=2,
)


def random_parameters(network) -> dict:
    """Parameters none of which is near zero, as fresh ones of the heads are, so that each matters."""
    from audamir_envs.principalities.network import init_tile_parameters

    shapes = jax.eval_shape(lambda key: init_tile_parameters(network, key), jax.random.key(0))
    rng = np.random.default_rng(1)

    def draw(leaf):
        scale = leaf.shape[0] ** -0.5 if len(leaf.shape) == 2 else 0.3
        return jnp.asarray(scale * rng.normal(size=leaf.shape), jnp.float32)

    return jax.tree.map(draw, shapes)
