"""The options under which Stigmergy is tested by what is generic."""

CASES = [
    *({"side": side, "komi": komi} for side in (3, 5, 8) for komi in (0, "choose")),
    {"side": 3, "komi": 4},
]
BRIDGED = {"side": 3, "komi": "choose"}
LEARNED = "2"
