"""The results of ``levels.py`` as Markdown: tables, known weaknesses and cards."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from levels_plan import ZERO, Match, learned

from audamir_envs import registry
from audamir_envs.agents.loading import parse_agent
from audamir_envs.intervals import wilson

BY_HAND, END = "<!-- by hand -->", "<!-- end -->"
SHOWN_LOSSES = 8
WIKI_EQUAL = "44.1 to 54.8"  # the starter's score between equal levels
WIKI: dict[
    tuple[str, ...], tuple[str, ...]
] = {  # won / drawn / lost, drawn in %, the starter's score in %, own moves and XP of a typical win
    ("normal", "weak"): ("Weak won 0 of 100", "", "", "52", "13"),
    ("strong", "weak"): ("Weak won 0 of 100", "", "", "52", "13"),
    ("strong", "normal"): ("Normal scored 1.3 % of 40", "", "", "60", "30"),
    ("weak", "weak"): ("", "", WIKI_EQUAL, "52", "13"),
    ("normal", "normal"): ("", "58 cells: 3.5 to 4.5; 61: 0", WIKI_EQUAL, "60", "30"),
    ("strong", "strong"): ("", "58 cells: 19 to 21; 61: 0", WIKI_EQUAL, "58", "58"),
}
Entry = dict[str, Any]


def of_level(entrants: Iterable[str]) -> bool:
    """Whether a result depends on the level that is measured."""
    return any(learned(entrant) for entrant in entrants)


def valid(content: dict[str, Any], checksum: str | None) -> list[Entry]:
    """The results that hold for this version of the game and the level with this checksum; scripted ones for any."""
    version = registry.environment_class(content["env"]).version
    return [
        entry
        for entry in content["matches"]
        if entry["result"]["versions"].get(content["env"]) == version
        and (entry["level"] == checksum or not of_level(entry["match"]["entrants"]))
    ]


def ordered(matches: Sequence[Match], entries: Iterable[Entry]) -> list[Entry]:
    """In the plan's order, others behind; of a match that was played with several numbers of games the longest."""

    def identity(match: dict[str, Any]) -> str:
        return repr(sorted((name, value) for name, value in match.items() if name != "games"))

    best: dict[str, Entry] = {}
    for entry in entries:
        key = identity(entry["match"])
        if key not in best or entry["match"]["games"] >= best[key]["match"]["games"]:
            best[key] = entry
    place = {identity(match.to_json()): number for number, match in enumerate(matches)}
    return sorted(best.values(), key=lambda entry: place.get(identity(entry["match"]), len(place)))


def percent(share: dict[str, Any]) -> str:
    """``85.0 (80.1 to 89.2)`` of a score with its interval; a dash without games."""
    if share["score"] is None:
        return "–"
    low, high = share["interval"]
    return f"{100 * share['score']:.1f} ({100 * low:.1f} to {100 * high:.1f})"


@dataclasses.dataclass(frozen=True)
class Figures:
    """What a row of a table shows of one match, or of several together, from the first entrant's side."""

    games: int
    score: dict[str, Any]
    won: int
    drawn: int
    lost: int
    starter: dict[str, Any]
    starting: dict[str, Any]
    not_starting: dict[str, Any]
    plies: float
    unfinished: int
    wins: dict[str, Any]  # games, own_moves, xp

    @classmethod
    def of(cls, entry: Entry) -> Figures:
        """Of a stored match."""
        result, label = entry["result"], entry["match"]["entrants"][0]
        games, won, lost = result["games"], result["wins"][label], result["losses"][label]
        score = {"games": games, "score": result["score"][label], "interval": result["interval"][label]}
        drawn = games - won - lost
        parts = (entry["starter"], entry["starting"], entry["not_starting"])
        wins = entry["won"].get(label, {"games": 0})
        return cls(games, score, won, drawn, lost, *parts, result["mean_length"], result["unfinished"], wins)

    @classmethod
    def together(cls, entries: Sequence[Entry]) -> Figures:
        """Of independent games of several matches."""
        parts = [cls.of(entry) for entry in entries]
        games = sum(part.games for part in parts)
        wins: dict[str, Any] = {"games": sum(part.wins["games"] for part in parts)}
        for name in ("own_moves", "xp"):
            known = [part.wins for part in parts if name in part.wins]
            if known:
                wins[name] = sum(w[name] * w["games"] for w in known) / sum(w["games"] for w in known)
        return cls(
            games,
            pooled(part.score for part in parts),
            sum(part.won for part in parts),
            sum(part.drawn for part in parts),
            sum(part.lost for part in parts),
            pooled(part.starter for part in parts),
            pooled(part.starting for part in parts),
            pooled(part.not_starting for part in parts),
            sum(part.plies * part.games for part in parts) / games,
            sum(part.unfinished for part in parts),
            wins,
        )

    @property
    def score_text(self) -> str:
        """The score with its interval, in per cent."""
        return percent(self.score)

    def cells(self) -> list[str]:
        """The columns of a table of scores, but for the first."""
        record = f"{self.won} / {self.drawn} / {self.lost}"
        seats = [percent(self.starting), percent(self.not_starting)]
        return [f"{self.games:,}", self.score_text, record, *seats, f"{self.plies:.0f}", str(self.unfinished)]

    def wiki_cells(self) -> list[str]:
        """The columns that stand beside the wiki's figures."""
        drawn = f"{100 * self.drawn / self.games:.1f}"
        moves, xp = (f"{self.wins[name]:.1f}" if name in self.wins else "–" for name in ("own_moves", "xp"))
        return [f"{self.won} / {self.drawn} / {self.lost}", drawn, percent(self.starter), moves, xp]


