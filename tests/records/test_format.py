"""Lines, files and their faults, on games that are made up."""

import dataclasses
import json
import random
import subprocess
import sys
import zlib

import pytest

from audamir_envs import records
from audamir_envs.records.format import decode, encode

HEADER = records.Header(
    env="tally-v0",
    env_version="0",
    options={"players": 2, "map": [[1], [0]], "komi": None},
    players=2,
    agents=({"agent": "strong:slip=0.5", "settings": {"slip": 0.5}, "checksum": None}, {"agent": "weak"}),
    seed=7,
    protocol={"games": 3, "opening_plies": 0},
    versions={"jax": "1"},
)


def game(number, **changes):
    made = records.Game(
        number=number,
        seats=(1, 0),
        starter=1,
        start="0 0",
        actions=(2, 1, 0),
        moves=("+2", "+1", "+0"),
        chance=("1", "", "0"),
        shares=(0.5, 0.5),
        cut=False,
        final="3 ü",
        opening=1,
        analysis=({"value": [0.5, -0.5]}, None, None),
        header=HEADER,
    )
    return dataclasses.replace(made, **changes)


GAMES = tuple(game(number) for number in (2, 0, 1))
CONTENT = encode(HEADER) + b"".join(map(encode, GAMES))


def sealed(fields) -> bytes:
    """A line with a right checksum, made as docs/records.md says."""
    body = json.dumps(fields)[:-1].encode()
    return body + b',"crc32":"%08x"}\n' % zlib.crc32(body)


def changed(line: bytes, **changes) -> bytes:
    fields = json.loads(line)
    del fields["crc32"]
    fields |= changes
    return sealed({name: value for name, value in fields.items() if value is not ...})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "games.jsonl"


def test_what_is_written_is_read(path):
    with records.Writer(path, HEADER) as writer:
        writer.add(GAMES[:2])
        writer.add(GAMES[2:])
    assert path.read_bytes() == CONTENT
    record = records.read(path)
    assert record.games == GAMES
    assert [section.header for section in record.sections] == [HEADER]
    assert record.complete
    assert record.errors == ()
    assert record.games[0].plies == 3
    assert record.games[1].where == (str(path), 3)


def test_files_can_be_joined(path):
    other = dataclasses.replace(HEADER, seed=8)
    path.write_bytes(CONTENT + encode(other) + encode(game(0), other))
    record = records.read(path)
    assert [len(section.games) for section in record.sections] == [3, 1]
    assert [section.complete for section in record.sections] == [True, False]
    assert not record.complete
    assert record.games[3].header == other


def test_other_peoples_lines_are_read_and_unknown_fields_ignored():
    line = changed(encode(game(0, analysis=None)), comment="fine")
    assert decode(line, HEADER) == game(0, analysis=None)
    assert decode(line.replace(b"\n", b"\r\n"), HEADER) == game(0, analysis=None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "audamir-record-2"}, "its format is 'audamir-record-2', not audamir-record-1"),
        ({"players": 1}, "players: 1 is not from 2 to 1000"),
        ({"players": "2"}, "players: '2' is no whole number"),
        ({"agents": [{}]}, "agents: each is an object with its text"),
        ({"options": None}, "options: None is no object"),
        ({"protocol": {"games": -1}}, "games is -1"),
        ({"env": ...}, "the line lacks 'env'"),
    ],
)
def test_bad_headers(changes, message):
    with pytest.raises(records.RecordError, match=message):
        decode(changed(encode(HEADER), **changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plies": 4}, "chance: 4 entries are needed, not 3"),
        ({"moves": ["+2", "+1"]}, "moves: 3 entries are needed, not 2"),
        ({"moves": ["+2", "+1", 0]}, "moves: 0 is no text"),
        ({"actions": [0, -1, 2]}, "actions: -1 is not from 0"),
        ({"actions": [0, True, 2]}, "actions: True is no whole number"),
        ({"seats": [0, 2]}, "seats: 2 is not from 0 to 1"),
        ({"starter": 2}, "starter: 2 is not from 0 to 1"),
        ({"shares": [1, 1]}, "shares: 2 numbers from 0 to 1 with sum 1"),
        ({"shares": [1.5, -0.5]}, "shares: 2 numbers"),
        ({"shares": [1]}, "shares: 2 numbers"),
        ({"shares": ["1", "0"]}, "shares: 2 numbers"),
        ({"cut": 0}, "cut: 0 is no true or false"),
        ({"chance": ["1"]}, "chance: 3 entries are needed"),
        ({"opening": 4}, "opening: 4 is not from 0 to 3"),
        ({"analysis": [3, 3, 3]}, "analysis: an object or null"),
        ({"final": ...}, "the line lacks 'final'"),
        ({"game": 10**400}, "game: 1000000"),
        ({"start": 3}, "start: 3 is no text"),
    ],
)
def test_bad_games(changes, message):
    with pytest.raises(records.RecordError, match=message):
        decode(changed(encode(game(0)), **changes), HEADER)


