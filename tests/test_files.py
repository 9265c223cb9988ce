"""A write is whole or not at all."""

import os

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
