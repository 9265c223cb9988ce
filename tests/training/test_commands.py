"""The commands on a tiny run: train, go on, plot, export, play."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import jax
import pytest
from audamir_training import commands, exporting, metrics, presets
from audamir_training.settings import AlphaZeroSettings, RunSettings

import audamir_envs
from audamir_envs import files, records
from audamir_envs.agents.loading import make_agent

TINY = [
    "--layouts=2", "--channels=4", "--blocks=1", "--lanes=8", "--plies=8", "--simulations=2", "--considered=2",
    "--slots=8", "--full-share=1", "--opening-plies=1", "--batch=16", "--microbatch=8", "--reuse=0.5",
    "--replay-positions=256", "--warmup-positions=32", "--evaluate-options=side=2", "--evaluate-simulations=2",
    "--evaluate-games=4", "--opponents=random", "--log-seconds=0", "--evaluate-minutes=0.001", "--quiet",
]  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "s1"
    more = ["--minutes", "100", "--iterations", "6", "--record", str(folder / "games.jsonl")]
    assert commands.train(["stigmergy-v0", "--out", str(folder), *more, *TINY]) == 0
    return folder


def test_a_run_leaves_state_best_and_metrics(trained) -> None:
    kinds = {line["kind"] for line in metrics.read(trained)}
    assert kinds == {"train", "evaluation"}
    assert (trained / "best.safetensors").is_file()
    assert list((trained / "tensorboard").glob("events*"))


def test_the_games_of_evaluations_are_recorded(trained) -> None:
    record = records.read(trained / "games.jsonl")
    assert list(records.verify(record.games)) == []
    lines = [line for line in metrics.read(trained) if line["kind"] == "evaluation"]
    assert len(record.sections) == len(lines)
    for section, line in zip(record.sections, lines, strict=True):
        assert section.header.protocol["iteration"] == line["iteration"]
        assert [agent["agent"] for agent in section.header.agents] == [f"alphazero@{line['iteration']}", "random"]
        shares = [game.shares[game.seats.index(0)] for game in section.games]
        assert sum(shares) / 4 == pytest.approx(line["score"])


def test_the_last_self_play_game_is_kept(trained) -> None:
    record = records.read(trained / "last_game.jsonl")
    assert len(record.games) == 1
    assert list(records.verify(record.games)) == []
    assert record.sections[0].header.agents[0]["agent"].startswith("alphazero@")


def test_a_record_that_nothing_would_be_written_to_is_refused(tmp_path) -> None:
    start = ["stigmergy-v0", "--out", str(tmp_path / "run"), "--minutes", "100", *TINY, "--record"]
    with pytest.raises(ValueError, match="there are no evaluations to record: evaluate_minutes is 0"):
        commands.train([*start, str(tmp_path / "games.jsonl"), "--evaluate-minutes=0"])
    (tmp_path / "notes.txt").write_text("mine\n")
    with pytest.raises(records.RecordError, match="no line of a record"):
        commands.train([*start, str(tmp_path / "notes.txt")])
    assert (tmp_path / "notes.txt").read_text() == "mine\n"


def test_plot_draws_a_picture(trained, capsys) -> None:
    assert commands.plot([str(trained)]) == 0
    assert (trained / "curves.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no metrics"):
        commands.plot([str(trained / "nothing")])


@pytest.mark.parametrize("more", [[], ["--last"]])
def test_export_writes_a_level_and_its_card(trained, tmp_path, more: list[str], capsys) -> None:
    assert commands.export([str(trained), str(tmp_path), *more]) == 0
    path = tmp_path / "zero.safetensors"
    assert capsys.readouterr().out.split() == [str(path), str(tmp_path / "card.md")]
    card = (tmp_path / "card.md").read_text()
    assert "stigmergy-v0" in card
    assert "| random |" in card
    agent = make_agent("stigmergy-v0", str(path), policy=True)
    env = audamir_envs.make("stigmergy-v0", side=2)
    state = env.init(jax.random.key(0))
    assert bool(state.legal_action_mask[jax.jit(agent.act)(state, jax.random.key(1))])


@pytest.mark.parametrize("more", [[], ["--last"]])
def test_a_level_has_defaults_of_its_own(trained, tmp_path, more: list[str]) -> None:
    commands.export([str(trained), str(tmp_path), "--play", "considered=3,temperature=0.5", *more])
    path = str(tmp_path / "zero.safetensors")
    assert (
        "\n- Plays with `considered=3`, `temperature=0.5` unless told otherwise\n" in (tmp_path / "card.md").read_text()
    )
    assert make_agent("stigmergy-v0", path).config.considered == 3
    assert make_agent("stigmergy-v0", path, considered=5).config.considered == 5
    assert make_agent("stigmergy-v0", path, policy=True).temperature == 0.5
    before = Path(path).read_bytes()
    for text, message in (
        ("depth=3", "use numbers for considered, noise, simulations, temperature, value_scale"),
        ("considered=much", "use numbers for"),
        ("considered=0", "considered=0 is not valid: use an integer from 1"),
        ("temperature=-1", "temperature=-1 is not valid: use a number from 0"),
        ("considered", "'considered' is not written as setting=value"),
    ):
        with pytest.raises(ValueError, match=message):
            commands.export([str(trained), str(tmp_path), "--play", text])
    assert Path(path).read_bytes() == before


def test_a_card_with_words_by_hand_is_not_overwritten(trained, tmp_path) -> None:
    commands.export([str(trained), str(tmp_path)])
    commands.export([str(trained), str(tmp_path), "--last"])  # as it was written: nothing is lost
    card, level = tmp_path / "card.md", tmp_path / "zero.safetensors"
    card.write_text(card.read_text() + "\nWeak in the corners.\n")
    before = level.read_bytes()
    for target in (tmp_path, tmp_path / "other.safetensors"):
        with pytest.raises(FileExistsError, match=r"not there as an export leaves them .*: move them away"):
            commands.export([str(trained), str(target)])
    level.write_bytes(b"")
    with pytest.raises(FileExistsError, match="move them away"):
        commands.export([str(trained), str(tmp_path)])
    level.write_bytes(before)
    assert "Weak in the corners" in card.read_text()
    assert level.read_bytes() == before
    card.unlink()  # a file without a card may be anything
    with pytest.raises(FileExistsError, match="move them away"):
        commands.export([str(trained), str(tmp_path)])
    assert level.read_bytes() == before


def test_export_and_plot_leave_the_files_of_a_run_alone(trained) -> None:
    before = {path: path.read_bytes() for path in trained.glob("*.safetensors")}
    assert len(before) == 3
    for path in before:
        with pytest.raises(ValueError, match="is a file of the run itself: use another name"):
            commands.export([str(trained), str(path)])
        with pytest.raises(ValueError, match=r"ends in \.png"):
            commands.plot([str(trained), "--png", str(path)])
        assert path.read_bytes() == before[path]
    assert not (trained / "card.md").exists()


def test_a_card_says_that_nothing_was_measured_and_names_no_foreign_commit(trained, tmp_path, monkeypatch) -> None:
    shutil.copy(trained / "state.safetensors", tmp_path)
    monkeypatch.setattr(exporting, "__file__", str(tmp_path / "exporting.py"))
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    card = exporting.export(tmp_path, tmp_path / "level.safetensors")[1].read_text()
    assert "Not measured" in card
    assert re.search(r"--iterations \d+ --minutes 100000 --out", card)
    assert "; version " in card


def test_export_without_a_run_says_so(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no run"):
        commands.export([str(tmp_path), str(tmp_path)])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--opponents=nobody", "--evaluate-minutes=1"], "unknown agent 'nobody'"),
        (["--evaluate-options=foo=1", "--evaluate-minutes=1"], "no option 'foo'"),
        (["--levels=strong"], "AlphaZero, which trains stigmergy-v0, has no --levels: use --level$"),
        (["--ratio-clip=1"], "AlphaZero, which trains stigmergy-v0, has no --ratio-clip$"),
        (["--evaluate-games=0"], "evaluate_games=0 is not valid: use a whole number from 2"),
        (["--minutes=nan"], "minutes=nan is not valid: use a number from 0 on"),
        (["--learner=nowhere"], "--learner nowhere is no file"),
    ],
)
def test_bad_words_are_told_before_any_training(tmp_path, words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        commands.train(["stigmergy-v0", "--out", str(tmp_path / "run"), *TINY, *words])
    assert not (tmp_path / "run").exists()


def test_ppo_has_no_flags_of_alphazero(tmp_path) -> None:
    with pytest.raises(ValueError, match="PPO, which trains principalities-v0, has no --level: use --levels"):
        commands.train(["principalities-v0", "--out", str(tmp_path), "--level=strong"])


def test_the_folder_of_another_game_is_refused(trained) -> None:
    with pytest.raises(ValueError, match="holds a run of stigmergy-v0, not of colony-v0"):
        commands.train(["colony-v0", "--out", str(trained)])


@pytest.mark.parametrize("env_id", ["colony-v0", "stigmergy-v0"])
@pytest.mark.parametrize("name", presets.NAMES)
def test_presets_fit_their_games(env_id: str, name: str) -> None:
    from audamir_training import games

    settings, run = presets.preset(env_id, name)
    assert isinstance(settings, AlphaZeroSettings)
    assert isinstance(run, RunSettings)
    assert settings.env == env_id
    shares = sum(variant.share for variant in games.variants(env_id, settings.layouts))
    assert shares == pytest.approx(1)
    assert settings.lanes % settings.groups == settings.batch % settings.groups == 0


def test_unknown_presets_and_games_are_refused() -> None:
    with pytest.raises(ValueError, match="quick, small, full"):
        presets.preset("colony-v0", "huge")
    with pytest.raises(ValueError, match="colony-v0"):
        presets.preset("chess-v0", "quick")


def test_every_setting_is_a_flag_with_help(capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        commands.train(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for kind in (AlphaZeroSettings, RunSettings):
        for name in kind.__dataclass_fields__:
            if name != "env":
                assert f"--{name.replace('_', '-')}" in text
    assert "audamir train colony-v0" in text


def test_settings_survive_json() -> None:
    settings, _ = presets.preset("colony-v0", "full")
    import dataclasses

    assert AlphaZeroSettings(**json.loads(json.dumps(dataclasses.asdict(settings)))) == settings


@pytest.mark.parametrize("kept", ["nothing", "level"])
def test_an_export_after_one_that_was_killed_goes_through(trained, tmp_path, kept: str, monkeypatch) -> None:
    commands.export([str(trained), str(tmp_path)])  # something to write over
    level, card = tmp_path / "zero.safetensors", tmp_path / "card.md"

    def killed(path, content):
        if Path(path) == (level if kept == "nothing" else card):
            raise KeyboardInterrupt
        write(path, content)

    write = files.write_bytes
    monkeypatch.setattr(files, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        commands.export([str(trained), str(tmp_path), "--last"])
    monkeypatch.undo()
    commands.export([str(trained), str(tmp_path), "--last"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [card.name, level.name]
    assert card.read_text() == exporting._card(level)


def test_a_run_that_learned_nothing_is_exported_by_force_alone(tmp_path) -> None:
    folder = tmp_path / "idle"
    words = [*TINY, "--iterations=1", "--warmup-positions=100000", "--evaluate-minutes=0"]
    assert commands.train(["stigmergy-v0", "--out", str(folder), *words]) == 0
    with pytest.raises(ValueError, match=r"idle has learned nothing yet: no gradient step was made; .* --force"):
        commands.export([str(folder), str(tmp_path / "level")])
    assert not (tmp_path / "level").exists()
    assert commands.export([str(folder), str(tmp_path / "level"), "--force"]) == 0
    (line,) = metrics.read(folder)
    assert line["policy_loss"] is None  # before learning began there is no loss, not one of 0


def test_flags_of_several_processes_mean_nothing_alone(tmp_path) -> None:
    words = ["stigmergy-v0", "--out", str(tmp_path / "run"), *TINY]
    for more in (["--coordinator=x:1"], ["--processes=2", "--process=0"]):
        with pytest.raises(ValueError, match="mean nothing without --distributed"):
            commands.train([*words, *more])
    assert not (tmp_path / "run").exists()


def test_a_damaged_line_is_told_by_plot_and_export(trained, tmp_path, capsys) -> None:
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    (folder / metrics.FILE).write_bytes((folder / metrics.FILE).read_bytes() + b"\xff\n")
    commands.plot([str(folder)])
    commands.export([str(folder), str(tmp_path / "level"), "--last"])
    assert capsys.readouterr().err.count(f"audamir: {folder / metrics.FILE}: 1 line cannot be read\n") == 2
