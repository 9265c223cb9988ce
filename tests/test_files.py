"""A write is whole or not at all."""

import os
import subprocess
import sys

import pytest

from audamir_envs import files


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "new" / "result.json"
    files.write_text(path, "one")
    files.write_text(path, "two é")
    assert path.read_text(encoding="utf-8") == "two é"
    assert os.listdir(path.parent) == ["result.json"]


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    files.write_text(path, "old")

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        files.write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


def test_a_link_stays_one(tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    for content in ("new", "again"):  # where the link points to is not there at first
        files.write_text(tmp_path / "link.json", content)
        assert (tmp_path / "link.json").is_symlink()
        assert (tmp_path / "real.json").read_text() == content


def test_pipes_and_devices_are_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.write_text(pipe, "through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_folder_is_refused_by_its_name(tmp_path):
    with pytest.raises(IsADirectoryError) as refused:
        files.write_text(tmp_path, "text")
    assert str(refused.value.filename) == str(tmp_path)


@pytest.mark.skipif(files.fcntl is None, reason="this system has no locks of that kind")
def test_what_a_killed_process_left_goes_and_what_another_writes_stays(tmp_path) -> None:
    path = tmp_path / "state.bin"
    killed = "import os, signal, sys; from audamir_envs import files; f = files.os.fsync\n"
    killed += "files.os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\nfiles.write_text(sys.argv[1], 'half')"
    subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    handle, held = files._temporary(path)  # as if another process were writing
    others = [tmp_path / ".state.bin.original", tmp_path / ".state.bin.abcdefgh.tmp.kept"]
    for other in others:
        other.write_text("by hand")
    files.write_text(path, "whole")
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name, os.path.basename(held)} | {
        o.name for o in others
    }
    os.close(handle)
    files.sweep(path)
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name} | {o.name for o in others}
