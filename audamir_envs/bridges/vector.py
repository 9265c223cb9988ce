"""Many games at once as one Gymnasium ``VectorEnv``, stepped by one jitted call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from audamir_envs.bridges.batch import Answer, Batch, CompiledBatch, compiled_batch
from audamir_envs.bridges.episodes import Report, bare
from audamir_envs.bridges.setting import (
    batch_actions,
    check_num_envs,
    environment_of,
    lane_words,
    lanes_to_reset,
    learner_seats,
    observation_box,
    own_parts,
    position_state,
)
from audamir_envs.bridges.table import table_for
from audamir_envs.core import Environment

_MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)


class SingleAgentVectorEnv(VectorEnv[Any, Any, Any]):
    """``num_envs`` games, each from its learner's seat; see ``episodes`` for what an episode is.

    ``info`` holds arrays [num_envs], each ``name`` with ``_name``, which says for which lanes it holds: ``action_mask``
    int8 [num_envs, actions] (all ones where a lane waits for its reset), ``seat``, ``illegal``, and what
    ``Environment.info`` says of the learners. In the mode SAME_STEP, when episodes end, the last of these are in
    ``final_info`` and ``final_obs``.

    With ``device_outputs`` everything is a JAX array and nothing is copied or waited for; then all keys are there at
    every step, and ``final_obs`` is one array [num_envs, ...].
    """

    def __init__(
        self,
        game: str | Environment,
        num_envs: int = 1,
        opponent: Any = "normal",
        seat: Any = "random",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        device_outputs: bool = False,
        **options: Any,
    ) -> None:
        """Args: game, opponent, seat, options: as ``SingleAgentEnv``; autoreset_mode: NEXT_STEP or SAME_STEP.

        Raises: ValueError naming what is valid; TypeError: an opponent that is no agent.
        """
        valid = {name: mode for mode in _MODES for name in (mode, mode.name, mode.value)}
        if autoreset_mode not in valid:
            raise ValueError(f"autoreset_mode={autoreset_mode!r} is not valid: use NEXT_STEP or SAME_STEP")
        self.game = environment_of(game, options)
        self.num_envs = check_num_envs(num_envs)
        self.opponent, self.seat = opponent, seat
        self.device_outputs = device_outputs
        self._mode = valid[autoreset_mode]
        self.metadata = {"autoreset_mode": self._mode, "render_modes": [], "jax": device_outputs}
        self.single_observation_space = observation_box(self.game)
        self.single_action_space = gymnasium.spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._compile()
        self._batch: Batch | None = None
        self._mask: Any = np.ones((num_envs, self.game.num_actions), np.bool_)
        self._offence: Any = None  # the last step's flag, looked at when it costs no waiting

    def _compile(self) -> None:
        self._table = table_for(self.game, self.opponent, self.seat)
        self._compiled: CompiledBatch = compiled_batch(
            self._table, self._mode == AutoresetMode.SAME_STEP, self.device_outputs
        )

    def __getstate__(self) -> dict[str, Any]:
        fields = self.__dict__.copy()
        del fields["_compiled"], fields["_table"]
        return fields | own_parts(fields, "_batch")

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        self._compile()

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """New episodes everywhere; ``options={"position": text}`` starts them from a position.

        Args: seed: lane i is seeded by seed + i, or by the i-th of a sequence, where None goes on unseeded; options:
        ``reset_mask``, bool [num_envs]: resets these lanes alone; ``_name`` of info says so, the rest of the answer is
        that of all lanes. The opponents of all lanes draw from one key, which a reset of some lanes does not renew.
        Raises: ValueError: a sequence or mask of another length, a mask without lanes; a position as for
        ``SingleAgentEnv``; TypeError: a mask that is no array of bool; ResetNeeded: a mask at the first reset.
        """
        start = position_state(self.game, options)
        chosen = lanes_to_reset(options, self.num_envs)
        if chosen is not None and self._batch is None:
            raise gymnasium.error.ResetNeeded("reset() of some lanes before the first reset() of all")
        words = lane_words(self, seed, chosen)
        if chosen is None:
            key: Any = self.np_random.integers(0, 2**32, 2, np.uint32)  # of the opponents
        if start is None:
            episodes = self._table.ended(words)
        else:
            seats = learner_seats(self.game, start, self.seat, self.num_envs, self.np_random)
            episodes = self._compiled.start_at(bare(start), seats, words)
        if chosen is None:
            nothing = np.zeros(self.num_envs, np.int32)
            batch, answer = self._compiled.step(Batch(episodes=episodes, words=key), nothing, np.bool_(False))
        else:
            batch, answer = self._compiled.reset_some(self._batch, episodes, chosen)
        self._batch, self._offence = batch, None
        observation, _, _, _, info = self._hand_out(answer, chosen)
        return observation, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One action of each learner (integers [num_envs]: NumPy, JAX, or any array that speaks DLPack).

        Raises: ValueError: another shape; TypeError: no integers; RuntimeError: an opponent played an illegal action.
        """
        if self._batch is None:
            raise gymnasium.error.ResetNeeded("step() before the first reset()")
        self._check_opponents()
        self._batch, answer = self._compiled.step(self._batch, batch_actions(actions, self.num_envs), np.bool_(True))
        self._offence = answer.opponent_illegal
        if not self.device_outputs:
            self._check_opponents()
        return self._hand_out(answer)

    def action_masks(self) -> np.ndarray:
        """bool [num_envs, actions]: what is legal now, all true where a lane waits for its reset."""
        return np.array(self._mask)

    def _check_opponents(self) -> None:
        if self._offence is not None and not self._table.forfeits and bool(self._offence):
            raise RuntimeError(f"an opponent ({', '.join(self._table.names)}) played an illegal action")

    def _hand_out(self, answer: Answer, where: Any = None) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        self._mask = answer.report.action_mask
        if not self.device_outputs:
            answer = jax.tree.map(np.asarray, answer)
        report, final, done = answer.report, answer.final, answer.done
        info = self._info(report, np.ones(self.num_envs, np.bool_) if where is None else where)
        if final is not None and (self.device_outputs or done.any()):
            info |= {"final_obs": self._final_observation(final, done), "_final_obs": self._own(done)}
            info |= {"final_info": self._info(final, done), "_final_info": self._own(done)}
        told = report if final is None else final
        rewards, terminated, truncated = map(self._own, (told.reward, told.terminated, told.truncated))
        return self._own(report.observation, np.float32), rewards, terminated, truncated, info

    def _info(self, report: Report, where: Any) -> dict[str, Any]:
        """Gymnasium's form of a batched info: each name with ``_name``, which says for which lanes it holds."""
        mask = report.action_mask.astype(np.int8)
        values = report.info | {"action_mask": mask, "seat": report.seat, "illegal": report.illegal}
        own = {name: self._own(value) for name, value in values.items()}
        return own | {f"_{name}": self._own(where) for name in values}

    def _final_observation(self, final: Report, done: Any) -> Any:
        if self.device_outputs:
            return final.observation
        rows = np.full(self.num_envs, None, dtype=object)
        for lane in np.flatnonzero(done):
            rows[lane] = final.observation[lane].astype(np.float32)
        return rows

    def _own(self, array: Any, dtype: Any = None) -> Any:
        """An array for the caller alone: on the host a writable copy."""
        if self.device_outputs:
            return array if dtype is None else array.astype(dtype)
        return np.array(array, dtype)
