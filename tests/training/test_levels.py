"""Playing the plan by which levels are measured: what is repeated, what is not, and what is counted."""

import json

import jax
import levels
import levels_report as report
import numpy as np
import pytest
from levels_plan import Match, learned, plan

import audamir_envs
from audamir_envs import arena, registry
from audamir_envs.agents.loading import parse_agent
from audamir_envs.intervals import wilson
from audamir_envs.testing import registered

ENVS = ("colony-v0", "stigmergy-v0", "principalities-v0")
SETTINGS = {  # what the loaders of both kinds of network take
    "zero": {"simulations", "considered", "futures"},
    "zero-policy": set(),
}


@pytest.mark.parametrize("env_id", ENVS)
def test_plans_name_valid_options_and_agents_once(env_id: str) -> None:
    matches = plan(env_id)
    stored = [json.dumps(match.to_json()) for match in matches]
    assert len(set(stored)) == len(stored)
    for options in {str(match.options): match.options for match in matches}.values():
        assert audamir_envs.make(env_id, **options).num_players == options.get("players", 2)
    for match in matches:
        assert match.games >= 200
        assert match.games % match.options.get("players", 2) == 0
        for entrant in match.entrants:
            name, settings = parse_agent(entrant)
            known = SETTINGS[name] if learned(entrant) else set()
            assert name in (*SETTINGS, "weak", "normal", "strong")
            assert set(settings) <= known


def test_plans_begin_with_what_says_most_and_have_every_layout() -> None:
    colony = plan("colony-v0")
    assert all(match.entrants == ("zero:simulations=64", "strong") for match in colony[:8])
    assert len({str(match.options) for match in colony[:8]}) == 8
    assert [match.options["side"] for match in plan("stigmergy-v0")[:4]] == [4, 5, 6, 8]
    assert all(match.mirrored for match in plan("principalities-v0"))


def test_other_games_have_no_plan() -> None:
    with pytest.raises(ValueError, match="colony-v0"):
        plan("chess-v0")
    with registered("tally-v0", "tally"), pytest.raises(ValueError, match="planned for tally-v0: use colony-v0"):
        plan("tally-v0")


@pytest.fixture
def tally():
    with registered("tally-v0", "tally"):
        yield


def test_whole_rotations() -> None:
    assert Match({"players": 7}, ("zero", "strong")).with_games(200).games == 203
    assert Match({"side": 4}, ("zero", "strong")).with_games(3).games == 4


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """``levels.main`` with matches that are not played, for the level with the checksum ``fake.checksum``."""

    class Fake:
        checksum = "aaaa"
        played = 0
        version = registry.environment_class("colony-v0").version
        path = tmp_path / "results.json"

        def play(self, *words: str) -> int:
            """How many matches were played."""
            before = self.played
            levels.main(["play", "colony-v0", "--json", str(self.path), *words])
            return self.played - before

        def match(self, env_id, match, level, batch):
            self.played += 1
            label, share = match.entrants[0], {"games": match.games, "score": 0.5, "interval": [0.4, 0.6]}
            result = {
                "versions": {env_id: self.version}, "games": match.games, "wins": {label: 1}, "losses": {label: 1},
                "score": {label: 0.5}, "interval": {label: [0.4, 0.6]}, "mean_length": 50.0, "unfinished": 0,
            }  # fmt: skip
            parts = {"starter": share, "starting": share, "not_starting": share, "won": {}, "lost_from": []}
            return {"match": match.to_json(), "result": result, **parts}

    fake = Fake()
    monkeypatch.setattr(levels, "play_match", fake.match)
    monkeypatch.setattr(levels, "find_level", lambda env_id, given: (tmp_path / "level", fake.checksum))
    return fake


ONE_LAYOUT = ("--only", "board=61 start=one claim_empty=True: .*(zero.*strong|weak - weak)")