def test_lines_that_are_no_objects():
    for body, message in (
        (b"[1", "no JSON|is a JSON object"),
        (b'{"a":NaN', "NaN is no number of JSON"),
        (b'{"a":' + b"[" * 100_000, "nested too deeply"),
        (b'{"a":"\xff"', "codec"),
        (b'{"a":' + b"9" * 10_000, "."),
    ):
        with pytest.raises(records.RecordError, match=message):
            decode(body + b',"crc32":"%08x"}\n' % zlib.crc32(body), HEADER)


def test_errors_name_the_line_and_the_rest_is_readable(path):
    lines = CONTENT.splitlines(keepends=True)
    lines[2] = lines[2].replace(b"+1", b"+0")
    path.write_bytes(b"".join(lines))
    with pytest.raises(records.RecordError, match=r"games.jsonl, line 3: the line was changed or cut"):
        records.read(path)
    record = records.read(path, strict=False)
    assert record.games == (GAMES[0], GAMES[2])
    assert [error.line for error in record.errors] == [3]
    assert not record.complete


def test_games_behind_a_header_of_another_version_are_not_read(path):
    path.write_bytes(CONTENT + changed(encode(HEADER), format="audamir-record-2") + 2 * encode(game(0)) + CONTENT)
    record = records.read(path, strict=False)
    assert len(record.games) == 6
    assert [error.line for error in record.errors] == [5, 6, 7]


def test_games_do_not_fall_under_another_header(path):
    other = dataclasses.replace(HEADER, seed=8)
    path.write_bytes(CONTENT + encode(other).replace(b"format", b"farmot") + encode(game(0), other) + encode(HEADER))
    record = records.read(path, strict=False)
    assert record.games == GAMES
    assert [error.line for error in record.errors] == [5, 6]
    assert "the game belongs to another header than the one before it" in str(record.errors[1])


def test_a_game_written_twice_is_told(path):
    path.write_bytes(CONTENT + encode(game(1)))
    with pytest.raises(records.RecordError, match="line 5: game 1 was there before"):
        records.read(path)


def test_a_long_text_is_told_in_a_short_line(path):
    path.write_bytes(encode(HEADER) + b"x" * 10_000_000 + b"\n" + encode(game(0)))
    record = records.read(path, strict=False)
    assert record.games == (game(0),)
    assert len(str(record.errors[0])) < 500
    path.write_bytes(encode(HEADER) + changed(encode(game(0)), cut="y" * 10_000_000))
    record = records.read(path, strict=False)
    assert len(str(record.errors[0])) < 500
    assert "line 2: cut: 'yyy" in str(record.errors[0])


def test_lines_beyond_the_limit(path, monkeypatch):
    monkeypatch.setattr("audamir_envs.records.reading.LONGEST_LINE", 2000)
    path.write_bytes(encode(HEADER) + b"x" * 9000 + b"\n" + encode(game(0)) + b"x" * 9000)
    record = records.read(path, strict=False)
    assert record.games == (game(0),)
    assert [(e.line, e.reason) for e in record.errors] == [(n, "the line is longer than 2000 bytes") for n in (2, 4)]


