"""The program that draws the README's pictures, with quick agents."""

import importlib
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import audamir_envs
from audamir_envs.agents.loading import agent_names

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def pictures():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(DOCS), *sys.path])
        yield importlib.import_module("pictures")


def test_the_same_game_is_drawn_again_and_a_game_that_is_over_as_it_ended(pictures):
    def drawn(plies):
        return pictures.picture("stigmergy-v0", {"side": 2, "komi": 6}, ("random", "random"), plies)

    first = drawn(4)
    assert len(ElementTree.fromstring(first).findall("{http://www.w3.org/2000/svg}polygon")) >= 7
    assert first == drawn(4) != drawn(5)
    assert drawn(500) == drawn(501)


def test_each_game_is_drawn_once_for_the_readme(pictures):
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for env_id, options, agents, plies in pictures.GAMES:
        env = audamir_envs.make(env_id, **options)
        assert len(agents) == env.num_players
        assert {*agents} <= {*agent_names(env_id)}
        assert 0 < plies < env.max_steps
        name = f"{env_id.partition('-')[0]}.svg"
        assert f"(docs/pictures/{name})" in readme
        assert (pictures.FOLDER / name).is_file()
