"""The options under which Principalities is tested by what is generic."""

# Maps of one's own compile several times faster than random ones, of which one case is enough here.
LINES = {"neighbours": [[1, 7], [0, 2], [1, 3], [2, 4], [3, 5], [4, 6], [5, 7], [6, 0]]}
HEXAGONS = {"hexagons": [[0, 0, 1, 1], [2, 2, 3, 3], [4, 5, 6, 7], [8, 9, 10, 11]]}

CASES = [
    {"players": 2, "starter": 1, "map": LINES},
    {"players": 3, "hints": True, "max_rounds": 4, "map": HEXAGONS},
    {"players": 4},
    {"players": 8, "points_offer": "never", "max_rounds": 2, "map": HEXAGONS},
]
BRIDGED = {"players": 3, "hints": True, "max_rounds": 4, "map": HEXAGONS}
LEARNED = "2@4"