def test_empty_files(path):
    path.write_bytes(b"")
    with pytest.raises(records.RecordError, match="line 1: the file is empty"):
        records.read(path)


def check_damaged(path, content: bytes) -> None:
    """Whatever was done to the file: no game but those that were written is read, and what is missing is told."""
    path.write_bytes(content)
    record = records.read(path, strict=False)
    assert all(game in GAMES for game in record.games)
    if record.games != GAMES:
        assert record.errors or not record.complete
    for error in record.errors:
        text = str(error)
        assert text.startswith(f"{path}, line ")
        assert "\n" not in text
        assert len(text) < 500
    if record.errors:
        with pytest.raises(records.RecordError):
            records.read(path)


def fuzz(path, changes: int, cuts: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(changes):
        place = chance.randrange(len(CONTENT))
        new = bytes([CONTENT[place] ^ chance.randrange(1, 256)])
        check_damaged(path, CONTENT[:place] + new + CONTENT[place + 1 :])
    for _ in range(cuts):
        check_damaged(path, CONTENT[: chance.randrange(len(CONTENT))])


def test_damaged_files(path):
    fuzz(path, 60, 20)


@pytest.mark.slow
def test_many_damaged_files(path):
    fuzz(path, 1000, 200)


@pytest.mark.slow
def test_files_cut_at_every_byte(path):
    for place in range(len(CONTENT)):
        check_damaged(path, CONTENT[:place])


def test_writing_goes_on_after_a_cut_at_any_byte(path):
    for place in [*range(0, len(CONTENT), 37), len(CONTENT) - 1, len(encode(HEADER)), len(encode(HEADER)) - 1]:
        path.write_bytes(CONTENT[:place])
        with records.Writer(path, HEADER) as writer:
            left = [g for g in GAMES if g.number not in writer.before]
            assert len(writer.before) == max(0, CONTENT[: place + 1].count(b"\n") - 1), place
            writer.add(left)
        record = records.read(path)
        assert len(record.sections) == 1
        assert sorted(g.number for g in record.games) == [0, 1, 2]


def test_another_run_begins_a_section(path):
    path.write_bytes(CONTENT)
    with records.Writer(path, dataclasses.replace(HEADER, versions={"jax": "2"})) as writer:
        assert sorted(writer.before) == [0, 1, 2]  # another version of a package is the same run
    with records.Writer(path, dataclasses.replace(HEADER, seed=8)) as writer:
        assert writer.before == {}
    assert [len(section.games) for section in records.read(path).sections] == [3, 0]


def test_a_file_that_is_no_record_is_left_alone(path):
    for content in (b"my notes\nof a year\n", b"my notes", CONTENT.replace(b"+1", b"+2") + b'{"ga'):
        path.write_bytes(content)
        with pytest.raises(records.RecordError):
            records.Writer(path, HEADER)
        assert path.read_bytes().startswith(content[: content.rfind(b"\n") + 1] or content)


def test_one_process_writes_at_a_time(path):
    with records.Writer(path, HEADER), pytest.raises(BlockingIOError, match="is being written by another process"):
        records.Writer(path, HEADER)
    records.Writer(path, HEADER).close()


def test_a_full_disk_leaves_whole_lines(path):
    """A limit on the size of files stands for it."""
    program = f"""
import resource, signal
from audamir_envs import records
from audamir_envs.records.format import decode
lines = open({str(path) + ".whole"!r}, "rb").read().splitlines(keepends=True)
header = decode(lines[0])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({len(CONTENT) - 100}, -1))
with records.Writer({str(path)!r}, header) as writer:
    writer.add(lines[1:2])
    try:
        writer.add(lines[2:])
    except OSError as error:
        print(error.filename)
"""
    path.with_suffix(".jsonl.whole").write_bytes(CONTENT)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(path)
    assert path.read_bytes() == b"".join(CONTENT.splitlines(keepends=True)[:2])
