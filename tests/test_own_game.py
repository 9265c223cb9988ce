"""A game in a package of its own (examples/own_game), installed beside this one, is a game like ours: nothing here is
changed for it, and docs/adding-a-game.md shows what it is made of.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GAME = ROOT / "examples" / "own_game"
PAGE = ROOT / "docs" / "adding-a-game.md"
TINY = [
    *(
        "--iterations",
        "2",
        "--minutes",
        "10",
        "--evaluate-minutes",
        "0",
        "--log-seconds",
        "0",
        "--quiet",
        "--layouts",
        "2",
    ),
    *("--channels", "4", "--blocks", "1", "--lanes", "8", "--plies", "8", "--simulations", "4", "--groups", "2"),
    *("--full-share", "1", "--batch", "16", "--microbatch", "8", "--reuse", "0.5", "--warmup-positions", "0"),
    *("--replay-positions", "512", "--opening-plies", "1"),
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder that has the package as an installer leaves it: its modules, and its entry points beside them."""
    site = tmp_path_factory.mktemp("site")
    project = tomllib.loads((GAME / "pyproject.toml").read_text())["project"]
    shutil.copytree(GAME / project["name"], site / project["name"])
    info = site / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in points.items()) for group, points in groups]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return site


@pytest.fixture(scope="module")
def run(installed, tmp_path_factory):
    """Runs Python in a new process that has the game installed, and returns what it printed."""
    folder = tmp_path_factory.mktemp("work")

    def run(*words: str, typed: str = "", cwd: Path = folder) -> str:
        path = os.pathsep.join([str(installed), str(ROOT), str(ROOT / "training"), os.environ.get("PYTHONPATH", "")])
        surroundings = {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep), "AUDAMIR_TRACEBACK": "1"}
        surroundings["XLA_FLAGS"] = "--xla_backend_optimization_level=0"  # compiling takes longer than running here
        done = subprocess.run(
            [sys.executable, *words],
            cwd=cwd, env=surroundings, input=typed, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def audamir(run, *words: str, typed: str = "") -> str:
    return run("-m", "audamir_envs", *words, typed=typed)


def test_it_is_listed_with_its_levels(run):
    told = audamir(run, "list")
    assert "copse-v0" in told
    assert "agents: random, weak, normal\n" in audamir(run, "list", "copse-v0")


def test_it_is_played_and_evaluated(run, tmp_path):
    told = audamir(run, "play", "copse-v0", "normal", "--seat", "0", "-o", "side=2", typed="a1\nquit\n")
    assert "x leads by" in told
    out = tmp_path / "out.json"
    audamir(run, "evaluate", "copse-v0", "normal", "random", "--games", "20", "-o", "side=2", "--json", str(out))
    result = json.loads(out.read_text())
    assert result["env"] == "copse-v0"
    assert result["score"]["normal"] > 0.5


def test_it_is_learned_and_its_level_plays(run, tmp_path):
    folder, level = tmp_path / "run", tmp_path / "level"
    audamir(run, "train", "copse-v0", "--preset", "quick", "--out", str(folder), *TINY)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["iteration"] == 2
    audamir(run, "export", str(folder), str(level), "--last")
    assert (level / "card.md").read_text().startswith("# zero for copse-v0\n")
    agent = f"{level / 'zero.safetensors'}:simulations=4"
    told = audamir(run, "evaluate", "copse-v0", agent, "weak", "--games", "4", "-o", "side=2")
    assert "weak" in told


def test_bridges_know_it(run):
    program = """
import gymnasium, pettingzoo
env = gymnasium.make("audamir_envs:audamir_envs/Copse-v0", side=2)
env.reset(seed=0)
assert env.unwrapped.game.options == {"side": 2}
from audamir_envs import copse_v0
copse_v0.env(side=2).reset(seed=0)
pettingzoo.make("aec", "audamir_envs/copse-v0", side=2).reset(seed=0)
"""
    run("-c", program)


@pytest.mark.slow
def test_it_conforms(run, tmp_path):
    shutil.copytree(GAME / "tests", tmp_path / "tests")
    told = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", cwd=tmp_path)
    assert re.search(r"^\d+ passed", told.splitlines()[-1]), told


def test_the_page_shows_the_package_as_it_is():
    pattern = r"`examples/own_game/([\w/.]+)`:\n\n(?:<!-- [^\n]* -->\n)?```\w+\n(.*?)```"
    shown = re.findall(pattern, PAGE.read_text(encoding="utf-8"), flags=re.S)
    kept = {str(path.relative_to(GAME)) for path in GAME.rglob("*") if path.suffix in (".py", ".toml")}
    assert {name for name, _ in shown} == kept - {"copse/__init__.py"}
    for name, text in shown:
        assert text == (GAME / name).read_text(encoding="utf-8"), name
