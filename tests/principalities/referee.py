"""The rules of Principalities once more, in plain Python and written for clarity: the judge of the JAX code.

A position is the dictionary that ``env.to_text`` writes, with the options beside it, so nothing is shared with the code
under test but the notation.
"""

from __future__ import annotations

import copy
import itertools


def hexagons(rows: int, cols: int) -> list[list[int]]:
    """Neighbour lists of a rectangle of hexagons, odd rows lying half a hexagon to the right."""
    lists: list[list[int]] = [[] for _ in range(rows * cols)]
    for r, c in itertools.product(range(rows), range(cols)):
        for dr, dc in ((0, 1), (1, 0), (1, 1 if r % 2 else -1)):
            if 0 <= r + dr < rows and 0 <= c + dc < cols:
                a, b = r * cols + c, (r + dr) * cols + c + dc
                lists[a].append(b)
                lists[b].append(a)
    return [sorted(of) for of in lists]


class Referee:
    def __init__(self, position: dict, *, points_offer: bool = True, hints: bool = False, max_rounds: int = 500):
        self.p = copy.deepcopy(position)
        self.p.pop("hex_of_tile", None)
        self.p.setdefault("attacked", False)
        self.points_offer, self.hints, self.max_rounds = points_offer, hints, max_rounds
        self.tiles, self.players = len(position["owner"]), len(position["reserve"])

    def alive(self, seat: int) -> bool:
        return seat in self.p["owner"]

    def living_from(self, seat: int) -> list[int]:
        """The living seats in turn order from one on."""
        order = [(seat + k) % self.players for k in range(self.players)]
        return [s for s in order if self.alive(s)]

    def voting(self) -> bool:
        votes = self.p["votes"]
        return self.p["offered"] and False not in votes and any(votes[s] is None for s in self.living_from(0))

    def group(self, tile: int) -> set[int]:
        found, todo = {tile}, [tile]
        while todo:
            for n in self.p["neighbours"][todo.pop()]:
                if n not in found and self.p["owner"][n] == self.p["owner"][tile]:
                    found.add(n)
                    todo.append(n)
        return found

    def group_sizes(self) -> list[int]:
        sizes = [0] * self.tiles
        for tile in range(self.tiles):
            if not sizes[tile]:
                group = self.group(tile)
                for t in group:
                    sizes[t] = len(group)
        return sizes

    def largest(self, seat: int) -> int:
        own = zip(self.p["owner"], self.group_sizes(), strict=True)
        return max((size for owner, size in own if owner == seat), default=0)

    def legal(self) -> set[int]:
        t2, me = self.tiles**2, self.p["to_move"]
        if self.voting():
            return {t2 + 1, t2 + 2}
        actions = {t2}
        for a, near in enumerate(self.p["neighbours"]):
            for b in near:
                if self.p["owner"][a] == me != self.p["owner"][b] and self.p["dice"][a] >= 2:
                    actions.add(a * self.tiles + b)
        return actions

    def attack(self, a: int, b: int, won: bool) -> None:
        p = self.p
        if won:
            p["owner"][b], p["dice"][b] = p["owner"][a], p["dice"][a] - 1
        p["dice"][a] = 1
        p["quiet_turns"], p["attacked"] = 0, True

    def room(self) -> int:
        return sum(8 - d for d, o in zip(self.p["dice"], self.p["owner"], strict=True) if o == self.p["to_move"])

    def falling(self) -> int:
        return self.largest(self.p["to_move"]) + self.p["reserve"][self.p["to_move"]]

    def end(self, placed: list[int]) -> None:
        """placed: tiles in the order in which they got a die each."""
        p, me = self.p, self.p["to_move"]
        total = self.falling()
        assert len(placed) == min(total, self.room())
        for tile in placed:
            assert p["owner"][tile] == me
            p["dice"][tile] += 1
            assert p["dice"][tile] <= 8
        p["reserve"][me] = min(64, total - len(placed))
        p["quiet_turns"] = 0 if p["attacked"] else p["quiet_turns"] + 1
        p["attacked"] = False
        seat = (me + 1) % self.players
        passed_start = seat == p["start_seat"]
        while not self.alive(seat):
            seat = (seat + 1) % self.players
            passed_start |= seat == p["start_seat"]
        p["to_move"] = seat
        p["round"] += passed_start
        if self.points_offer and p["quiet_turns"] >= 4 * len(self.living_from(0)):
            p["offered"] = True

    def vote(self, accept: bool) -> None:
        p, me = self.p, self.p["to_move"]
        answered = [s for s, v in enumerate(p["votes"]) if v is not None]
        p["votes"][me] = accept
        order = self.living_from(me)
        # Those who answered sit just before me: play, or the end, goes back to the first of them.
        first = order[len(order) - len(answered)] if answered else me
        p["to_move"] = order[1 % len(order)] if self.voting() else first

    def points(self, seat: int) -> tuple[int, int]:
        own = [t for t in range(self.tiles) if self.p["owner"][t] == seat]
        return len(own), sum(self.p["dice"][t] for t in own)

    def ending(self) -> str | None:
        living = self.living_from(0)
        if len(living) == 1:
            return "conquest"
        if self.p["offered"] and all(self.p["votes"][s] is True for s in living):
            return "vote"
        return "limit" if self.p["round"] > self.max_rounds else None

    def top(self) -> list[int]:
        best = max(self.points(s) for s in range(self.players))
        return [s for s in range(self.players) if self.points(s) == best]

    def rewards(self) -> list[float]:
        top, n = self.top(), self.players
        return [(n * (1 / len(top) if s in top else 0) - 1) / (n - 1) for s in range(n)]

    def scores(self) -> list[int]:
        ending, top = self.ending(), self.top()
        result = [0] * self.players
        if ending and len(top) == 1:
            value = [79, 89, 93, 97, 99, 101, 103][self.players - 2] * (1 if ending == "conquest" else 0.6)
            value *= 0.75 if self.hints else 1
            value *= 1 + 0.25 * max(0, 1 - min(self.p["round"], self.max_rounds) / 30)
            result[top[0]] = int(value + 0.5 + 1e-9)
        return result

    def observation(self, observer: int) -> list[list[int]]:
        p, n = self.p, self.players
        vote = self.voting()
        turn = p["to_move"]
        if vote:
            order, accepted = self.living_from(turn), p["votes"].count(True)
            turn = order[len(order) - accepted] if accepted else turn
        left = self.max_rounds - p["round"]
        common = [
            (p["to_move"] - observer) % n,
            (turn - observer) % n,
            (p["start_seat"] - observer) % n,
            int(vote),
            int(self.points_offer and not p["offered"]),
            min(255, 0 if p["attacked"] else p["quiet_turns"] + 1),
            min(31, p["round"]),
            *(min(255, max(0, left - 255 * part)) for part in range(4)),
            int(self.hints),
        ]
        sizes = self.group_sizes()
        owned = list(zip(p["owner"], sizes, strict=True))
        largest = [max((size for owner, size in owned if owner == seat), default=0) for seat in range(n)]
        rows = []
        for t in range(self.tiles):
            o = p["owner"][t]
            rows.append(
                [int((o - observer) % n == s) for s in range(n)]
                + [p["dice"][t], sizes[t], p["reserve"][o], largest[o], int(p["votes"][o] is True)]
                + common
                + [int(j in p["neighbours"][t]) for j in range(self.tiles)]
            )
        return rows
