"""What ships is complete: every level loads by its name, has its card, and all together are small."""

import shutil
import tomllib
from pathlib import Path

import jax
import pytest
from audamir_training.games import hex_config

import audamir_envs
from audamir_envs import learned, registry
from audamir_envs.agents.loading import agent_names, make_agent
from audamir_envs.learned import checkpoints
from audamir_envs.learned.networks import init_parameters, make_network

LIMIT = 8_000_000  # bytes of everything that ships
SOURCE = Path(__file__).parents[2] / "checkpoints"


def faults(folder: Path) -> list[str]:
    """What is wrong with a folder of levels from which the package loads."""
    found = []
    for level in sorted(folder.rglob("*.safetensors")):
        env_id, name = level.parent.name, level.stem
        if level.parent.parent != folder or env_id not in registry.ids():
            found.append(f"{level.relative_to(folder)} is in no environment's folder")
            continue
        card = level.parent / "card.md"
        if not card.is_file() or not card.read_text().startswith(f"# {name} for {env_id}\n"):
            found.append(f"{env_id}/{name} has no card of its own")
        for agent in (name, f"{name}-policy"):
            try:
                assert agent in agent_names(env_id)
                make_agent(env_id, agent)
            except (AssertionError, ValueError) as error:
                found.append(f"{env_id} does not load {agent}: {error}")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size >= LIMIT:
        found.append(f"{size} bytes are too many")
    return found


def test_what_ships_is_complete() -> None:
    folder = learned.shipped_folder()
    assert folder.is_dir()
    assert faults(folder) == []


def test_a_wheel_has_the_levels_where_the_package_looks(monkeypatch, tmp_path) -> None:
    build = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    inside = Path(build["targets"]["wheel"]["force-include"][SOURCE.name])
    # An installed copy: the package, the folder inside it, nothing beside it.
    (tmp_path / inside).mkdir(parents=True)
    monkeypatch.setattr(learned.resources, "files", lambda package: tmp_path / package)
    assert learned.shipped_folder() == tmp_path / inside
    excluded = build["targets"]["sdist"]["exclude"]
    assert not [pattern for pattern in excluded if SOURCE.name in pattern]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with one small level and its card, from which the package loads."""
    env = audamir_envs.make("stigmergy-v0", side=2)
    config = hex_config(env.id, 4, 1)
    parameters = init_parameters(make_network(config), env.observation_shape, env.num_actions, jax.random.key(0))
    path = tmp_path / env.id / "zero.safetensors"
    checkpoints.save_level(path, env, config, parameters)
    (path.parent / "card.md").write_text(f"# zero for {env.id}\n")
    monkeypatch.setattr(learned, "shipped_folder", lambda: tmp_path)
    return tmp_path


def test_a_complete_folder_has_no_faults_and_loads_by_name(folder) -> None:
    assert faults(folder) == []
    assert agent_names("stigmergy-v0")[-2:] == ("zero", "zero-policy")
    agent = make_agent("stigmergy-v0", "zero", simulations=2)
    assert agent.name == "zero"
    # Results of matches name the parameters by it.
    assert (
        agent.checksum
        == checkpoints.read_level(folder / "stigmergy-v0/zero.safetensors", "stigmergy-v0")[2]["checksum"]
    )


def test_faults_are_found(folder) -> None:
    level = folder / "stigmergy-v0" / "zero.safetensors"
    shutil.copytree(level.parent, folder / "colony-v0")
    shutil.copytree(level.parent, folder / "chess-v0")
    (level.parent / "card.md").unlink()
    with (folder / "large").open("wb") as file:
        file.truncate(LIMIT)
    said = "\n".join(faults(folder))
    assert "chess-v0/zero.safetensors is in no environment's folder" in said
    assert "stigmergy-v0/zero has no card" in said
    assert "colony-v0/zero has no card" in said
    assert "colony-v0 does not load zero: " in said
    assert "bytes are too many" in said
    assert len(said.splitlines()) == 6
