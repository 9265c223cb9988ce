"""A game's name stands in its own folder alone, and nothing asks which game it has."""

import re
from pathlib import Path

import pytest

from audamir_envs import registry

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = (".py", ".sh", ".js", ".css", ".html", ".cpp")
FOLDERS = {env_id: package.rpartition(".")[2] for env_id, package in registry.GAMES.items()}
NAMES = re.compile("|".join(FOLDERS.values()), re.I)
LISTED = ROOT / "audamir_envs" / "registry.py"  # one line a game


def sources():
    """Everything of the packages that is in no game's folder."""
    for folder in (ROOT / "audamir_envs", ROOT / "training"):
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder).parts[0] if folder.name == "audamir_envs" else ""
            if path.suffix in SUFFIXES and inside not in (*FOLDERS.values(), "checkpoints") and path != LISTED:
                yield path


def found(pattern, paths):
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(pattern, line)
    ]


def test_no_game_is_named_outside_its_folder():
    assert len(list(sources())) > 50
    assert found(NAMES, sources()) == []


def test_a_game_is_one_line_of_the_registry():
    assert len(found(NAMES, [LISTED])) == len(FOLDERS)


@pytest.mark.parametrize("env_id", registry.GAMES)
def test_games_do_not_know_each_other(env_id):
    others = "|".join(folder for folder in FOLDERS.values() if folder != FOLDERS[env_id])
    folder = ROOT / "audamir_envs" / FOLDERS[env_id]
    assert found(re.compile(others, re.I), sorted(folder.rglob("*.py"))) == []


def test_nothing_asks_which_game_it_has():
    assert found(r"env_id [!=]= [\"']|\.id [!=]= [\"']", [*sources(), LISTED]) == []


def test_the_search_finds_what_it_looks_for(tmp_path):
    """The pattern is none that cannot fail."""
    name = next(iter(FOLDERS.values()))
    assert NAMES.search(f"import {name.capitalize()}")
    assert re.search(r"env_id [!=]= [\"']", f'if env_id == "{name}-v0":')
