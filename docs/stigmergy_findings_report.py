"""What stigmergy_findings.py shows of measured results: Markdown for each marked place of the page, and pictures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from stigmergy_findings_measure import PHASES, Crossing, crossing

import audamir_envs
from audamir_envs.drawing import Polygon, Scene, Text, to_svg
from audamir_envs.drawing.scene import Shape, axial_centre, hexagon, ink_on
from audamir_envs.hexboard import hexboard
from audamir_envs.stigmergy.scripted import FAIR_KOMI

MISSING = "not measured yet"
EXACT = {2: 7, 3: 5}  # Black's margin by side, both perfect
PICTURES = "stigmergy"  # the folder, seen from the page
REPLAYS = "replays"  # written by replays.py

Results = Mapping[str, Mapping[str, Any]]  # by part, then by settings

# Komi.


def komi_groups(results: Results) -> dict[tuple[int, int, float], dict[int, dict[str, Any]]]:
    """By (side, simulations, noise) and komi the entry with the most games."""
    groups: dict[tuple[int, int, float], dict[int, dict[str, Any]]] = {}
    for entry in results.get("komi", {}).values():
        group = groups.setdefault((entry["side"], entry["simulations"], entry["noise"]), {})
        known = group.get(entry["komi"])
        if known is None or known["games"] < entry["games"]:
            group[entry["komi"]] = entry
    return {key: dict(sorted(groups[key].items())) for key in sorted(groups)}


def shares(group: Mapping[int, Mapping[str, Any]]) -> dict[int, tuple[float, int]]:
    """Black's share and games by komi."""
    return {komi: (entry["black"], entry["games"]) for komi, entry in group.items()}


def even_komi(results: Results, side: int) -> int:
    """The tightest komi on solved sides, else that of the most even self-play, else that of Strong's games."""
    groups = {key: group for key, group in komi_groups(results).items() if key[0] == side}
    if side in EXACT or not groups:
        return FAIR_KOMI[side]
    weight = {key: (key[1], sum(entry["games"] for entry in group.values())) for key, group in groups.items()}
    return crossing(shares(groups[max(groups, key=lambda key: weight[key])])).nearest


# Markdown.


