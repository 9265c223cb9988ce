"""The lowest declared versions: `requirements` prints them as pins, `check` runs games, bridges, levels and trainers.

Small sizes and little compiling: it is to say that nothing newer is needed, not that all is right.
"""

from __future__ import annotations

import importlib
import re
import sys
import tempfile
import tomllib
from pathlib import Path

SMALL = {"stigmergy-v0": {"side": 2}, "principalities-v0": {"tiles": 6}}
TRAINERS = {
    "stigmergy-v0": "--layouts=2 --channels=4 --blocks=1 --lanes=8 --plies=8 --simulations=2 --considered=2 --slots=8 "
    "--full-share=1 --opening-plies=1 --batch=16 --microbatch=16 --replay-positions=64 --warmup-positions=0 "
    "--pool-share=0.5 --fork-share=0.5",
    "principalities-v0": "--layouts=2@6 --channels=4 --blocks=1 --lanes=8 --steps=8 --maps=4 --batch=32 "
    "--microbatch=32 --epochs=1",
}


def requirements() -> list[str]:
    """``name==version`` of every lower bound of the package and its extras ``train`` and ``test``."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    bounds = [*project["dependencies"], *extras["train"], *extras["test"]]
    return [re.sub(r">=", "==", bound) for bound in bounds if ">=" in bound]


def games() -> None:
    """Steps of every game under jit and vmap, one decision of each level."""
    import jax

    import audamir_envs

    for env_id in audamir_envs.ids():
        env = audamir_envs.make(env_id, **SMALL.get(env_id, {}))
        states = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), 4))
        step = jax.jit(jax.vmap(env.step))
        for key in jax.random.split(jax.random.key(1), 3):
            action_key, step_key = jax.random.split(key)
            states = step(states, audamir_envs.sample_legal(action_key, states), jax.random.split(step_key, 4))
        one = jax.tree.map(lambda leaf: leaf[0], states)
        for level in ("random", "weak", "zero-policy"):
            action = int(jax.jit(audamir_envs.make_agent(env_id, level).act)(one, jax.random.key(2)))
            assert bool(one.legal_action_mask[action]), (env_id, level)
        print(env_id, "steps, levels")


def bridges() -> None:
    """A game by PettingZoo, an episode of Gymnasium and of its vector environment."""
    import gymnasium

    import audamir_envs

    for env_id in audamir_envs.ids():
        options = SMALL.get(env_id, {})
        name = env_id.removesuffix("-v0").capitalize() + "-v0"
        env = importlib.import_module(f"audamir_envs.{env_id.replace('-', '_')}").env(**options)
        env.reset(seed=0)
        for agent in env.agent_iter(8):
            observation, _, terminated, truncated, _ = env.last()
            over = terminated or truncated
            env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
        single = gymnasium.make(f"audamir_envs/{name}", opponent="weak", **options)
        _, info = single.reset(seed=0)
        single.step(single.action_space.sample(info["action_mask"].astype("int8")))
        lanes = gymnasium.make_vec(
            f"audamir_envs/{name}", 4, vectorization_mode="vector_entry_point", opponent="random", **options
        )
        _, info = lanes.reset(seed=0)
        lanes.step(info["action_mask"].argmax(axis=1))
        print(env_id, "PettingZoo, Gymnasium")


def trainers() -> None:
    """Two iterations of each trainer, its level written and read."""
    from audamir_training import commands

    import audamir_envs

    for env_id, flags in TRAINERS.items():
        with tempfile.TemporaryDirectory() as folder:
            words = [env_id, "--out", folder, "--iterations=2", "--evaluate-minutes=0", "--log-seconds=0", "--quiet"]
            assert commands.train([*words, *flags.split()]) == 0
            assert commands.plot([folder]) == 0
            assert commands.export([folder, f"{folder}/level", "--last"]) == 0
            audamir_envs.make_agent(env_id, f"{folder}/level/zero.safetensors", policy=True)
        print(env_id, "train, plot, export")


if __name__ == "__main__":
    if sys.argv[1] == "requirements":
        print("\n".join(requirements()))
    else:
        games()
        bridges()
        trainers()
