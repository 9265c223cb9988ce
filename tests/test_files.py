"""A write is whole or not at all."""

import os
import subprocess
import sys
from pathlib import Path

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
    handle, held = files._temporary(tmp_path)  # as if another process were writing
    others = [tmp_path / ".state.bin.original", tmp_path / ".audamir-abcdefgh.tmp.kept"]
    for other in others:
        other.write_text("by hand")
    files.write_text(path, "whole")
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name, os.path.basename(held)} | {
        o.name for o in others
    }
    os.close(handle)
    files.sweep(path)
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name} | {o.name for o in others}


@pytest.mark.skipif(files.fcntl is None, reason="this system has no locks of that kind")
def test_writers_that_clean_up_do_not_disturb_each_other(tmp_path):
    writer = "import sys\nfrom audamir_envs import files\n"
    writer += "for n in range(150): files.write_text(sys.argv[1], sys.argv[2] * 3000)"
    command = [sys.executable, "-c", writer]
    running = [
        subprocess.Popen([*command, str(tmp_path / name), letter])
        for name, letter in (("same", "a"), ("same", "b"), ("other", "c"))
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert {entry.name for entry in tmp_path.iterdir()} == {"same", "other"}
    assert (tmp_path / "same").read_text() in ("a" * 3000, "b" * 3000)


def both(path, content="new"):
    """What the check at the start says and what the write at the end does must be one."""
    files.check_writable(path)
    files.write_text(path, content)


def test_the_longest_name_and_one_that_is_too_long(tmp_path):
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    for name in ("x" * longest, "é" * (longest // 2)):
        both(tmp_path / name)
        assert (tmp_path / name).read_text() == "new"
    for path in (
        tmp_path / ("x" * (longest + 1)),
        tmp_path / "new" / ("x" * (longest + 1)),
        tmp_path / ("x" * 300) / "a",
    ):
        for refused in (files.check_writable, lambda path: files.write_text(path, "")):
            with pytest.raises(OSError, match="too long") as error:
                refused(path)
            assert error.value.filename == str(path)
    assert not (tmp_path / "new" / "x").exists()


def test_modes_stay(tmp_path):
    for mode in (0o600, 0o664, 0o640):
        path = tmp_path / f"{mode:o}"
        path.write_text("old")
        path.chmod(mode)
        both(path)
        assert path.stat().st_mode & 0o777 == mode
    old = os.umask(0o027)
    try:
        both(tmp_path / "fresh")
    finally:
        os.umask(old)
    assert (tmp_path / "fresh").stat().st_mode & 0o777 == 0o640


def test_a_hard_link_stays_one(tmp_path):
    (tmp_path / "one").write_text("old and longer")
    os.link(tmp_path / "one", tmp_path / "two")
    for content in ("new", "new and even longer than the old"):
        both(tmp_path / "two", content)
        assert (tmp_path / "one").read_text() == content
    assert (tmp_path / "one").samefile(tmp_path / "two")


def test_devices_and_links_to_them(tmp_path):
    both("/dev/null")
    (tmp_path / "null").symlink_to("/dev/null")
    both(tmp_path / "null")
    assert (tmp_path / "null").is_symlink()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        files.check_writable(tmp_path / "loop")


@pytest.fixture
def locked(tmp_path, monkeypatch):
    """A folder in which nothing can be made, whoever runs the tests: root may write everywhere."""
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    access, opened = os.access, os.open

    def may(path, mode, **more):
        inside = mode & os.W_OK and os.path.realpath(path) == str(folder)
        return access(path, mode, **more) and not inside

    def make(path, flags, *more, **named):
        if flags & os.O_CREAT and os.path.dirname(os.path.realpath(path)) == str(folder):
            raise PermissionError(13, "Permission denied", path)
        return opened(path, flags, *more, **named)

    monkeypatch.setattr(os, "access", may)
    monkeypatch.setattr(os, "open", make)
    yield folder
    folder.chmod(0o755)


def test_links_are_judged_by_what_they_point_to(tmp_path, locked):
    locked.chmod(0o755)
    (locked / "file").write_text("old")
    (locked / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "in").symlink_to(locked / "nothing yet")
    (tmp_path / "to file").symlink_to(locked / "file")
    locked.chmod(0o555)
    both(locked / "out")
    both(locked / "out", "again")
    assert (tmp_path / "outside").read_text() == "again"
    both(tmp_path / "to file")  # the file may be written though its folder may not
    assert (locked / "file").read_text() == "new"
    for path in (tmp_path / "in", locked / "new file"):
        for refused in (files.check_writable, lambda path: files.write_text(path, "")):
            with pytest.raises(PermissionError) as error:
                refused(path)
            assert error.value.filename == str(path)


def test_a_result_is_kept_beside_where_its_name_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "result.json").mkdir()  # made by somebody while the games were played
    with pytest.raises(OSError, match="the result is in ") as error:
        files.write_result(tmp_path / "folder" / "result.json", "hours")
    kept = str(error.value).partition("the result is in ")[2]
    assert os.path.dirname(kept) == str(tmp_path / "folder")
    assert kept.endswith(".json")
    assert Path(kept).read_text() == "hours"
    with pytest.raises(OSError, match="the result is in ") as error:  # the folder has become a file
        files.write_result(tmp_path / "folder" / "result.json" / ".." / ".." / ("x" * 300), "hours")
    assert Path(str(error.value).partition("the result is in ")[2]).read_text() == "hours"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_full_device_is_named_and_nothing_is_written_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match="No space") as error:
        files.write_result("/dev/full", "hours")
    assert error.value.filename == "/dev/full"
    assert os.listdir(tmp_path) == []


def test_the_file_that_is_our_standard_output_gets_both(tmp_path):
    """``--json /dev/stdout > file``: what is printed before and after stays."""
    program = "import sys\nfrom audamir_envs import files\nprint('before')\n"
    program += "files.check_writable(sys.argv[1]); files.write_text(sys.argv[1], 'result\\n')\nprint('after')"
    for name in ("/dev/stdout", str(tmp_path / "log")):
        with open(tmp_path / "log", "w") as log:
            subprocess.run([sys.executable, "-c", program, name], stdout=log, check=True)
        assert (tmp_path / "log").read_text() == "before\nresult\nafter\n"


def test_text_that_is_no_utf8_is_written(tmp_path):
    both(tmp_path / "a", "é \udcff")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "é ?"
