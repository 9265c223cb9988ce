"""The options under which Colony is tested by what is generic."""

import itertools

CASES = [
    *(
        {"board": board, "start": start, "claim_empty": claim_empty}
        for board, start, claim_empty in itertools.product(("58", "61"), ("three", "one"), (False, True))
    ),
    {"holes_toward": "second", "starter": "random", "max_turns": 9},
]
BRIDGED = {}
LEARNED = "default"
