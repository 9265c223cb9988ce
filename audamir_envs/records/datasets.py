"""Records as columns for learning: one row a decision, in shards of NumPy or Parquet files (docs/records.md)."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array, Environment, State
from audamir_envs.files import write_bytes, write_text
from audamir_envs.records.format import Game
from audamir_envs.records.replaying import Replayer, action_texts, batches, check_moves, environment_of

FORMAT = "audamir-dataset-1"
_BATCH = 64  # games played again at once
Columns = dict[str, np.ndarray]


def columns(games: Iterable[Game], agents: Sequence[Any] = ()) -> Iterator[tuple[Environment, Columns]]:
    """The columns of games, some games at a time, one row for each action, games one after another.

    ============== ============================================================================================
    observation    [rows, *observation_shape], the environment's dtype: what the mover sees
    mask           bool [rows, actions]: what is legal
    action         int32 [rows]
    player         int8 [rows]: the seat to move
    return         float32 [rows]: the reward to go from the mover's view: 1 for a win, -1/(players - 1) for a loss
    value          float32 [rows]: what was thought of the position, from the mover's view; nan: nothing
    policy         float32 [rows, actions], where there are ``agents``, or the record holds policies; nan: none
    game           int64 [rows]: the game's place among all those given, from 0
    ply            int32 [rows]: from 0
    opening        bool [rows]: no agent chose the action
    end            bool [rows]: the game's last action
    cut            bool [rows]: the game was cut and settled on points
    ============== ============================================================================================

    Args: agents: agents that say what they think (``evaluate``) of every position: as many as the header has, each of
    those where it moved, or one, of all positions. Without them ``value`` and ``policy`` are what the record holds.
    Raises: RecordError: a game that does not follow the rules; NotImplementedError: an agent that only acts.
    """
    first = 0
    for group in batches(games, _BATCH):
        env = environment_of(group[0])
        for game in group:
            check_moves(env, game)
        yield env, _columns(env, group, first, tuple(agents))
        first += len(group)


def _columns(env: Environment, group: Sequence[Game], first: int, agents: tuple[Any, ...]) -> Columns:
    parts = list(Replayer(env, _BATCH, look(env, agents)).run(group))
    if not parts:
        return _empty(env, bool(agents))
    codes = np.concatenate([codes for codes, _ in parts])
    seen: Columns = jax.tree.map(lambda *chunks: np.concatenate(chunks), *(seen for _, seen in parts))
    for lane, game in enumerate(group):
        if codes[:, lane].any():
            raise game.error(f"game {game.number}, action {int(codes[:, lane].argmax()) + 1}: it is not possible")
    plies = np.array([game.plies for game in group])
    ply = np.concatenate([np.arange(count) for count in plies])
    lane = np.repeat(np.arange(len(group)), plies)
    rows = {name: values[ply, lane] for name, values in seen.items() if name not in ("values", "policies")}
    player = rows["player"]
    shares = np.array([game.shares for game in group])[lane, player]
    found = rows | {
        "action": np.concatenate([np.array(game.actions, np.int32) for game in group]),
        "return": ((env.num_players * shares - 1) / (env.num_players - 1)).astype(np.float32),
        "value": np.full(len(ply), np.nan, np.float32),
        "game": first + lane.astype(np.int64),
        "ply": ply.astype(np.int32),
        "opening": ply < np.array([game.opening for game in group])[lane],
        "end": ply == plies[lane] - 1,
        "cut": np.array([game.cut for game in group])[lane],
    }
    if agents:
        seats = np.array([game.seats for game in group])[lane, player] if len(agents) > 1 else np.zeros_like(lane)
        found["value"] = seen["values"][ply, seats, lane, player]
        found["policy"] = seen["policies"][ply, seats, lane]
    else:
        _add_analysis(env, group, plies, found)
    return found


def _add_analysis(env: Environment, group: Sequence[Game], plies: np.ndarray, found: Columns) -> None:
    """Value and policy of the record's own analysis, where there is any."""
    if all(game.analysis is None for game in group):
        return
    number = {text: action for action, text in ((a, action_texts(env)[a]) for a in range(env.num_actions))}
    policy = np.full((len(found["ply"]), env.num_actions), np.nan, np.float32)
    row = 0
    for game, count in zip(group, plies.tolist(), strict=True):
        for ply in range(count):
            thought = game.analysis[ply] if game.analysis else None
            try:
                if thought and "value" in thought:
                    found["value"][row + ply] = thought["value"][found["player"][row + ply]]
                if thought and "policy" in thought:
                    policy[row + ply] = 0
                    for text, chance in thought["policy"].items():
                        policy[row + ply, number[text]] = chance
            except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
                raise game.error(f"game {game.number}, analysis of action {ply + 1}: {error!r:.80}") from None
        row += count
    found["policy"] = policy


