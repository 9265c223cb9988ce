"""Games of other packages: what may be registered, what then knows them, and what is refused."""

import subprocess
import sys
import types
import warnings
from importlib import metadata

import gymnasium
import pettingzoo
import pytest
import tally
import toy
from tally.environment import Dice, Tally
from tally.scripted import High

import audamir_envs
from audamir_envs import registry
from audamir_envs.agents import RandomAgent, agent_names
from audamir_envs.bridges.registration import gymnasium_id, pettingzoo_id
from audamir_envs.cli import main
from audamir_envs.testing import registered

GIVEN = {
    "module": ("tally-v0", tally),
    "name": ("tally-v0", "tally"),
    "class": ("dice-v0", Dice),
    "name of a class": ("dice-v0", "tally.environment:Dice"),
    "class of a single module": ("nim-v0", toy.Nim),
}


@pytest.mark.parametrize("way", GIVEN)
def test_a_registered_game_is_known_everywhere(way):
    env_id, game = GIVEN[way]
    with registered(env_id, game):
        assert audamir_envs.ids()[-1] == env_id
        assert audamir_envs.make(env_id).id == audamir_envs.make(env_id=env_id).id == env_id
        assert isinstance(audamir_envs.make_agent(env_id, "random"), RandomAgent)
        levels = () if game is toy.Nim else ("weak", "strong", "cheat")
        assert agent_names(env_id) == ("random", *levels)
        if levels:
            assert isinstance(audamir_envs.make_agent(env_id, "strong"), High)
        assert gymnasium.make(gymnasium_id(env_id), opponent="random").unwrapped.game.id == env_id
        assert pettingzoo.make("aec", pettingzoo_id(env_id)).unwrapped.game.id == env_id
        module = getattr(audamir_envs, env_id.replace("-", "_"))
        assert module.env().unwrapped.game.id == module.raw_env().game.id == env_id
        assert registry.learning(env_id) is None
        assert registry.optional_part(env_id, "solver") is None
    assert env_id not in audamir_envs.ids()
    assert gymnasium_id(env_id) not in gymnasium.registry
    with pytest.raises(ValueError, match="unknown environment"):
        audamir_envs.make(env_id)
    assert not hasattr(audamir_envs, env_id.replace("-", "_"))


def test_modules_for_pettingzoo_are_imported_as_others_are():
    import audamir_envs.colony_v0 as module

    from audamir_envs import colony_v0

    assert module is colony_v0 is audamir_envs.colony_v0
    assert {"env", "raw_env"} <= set(dir(colony_v0))
    assert colony_v0.env is colony_v0.env
    with pytest.raises(AttributeError, match="colony_v0' has no attribute 'parallel_env'"):
        colony_v0.parallel_env()
    with pytest.raises(ImportError):
        from audamir_envs import chess_v0  # noqa: F401


def test_registering_the_same_again_changes_nothing():
    with registered("tally-v0", "tally"):
        before = gymnasium.registry[gymnasium_id("tally-v0")]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            audamir_envs.register("tally-v0", tally)
        assert gymnasium.registry[gymnasium_id("tally-v0")] is before
        assert audamir_envs.ids().count("tally-v0") == 1


class Half(Tally):
    """Not the Tally that others mean."""


@pytest.mark.parametrize("env_id", ["Tally-v0", "tally", "tally-v01", "tally v0", "-v0", "", None, 3, "tally-v0\n"])
def test_bad_ids_are_refused(env_id):
    with pytest.raises(ValueError, match="is no environment id: use"):
        audamir_envs.register(env_id, tally)


def test_ids_that_are_taken_are_refused():
    with pytest.raises(ValueError, match=r"'colony-v0' is taken, by audamir_envs\.colony"):
        audamir_envs.register("colony-v0", tally)
    with registered("tally-v0", Tally):
        for other in (Half, toy, "toy:Nim"):
            with pytest.raises(ValueError, match="'tally-v0' is taken, by tally"):
                audamir_envs.register("tally-v0", other)
        assert registry.environment_class("tally-v0") is Tally


def module_with(**names):
    """A module of a game in one file."""
    module = types.ModuleType("somebodys_game")
    vars(module).update(names)
    sys.modules["somebodys_game"] = module
    return module