def test_what_is_done_is_not_repeated(fake) -> None:
    assert fake.play(*ONE_LAYOUT) == 2
    assert fake.play(*ONE_LAYOUT) == 0
    entries = json.loads(fake.path.read_text())["matches"]
    assert [(entry["match"]["entrants"], entry["level"]) for entry in entries] == [
        (["zero:simulations=64", "strong"], "aaaa"),
        (["weak", "weak"], None),
    ]


def test_another_number_of_games_is_another_match_and_tables_show_the_longest(fake) -> None:
    fake.play(*ONE_LAYOUT)
    assert fake.play(*ONE_LAYOUT, "--games", "3") == 2
    entries = report.valid(json.loads(fake.path.read_text()), "aaaa")
    shown = report.ordered(plan("colony-v0"), entries)
    assert [entry["match"]["games"] for entry in shown] == [200, 200]


def test_tables_say_what_is_planned_and_not_played(fake, capsys, monkeypatch) -> None:
    monkeypatch.setattr(report, "tables", lambda env_id, entries: ["Tables."])
    fake.play(*ONE_LAYOUT)
    capsys.readouterr()
    levels.main(["tables", "colony-v0", "--json", str(fake.path)])
    missing = capsys.readouterr().out.split("## Planned, not played\n\n")[1].splitlines()
    against_strong = missing[0]
    assert against_strong.startswith(
        "- `zero:simulations=64` against `strong`: 58, three, no claim; 58, three, claim; "
    )
    assert "61, one, claim" not in against_strong
    assert sum(line.count(";") + 1 for line in missing) == len(plan("colony-v0")) - 2


def test_another_level_plays_anew_and_scripted_ones_do_not(fake) -> None:
    fake.play(*ONE_LAYOUT)
    fake.checksum = "bbbb"
    assert fake.play(*ONE_LAYOUT) == 1
    content = json.loads(fake.path.read_text())
    assert [entry["level"] for entry in content["matches"]] == ["aaaa", None, "bbbb"]
    assert [entry["level"] for entry in report.valid(content, "bbbb")] == [None, "bbbb"]


def test_another_version_of_the_game_plays_anew(fake) -> None:
    fake.version = "other"
    fake.play(*ONE_LAYOUT)
    assert fake.play(*ONE_LAYOUT) == 2


def test_a_match_that_fails_leaves_the_others_in_the_file(fake, monkeypatch) -> None:
    def failing(env_id, match, level, batch):
        if match.entrants == ("weak", "weak"):
            raise KeyboardInterrupt
        return fake.match(env_id, match, level, batch)

    monkeypatch.setattr(levels, "play_match", failing)
    with pytest.raises(SystemExit) as stopped:
        fake.play(*ONE_LAYOUT)
    assert stopped.value.code == 130
    assert len(json.loads(fake.path.read_text())["matches"]) == 1


def refused(capsys, *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        levels.main(words)
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_bad_input_is_one_line(capsys, tmp_path, monkeypatch) -> None:
    assert "stigmergy-v0" in refused(capsys, "play", "chess-v0")
    assert "no regular expression" in refused(capsys, "play", "colony-v0", "--only", "(")
    assert "fits no match of colony-v0; one is 'board=58" in refused(capsys, "play", "colony-v0", "--only", "side=4")
    missing = str(tmp_path / "none.safetensors")
    assert "none.safetensors does not exist" in refused(capsys, "tables", "colony-v0", "--level", missing)
    unwritable = str(tmp_path / "file" / "results.json")
    (tmp_path / "file").write_text("")
    said = refused(capsys, "play", "colony-v0", "--json", unwritable)
    assert said == f"levels.py: {unwritable}: {tmp_path / 'file'} is no folder"
    monkeypatch.setattr(levels, "LEVELS", tmp_path)
    assert "no level ships with colony-v0: name one by --level" in refused(capsys, "card", "colony-v0")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"env": "colony-v0", "machines": {}, "matches": [{}]}',
        '{"env": "stigmergy-v0", "machines": {}, "matches": []}',
    ],
)
def test_files_of_another_kind_are_refused_and_left_alone(fake, capsys, text: str) -> None:
    fake.path.write_text(text)
    assert "does not hold results of colony-v0" in refused(capsys, "play", "colony-v0", "--json", str(fake.path))
    assert fake.path.read_text() == text
    assert fake.played == 0