@functools.lru_cache(maxsize=16)
def look(env: Environment, agents: tuple[Any, ...]) -> Callable[[State, Array], Any]:
    """What a dataset keeps of a batch of states, as ``Replayer`` wants it: one function for equal arguments."""
    from audamir_envs.agents.base import evaluate_batch

    def seen(states: State, actions: Array) -> dict[str, Array]:
        del actions
        found = {
            "observation": states.observation,
            "mask": states.legal_action_mask,
            "player": states.current_player.astype(jnp.int8),
        }
        if agents:
            thought = [evaluate_batch(agent, states) for agent in agents]
            found["values"] = jnp.stack([one.value for one in thought])
            found["policies"] = jnp.stack([one.policy for one in thought])
        return found

    return seen


def _empty(env: Environment, thought: bool) -> Columns:
    """The columns of games without a single action."""
    rows = {
        "observation": np.zeros((0, *env.observation_shape), env.observation_dtype),
        "mask": np.zeros((0, env.num_actions), np.bool_),
        "player": np.zeros(0, np.int8),
        "action": np.zeros(0, np.int32),
        "return": np.zeros(0, np.float32),
        "value": np.zeros(0, np.float32),
        "game": np.zeros(0, np.int64),
        "ply": np.zeros(0, np.int32),
    } | {name: np.zeros(0, np.bool_) for name in ("opening", "end", "cut")}
    return rows | {"policy": np.zeros((0, env.num_actions), np.float32)} if thought else rows


@dataclasses.dataclass(frozen=True)
class Dataset:
    """What ``write`` wrote: the folder and what its ``dataset.json`` says."""

    folder: str
    facts: dict[str, Any]

    def shards(self) -> Iterator[Columns]:
        """The columns of each file. Raises: OSError, ValueError."""
        for name in self.facts["files"]:
            yield _read(os.path.join(self.folder, name))

    def load(self) -> Columns:
        """All rows. Raises: OSError, ValueError."""
        shards = list(self.shards())
        return {name: np.concatenate([shard[name] for shard in shards]) for name in shards[0]}