def percent(share: float | None, interval: Sequence[float] | None = None, digits: int = 1) -> str:
    """A share, with its interval where given, in per cent."""
    if share is None:
        return "—"
    text = f"{100 * share:.{digits}f}"
    return text if interval is None else f"{text} ({100 * interval[0]:.{digits}f} to {100 * interval[1]:.{digits}f})"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table, or what stands for one without rows."""
    lines = [" | ".join(map(str, row)) for row in rows]
    if not lines:
        return MISSING
    return "\n".join(f"| {line} |" for line in [" | ".join(head), " | ".join(["---"] * len(head)), *lines])


def regret_table(results: Results) -> str:
    """An agent each."""
    rows = []
    for e in results.get("regret", {}).values():
        share = percent(e["kept"] / e["positions"], e["interval"])
        low, high = e["dropped_interval"]
        dropped = f"{e['dropped']:.2f} ({low:.2f} to {high:.2f})"
        rows.append((f"`{e['agent']}`", e["positions"], e["can_be_lost"], share, dropped, e["most_dropped"]))
    head = ("agent", "won positions", "can be lost at once", "win kept, %", "points dropped, mean", "most")
    return table(head, rows)


def phases_table(results: Results) -> str:
    """An agent each, by the number of stones on the board."""
    rows = []
    for e in results.get("regret", {}).values():
        cells = [f"`{e['agent']}`"]
        for name, _, _ in PHASES:
            f = e["phases"][name]
            if f["positions"]:
                cells.append(
                    f"{percent(f['kept'] / f['positions'], f['interval'])}; {f['dropped']:.2f}, {f['most_dropped']}"
                )
            else:
                cells.append("—")
        rows.append(cells)
    return table(("agent", *(f"{name}, {low} to {high} stones" for name, low, high in PHASES)), rows)


def limit_table(results: Results) -> str:
    """A pairing each, under one komi after the other."""
    rows = []
    for e in results.get("limit", {}).values():
        score = percent(e["score"], e["interval"])
        sides = (percent(e["black"]), percent(e["white"]))
        rows.append((e["side"], e["komi"], f"`{e['agent']}`", f"`{e['opponent']}`", e["games"], score, *sides))
    return table(("side", "komi", "agent", "against", "games", "won, %", "as Black, %", "as White, %"), rows)


def estimates_table(results: Results) -> str:
    """A side each, the exact ones beside."""
    rows = []
    for (side, simulations, noise), group in komi_groups(results).items():
        found = crossing(shares(group))
        games = sorted({entry["games"] for entry in group.values()})
        counts = "–".join(map(str, games if len(games) < 3 else (games[0], games[-1])))
        exact = f"{EXACT[side]:+d}" if side in EXACT else "unknown"
        clear = found.surely_above is not None or found.surely_below is not None
        crosses, even = (between(found), found.nearest) if clear else ("not clear yet", "—")
        rows.append((side, simulations, f"{noise:g}", counts, crosses, surely(found), even, exact))
    head = (
        "side",
        "simulations",
        "noise",
        "games each",
        "Black's share crosses one half",
        "95 %",
        "most even",
        "exact value",
    )
    return table(head, rows)


def between(found: Crossing) -> str:
    """The estimate in words."""
    if found.above is None and found.below is None:
        return f"at {found.nearest}"
    if found.below is None:
        return f"above {found.above}, not reached"
    if found.above is None:
        return f"below {found.below}, not reached"
    return f"between {found.above} and {found.below}"


def surely(found: Crossing) -> str:
    """Its interval in words."""
    low = "open" if found.surely_above is None else f"above {found.surely_above}"
    high = "open" if found.surely_below is None else f"below {found.surely_below}"
    return f"{low}, {high}"


def komi_table(results: Results) -> str:
    """A komi each."""
    rows = [
        (side, komi, simulations, e["games"], percent(e["black"], e["interval"]), f"{e['plies']:.0f}")
        for (side, simulations, _), group in komi_groups(results).items()
        for komi, e in group.items()
    ]
    return table(("side", "komi", "simulations", "games", "Black wins, %", "plies"), rows)


def first_entries(results: Results) -> list[dict[str, Any]]:
    """By side and komi the entry with the most simulations."""
    best: dict[tuple[int, int], dict[str, Any]] = {}
    for entry in results.get("first", {}).values():
        place = (entry["side"], entry["komi"])
        if place not in best or best[place]["simulations"] < entry["simulations"]:
            best[place] = entry
    return [best[place] for place in sorted(best)]


def cells_text(labels: Sequence[str]) -> str:
    """A group of equal cells: the first, and how many there are."""
    return labels[0] if len(labels) == 1 else f"{labels[0]} (and {len(labels) - 1} like it)"


def exact_table(results: Results) -> str:
    """First moves on the solved sides beside their values."""
    rows = []
    for e in first_entries(results):
        for m in e["moves"]:
            if m["exact"] is not None:
                winner = "Black" if m["exact"] > e["komi"] else "White"
                said = [percent(m[name]) for name in ("policy", "network", "chance")]
                rows.append((e["side"], e["komi"], cells_text(m["cells"]), f"{m['exact']:+d}", winner, *said))
    head = (
        "side",
        "komi",
        "first move",
        "exact margin",
        "who wins",
        "policy, %",
        "network: Black, %",
        "search: Black, %",
    )
    return table(head, rows)


def first_blocks(results: Results) -> str:
    """A table of the best first moves, then the pictures."""
    rows, pictures = [], {}
    for e in first_entries(results):
        by_chance = sorted(e["moves"], key=lambda m: -m["chance"])
        liked = max(e["moves"], key=lambda m: m["policy"])
        cells = sum(len(m["cells"]) for m in e["moves"] if m["chance"] > 0.5)
        named = [f"{cells_text(m['cells'])} {percent(m['chance'])}" for m in (by_chance[0], by_chance[-1])]
        favourite = f"{cells_text(liked['cells'])} {percent(liked['policy'])}"
        rows.append((e["side"], e["komi"], e["simulations"], favourite, *named, f"{cells} of {len(e['policy'])}"))
        pictures[e["side"]] = f"![First moves on side {e['side']}]({PICTURES}/first-move-side{e['side']}.svg)"
    head = (
        "side",
        "komi",
        "simulations",
        "policy's favourite, %",
        "best: Black's chance, %",
        "worst",
        "cells above 50 %",
    )
    return "\n\n".join([table(head, rows), *pictures.values()])


def comment_block(key: str, comments: Mapping[str, str]) -> str:
    """A place for words by hand."""
    return f"<!-- comment {key} -->\n{comments.get(key, '').strip() or '*No comment yet.*'}\n<!-- end comment -->"


def game_entries(results: Results) -> list[dict[str, Any]]:
    """By side the entry that was measured last."""
    return [e for _, e in sorted({e["side"]: e for e in results.get("games", {}).values()}.items())]


def game_block(entry: Mapping[str, Any], comments: Mapping[str, str]) -> str:
    """A game: moves, turning points with pictures, and places for comments."""
    side, komi, plies = entry["side"], entry["komi"], entry["plies"]
    winner = "Black" if entry["result"] > 0 else "White"
    moves = [p["move"] for p in plies]
    pairs = [f"{n // 2 + 1}. {' '.join(moves[n : n + 2])}" for n in range(0, len(moves), 2)]
    name = f"side{side}"
    parts = [
        f"### Side {side}, komi {komi}",
        f"{entry['simulations']} simulations, {len(plies)} plies. {winner} wins: Black {entry['black']}, "
        f"White {entry['white']} {'-' if komi < 0 else '+'} komi {abs(komi)} = {entry['white'] + komi}.",
        "```\n" + "\n".join("  ".join(pairs[n : n + 8]) for n in range(0, len(pairs), 8)) + "\n```",
        f"[The whole game, to step through]({REPLAYS}/stigmergy-{name}.html)",
        comment_block(f"{name}-{moves[0]}-{len(plies)}", comments),
    ]
    values = [*(p["value"] for p in plies), entry["result"]]
    for point in entry["turning_points"]:
        ply = point["ply"]
        p, mover = plies[ply], "Black" if ply % 2 == 0 else "White"
        other = "There was no other move."
        if p["other"] is not None:
            after = percent((1 + point["other_value"]) / 2, digits=0)
            weight = percent(p["other_weight"], digits=0)
            other = f"Next best {p['other']} (weight {weight} %), after which {after} %."
        before, now = (percent((1 + value) / 2, digits=0) for value in values[ply : ply + 2])
        parts += [
            f"**Ply {ply + 1}, {mover} {p['move']}** (weight {percent(p['weight'], digits=0)} %): Black's chance "
            f"{before} % before, {now} % after. {other}",
            f"![Side {side} after ply {ply + 1}]({PICTURES}/game-side{side}-ply{ply + 1}.svg)",
            comment_block(f"{name}-ply{ply + 1}-{p['move']}", comments),
        ]
    parts.append(f"![Side {side}, the end]({PICTURES}/game-side{side}-end.svg)")
    return "\n\n".join(parts)


def games_blocks(results: Results, comments: Mapping[str, str]) -> str:
    """All games."""
    return "\n\n".join(game_block(entry, comments) for entry in game_entries(results)) or MISSING


BLOCKS: dict[str, Callable[[Results], str]] = {
    "regret": regret_table,
    "phases": phases_table,
    "limit": limit_table,
    "exact": exact_table,
    "komi": estimates_table,
    "komi-values": komi_table,
    "first": first_blocks,
}
PLACES = (*BLOCKS, "games")
_PLACE = re.compile(r"<!-- measured: ([\w-]+) -->\n(.*?)<!-- end measured -->", re.S)
_COMMENT = re.compile(r"<!-- comment ([\w-]+) -->\n(.*?)\n?<!-- end comment -->", re.S)


def places(page: str) -> list[str]:
    """The names of a page's marked places."""
    return [match[1] for match in _PLACE.finditer(page)]


