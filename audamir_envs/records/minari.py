"""Records as a Minari dataset: the games as one seat sees them in the Gymnasium environment, an episode each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Environment
from audamir_envs.records.datasets import look
from audamir_envs.records.format import Game
from audamir_envs.records.replaying import Replayer, batches, check_moves, environment_of

_BATCH = 64


def write(games: Iterable[Game], dataset_id: str, *, seat: int = 0) -> Any:
    """A ``minari.MinariDataset`` of games, written where Minari keeps its datasets, in its Arrow format.

    Observations are float32, the seat's own at each of its decisions and at the game's end; the reward is that of the
    end, zero before; ``infos["action_mask"]`` is what was legal. Games in which the seat never moved are left out.
    Raises: ValueError: no games, another environment, a seat that is none; ModuleNotFoundError: what to install;
    RecordError.
    """
    try:
        import minari
        import pyarrow  # noqa: F401 - Minari's format
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"this needs {error.name}: pip install minari pyarrow", name=error.name) from None
    import gymnasium

    episodes: list[Any] = []
    known: Environment | None = None
    for group in batches(games, _BATCH):
        env = environment_of(group[0])
        if known is not None and env != known:
            raise ValueError(f"a dataset is of one environment, not of {known} and {env}")
        if seat >= env.num_players:
            raise ValueError(f"{seat} is no seat of {env.id}: use 0 to {env.num_players - 1}")
        known = env
        episodes += _episodes(env, group, seat)
    if known is None or not episodes:
        raise ValueError(f"there are no games to make a dataset of in which player_{seat} moves")
    box = gymnasium.spaces.Box(known.observation_low, known.observation_high, known.observation_shape, np.float32)
    return minari.create_dataset_from_buffers(  # type: ignore[attr-defined]
        dataset_id,
        episodes,
        observation_space=box,
        action_space=gymnasium.spaces.Discrete(known.num_actions),
        description=f"{known!r} as player_{seat} sees it",
        data_format="arrow",
    )


def _episodes(env: Environment, group: list[Game], seat: int) -> list[Any]:
    from minari.data_collector import EpisodeBuffer  # type: ignore[import-not-found]

    for game in group:
        check_moves(env, game)
    replayer = Replayer(env, _BATCH, look(env, ()))
    parts = list(replayer.run(group))
    if not parts:
        return []
    codes = np.concatenate([codes for codes, _ in parts])
    seen = jax.tree.map(lambda *chunks: np.concatenate(chunks), *(seen for _, seen in parts))
    last = np.asarray(jax.vmap(lambda game: env.observe_game(game, jnp.int32(seat)))(replayer.states.game))
    ended = np.asarray(replayer.states.terminated)
    episodes = []
    for lane, game in enumerate(group):
        if codes[:, lane].any():
            raise game.error(f"game {game.number}, action {int(codes[:, lane].argmax()) + 1}: it is not possible")
        own = np.flatnonzero(seen["player"][: game.plies, lane] == seat)
        if not own.size:
            continue
        count = len(own)
        observations = np.concatenate([seen["observation"][own, lane], last[lane][None]]).astype(np.float32)
        masks = np.concatenate([seen["mask"][own, lane], np.ones((1, env.num_actions), np.bool_)])
        rewards = np.zeros(count, np.float32)
        rewards[-1] = (env.num_players * game.shares[seat] - 1) / (env.num_players - 1)
        at_end = np.arange(count) == count - 1
        episodes.append(
            EpisodeBuffer(
                id=None,
                observations=list(observations),  # type: ignore[arg-type]
                actions=[np.int64(game.actions[ply]) for ply in own],  # type: ignore[arg-type]
                rewards=rewards.tolist(),
                terminations=(at_end & bool(ended[lane])).tolist(),
                truncations=(at_end & ~bool(ended[lane])).tolist(),
                infos={"action_mask": masks},
            )
        )
    return episodes
