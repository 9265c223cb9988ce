"""From a run to a level that ``make_agent`` loads, with its card."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from audamir_envs import __version__, files
from audamir_envs.learned.checkpoints import CheckpointError, check_play, read_tensors, write_tensors
from audamir_training import metrics, storage
from audamir_training.algorithms import build
from audamir_training.runs import BEST, LEARNER, STATE, Progress
from audamir_training.settings import EXPLOITS


def export(
    folder: Path,
    target: Path,
    last: bool = False,
    play: dict[str, Any] | None = None,
    force: bool = False,
    tell: metrics.Tell | None = None,
    more: Mapping[str, Any] | None = None,
) -> tuple[Path, Path]:
    """Writes the level (``zero.safetensors`` where the target is a folder) and ``card.md`` beside it.

    Args: last: the newest parameters instead of the best measured ones; play: the level's own defaults for its agents'
    settings, such as {"considered": 4}; force: also a level that has learned nothing; tell: called with a line for the
    user where something of the run cannot be read; more: what else the header says, JSON each, such
    as other ``results`` and the ``protocol`` by which they were measured.
    Raises: FileNotFoundError for a folder without a run; FileExistsError for files there that are not as an export
    leaves them; CheckpointError; ValueError: other settings, a name that the run itself uses, a run that made no
    gradient step; OSError.
    """
    newest = last or not (folder / BEST).is_file()
    if newest and not (folder / STATE).is_file():
        raise FileNotFoundError(f"{folder} holds no run: there is no {STATE}")
    path = target if target.suffix == ".safetensors" else target / "zero.safetensors"
    if path.name in (STATE, BEST, LEARNER) and path.parent.resolve() == folder.resolve():
        raise ValueError(f"{path} is a file of the run itself: use another name")
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / path.name
        arrays, header = _newest(folder, made, tell) if newest else _best(folder)
        check_play(header["env"], play or {})
        header |= {"commit": json.dumps(_commit())} | ({"play": json.dumps(play)} if play else {})
        header |= {name: json.dumps(fact) for name, fact in (more or {}).items()}
        write_tensors(made, arrays, header)
        level, text = made.read_bytes(), _card(made)
    if not force and json.loads(header["budget"]).get("gradient_steps") == 0:
        raise ValueError(f"{folder} has learned nothing yet: no gradient step was made; train on, or add --force")
    card = path.parent / "card.md"
    with _both(path, card, {path.name: level, card.name: text.encode()}):
        files.write_bytes(path, level)
        files.write_text(card, text)
    return path, card


@contextlib.contextmanager
def _both(path: Path, card: Path, contents: dict[str, bytes]) -> Iterator[None]:
    """Around the writing of a level and its card, whose contents go by their names.

    What the two files are and what they will be is written down meanwhile, so that the export after one that was
    killed between them knows them as its own. Raises: FileExistsError for files that no export wrote; OSError.
    """
    journal = path.with_name(f".{path.name}.export")
    known = _journal(journal)
    there = {file.name: _digest(file.read_bytes()) for file in (path, card) if file.exists()}
    stopped = bool(known) and all(digest in known.get(name, []) for name, digest in there.items())
    if there and not stopped and not (path.is_file() and card.is_file() and _is_as_exported(card, path)):
        raise FileExistsError(
            f"{path} and {card.name} are not there as an export leaves them (by hand, say): move them away"
        )
    digests = {name: [_digest(content), there.get(name)] for name, content in contents.items()}
    files.write_text(journal, json.dumps(digests))
    yield
    journal.unlink()


def _journal(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _is_as_exported(card: Path, level: Path) -> bool:
    try:
        return card.read_text() == _card(level)
    except (ValueError, KeyError):  # no level, or one without the facts of a run
        return False


def _best(folder: Path) -> tuple[Any, dict[str, str]]:
    """Arrays and header of the level with the best score so far."""
    arrays, header = read_tensors(folder / BEST)
    header.pop("checksum", None)
    missing = {"env", "budget", "settings", "results"} - header.keys()
    if missing:
        raise CheckpointError(f"{folder / BEST} is no level of a run: its header lacks {', '.join(sorted(missing))}")
    return arrays, header


def _newest(folder: Path, made: Path, tell: metrics.Tell | None) -> tuple[Any, dict[str, str]]:
    """Arrays and header of a level with a run's newest parameters. Args: made: where it may be written meanwhile."""
    path = folder / STATE
    facts = storage.read_facts(path)
    algorithm = build(storage.settings_of(path, facts))
    state, _ = storage.load_state(path, algorithm.start(), algorithm.newer)
    progress = storage.read_fields(path, Progress, facts.get("progress"))
    lines = [line for line in metrics.read(folder, tell) if line["kind"] == "evaluation"]
    newest = {line["opponent"]: line for line in lines if line["iteration"] == lines[-1]["iteration"]}
    budget = {
        "minutes": round(progress.seconds / 60, 1),
        "positions": algorithm.positions(state),
        "iterations": algorithm.iteration(state),
        "gradient_steps": algorithm.gradient_steps(state),
    }
    known = {"budget": budget, "settings": facts["settings"], "results": list(newest.values())}
    algorithm.export(made, algorithm.player(state), known)
    arrays, header = read_tensors(made)
    header.pop("checksum", None)
    return arrays, header


