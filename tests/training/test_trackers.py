"""TensorBoard's file, read back by its own format, and functions of the user's."""

import struct

import pytest
from audamir_training import commands
from audamir_training.trackers import TensorBoard, Tracker
from tensorboardX.crc32c import crc32c
from tensorboardX.proto import event_pb2

LINES = [
    {"kind": "train", "iteration": 1, "loss": 0.5, "seconds": 2.0, "positions": 10, "norm": None},
    {"kind": "evaluation", "iteration": 2, "opponent": "weak", "score": 0.25, "positions": 20},
]


def events(folder) -> list:
    (path,) = folder.glob("events.out.tfevents.*")
    content, found = path.read_bytes(), []
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        entry = content[12 : 12 + length]
        for part, check in ((content[:8], content[8:12]), (entry, content[12 + length : 16 + length])):
            value = crc32c(part)
            value = (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF
            assert struct.unpack("<I", check) == (value,)
        found.append(event_pb2.Event.FromString(entry))
        content = content[16 + length :]
    return found


def scalars(folder) -> list[tuple[int, str, float]]:
    known = [event for event in events(folder) if event.step]
    return [(event.step, value.tag, value.simple_value) for event in known for value in event.summary.value]


def test_the_file_has_the_lines_and_the_settings(tmp_path) -> None:
    board = TensorBoard(tmp_path, {"lanes": 64, "layouts": "5", "learning_rate": 0.5}, LINES[:1], 10.0)
    board.write(LINES[1])
    expected = [(1, "train/loss", 0.5), (1, "train/seconds", 2.0), (1, "train/positions", 10.0)]
    assert scalars(tmp_path) == [*expected, (2, "evaluation/weak_score", 0.25), (2, "evaluation/weak_positions", 20.0)]
    assert events(tmp_path)[0].file_version == "brain.Event:2"
    tags = [value.tag for event in events(tmp_path) for value in event.summary.value]
    assert "_hparams_/experiment" in tags


def test_a_new_sitting_writes_again_what_a_kill_cut_off(tmp_path) -> None:
    TensorBoard(tmp_path, {}, LINES[:1], 10.0)
    (path,) = tmp_path.glob("events.out.tfevents.*")
    path.write_bytes(path.read_bytes()[:-3])
    path.rename(path.with_name("events.out.tfevents.1.earlier"))
    TensorBoard(tmp_path, {}, LINES, 20.0)
    assert len(scalars(tmp_path)) == 5


def test_a_tracker_gets_the_numbers_and_its_failure_stops_nothing() -> None:
    calls, told = [], []

    def opened(title, settings):
        calls.append((title, settings))

        def write(iteration, values):
            calls.append((iteration, values))
            if iteration == 2:
                raise RuntimeError("no connection")

        return write

    tracker = Tracker(opened, "mine:opened", told.append)
    tracker.begin("runs/c1", {"lanes": 8})
    for line in [*LINES, LINES[0]]:
        tracker.write(line)
    assert calls[0] == ("runs/c1", {"lanes": 8})
    assert [call[0] for call in calls[1:]] == [1, 2]
    assert told == ["mine:opened failed and is left out: RuntimeError: no connection"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mine", "use MODULE:FUNCTION"),
        ("no_such_module:f", "no module 'no_such_module' is installed or in "),
        ("json:nothing", "json has no function 'nothing'"),
    ],
)
def test_what_is_no_function_is_told_before_training(tmp_path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        commands._function(text)


def test_a_function_of_the_working_folder_is_found_behind_what_is_installed(tmp_path, monkeypatch) -> None:
    import sys

    (tmp_path / "my_tracker_of_tests.py").write_text(
        "def log(title, settings):\n    return lambda step, values: None\n"
    )
    (tmp_path / "json.py").write_text("raise RuntimeError\n")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    assert callable(commands._function("my_tracker_of_tests:log")("x", {}))
    assert sys.path == before
