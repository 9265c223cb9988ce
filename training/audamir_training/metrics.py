"""What a run writes down: one JSON object a line, and the same numbers for TensorBoard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tensorboardX import SummaryWriter

from audamir_envs import files

FILE = "metrics.jsonl"


class Metrics:
    """Appends to a run's records; lines of iterations that a resumed run repeats are dropped first."""

    def __init__(self, folder: Path, iteration: int) -> None:
        """Args: iteration: of the state that the run starts or resumes from."""
        self._path = folder / FILE
        kept = [line for line in read(folder) if line["iteration"] <= iteration]
        files.write_text(self._path, "".join(json.dumps(line) + "\n" for line in kept))
        self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=iteration + 1)

    def write(self, kind: str, iteration: int, facts: dict[str, Any]) -> None:
        """One line: ``train`` (averages since the line before) or ``evaluation`` (one opponent's score)."""
        line = {"kind": kind, "iteration": iteration, **facts}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        prefix = f"{kind}/{facts['opponent']}_" if kind == "evaluation" else f"{kind}/"
        for name, value in facts.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                self._board.add_scalar(prefix + name, value, iteration)
        self._board.flush()

    def close(self) -> None:
        """Ends TensorBoard's file."""
        self._board.close()


def read(folder: Path) -> list[dict[str, Any]]:
    """A run's lines; a last line cut short by a kill is left out."""
    path = folder / FILE
    if not path.is_file():
        return []
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(text))
        except ValueError:
            break
    return lines