def fill(page: str, results: Results) -> str:
    """The page with its marked places filled from results, comments by hand kept.

    Raises: ValueError: a place is missing, unknown or there twice; a comment whose place is gone.
    """
    found = places(page)
    if sorted(found) != sorted(PLACES):
        raise ValueError(
            f"the page has the places {', '.join(found) or 'none'}; it needs each of {', '.join(PLACES)} once"
        )
    comments = {m[1]: m[2] for m in _COMMENT.finditer(page) if m[2].strip() not in ("", "*No comment yet.*")}
    blocks = {name: block(results) for name, block in BLOCKS.items()} | {"games": games_blocks(results, comments)}
    lost = comments.keys() - {match[1] for match in _COMMENT.finditer(blocks["games"])}
    if lost:
        raise ValueError(
            f"the page has comments on games that are gone ({', '.join(sorted(lost))}): take them out first"
        )
    return _PLACE.sub(lambda m: f"<!-- measured: {m[1]} -->\n{blocks[m[1]]}\n<!-- end measured -->", page)


# Pictures.

_RADIUS, _MARGIN, _LINE = 28.0, 16.0, 24.0
_GROUND, _EDGE, _INK = "#f7f5ef", "#b3a98f", "#23211d"
_WHITE, _BLACK = (253, 252, 248), (82, 90, 112)


