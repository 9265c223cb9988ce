"""Tables and cards of results that are written by hand."""

import json

import levels
import levels_report as report
import pytest
from audamir_training.exporting import describe
from levels_plan import LAYOUTS

HEAD = ["# zero for colony-v0", "", "- Environment: `colony-v0`, version 0"]


def share(games, score, low, high):
    return {"games": games, "score": score, "interval": [low, high]}


def entry(entrants, options, score, interval, *, games=200, won=100, lost=90, seats=None, moves=None, lost_from=()):
    """A stored match whose first entrant has these figures."""
    label = entrants[0]
    first, other = seats or (share(games // 2, score, *interval),) * 2
    players = options.get("players", 2)
    return {
        "level": "aaaa",
        "match": {"options": options, "entrants": list(entrants), "games": games, "mirrored": "players" in options},
        "result": {
            "env": "principalities-v0" if "players" in options else "colony-v0",
            "games": games,
            "wins": {label: won},
            "losses": {label: lost},
            "score": {label: score},
            "interval": {label: interval},
            "by_seat": {label: [{}] * players},
            "mean_length": 80.4,
            "unfinished": 0,
            "decisions_per_second": 1234.5,
        },
        "starter": share(games, 0.5, 0.431, 0.569),
        "starting": first,
        "not_starting": other,
        "won": {label: moves} if moves else {},
        "lost_from": list(lost_from),
    }


def against_strong():
    apart = share(100, 0.9, 0.8256, 0.9448), share(100, 0.8, 0.7112, 0.8666)
    games = [{"games": 150, "own_moves": 44.0, "xp": 44.0}, {"games": 50, "own_moves": 48.0, "xp": 48.0}]
    lost = [{"position": "a", "moved_first": True}, {"position": "b", "moved_first": False}]
    zero = ("zero:simulations=64", "strong")
    return [
        entry(zero, LAYOUTS[0], 0.85, [0.794, 0.893], won=160, lost=20, seats=apart, moves=games[0]),
        entry(zero, LAYOUTS[7], 0.8, [0.739, 0.85], won=150, lost=30, moves=games[1], lost_from=[*lost, lost[1]]),
    ]


def test_score_tables_to_the_digit() -> None:
    assert report.score_tables("colony-v0", against_strong()) == [
        "### `zero:simulations=64` against `strong`",
        "",
        "|  | games | score, % | won / drawn / lost | moving first, % | not first, % | plies | unfinished |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| 58, three, no claim | 200 | 85.0 (79.4 to 89.3) | 160 / 20 / 20 "
        "| 90.0 (82.6 to 94.5) | 80.0 (71.1 to 86.7) | 80 | 0 |",
        "| 61, one, claim | 200 | 80.0 (73.9 to 85.0) | 150 / 20 / 30 "
        "| 80.0 (73.9 to 85.0) | 80.0 (73.9 to 85.0) | 80 | 0 |",
        # 330 of 400, 170 and 160 of 200: Wilson's intervals.
        "| together | 400 | 82.5 (78.5 to 85.9) | 310 / 40 / 50 | 85.0 (79.4 to 89.3) | 80.0 (73.9 to 85.0) | 80 | 0 |",
        "",
    ]


def test_mirrored_games_are_not_put_together() -> None:
    tables = [entry(("zero", "strong"), {"players": players}, 0.5, [0.4, 0.6]) for players in (2, 4)]
    lines = report.score_tables("principalities-v0", tables)
    assert [line.split(" | ")[0] for line in lines if line.startswith("| ")][2:] == ["| 2 players", "| 4 players"]


def test_more_and_less_search() -> None:
    names = ("zero:simulations=128", "zero:simulations=8", "zero-policy", "zero:simulations=64")
    scores = (0.6, 0.8, 0.5, 0.7)
    found = [
        entry((name, "strong"), LAYOUTS[0], score, [score - 0.05, score + 0.05])
        for name, score in zip(names, scores, strict=True)
    ]
    lines = report.search_tables(found)
    assert lines[0] == "### Against strong, 58, three, no claim"
    assert [line.split("`")[1] for line in lines[4:8]] == [names[2], names[1], names[3], names[0]]
    assert lines[6] == "| `zero:simulations=64` | 200 | 70.0 (65.0 to 75.0) |"
    # 0.70 ± 0.05 and 0.80 ± 0.05 meet, 0.60 ± 0.05 lies below.
    assert lines[-2] == "Weaker than with less search, beyond the intervals: `zero:simulations=128`."
    assert report.weaker(report.searches(found)[0][1][:3]) == []
    assert report.search_tables(found[:2]) == []


def test_the_table_beside_the_wiki() -> None:
    lines = report.wiki_tables(against_strong())
    assert lines[4:8] == [
        "| 58, three, no claim | 160 / 20 / 20 | 10.0 | 50.0 (43.1 to 56.9) | 44.0 | 44.0 |",
        "| 61, one, claim | 150 / 20 / 30 | 10.0 | 50.0 (43.1 to 56.9) | 48.0 | 48.0 |",
        "| together | 310 / 40 / 50 | 10.0 | 50.0 (45.1 to 54.9) | 45.0 | 45.0 |",
        "| the wiki, any winner |  |  |  | 58 | 58 |",
    ]
    scripted = [entry(("normal", "weak"), layout, 1.0, [0.98, 1.0], won=200, lost=0) for layout in LAYOUTS[:2]]
    lines = report.wiki_tables(scripted)
    assert lines[4].endswith("| – | – |")
    assert lines[-2] == "| the wiki | Weak won 0 of 100 |  |  | 52 | 13 |"


def test_weaknesses_name_layouts_seats_and_openings() -> None:
    assert report.weaknesses("colony-v0", against_strong()) == [
        "- `zero:simulations=64` against `strong`: lowest at 61, one, claim 80.0 (73.9 to 85.0) %; "
        "highest at 58, three, no claim 85.0 (79.4 to 89.3) %.",
        "- `zero:simulations=64` against `strong`: 3 of 400 games lost, from these openings:",
        "  - `b` (61, one, claim; moving second, 2 times)",
        "  - `a` (61, one, claim; moving first)",
    ]
    apart = share(100, 0.9, 0.83, 0.94), share(100, 0.6, 0.5, 0.69)
    (seat, below) = report.weaknesses(
        "principalities-v0", [entry(("zero", "strong"), {"players": 4}, 0.2, [0.17, 0.23], seats=apart)]
    )
    assert "weaker where it moves not first, 60.0 (50.0 to 69.0) %; first 90.0 (83.0 to 94.0) %." in seat
    assert "4 players: weaker than the others at the table, 20.0 (17.0 to 23.0) %" in below


def test_lost_openings_are_shown_of_every_match() -> None:
    found = [
        entry((report.ZERO, "strong"), layout, score, [0, 1])
        for layout, score in zip(LAYOUTS, (0.9, 0.8), strict=False)
    ]
    for name, one in zip("ab", found, strict=True):
        one["lost_from"] = [{"position": f"{name}{number}", "moved_first": True} for number in range(20)]
    lines = report.weaknesses("colony-v0", found)
    shown = [line.split("`")[1] for line in lines if line.startswith("  - ")]
    assert shown == ["b0", "a0", "b1", "a1", "b2", "a2", "b3", "a3"]  # the worst match first


def test_nothing_measured_is_said() -> None:
    assert "Nothing is measured yet" in report.tables("colony-v0", [])[0]
    card = report.card("colony-v0", HEAD, [], None, "")
    assert "Not measured yet." in card
    assert "Not looked for yet." in card


def test_a_card_keeps_what_was_written_by_hand() -> None:
    card = report.card("colony-v0", HEAD, against_strong(), None, "")
    assert card.startswith("\n".join(HEAD))
    written = card.replace(report.BY_HAND, f"{report.BY_HAND}\n## Notes\n\nWalks into corners.\n")
    again = report.card("colony-v0", HEAD, against_strong()[:1], None, written)
    assert "61, one, claim" not in again
    assert report.kept_by_hand(again) == "## Notes\n\nWalks into corners."
    assert report.card("colony-v0", HEAD, against_strong()[:1], None, again) == again


@pytest.mark.parametrize("text", [report.BY_HAND, report.END, report.END + report.BY_HAND, report.BY_HAND * 2])
def test_half_a_pair_of_markers_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the card that is there"):
        report.card("colony-v0", HEAD, [], None, text)


def test_the_ladder_is_in_the_card() -> None:
    rating = {
        "games": 300, "options": {"board": "58", "fixed": None}, "settings": {"opening_plies": 2},
        "agents": ["zero", "weak"], "rating": {"zero": 210.4, "weak": -210.4},
        "interval": {"zero": [180.0, 240.0], "weak": [-240.0, -180.0]}, "score": {"zero": 0.92, "weak": 0.08},
    }  # fmt: skip
    card = report.card("colony-v0", HEAD, [], rating, "")
    assert "300 games (board 58; 2 random opening plies)" in card
    assert "| `zero` | +210 | +180 to +240 | 92.0 |" in card


FACTS = {
    "env": "colony-v0", "env_version": "0", "parameters": 12345, "network": {"channels": 32, "pairs": [1]},
    "budget": {"minutes": 90.0, "positions": 1000000, "iterations": 7}, "commit": "abc",
    "settings": {"env": "colony-v0", "layouts": "", "channels": 32, "minutes": 5}, "checksum": "aaaa", "results": [],
}  # fmt: skip


def test_the_head_of_a_card_has_budget_machine_and_command() -> None:
    assert describe("zero", FACTS, "eight cores")[2:] == [
        "- Environment: `colony-v0`, version 0",
        "- Network: channels 32; 12,345 parameters",
        "- Training: 1.5 hours (minutes 90.0, positions 1,000,000, iterations 7) on eight cores; commit abc",
        "- Reproduce (with the settings it ended with): "
        "`audamir train colony-v0 --channels 32 --minutes 100000 --iterations 7 --out runs/again`",
    ]


def test_the_machine_is_kept_with_the_results(tmp_path, monkeypatch, capsys) -> None:
    level, results = tmp_path / "zero.safetensors", tmp_path / "colony-v0.json"
    monkeypatch.setattr(levels, "find_level", lambda env_id, given: (level, "aaaa"))
    monkeypatch.setattr("audamir_training.exporting.read_facts", lambda path: FACTS)
    words = ["card", "colony-v0", "--json", str(results)]
    levels.main([*words, "--machine", "eight cores"])
    levels.main(words)
    card = tmp_path / "card.md"
    assert capsys.readouterr().out.split() == [str(card)] * 2
    assert "on eight cores; commit abc" in card.read_text()
    assert json.loads(results.read_text())["machines"] == {"aaaa": "eight cores"}
