"""Many games at once as a ``VecEnv`` of Stable-Baselines3, stepped by one jitted call; needs that package.

    from audamir_envs.bridges.stable_baselines3 import make_vec_env

    lanes = make_vec_env(env_id, 64, opponent="weak", seed=0)
    model = MaskablePPO("MlpPolicy", lanes).learn(100_000)

Stable-Baselines3's own ``make_vec_env`` makes one environment a lane and calls each by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecMonitor  # type: ignore[import-not-found]

from audamir_envs.bridges.vector import SingleAgentVectorEnv
from audamir_envs.core import Environment


class LevelVecEnv(VecEnv):
    """``num_envs`` games, each from its learner's seat, begun anew as soon as they end.

    ``infos`` of lanes whose episode ended hold ``terminal_observation``, ``TimeLimit.truncated``, ``seat``, ``illegal``
    and what ``Environment.info`` says; those of other lanes hold what ``facts`` names.
    """

    def __init__(
        self,
        game: str | Environment,
        num_envs: int,
        opponent: Any = "normal",
        seat: Any = "random",
        facts: Sequence[str] = (),
        **options: Any,
    ) -> None:
        """Args: game, opponent, seat, options: as ``SingleAgentVectorEnv``; facts: names of ``Environment.info`` that
        are told at every step, which takes time for each lane.

        Raises: ValueError naming what is valid; TypeError: an opponent that is no agent.
        """
        self.lanes = SingleAgentVectorEnv(game, num_envs, opponent, seat, "SAME_STEP", **options)
        self.facts = tuple(facts)
        self._actions: Any = None
        super().__init__(self.lanes.num_envs, self.lanes.single_observation_space, self.lanes.single_action_space)

    def reset(self) -> np.ndarray:
        """New episodes everywhere: observations float32 [num_envs, ...]; seeded once by what ``seed`` was given."""
        positions = {options.get("position") for options in self._options}
        if len(positions) > 1:
            raise ValueError("set_options: all lanes start from one position")
        seeds = None if all(seed is None for seed in self._seeds) else list(self._seeds)
        observation, info = self.lanes.reset(seed=seeds, options={"position": positions.pop()})
        unknown = [name for name in self.facts if name not in info]
        if unknown:
            known = ", ".join(name for name in info if not name.startswith("_"))
            raise ValueError(f"facts: {self.lanes.game.id} tells no {unknown[0]!r}: use {known}")
        self.reset_infos = self._infos(info)
        self._reset_seeds()
        self._reset_options()
        return observation

    def step_async(self, actions: np.ndarray) -> None:
        """Keeps the actions (integers [num_envs]) for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Plays them: observations float32 [num_envs, ...], rewards float32, dones bool [num_envs], infos."""
        observation, rewards, terminated, truncated, info = self.lanes.step(self._actions)
        infos, done = self._infos(info), terminated | truncated
        final = info.get("final_info", {})
        for lane in np.flatnonzero(done):
            infos[lane] = {name: final[name][lane] for name in final if not name.startswith("_")}
            infos[lane]["terminal_observation"] = info["final_obs"][lane]
            infos[lane]["TimeLimit.truncated"] = bool(truncated[lane] and not terminated[lane])
        return observation, rewards, done, infos

    def action_masks(self) -> np.ndarray:
        """bool [num_envs, actions]: what is legal now."""
        return self.lanes.action_masks()

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """``action_masks`` of the lanes, as sb3-contrib asks for it. Raises: AttributeError: another method."""
        if method_name != "action_masks":
            raise AttributeError(f"lanes are no environments of their own: they have action_masks, not {method_name}")
        masks = self.action_masks()
        return [masks[lane] for lane in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the batched environment, once a lane. Raises: AttributeError."""
        value = getattr(self.lanes, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raises: AttributeError: what lanes are made for stays so."""
        raise AttributeError(f"{attr_name} cannot be set: make other lanes")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No lane is."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Nothing to do."""

    def _infos(self, info: dict[str, Any]) -> list[dict[str, Any]]:
        if not self.facts:
            return [{} for _ in range(self.num_envs)]
        told = [info[name] for name in self.facts]
        return [dict(zip(self.facts, values, strict=True)) for values in zip(*told, strict=True)]


def make_vec_env(game: str | Environment, n_envs: int, *, seed: int | None = None, **settings: Any) -> VecMonitor:
    """``LevelVecEnv`` within ``VecMonitor``, which learners take their statistics from.

    Args: seed: of the first reset, lane i by seed + i; settings: see ``LevelVecEnv``. Raises: as there.
    """
    lanes = LevelVecEnv(game, n_envs, **settings)
    if seed is not None:
        lanes.seed(seed)
    return VecMonitor(lanes)