def pooled(shares: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The mean over the games of several, with Wilson's interval."""
    known = [share for share in shares if share["games"]]
    games = sum(share["games"] for share in known)
    if not games:
        return {"games": 0, "score": None, "interval": None}
    score = sum(share["score"] * share["games"] for share in known) / games
    return {"games": games, "score": score, "interval": wilson(score, games)}


def setting(env_id: str, options: dict[str, Any]) -> str:
    """A layout, side or number of players in words."""
    if env_id == "colony-v0":
        return f"{options['board']}, {options['start']}, {'claim' if options['claim_empty'] else 'no claim'}"
    if set(options) == {"players"}:
        return f"{options['players']} players"
    return ", ".join(f"{name} {value}" for name, value in options.items()) or "default options"


def pairing(entrants: Sequence[str]) -> str:
    """Who plays whom."""
    return f"`{entrants[0]}` against " + ", ".join(f"`{entrant}`" for entrant in entrants[1:])


def sections(entries: Iterable[Entry]) -> dict[tuple[str, ...], list[Entry]]:
    """Results by pairing."""
    found: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        found.setdefault(tuple(entry["match"]["entrants"]), []).append(entry)
    return found


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _independent(entries: Sequence[Entry]) -> bool:
    return not any(entry["match"]["mirrored"] for entry in entries)


def score_tables(env_id: str, entries: Sequence[Entry]) -> list[str]:
    """For each pairing of unlike entrants with the level: scores by layout, side or number of players."""
    lines = []
    head = ["", "games", "score, %", "won / drawn / lost", "moving first, %", "not first, %", "plies", "unfinished"]
    for entrants, found in sections(entries).items():
        if len(set(entrants)) == 1 or not of_level(entrants):
            continue
        rows = [[setting(env_id, entry["match"]["options"]), *Figures.of(entry).cells()] for entry in found]
        if len(found) > 1 and _independent(found):
            rows.append(["together", *Figures.together(found).cells()])
        lines += [f"### {pairing(entrants)}", "", *_rows(head, rows), ""]
    return lines


def _effort(entrant: str) -> float:
    name, settings = parse_agent(entrant)
    if name == "zero-policy":
        return 0
    return settings.get("simulations", settings.get("considered", 8))


def searches(entries: Iterable[Entry]) -> list[tuple[str, list[Entry]]]:
    """Results that differ in how much the level searches alone, least first: at least three, with the opponents."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        first, *others = entry["match"]["entrants"]
        if learned(first) and not of_level(others):
            words = setting(entry["result"]["env"], entry["match"]["options"])
            found.setdefault(f"{', '.join(others)}, {words}", []).append(entry)
    return [
        (words, sorted(same, key=lambda entry: _effort(entry["match"]["entrants"][0])))
        for words, same in found.items()
        if len(same) > 2
    ]


def weaker(entries: Sequence[Entry]) -> list[str]:
    """The settings whose score lies below that of less search beyond both intervals."""
    found = []
    for place, entry in enumerate(entries):
        high = Figures.of(entry).score["interval"][1]
        if any(high < Figures.of(less).score["interval"][0] for less in entries[:place]):
            found.append(entry["match"]["entrants"][0])
    return found


def search_tables(entries: Sequence[Entry]) -> list[str]:
    """Scores by how much the level searches, and whether more search ever made it weaker."""
    lines = []
    for words, same in searches(entries):
        rows = []
        for entry in same:
            figures = Figures.of(entry)
            rows.append([f"`{entry['match']['entrants'][0]}`", f"{figures.games:,}", figures.score_text])
        worse = ", ".join(f"`{name}`" for name in weaker(same))
        verdict = (
            f"Weaker than with less search, beyond the intervals: {worse}."
            if worse
            else "More search never makes it weaker beyond the intervals."
        )
        head = ["", "games", "score, %"]
        lines += [f"### Against {words}", "", *_rows(head, rows), "", verdict, ""]
    return lines


def not_played(env_id: str, missing: Iterable[Match]) -> list[str]:
    """What is planned and not measured, a pairing a line."""
    settings: dict[tuple[str, ...], list[str]] = {}
    for match in missing:
        settings.setdefault(match.entrants, []).append(setting(env_id, match.options))
    lines = [f"- {pairing(entrants)}: {'; '.join(words)}" for entrants, words in settings.items()]
    return ["", "## Planned, not played", "", *lines]


def wiki_tables(entries: Sequence[Entry]) -> list[str]:
    """Colony's layouts and levels beside what the wiki measured of its own."""
    head = ["", "won / drawn / lost", "drawn, %", "starter's score, %", "own moves of a win", "XP of a win"]
    lines = []
    for entrants, found in sections(entries).items():
        if len(found) < 2:
            continue
        rows = [[setting("colony-v0", entry["match"]["options"]), *Figures.of(entry).wiki_cells()] for entry in found]
        rows.append(["together", *Figures.together(found).wiki_cells()])
        if entrants in WIKI:
            rows.append(["the wiki", *WIKI[entrants]])
        elif entrants[1] in ("weak", "normal", "strong"):  # what it paid a player who beat that level
            rows.append(["the wiki, any winner", "", "", "", *WIKI[entrants[1], entrants[1]][3:]])
        lines += [f"### {pairing(entrants)}", "", *_rows(head, rows), ""]
    return lines


def tables(env_id: str, entries: Sequence[Entry]) -> list[str]:
    """All tables of a game."""
    if not entries:
        return [f"Nothing is measured yet: python docs/levels.py play {env_id}"]
    lines = ["## Scores", "", *score_tables(env_id, entries)]
    search = search_tables(entries)
    if search:
        lines += ["## More and less search", "", *search]
    if env_id == "colony-v0":
        lines += ["## Beside the wiki's figures", "", *wiki_tables(entries)]
    return lines[:-1]


def weaknesses(env_id: str, entries: Sequence[Entry]) -> list[str]:
    """What the results say of where the level is weak, as points of a list."""
    lines = []
    for entrants, found in sections(entries).items():
        if not learned(entrants[0]) or of_level(entrants[1:]):
            continue
        who = pairing(entrants)
        by_score = sorted(found, key=lambda entry: Figures.of(entry).score["score"])
        low, high = by_score[0], by_score[-1]
        if len(found) > 1:
            worst, best = (
                f"{setting(env_id, entry['match']['options'])} {Figures.of(entry).score_text} %"
                for entry in (low, high)
            )
            lines.append(f"- {who}: lowest at {worst}; highest at {best}.")
        for entry in by_score if not _independent(found) else [None]:
            figures = Figures.of(entry) if entry else Figures.together(found)
            line = _seats(figures)
            if line:
                where = f", {setting(env_id, entry['match']['options'])}" if entry else ""
                lines.append(f"- {who}{where}: {line}")
        unfinished = sum(entry["result"]["unfinished"] for entry in found)
        if unfinished:
            lines.append(f"- {who}: {unfinished} games were cut and settled on points.")
        for entry in found:
            players = len(entry["result"]["by_seat"][entrants[0]])
            if Figures.of(entry).score["interval"][1] < 1 / players:
                words = setting(env_id, entry["match"]["options"])
                lines.append(
                    f"- {who}, {words}: weaker than the others at the table, {Figures.of(entry).score_text} %."
                )
    for words, same in searches(entries):
        scores = ", ".join(f"`{e['match']['entrants'][0]}` {Figures.of(e).score_text} %" for e in same)
        lines.append(f"- By search, against {words}: {scores}.")
    return lines + _losses(env_id, entries)


def _seats(figures: Figures) -> str:
    """Which seat is the weaker one, where the intervals are apart."""
    first, other = figures.starting, figures.not_starting
    if first["score"] is None or other["score"] is None:
        return ""
    weak, strong, names = (first, other, ("first", "not first"))
    if other["score"] < first["score"]:
        weak, strong, names = other, first, ("not first", "first")
    if weak["interval"][1] >= strong["interval"][0]:
        return ""
    return f"weaker where it moves {names[0]}, {percent(weak)} %; {names[1]} {percent(strong)} %."


def _losses(env_id: str, entries: Sequence[Entry]) -> list[str]:
    """Positions behind the random plies from which full search lost to ``strong``, the most often lost first.

    Of those lost equally often one of each match comes before a second of any, the worst match first.
    """
    found = sections(entries).get((ZERO, "strong"), [])
    by_match = [
        [
            (setting(env_id, entry["match"]["options"]), case["position"], case["moved_first"])
            for case in entry["lost_from"]
        ]
        for entry in sorted(found, key=lambda entry: Figures.of(entry).score["score"])
    ]
    lost = collections.Counter(
        case for together in itertools.zip_longest(*by_match) for case in together if case is not None
    )
    if not lost:
        return []
    games = sum(entry["match"]["games"] for entry in found)
    which = "these" if len(lost) <= SHOWN_LOSSES else f"for instance these {SHOWN_LOSSES} of {len(lost)}"
    lines = [f"- {pairing((ZERO, 'strong'))}: {lost.total()} of {games:,} games lost, from {which} openings:"]
    for (words, position, first), count in lost.most_common(SHOWN_LOSSES):
        often = "" if count == 1 else f", {count} times"
        lines.append(f"  - `{position}` ({words}; moving {'first' if first else 'second'}{often})")
    return lines


def kept_by_hand(card: str) -> str:
    """What stands between the markers of a card; nothing where there are none. Raises: ValueError for half a pair."""
    if card.count(BY_HAND) != card.count(END) or card.count(BY_HAND) > 1:
        raise ValueError(f"the card that is there needs one {BY_HAND} with one {END} behind it, or neither")
    found = re.search(f"{BY_HAND}(.*?){END}", card, re.DOTALL)
    if BY_HAND in card and not found:
        raise ValueError(f"in the card that is there {END} stands before {BY_HAND}")
    return found.group(1).strip("\n") if found else ""


def card(env_id: str, head: Sequence[str], entries: Sequence[Entry], rating: Any, existing: str) -> str:
    """A level's card.

    Args: head: the lines it begins with; rating: the JSON of ``audamir ladder``, or None; existing: the card that it
    replaces, whose part between the markers stays.
    """
    lines = [*head, ""]
    if rating:
        head = ["", "rating", "95 %", "score, %"]
        rows = [
            [
                f"`{agent}`",
                f"{rating['rating'][agent]:+.0f}",
                "{:+.0f} to {:+.0f}".format(*rating["interval"][agent]),
                f"{100 * rating['score'][agent]:.1f}",
            ]
            for agent in rating["agents"]
        ]
        intro = f"{rating['games']:,} games ({setting_of(rating)}), Elo points with mean 0; `docs/ladder/README.md`."
        lines += ["## Ladder", "", intro, "", *_rows(head, rows), ""]
    intro = (
        "95 % intervals, seats rotated. Not first: in any other place of the order. All figures, versions and seeds: "
        f"`docs/ladder/{env_id}.json`; again: `python docs/levels.py play {env_id}`."
    )
    lines += ["## Scores", "", intro, "", *(score_tables(env_id, entries) or ["Not measured yet.", ""])]
    search = search_tables(entries)
    if search:
        lines += ["## More and less search", "", *search]
    nothing = "Nothing stands out in what was measured." if entries else "Not looked for yet."
    lines += ["## Known weaknesses", "", *(weaknesses(env_id, entries) or [nothing]), ""]
    kept = kept_by_hand(existing)
    lines += [BY_HAND, *([kept] if kept else []), END, ""]
    return "\n".join(lines)


def setting_of(rating: dict[str, Any]) -> str:
    """The options and the opening of a ladder."""
    options = ", ".join(f"{name} {value}" for name, value in rating["options"].items() if value is not None)
    return f"{options}; {rating['settings']['opening_plies']} random opening plies"
