"""Tables and bars, in a terminal and elsewhere."""

import argparse
import io
import sys

import pytest

from audamir_envs.arena import Progress
from audamir_envs.commands import common


class Terminal(io.StringIO):
    def isatty(self):
        return True


def table():
    common.print_table("title", ("agent", "score"), [("weak", "1.0"), ("stronger", "99.0")])


def test_plain_columns(capsys):
    table()
    assert capsys.readouterr().out == "title\nagent     score\nweak        1.0\nstronger   99.0\n"


def test_ruled_table_in_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Terminal())
    table()
    text = sys.stdout.getvalue()
    assert "│ stronger │" in text
    assert "title" in text


def test_a_bar_that_moves_in_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with common.progress_bar("toy-v0") as move:
        assert move is not None
        assert sys.stderr.getvalue().count("compiling") > 0
        move(Progress(finished=250, games=1000, decisions=5000, seconds=2.0))
    text = sys.stderr.getvalue()
    assert "2,500 decisions/s" in text
    assert "250/1000" in text.replace(" ", "")


def test_no_bar_elsewhere(capsys):
    with common.progress_bar("toy-v0") as move:
        assert move is None
    assert capsys.readouterr().err == ""


def test_files_that_cannot_be_written_are_refused_at_once(tmp_path):
    common.check_writable(None)
    common.check_writable(str(tmp_path / "new" / "folder" / "file.json"))
    common.check_writable("file.json")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        common.check_writable(str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is no folder"):
        common.check_writable(str(tmp_path / "file" / "below.json"))
    with pytest.raises(ValueError, match="is empty"):
        common.check_writable("")


@pytest.mark.parametrize("text", ["-1", "1.5", "", "x", "9" * 20, "9" * 5000, str(2**63)])
def test_whole_numbers_that_are_none_or_too_large(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number from 0"):
        common.whole(0)(text)
    assert common.whole(0)(str(2**63 - 1)) == 2**63 - 1
