"""A run's lines: what can be read is kept as it was, what cannot is told and kept aside."""

import json

import pytest
from audamir_training import metrics
from audamir_training.metrics import ASIDE, FILE, Metrics


def written(folder, count: int = 6) -> list[dict]:
    told: list[str] = []
    lines = Metrics(folder, 0, -1, told.append)
    for number in range(1, count + 1):
        lines.write("train", number, {"positions": 10 * number, "loss": 1 / number, "entropy": None})
        if number % 2 == 0:
            lines.write("evaluation", number, {"opponent": "weak", "positions": 10, "score": 0.5, "low": 0, "high": 1})
    assert told == []
    return lines.lines


def test_what_is_written_is_read(tmp_path) -> None:
    lines = written(tmp_path)
    assert metrics.read(tmp_path) == lines
    assert len(lines) == 9
    assert json.loads((tmp_path / FILE).read_text().splitlines()[0])["loss"] == 1.0
    assert metrics.read(tmp_path / "nothing") == []


def test_no_number_is_null(tmp_path) -> None:
    lines = Metrics(tmp_path, 0, -1, print)
    lines.write("train", 1, {"positions": 1, "loss": float("nan"), "norm": float("inf")})
    assert metrics.read(tmp_path) == [{"kind": "train", "iteration": 1, "positions": 1, "loss": None, "norm": None}]


def test_lines_that_will_come_again_are_dropped(tmp_path) -> None:
    written(tmp_path)
    after = Metrics(tmp_path, 5, 2, print).lines
    assert [line["iteration"] for line in after if line["kind"] == "train"] == [1, 2, 3, 4, 5]
    assert [line["iteration"] for line in after if line["kind"] == "evaluation"] == [
        2
    ]  # not that of 4, it was not saved
    assert metrics.read(tmp_path) == after


def test_double_lines_of_older_versions_count_once(tmp_path) -> None:
    line = {"kind": "evaluation", "iteration": 1, "opponent": "weak", "positions": 1, "score": 0.5, "low": 0, "high": 1}
    texts = [json.dumps(line | {"score": score}) for score in (0.25, 0.5, 0.75)]
    (tmp_path / FILE).write_text("\n".join(texts) + "\n")
    assert [line["score"] for line in Metrics(tmp_path, 1, 1, print).lines] == [0.75]


def test_unreadable_lines_are_kept_aside_and_told_once(tmp_path) -> None:
    lines = written(tmp_path)
    raw = (tmp_path / FILE).read_bytes().splitlines()
    bad = [raw[1].replace(b"loss", b"l\xffss"), raw[3].replace(b"0.3", b"0.4"), raw[4][:-30]]
    (tmp_path / FILE).write_bytes(b"\n".join([raw[0], bad[0], raw[2], bad[1], bad[2], *raw[5:]]) + b"\n")
    told: list[str] = []
    assert metrics.read(tmp_path, told.append) == [lines[0], lines[2], *lines[5:]]
    assert told == [f"{tmp_path / FILE}: 3 lines cannot be read"]
    kept = Metrics(tmp_path, 100, 100, told.append).lines
    assert kept == [lines[0], lines[2], *lines[5:]]
    assert told[1] == f"{tmp_path / FILE}: 3 lines cannot be read; kept in {ASIDE}"
    assert (tmp_path / ASIDE).read_bytes().splitlines() == bad
    Metrics(tmp_path, 100, 100, told.append)
    assert len(told) == 2


@pytest.mark.parametrize(
    "text",
    [
        "[]", "nothing", '{"kind": "train"}', '{"kind": "train", "iteration": "1", "positions": 2}', "[" * 5000,
        '{"kind": "train", "iteration": 1, "positions": NaN}x', '{"kind": 3, "iteration": 1, "positions": 1}',
        '{"kind": "evaluation", "iteration": 1, "positions": 1, "score": 0.5, "low": 0, "high": 1}',
    ],
)  # fmt: skip
def test_what_is_no_line_is_no_line(tmp_path, text: str) -> None:
    (tmp_path / FILE).write_text(text + "\n")
    told: list[str] = []
    assert metrics.read(tmp_path, told.append) == []
    assert told == [f"{tmp_path / FILE}: 1 line cannot be read"]


def test_numbers_have_names_for_other_programs() -> None:
    line = {"kind": "train", "iteration": 3, "loss": 0.5, "positions": 7, "norm": None}
    assert metrics.scalars(line) == {"train/loss": 0.5, "train/positions": 7}
    line = {"kind": "evaluation", "iteration": 3, "opponent": "weak", "score": 0.5}
    assert metrics.scalars(line) == {"evaluation/weak_score": 0.5}
