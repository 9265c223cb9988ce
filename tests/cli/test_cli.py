"""The command line: exit codes, one-line errors, worked examples, plug-ins."""

import importlib
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from audamir_envs import cli, registry
from audamir_envs.agents.loading import agent_names, agent_settings
from audamir_envs.commands import common


def one_line(text):
    return text.count("\n") == 1 and text.endswith("\n")


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_shows_a_worked_example_that_parses(audamir, command):
    code, out, err = audamir(command, "--help")
    assert (code, err) == (0, "")
    module = importlib.import_module(f"audamir_envs.commands.{command}")
    assert f"example:\n  {cli.example_of(module)}" in out
    parser = cli.Parser()
    module.add_arguments(parser)
    words = cli.example_of(module).split()
    assert words[:2] == ["audamir", command]
    parser.parse_args(words[2:])


def test_top_help(audamir):
    code, out, _ = audamir("--help")
    assert code == 0
    assert all(command in out for command in cli.COMMANDS)
    assert audamir()[0] == cli.BAD_INPUT
    assert audamir("--version")[1].startswith("audamir-envs ")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("fly",), "evaluate"),
        (("list", "chess-v0"), "colony-v0, stigmergy-v0"),
        (("evaluate", "chess-v0", "weak", "weak"), "colony-v0"),
        (("evaluate", "tally-v0", "weak"), "needs two agents"),
        (("evaluate", "tally-v0", "weak", "nobody"), "random, weak, strong"),
        (("evaluate", "tally-v0", "weak", "strong:slip=2"), "use a share from 0 to 1"),
        (("evaluate", "tally-v0", "weak", "strong:depth=2"), "its settings are slip"),
        (("evaluate", "tally-v0", "weak", "strong:slip"), "setting=value"),
        (("evaluate", "tally-v0", "weak", "strong:"), "name:setting=value"),
        (("evaluate", "tally-v0", "weak", "no_such_module:act"), "no_such_module"),
        (("evaluate", "tally-v0", "weak", "tally.scripted:act"), "has no 'act'"),
        (("evaluate", "tally-v0", "weak", "tally.scripted:AGENTS"), "neither a function"),
        (("evaluate", "tally-v0", "weak", "os:system"), "'os:system': from_callable needs a function (observation,"),
        (("evaluate", "tally-v0", "weak", "missing.safetensors"), "missing.safetensors does not exist"),
        (("evaluate", "tally-v0", "weak", "weak", "-o", "goal"), "NAME=VALUE"),
        (("evaluate", "tally-v0", "weak", "weak", "-o", "gaol=3"), "players, goal, rounds"),
        (("evaluate", "tally-v0", "weak", "weak", "-o", "goal=100"), "an integer from 1 to 99"),
        (("evaluate", "tally-v0", "weak", "weak", "--games", "0"), "whole number from 1"),
        (("evaluate", "tally-v0", "weak", "weak", "--seed", "x"), "whole number from 0"),
        (("evaluate", "tally-v0", "weak", "cheat", "--games", "2"), "'cheat' played the illegal action 2"),
        (("evaluate", "tally-v0", "weak", "weak", "--json", "/dev/null/x"), "/dev/null/x"),
        (("evaluate", "tally-v0", "weak", "weak", "--json", ""), "is empty"),
        (("evaluate", "tally-v0", "weak", "weak", "--seed", "9" * 20), "whole number from 0"),
        (("evaluate", "tally-v0", "weak", ".module:act"), "'.module:act'"),
        (("evaluate", "tally-v0", "weak", "/"), "is a folder"),
        (("evaluate", "colony-v0", "weak", "strong:depth=deep"), "use 1, or an integer from 3"),
        (("evaluate", "colony-v0", "weak", "weak:slip=often"), "use a number from 0 to 1"),
        (("solve", "tally-v0"), "stigmergy-v0"),
        (("solve", "stigmergy-v0", "--side", "2", "--save", "/"), "is a folder"),
        (("play", "tally-v0", "--seat", "2"), "use 0 to 1"),
        (("play", "tally-v0", "weak", "weak"), "give one opponent"),
        (("play", "tally-v0", "weak", "--seat", "0", "weak"), "give one opponent"),
        (("list", "colony-v0", "stigmergy-v0"), "unrecognized arguments: stigmergy-v0 (see audamir list --help)"),
        (("play", "tally-v0", "--fast", "weak"), "unrecognized arguments: --fast weak (see audamir play --help)"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(audamir, words, named):
    code, out, err = audamir(*words)
    assert code == 2
    assert out == ""
    assert one_line(err)
    assert "error: " in err
    assert named in err


def test_list(audamir):
    code, out, _ = audamir("list", "tally-v0")
    assert code == 0
    assert "goal" in out
    assert "an integer from 1 to 99" in out
    assert "agents: random, weak, strong, cheat" in out


@pytest.mark.parametrize("env_id", registry.ids())
def test_list_tells_what_every_agent_can_be_told(audamir, env_id):
    code, out, _ = audamir("list", env_id)
    assert code == 0
    shown = out.split("settings of agents")[1].splitlines()[2:]
    for name in agent_names(env_id):
        assert any(line.startswith(name) for line in shown)
        for setting in agent_settings(env_id, name):
            assert setting.help, (name, setting)
            assert any(
                setting.name in line and setting.help in line and repr(setting.default) in line for line in shown
            )
    assert {setting.name for setting in agent_settings(env_id, "zero-policy")} == {"temperature"}
    with pytest.raises(ValueError, match="unknown agent 'nobody'"):
        agent_settings(env_id, "nobody")


def test_evaluate_prints_and_writes_the_same(audamir, tmp_path):
    path = tmp_path / "new" / "result.json"
    words = ("evaluate", "tally-v0", "strong", "weak", "--games", "6", "-o", "goal=5", "-o", "loud=true")
    code, out, err = audamir(*words, "--json", str(path), "--opening-plies", "1", "--seed", "3", "--batch", "4")
    assert (code, err) == (0, "")
    result = json.loads(path.read_text())
    assert result["options"] == {"players": 2, "goal": 5, "rounds": 6, "starter": 0, "loud": True}
    assert result["games"] == 6
    assert result["settings"] == {
        "seed": 3,
        "opening_plies": 1,
        "max_plies": None,
        "mirrored": False,
        "openings": "random:1",
    }
    row = next(line.split() for line in out.splitlines() if line.startswith("strong"))
    assert row[1] == str(result["wins"]["strong"]) == "6"
    assert row[3] == "0"
    assert row[4] == "100.0"
    assert f"mean length {result['mean_length']:.1f} plies" in out
    assert [p.name for p in path.parent.iterdir()] == ["result.json"]  # nothing half-written beside it


def test_policies_of_a_module(audamir, tmp_path, monkeypatch):
    (tmp_path / "my_policies.py").write_text(
        "import numpy as np\n"
        "def one(observation, action_mask):\n    return np.ones(len(action_mask), int)\n"
        "class Thing:\n    name = 'thing'\n"
        "    def act(self, state, key):\n        import jax.numpy as jnp\n        return jnp.int32(0)\n"
        "thing = Thing()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    code, out, _ = audamir("evaluate", "tally-v0", "my_policies:one", "my_policies:thing", "--games", "2")
    assert code == 0
    assert out.splitlines()[2].split()[:2] == ["my_policies:one", "2"]


def test_unexpected_failures_are_one_line_too(audamir, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("the roof\nis on fire")

    monkeypatch.setattr("audamir_envs.arena.evaluate", fail)
    code, _, err = audamir("evaluate", "tally-v0", "weak", "weak")
    assert code == 1
    assert one_line(err)
    assert "RuntimeError: the roof is on fire" in err
    monkeypatch.setenv("AUDAMIR_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        audamir("evaluate", "tally-v0", "weak", "weak")


def test_an_interrupt_ends_quietly(audamir, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("audamir_envs.arena.evaluate", interrupt)
    assert audamir("evaluate", "tally-v0", "weak", "weak") == (130, "", "")


def test_commands_of_other_distributions(audamir, monkeypatch):
    import tally.scripted

    def train(words):
        if words == ["--bad"]:
            raise ValueError("no such flag")
        print("training", *words)

    monkeypatch.setattr(tally.scripted, "train", train, raising=False)
    point = metadata.EntryPoint("train", "tally.scripted:train", cli.GROUP)
    monkeypatch.setattr(cli, "_entry_points", lambda: [point])
    assert audamir("train", "--minutes", "3") == (0, "training --minutes 3\n", "")
    code, _, err = audamir("train", "--bad")
    assert code == 2
    assert err == "audamir: error: no such flag\n"
    assert "train from tally.scripted options" in " ".join(audamir("--help")[1].split())
    train.__doc__ = "Learns 100 % of it.\n\nMore."
    assert "train learns 100 % of it options" in " ".join(audamir("--help")[1].split())


def test_a_missing_package_says_how_to_get_it(audamir, monkeypatch):
    def train(_):
        raise ModuleNotFoundError("No module named 'tensorboardX'", name="tensorboardX")

    point = metadata.EntryPoint("train", "tally.scripted:train", cli.GROUP)
    monkeypatch.setattr("tally.scripted.train", train, raising=False)
    monkeypatch.setattr(cli, "_entry_points", lambda: [point])
    code, _, err = audamir("train")
    assert code == 2
    assert err == "audamir: error: this needs tensorboardX: pip install tensorboardX, or audamir-envs[train]\n"


def test_as_a_process():
    """The streams and the exit code as a script sees them, a closed pipe included."""
    command = [sys.executable, "-m", "audamir_envs"]
    env = os.environ | {"JAX_PLATFORMS": "cpu"}
    bad = subprocess.run([*command, "list", "nothing"], capture_output=True, text=True, env=env, check=False)
    assert bad.returncode == 2
    assert bad.stdout == ""
    assert one_line(bad.stderr)
    piped = subprocess.run(
        f"{sys.executable} -m audamir_envs --help | true; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert (piped.returncode, piped.stderr) == (0, "")


def test_ladder(audamir, tmp_path):
    pytest.importorskip("matplotlib")
    files = [tmp_path / "ladder.json", tmp_path / "ladder.png"]
    words = ("ladder", "tally-v0", "weak", "strong", "--games", "4", "--json", str(files[0]), "--plot", str(files[1]))
    code, out, err = audamir(*words)
    assert (code, err) == (0, "")
    result = json.loads(files[0].read_text())
    lines = out.splitlines()
    assert lines[2].split()[:2] == ["strong", f"{result['rating']['strong']:+.0f}"]
    assert lines[3].startswith("weak")
    assert "moving first is worth" in out
    assert files[1].stat().st_size > 1000
    code, out, err = audamir("ladder", "tally-v0", "weak", "strong", "--plot", "ladder.doc")
    assert (code, out) == (2, "")
    assert ".png, .svg or .pdf" in err
    for words, message in (
        (("--json", str(files[1]), "--plot", str(files[1])), "--json and --plot both name"),
        (("--json", f"{tmp_path}/new/"), "new/ is a folder, not a file"),
    ):
        before = files[1].read_bytes()
        code, out, err = audamir("ladder", "tally-v0", "weak", "strong", *words)
        assert (code, out) == (2, "")
        assert message in err
        assert files[1].read_bytes() == before


@pytest.mark.slow
def test_the_first_command_of_the_readme(tmp_path):
    """What stands behind the installation: it trains, and the result beats both levels that it then plays.

    At the end the level that ships plays strong, to be watched.
    """
    root = Path(__file__).parents[2]
    block = (root / "README.md").read_text().split("```bash\n")[1].split("```")[0]
    chain = block.replace("\\\n", " ").split("&&")
    commands = [words for part in chain if (words := part.split())[0] == "audamir"]
    assert [words[1] for words in commands] == ["train", "export", "evaluate", "evaluate", "play"]
    modules = dict.fromkeys(("train", "export"), "audamir_training")
    scores = []
    for words in commands:
        program = [sys.executable, "-m", modules.get(words[1], "audamir_envs"), *words[1:]]
        done = subprocess.run(
            program, cwd=tmp_path, env=dict(os.environ, XLA_FLAGS=""), text=True, capture_output=True, timeout=900
        )
        assert done.returncode == 0, done.stderr
        if words[1] == "evaluate":
            row = next(line for line in done.stdout.splitlines() if line.startswith(words[3]))
            scores.append(float(row.split()[4]))
        if words[1] == "play":
            assert any(end in done.stdout for end in ("(zero) wins.", "(strong) wins.", "Draw between"))
    assert min(scores) > 60, scores


@pytest.mark.parametrize("command", ["evaluate", "ladder"])
def test_the_file_is_written_though_nobody_reads_the_report(audamir, tmp_path, monkeypatch, command):
    def left(*_):
        raise BrokenPipeError

    path = tmp_path / "result.json"
    monkeypatch.setattr(common, "print_table", left)
    monkeypatch.setattr(cli.os, "dup2", lambda *_: None)
    monkeypatch.setattr(cli.sys.stdout, "fileno", lambda: 1, raising=False)
    assert audamir(command, "tally-v0", "weak", "random", "--games", "2", "--json", str(path))[0] == 0
    assert json.loads(path.read_text())["games"] == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("command", ["evaluate", "ladder"])
def test_the_report_is_printed_though_the_disk_is_full(audamir, command):
    code, out, err = audamir(command, "tally-v0", "weak", "random", "--games", "2", "--json", "/dev/full")
    assert (code, err) == (2, "audamir: error: /dev/full: No space left on device\n")
    assert "tally-v0" in out
    assert "mean length" in out


def test_more_opening_plies_than_a_game_has(audamir):
    words = ("evaluate", "tally-v0", "weak", "random", "--games", "2", "--opening-plies", str(2**40))
    code, out, _ = audamir(*words)
    assert code == 0
    assert " 0 decisions/s" in out


def test_a_table_of_another_side_is_refused(audamir, tmp_path):
    path = str(tmp_path / "side2.npz")
    code, _, err = audamir("solve", "stigmergy-v0", "--side", "2", "--save", path)
    assert (code, err) == (0, "")
    assert "side 2" in audamir("solve", "stigmergy-v0", "--load", path)[1]
    code, out, err = audamir("solve", "stigmergy-v0", "--side", "3", "--load", path)
    assert (code, out) == (2, "")
    assert "the table of side 2, not 3" in err