def write(
    games: Iterable[Game],
    folder: str | os.PathLike[str],
    *,
    agents: Sequence[Any] = (),
    kind: str = "npz",
    rows: int = 100_000,
    progress: Callable[[int], None] | None = None,
) -> Dataset:
    """Writes the columns of games as files ``part-00000.npz`` (or ``.parquet``), ... and, last, ``dataset.json``.

    Args: agents: as for ``columns``; kind: ``npz`` or ``parquet`` (needs pyarrow); rows: a file's, at most; progress:
    called with the number of rows written.
    Raises: ValueError: a bad kind, no games, or games of different environments; FileExistsError: a dataset is there
    already; ModuleNotFoundError; OSError; as ``columns``.
    """
    check(folder, kind)
    if rows < 1:
        raise ValueError(f"rows must be at least 1, not {rows}")
    files: list[str] = []
    waiting: list[Columns] = []
    known: Environment | None = None
    total = held = count = 0

    def flush(least: int) -> None:
        nonlocal waiting, held, total
        while held >= least and held:
            joined = {name: np.concatenate([part[name] for part in waiting]) for name in waiting[0]}
            first = {name: values[:rows] for name, values in joined.items()}
            waiting = [{name: values[rows:] for name, values in joined.items()}]
            name = f"part-{len(files):05d}.{kind}"
            _write(os.path.join(os.fspath(folder), name), first)
            files.append(name)
            total, held = total + len(first["ply"]), len(waiting[0]["ply"])
            if progress is not None:
                progress(total)

    for env, part in columns(games, agents):
        if known is not None and env != known:
            raise ValueError(f"a dataset is of one environment, not of {known} and {env}")
        if waiting and set(part) != set(waiting[0]):
            raise ValueError("some games hold policies and others none: leave the latter out, or name an agent")
        known = env
        waiting.append(part)
        held += len(part["ply"])
        count += int(part["game"][-1] - part["game"][0] + 1) if len(part["game"]) else 0
        flush(rows)
    if known is None or not (held or files):
        raise ValueError("there are no games to make a dataset of")
    shapes = {name: [str(values.dtype), *values.shape[1:]] for name, values in waiting[0].items()}
    flush(1)
    facts = {
        "format": FORMAT,
        "env": known.id,
        "env_version": known.version,
        "options": known.options,
        "players": known.num_players,
        "actions": known.num_actions,
        "games": count,
        "rows": total,
        "columns": shapes,
        "files": files,
    }
    write_text(os.path.join(os.fspath(folder), "dataset.json"), json.dumps(facts, indent=1) + "\n")
    return Dataset(os.fspath(folder), facts)


def read(folder: str | os.PathLike[str]) -> Dataset:
    """The dataset of a folder. Raises: ValueError naming the file; OSError."""
    path = os.path.join(os.fspath(folder), "dataset.json")
    with open(path, encoding="utf-8") as file:
        try:
            facts = json.load(file)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}: {error}") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ValueError(f"{path} is no dataset of the format {FORMAT}")
    files = facts.get("files")
    if not isinstance(files, list) or not all(isinstance(f, str) and os.path.basename(f) == f for f in files):
        raise ValueError(f"{path}: files is no list of names")
    return Dataset(os.fspath(folder), facts)


def check(folder: str | os.PathLike[str], kind: str) -> None:
    """What ``write`` checks first, before games are played for it. Raises: as ``write``."""
    if kind not in ("npz", "parquet"):
        raise ValueError(f"a dataset's format is npz or parquet, not {kind!r}")
    if kind == "parquet":
        try:
            import pyarrow  # noqa: F401
        except ModuleNotFoundError:
            raise ModuleNotFoundError("parquet needs pyarrow: pip install pyarrow", name="pyarrow") from None
    if os.path.exists(os.path.join(os.fspath(folder), "dataset.json")):
        raise FileExistsError(f"{os.fspath(folder)} holds a dataset already: name another folder")


def _write(path: str, part: Columns) -> None:
    content = io.BytesIO()
    if path.endswith(".npz"):
        np.savez(content, **part)  # type: ignore[arg-type]
    else:
        import pyarrow
        import pyarrow.parquet

        arrays, fields = [], []
        for name, values in part.items():
            width = int(np.prod(values.shape[1:], dtype=int))
            flat = pyarrow.array(values.reshape(-1))
            array = flat if values.ndim == 1 else pyarrow.FixedSizeListArray.from_arrays(flat, width)
            shape = {"shape": json.dumps(values.shape[1:])}
            fields.append(pyarrow.field(name, array.type, nullable=False, metadata=shape))
            arrays.append(array)
        table = pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields))
        pyarrow.parquet.write_table(table, content, compression="zstd")
    write_bytes(path, content.getvalue())


def _read(path: str) -> Columns:
    if path.endswith(".npz"):
        try:
            with np.load(path, allow_pickle=False) as file:
                return dict(file)
        except (ValueError, EOFError, KeyError) as error:
            raise ValueError(f"{path}: {error}") from None
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    found = {}
    for field in table.schema:
        shape = json.loads((field.metadata or {}).get(b"shape", b"[]"))
        column = table.column(field.name).combine_chunks()
        values = column.flatten() if shape else column
        found[field.name] = values.to_numpy(zero_copy_only=False).reshape(-1, *shape)
    return found