def shade(part: float) -> str:
    """The colour of a part from 0, light, to 1, dark."""
    return "#" + "".join(
        f"{round(light + (dark - light) * part):02x}" for light, dark in zip(_WHITE, _BLACK, strict=True)
    )


def first_move_scene(side: int, entries: Sequence[Mapping[str, Any]]) -> Scene:
    """A board for each komi: cells shaded by Black's chance after that first move, in per cent, bold; below it the
    policy's probability where it is not 0.0, on solved sides the exact margin, and the cell's label.

    Shades run from the lowest chance on the board to the highest, which the title names.
    """
    board = hexboard(side)
    step = 3**0.5 * _RADIUS
    width = max(board.width * step, 400.0) + 2 * _MARGIN
    tall = (1.5 * board.width + 0.5) * _RADIUS + _LINE + _MARGIN
    cells: list[Shape] = []
    texts: list[Shape] = []  # drawn last, so that no neighbour covers them
    for number, entry in enumerate(entries):
        top = _MARGIN + number * tall
        chances = [move["chance"] for move in entry["moves"]]
        low, high = min(chances), max(chances)
        title = (
            f"Komi {entry['komi']}: Black's chance (bold; shades from {percent(low, digits=0)} to "
            f"{percent(high, digits=0)}), probability in the policy, %"
        )
        texts.append(Text(width / 2, top + _LINE / 2 - 4, title, size=13.0, fill=_INK))
        move_of = {label: move for move in entry["moves"] for label in move["cells"]}
        for cell, label in enumerate(board.labels):
            x, y = axial_centre(float(board.q[cell]), float(board.r[cell]), _RADIUS)
            x, y = x + width / 2, y + top + _LINE + (1.5 * (side - 1) + 1) * _RADIUS
            move = move_of[label]
            fill = shade((move["chance"] - low) / (high - low) if high > low else 0.5)
            ink = ink_on(fill, _INK, "#ffffff")
            cells.append(Polygon(hexagon(x, y, _RADIUS), fill=fill, stroke=_EDGE))
            texts.append(Text(x, y - 11, percent(move["chance"], digits=0), size=13.0, fill=ink, bold=True))
            if float(probability := percent(entry["policy"][cell])) > 0:
                texts.append(Text(x, y + 2, probability, size=8.5, fill=ink))
            if move["exact"] is not None:
                texts.append(Text(x, y + 12, f"{move['exact']:+d}", size=9.5, fill=ink))
            texts.append(Text(x, y + 0.76 * _RADIUS, label, size=7.5, fill=ink))
    title = f"Stigmergy, side {side}: first moves at komi {', '.join(str(e['komi']) for e in entries)}"
    return Scene(width, _MARGIN + len(entries) * tall, (*cells, *texts), background=_GROUND, title=title)


def pictures(results: Results) -> dict[str, str]:
    """SVG texts by file name."""
    found = {}
    firsts = first_entries(results)
    for side in sorted({e["side"] for e in firsts}):
        wanted = {0, even_komi(results, side)}
        chosen = [e for e in firsts if e["side"] == side and e["komi"] in wanted]
        chosen = chosen or [e for e in firsts if e["side"] == side]
        found[f"first-move-side{side}.svg"] = to_svg(first_move_scene(side, chosen))
    for entry in game_entries(results):
        env = audamir_envs.make("stigmergy-v0", side=entry["side"], komi=entry["komi"])
        places = [
            (f"ply{p['ply'] + 1}", p["position"], entry["plies"][p["ply"]]["move"]) for p in entry["turning_points"]
        ]
        for name, position, move in [*places, ("end", entry["final"], None)]:
            last = None if move is None else env.text_to_action(move)
            found[f"game-side{entry['side']}-{name}.svg"] = to_svg(env.scene(env.from_text(position), last))
    return found
