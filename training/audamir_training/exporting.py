"""From a run to a level that ``make_agent`` loads, with its card."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from audamir_envs import __version__, files
from audamir_envs.learned.checkpoints import check_play, read_tensors, write_tensors
from audamir_training import metrics, presets, storage
from audamir_training.commands import build
from audamir_training.runs import BEST, LEARNER, STATE


def export(folder: Path, target: Path, last: bool = False, play: dict[str, Any] | None = None) -> tuple[Path, Path]:
    """Writes the level (``zero.safetensors`` where the target is a folder) and ``card.md`` beside it.

    Args: last: the newest parameters instead of the best measured ones; play: the level's own defaults for its agents'
    settings, such as {"considered": 4}.
    Raises: FileNotFoundError for a folder without a run; FileExistsError for files there that are not as an export
    leaves them; CheckpointError; ValueError: other settings, a name that the run itself uses; OSError.
    """
    newest = last or not (folder / BEST).is_file()
    if newest and not (folder / STATE).is_file():
        raise FileNotFoundError(f"{folder} holds no run: there is no {STATE}")
    source = storage.read_facts(folder / STATE) if newest else read_tensors(folder / BEST)[1]
    check_play(source["env"], play or {})
    path = target if target.suffix == ".safetensors" else target / "zero.safetensors"
    if path.name in (STATE, BEST, LEARNER) and path.parent.resolve() == folder.resolve():
        raise ValueError(f"{path} is a file of the run itself: use another name")
    card = path.parent / "card.md"
    if (card.exists() or path.exists()) and not (path.is_file() and card.is_file() and _is_as_exported(card, path)):
        raise FileExistsError(
            f"{path} and {card.name} are not there as an export leaves them (by hand, or a stopped one): move them away"
        )
    if newest:
        _newest(folder, path, source, play)
    else:
        arrays, header = read_tensors(folder / BEST)
        header.pop("checksum", None)
        header |= {"commit": json.dumps(_commit())} | ({"play": json.dumps(play)} if play else {})
        write_tensors(path, arrays, header)
    files.write_text(card, _card(path))
    return path, card


def _is_as_exported(card: Path, level: Path) -> bool:
    try:
        return card.read_text() == _card(level)
    except (ValueError, KeyError):  # no level, or one without the facts of a run
        return False


def _newest(folder: Path, path: Path, facts: dict[str, Any], play: dict[str, Any] | None) -> None:
    algorithm = build(presets.settings_class(facts["algorithm"])(**facts["settings"]))
    state, _ = storage.load_state(folder / STATE, algorithm.start())
    lines = [line for line in metrics.read(folder) if line["kind"] == "evaluation"]
    newest = [line for line in lines if line["iteration"] == lines[-1]["iteration"]] if lines else []
    budget = {
        "minutes": round(facts["progress"]["seconds"] / 60, 1),
        "positions": algorithm.positions(state),
        "iterations": algorithm.iteration(state),
    }
    known = {"budget": budget, "settings": facts["settings"], "results": newest, "commit": _commit()}
    algorithm.export(path, algorithm.player(state), known | ({"play": play} if play else {}))


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
    budget = ", ".join(f"{name} {value:,}" for name, value in facts["budget"].items())
    hours = facts["budget"].get("minutes", 0) / 60
    trained = [f"{hours:.1f} hours ({budget})" if hours >= 1 else budget, *([f"on {machine}"] if machine else [])]
    given = {name: value for name, value in facts["settings"].items() if name != "env" and value != ""}
    if "iterations" in facts["budget"]:  # the same iteration has the same parameters, whatever the minutes
        given |= {"iterations": facts["budget"]["iterations"], "minutes": 100_000}
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
        f"- Reproduce (with the settings it ended with): `audamir train {facts['env']} {changed} --out runs/again`",
    ]


def _card(path: Path) -> str:
    facts = read_facts(path)
    rows = [
        f"| {line['opponent']} | {line['score']:.3f} | {line['low']:.2f} to {line['high']:.2f} | {line['games']} |"
        for line in facts["results"]
    ]
    table = ["Measured while training, seats balanced:", "", "| against | score | 95 % | games |", "|---|---|---|---|"]
    measured = table + rows if rows else ["Not measured: the run ended before its first evaluation."]
    return "\n".join([*describe(path.stem, facts), "", *measured, ""])