def _commit() -> str:
    """The commit of the source tree, or the version where there is none.

    An installed copy may lie in an environment inside somebody else's repository: only one that has this file counts.
    """
    here = Path(__file__)
    try:
        for words in (["ls-files", "--error-unmatch", here.name], ["rev-parse", "HEAD"]):
            command = ["git", "-C", str(here.parent), *words]
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return f"version {__version__}"
    return done.stdout.strip()


def read_facts(path: Path) -> dict[str, Any]:
    """What a level's header says, and ``parameters``, their number. Raises: OSError, CheckpointError."""
    arrays, raw = read_tensors(path)
    plain = ("format", "env", "env_version", "checksum")
    header: dict[str, Any] = {name: text if name in plain else json.loads(text) for name, text in raw.items()}
    return header | {"parameters": sum(array.size for array in arrays.values())}


def describe(name: str, facts: dict[str, Any], machine: str = "") -> list[str]:
    """How every card begins: lines of Markdown with the environment, the network, the budget and the way back.

    Args: facts: as ``read_facts`` gives them; machine: where the level was trained.
    """
    network = ", ".join(f"{name} {value}" for name, value in facts["network"].items() if isinstance(value, (int, str)))
    budget = ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in facts["budget"].items())
    hours = facts["budget"].get("minutes", 0) / 60
    trained = [f"{hours:.1f} hours ({budget})" if hours >= 1 else budget, *([f"on {machine}"] if machine else [])]
    given = {name: value for name, value in facts["settings"].items() if name != "env" and value != ""}
    if "iterations" in facts["budget"]:  # the same iteration has the same parameters, whatever the minutes
        given |= {"iterations": facts["budget"]["iterations"], "minutes": 100_000}
    command = f"audamir train {facts['env']}"
    if "exploit" in facts:
        agent, start = facts["exploit"]["agent"], facts["exploit"]["from"]
        command = (
            f"audamir exploit {facts['env']} {shlex.quote(agent)}{f' --from {shlex.quote(start)}' if start else ''}"
        )
        given = {name: value for name, value in given.items() if name not in EXPLOITS}
    changed = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items())
    source = facts["commit"]
    defaults = ", ".join(f"`{name}={value}`" for name, value in facts.get("play", {}).items())
    return [
        f"# {name} for {facts['env']}",
        "",
        f"- Environment: `{facts['env']}`, version {facts['env_version']}",
        f"- Network: {network}; {facts['parameters']:,} parameters",
        f"- Training: {' '.join(trained)}; {source if source.startswith('version') else f'commit {source}'}",
        *([f"- Plays with {defaults} unless told otherwise"] if defaults else []),
        f"- Reproduce (with the settings it ended with): `{command} {changed} --out runs/again`",
    ]


def _card(path: Path) -> str:
    facts = read_facts(path)
    rows = [
        f"| {line['opponent']} | {line['score']:.3f} | {line['low']:.2f} to {line['high']:.2f} | {line['games']} |"
        for line in facts["results"]
    ]
    how = facts.get("protocol", "while training, seats balanced")
    table = [f"Measured {how}:", "", "| against | score | 95 % | games |", "|---|---|---|---|"]
    measured = table + rows if rows else ["Not measured while training."]
    return "\n".join([*describe(path.stem, facts), "", *measured, ""])