class Abstract(audamir_envs.Environment):
    """Nothing but a name."""

    id = "tally-v0"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({}, "no module environment, and no ENVIRONMENT"),
        ({"ENVIRONMENT": Tally(players=2)}, "no subclass of audamir_envs.Environment"),
        ({"ENVIRONMENT": int}, "no subclass of audamir_envs.Environment"),
        ({"ENVIRONMENT": Abstract}, "Abstract lacks _setup, action_to_text, .*OPTIONS"),
        ({"ENVIRONMENT": Dice}, "Dice has the id 'dice-v0'"),
        ({"ENVIRONMENT": Tally, "AGENTS": [High]}, "AGENTS in somebodys_game is not a dict of levels by name"),
        ({"ENVIRONMENT": Tally, "LEARNING": 3}, "LEARNING in somebodys_game is not an audamir_envs"),
    ],
)
def test_games_without_what_is_needed_are_refused(names, message):
    with pytest.raises(ValueError, match=f"game 'tally-v0' of somebodys_game: .*{message}"):
        audamir_envs.register("tally-v0", module_with(**names))
    assert "tally-v0" not in audamir_envs.ids()


@pytest.mark.parametrize("game", [3, None, "two words", "a:", ["tally"]])
def test_what_is_no_game_is_refused(game):
    with pytest.raises(ValueError, match="no Environment, no module and no module's name"):
        audamir_envs.register("tally-v0", game)


@pytest.mark.parametrize("name", ["no_such_package", "tally.none", "tally.environment:Hours"])
def test_names_that_are_not_there_are_refused_at_first_use(name):
    with registered("tally-v0", name), pytest.raises(ValueError, match="game 'tally-v0'"):
        audamir_envs.make("tally-v0")


def test_a_game_in_one_module_needs_no_package():
    with registered("tally-v0", module_with(ENVIRONMENT=Tally, AGENTS={"best": High})):
        assert agent_names("tally-v0") == ("random", "best")
        assert isinstance(audamir_envs.make("tally-v0"), Tally)


def test_words_of_python_are_no_options():
    for name in ("self", "env_id", "cls"):
        with pytest.raises(ValueError, match=f"colony-v0 has no option '{name}'"):
            audamir_envs.make("colony-v0", **{name: 1})
    with pytest.raises(ValueError, match="unknown environment None: use colony-v0"):
        audamir_envs.make()


def test_installed_games_that_cannot_be_are_left_out_with_a_warning(monkeypatch):
    def point(name, value):
        return metadata.EntryPoint(name, value, registry.GROUP)

    points = [point("Tally", "tally"), point("colony-v0", "mine"), point("nim-v0", "toy:Nim"), point("nim-v0", "x")]
    monkeypatch.setattr(registry.metadata, "entry_points", lambda group: points)
    registry._discover.cache_clear()
    try:
        with pytest.warns(UserWarning, match="it is left out") as told:
            assert audamir_envs.ids()[3:] == ("nim-v0",)
        assert [str(one.message).partition(":")[0] for one in told] == [
            "tally names a game 'Tally', which is no environment id",
            "mine names a game 'colony-v0', which is taken, by audamir_envs.colony",
            "x names a game 'nim-v0', which is taken, by toy",
        ]
        assert isinstance(audamir_envs.make("nim-v0"), toy.Nim)
    finally:
        registry.unregister("nim-v0")


def test_gymnasium_finds_them_in_a_process_that_never_imported_us():
    program = (
        "import gymnasium\n"
        "env = gymnasium.make('audamir_envs:audamir_envs/Colony-v0', opponent='random')\n"
        "print(env.unwrapped.game.id)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "colony-v0\n"), done.stderr


def test_plugins_of_gymnasium_are_declared():
    points = [point for point in metadata.entry_points(group="gymnasium.envs") if "audamir_envs" in point.value]
    before = dict(gymnasium.registry)
    for point in points:
        point.load()()
    assert len(points) == 1
    assert gymnasium.registry == before


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise RuntimeError('two\\nlines')", "RuntimeError: two"),
        ("import no_such_thing", "No module named 'no_such_thing'"),
    ],
)
def test_a_game_that_cannot_be_imported_is_named_and_the_others_go_on(tmp_path, monkeypatch, capsys, body, message):
    (tmp_path / "broken_game.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    with registered("broken-v0", "broken_game"), registered("tally-v0", "tally"):
        with pytest.raises(ValueError, match=f"game 'broken-v0': broken_game cannot be imported: .*{message}"):
            audamir_envs.make("broken-v0")
        assert main(["list"]) == 2
        out, err = capsys.readouterr()
        assert "tally-v0" in out
        assert "broken-v0" in err
        assert len(err.splitlines()) == 1
        assert main(["evaluate", "stigmergy-v0", "random", "random", "-o", "side=2", "--games", "2"]) == 0
        for command in ("train", "serve", "bench", "solve", "play", "evaluate"):
            with warnings.catch_warnings(record=True, action="always") as told:
                assert main([command, "--help"]) == 0
            assert all(str(one.message).startswith("game 'broken-v0'") for one in told)
