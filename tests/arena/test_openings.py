"""Books of openings: files and their faults, which opening a game gets, and games from them."""

import json
import os
import pathlib
import random

import jax
import numpy as np
import pytest

import audamir_envs
from audamir_envs import arena, records
from audamir_envs.arena import openings

TEXTS = (".../..../...../..../... x 4 0 0", ".../..../..x../..../... o 4 0 0", ".../..../o.x../..../... x 4 0 1")


@pytest.fixture(scope="module")
def env():
    return audamir_envs.make("stigmergy-v0", side=3, komi=4)


@pytest.fixture(scope="module")
def content(env, tmp_path_factory):
    path = tmp_path_factory.mktemp("book") / "b.openings.jsonl"
    found = (
        arena.Opening(TEXTS[0], 0.0, 1.0),
        arena.Opening(TEXTS[1], 0.25, None),
        arena.Opening(TEXTS[2], -0.5, -1.5),
    )
    arena.Book(env, found, {"command": "by hand"}).write(path)
    return path.read_bytes()


def test_what_is_written_is_read(env, content, tmp_path):
    path = tmp_path / "b.openings.jsonl"
    path.write_bytes(content)
    book = openings.read(env, path)
    assert tuple(o.position for o in book.openings) == TEXTS
    assert [o.margin for o in book.openings] == [1, None, -1.5]
    assert book.made == {"command": "by hand"}
    states = [jax.tree.map(lambda leaf, i=i: leaf[i], book.states) for i in range(3)]
    assert [env.to_text(state) for state in states] == list(TEXTS)


def test_every_opening_comes_equally_often_in_an_order_of_the_seed(env, content, tmp_path):
    path = tmp_path / "b.jsonl"
    path.write_bytes(content)
    book = openings.read(env, path)
    places = book.places(np.arange(30), 1)
    assert np.bincount(places).tolist() == [10, 10, 10]
    assert all(sorted(places[i : i + 3]) == [0, 1, 2] for i in range(0, 30, 3))
    np.testing.assert_array_equal(places, book.places(np.arange(30), 1))
    assert (places != book.places(np.arange(30), 2)).any()
    np.testing.assert_array_equal(book.places(np.array([7, 7]), 1), places[[7, 7]])


def test_bad_books(env, content, tmp_path):
    path = tmp_path / "b.jsonl"
    lines = content.splitlines(keepends=True)
    for bad, message in (
        (b"", "line 1: the file is empty"),
        (b"".join(lines[:-1]), "line 3: the file ends after 2 of 3 openings"),
        (lines[1] + lines[0], "line 1: its format is None"),
        (lines[0] + lines[1].replace(b"4 0 0", b"6 0 0"), "line 2: the line was changed or cut"),
    ):
        path.write_bytes(bad)
        with pytest.raises(records.RecordError, match=message):
            openings.read(env, path)
    path.write_bytes(content)
    with pytest.raises(records.RecordError, match="line 1: it is a book for komi=4, not 0"):
        openings.read(audamir_envs.make("stigmergy-v0", side=3), path)
    with pytest.raises(records.RecordError, match="line 1: it is a book of 'stigmergy-v0'"):
        openings.read(audamir_envs.make("colony-v0"), path)


def fuzz(env, content, path, changes: int, cuts: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    path.write_bytes(content)
    whole = openings.read(env, path).openings
    damaged = [content[: chance.randrange(len(content))] for _ in range(cuts)]
    for _ in range(changes):
        place = chance.randrange(len(content))
        damaged.append(content[:place] + bytes([content[place] ^ chance.randrange(1, 256)]) + content[place + 1 :])
    for bad in damaged:
        path.write_bytes(bad)
        try:
            assert openings.read(env, path).openings == whole
        except records.RecordError as error:
            text = str(error)
            assert text.startswith(f"{path}, line ")
            assert "\n" not in text
            assert len(text) < 500


def test_damaged_books(env, content, tmp_path):
    fuzz(env, content, tmp_path / "b.jsonl", 60, 20)


@pytest.mark.slow
def test_many_damaged_books(env, content, tmp_path):
    fuzz(env, content, tmp_path / "b.jsonl", 1000, 200)


def test_what_openings_may_be(env, content, tmp_path):
    path = tmp_path / "b.jsonl"
    path.write_bytes(content)
    assert openings.resolve(env, None, 2) == (None, 2, "random:2")
    assert openings.resolve(env, None, 0) == (None, 0, "none")
    assert openings.resolve(env, "none", 0) == (None, 0, "none")
    assert openings.resolve(env, "random:3", 0) == (None, 3, "random:3")
    book, plies, text = openings.resolve(env, str(path), 0)
    assert (len(book.openings), plies, text) == (3, 0, f"book {book.checksum}")
    for bad in ("random:", "random:x", "random:-1", "books", ""):
        with pytest.raises(ValueError, match="is not valid: use book, random:N, none, or the path of a book"):
            openings.resolve(env, bad, 0)
    with pytest.raises(ValueError, match="use one of them"):
        openings.resolve(env, "random:2", 2)
    with pytest.raises(ValueError, match="no book is shipped for stigmergy-v0"):
        openings.resolve(audamir_envs.make("stigmergy-v0", side=2), "book", 0)


def test_games_start_from_the_book_and_pairs_share_an_opening(env, content, tmp_path):
    path = tmp_path / "b.jsonl"
    path.write_bytes(content)
    result = arena.evaluate(env, ["random", "random"], 12, openings=str(path), record=tmp_path / "r.jsonl", batch=4)
    assert result.settings["mirrored"]
    starts = {game.number: game.start for game in records.read(tmp_path / "r.jsonl").games}
    assert set(starts.values()) == set(TEXTS)
    for number, place in enumerate(result.records.places):
        assert starts[number] == TEXTS[place]
        assert starts[number] == starts[number ^ 1]
    assert result.interval["random"] == arena.grouped(
        result.records.shares[np.arange(12), (result.records.seats == 0).argmax(axis=1)], result.records.places
    )


def _shipped() -> list[pathlib.Path]:
    return sorted(pathlib.Path(__file__).parents[2].glob("checkpoints/*/*.openings.jsonl"))


@pytest.mark.parametrize("path", _shipped(), ids=lambda path: path.name.partition(".")[0])
def test_a_shipped_book_is_what_its_game_gets(path):
    header, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    env = audamir_envs.make(header["env"], **header["options"])
    book, _, text = openings.resolve(env, "book", 0)
    assert text == f"book {header['crc32']}"
    assert os.path.realpath(book.path) == str(path.resolve())
    assert {header["made"]["checksum"]} - {None} <= {audamir_envs.make_agent(env, "zero").checksum}
    positions = {line["position"] for line in lines}
    assert len(positions) == len(lines) == header["openings"] >= 50
    assert all(abs(line["value"]) <= header["made"]["bound"] for line in lines)
    for position in list(positions)[:3]:
        state = env.from_text(position)
        assert not state.terminated
        assert env.to_text(state) == position


def test_there_are_books_for_the_standard_boards():
    names = {path.name.partition(".")[0] for path in _shipped()}
    colony = {f"{board}-{start}{more}" for board in (58, 61) for start in ("one", "three") for more in ("", "-claim")}
    assert names >= colony | {"side3-komi4", "side4-komi4", "side5", "side5-komi8", "side6-komi2", "side8-komi2"}