def test_shares_are_told_apart_by_the_place_in_the_order(tally) -> None:
    entry = levels.play_match("tally-v0", Match({"goal": 2}, ("strong", "weak"), games=6, opening_plies=0), None)
    json.dumps(entry)  # nothing in it that JSON does not know
    # Strong picks 2 in its first turn, whoever begins, and has won.
    won = {"games": 3, "score": 1.0, "interval": list(wilson(1.0, 3))}
    assert entry["starting"] == entry["not_starting"] == won
    assert entry["starter"] == {"games": 6, "score": 0.5, "interval": list(wilson(0.5, 6))}
    assert entry["result"]["by_seat"]["strong"][1]["score"] == 1.0
    assert entry["lost_from"] == []


def records(shares, **more) -> arena.Games:
    """Games of two that swap seats."""
    count = len(shares)
    return arena.Games(
        seats=np.array([(0, 1), (1, 0)] * count)[:count], starts=np.arange(count), starter=np.zeros(count, np.int32),
        shares=np.array(shares, float), plies=np.full(count, 9), unfinished=np.zeros(count, bool),
        decisions=1, seconds=1.0, compile_seconds=0.0, **more,
    )  # fmt: skip


def test_openings_of_lost_games_are_those_that_were_played(tally) -> None:
    env = audamir_envs.make("tally-v0")
    match = Match({}, ("zero", "weak"), games=4, opening_plies=2)
    played = records([(0, 1), (1, 0), (0.5, 0.5), (1, 0)])  # zero's seats: 0, 1, 0, 1
    found = levels._lost_from(env, match, played)
    # Weak adds nothing to what stands after the opening.
    weak = [audamir_envs.make_agent(env, "weak")]
    sat = np.zeros((4, 2), np.int32)
    after = arena.play(env, weak, sat, played.starts, seed=match.seed, opening_plies=2, max_plies=6).final
    texts = [" ".join(map(str, row)) for row in after.sums]
    assert found == [
        {"position": texts[0], "moved_first": True},
        {"position": texts[1], "moved_first": False},
        {"position": texts[3], "moved_first": False},
    ]
    assert levels._lost_from(env, Match({}, ("weak", "zero"), games=4), played) == []


def test_own_moves_and_xp_are_the_winners() -> None:
    env = audamir_envs.make("colony-v0")
    start = "x...o/....../......./...#..../o....#..x/...#..../......./....../x...o"
    # Ends with all pieces of one colour: x is the seat named last. The mover's own moves come first.
    over = [
        env.from_text(f"{start.replace('o', '.')} o 81 {seat}").game.replace(own_moves=own, enemy_moves=enemy)
        for seat, own, enemy in ((0, np.int32(40), np.int32(41)), (0, np.int32(30), np.int32(31)))
    ]
    final = jax.tree.map(lambda *leaves: np.stack(leaves), *over)
    played = records([(1, 0), (1, 0)], final=final)  # seat 0 is won, by the first entrant and then by the second
    found = levels._own_moves(env, Match({}, ("zero", "strong"), games=2), played)
    assert found == {"zero": {"games": 1, "own_moves": 41.0, "xp": 41.0}, "strong": {"games": 1, "own_moves": 31.0}}
    # Without an entrant's win there is no mean.
    none = levels._own_moves(env, Match({}, ("zero", "strong"), games=2), records([(0.5, 0.5)] * 2, final=final))
    assert none == {"zero": {"games": 0}, "strong": {"games": 0}}
