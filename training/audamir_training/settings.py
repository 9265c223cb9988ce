"""Settings of runs, as frozen dataclasses: every field is a flag of ``audamir train`` and is stored with the run."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

SHARE = (0, 1)  # the range of a share or a probability
# Fields that audamir exploit sets itself.
EXPLOITS = ("level", "levels", "level_share", "pool_share", "snapshot_share", "opponents")
LAYOUTS = "what to play, as the game says; empty: what is usual"


def setting(default: Any, text: str, least: float | None = None, most: float | None = None) -> Any:
    """A field with a default, the help text of its flag and, for a number, its range.

    Args: least: 1 for whole numbers and 0 for others unless given.
    """
    if not isinstance(default, str):
        least = int(isinstance(default, int)) if least is None else least
        most = 2**31 - 1 if isinstance(default, int) and most is None else most
    return dataclasses.field(default=default, metadata={"help": text, "least": least, "most": most})


def check_numbers(settings: Any) -> None:
    """Raises: ValueError for a number that is out of its range, naming the range."""
    for field in dataclasses.fields(settings):
        value, least, most = getattr(settings, field.name), field.metadata["least"], field.metadata["most"]
        if isinstance(field.default, str):
            continue
        whole = isinstance(field.default, int)
        number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value < least or (most is not None and value > most):
            kind = "a whole number" if whole else "a number"
            upward = f"from {least:g} to {most}" if most is not None else f"from {least:g} on"
            raise ValueError(f"{field.name}={value} is not valid: use {kind} {upward}")


@dataclasses.dataclass(frozen=True)
class AlphaZeroSettings:
    """How Gumbel AlphaZero plays and learns. A position is one ply in one lane."""

    env: str = setting("", "the environment's id")
    layouts: str = setting("", LAYOUTS)
    seed: int = setting(0, "of all random numbers of the run", least=0)

    channels: int = setting(32, "width of the network")
    blocks: int = setting(4, "residual blocks of the network")

    lanes: int = setting(64, "games at once, over all devices")
    plies: int = setting(32, "plies played in every lane between two lots of gradient steps")
    simulations: int = setting(32, "of a full search, whose policy is learned")
    fast_simulations: int = setting(8, "of the other searches, which only make the game go on")
    full_share: float = setting(0.3, "of plies that are searched in full", *SHARE)
    considered: int = setting(16, "actions drawn at the root")
    slots: int = setting(32, "actions of a node that the search tree knows")
    opening_plies: int = setting(12, "a game opens with 0 to so many random plies", least=0)
    random_share: float = setting(0.04, "of moves played at random later on", *SHARE)
    noise_halflife: float = setting(40.0, "plies in which the noise of the choice of moves halves", least=1e-6)
    noise_floor: float = setting(0.3, "the noise never falls below this; 1 draws from the improved policy", *SHARE)
    fork_share: float = setting(0.0, "of games that begin at a position of an earlier game", *SHARE)
    pool_share: float = setting(
        0.0, "of lanes in which an earlier self plays a seat, in whole lanes of a group", *SHARE
    )
    pool: int = setting(8, "earlier selves to play against; who still wins is drawn more often")
    pool_iterations: int = setting(50, "between two of them")
    level_share: float = setting(0.0, "of lanes in which another level plays a seat, in whole lanes of a group", *SHARE)
    level: str = setting("strong", "the level of level_share: any agent's text")

    batch: int = setting(256, "positions of a gradient step, over all devices")
    microbatch: int = setting(64, "positions whose gradient is taken at once on a device; no effect on the result")
    reuse: float = setting(4.0, "how often a fully searched position is learned from, on average")
    learning_rate: float = setting(2e-3, "of Adam, at first")
    final_learning_rate: float = setting(2e-4, "after decay_positions, by half a cosine")
    decay_positions: int = setting(2_000_000, "over which the learning rate falls")
    weight_decay: float = setting(1e-4, "of kernels")
    clip: float = setting(1.0, "largest norm of a gradient", least=1e-6)
    average: float = setting(0.99, "decay of the running average of parameters, which plays", *SHARE)
    root_share: float = setting(0.3, "of the root's value in the value target, the rest being the result", *SHARE)
    value_weight: float = setting(1.0, "of the value in the loss, the policy's being 1")
    ownership_weight: float = setting(0.5, "of the final ownership in the loss")
    score_weight: float = setting(0.5, "of the final score in the loss")

    replay_positions: int = setting(400_000, "length of the replay, fast plies included")
    warmup_positions: int = setting(10_000, "played before learning begins", least=0)
    window_positions: int = setting(60_000, "newest positions to learn from at first")
    window_share: float = setting(0.5, "later on the newest part of all positions, until the replay is full", *SHARE)
    evaluate_simulations: int = setting(32, "of the learner in evaluations")
    evaluate_options: str = setting("", "environment options of evaluations, such as side=5,komi=0")

    groups: int = setting(8, "parts of the lanes that draw for themselves; a multiple of the devices")


@dataclasses.dataclass(frozen=True)
class PPOSettings:
    """How masked PPO plays and learns. A position is one decision in one lane."""

    env: str = setting("", "the environment's id")
    layouts: str = setting("", LAYOUTS)
    seed: int = setting(0, "of all random numbers of the run", least=0)

    channels: int = setting(32, "width of the network")
    blocks: int = setting(2, "residual blocks of the network")

    lanes: int = setting(256, "games at once, over all devices")
    steps: int = setting(64, "decisions made in every lane between two lots of gradient steps")
    snapshot_share: float = setting(0.25, "of lanes in which a snapshot plays some seats", *SHARE)
    snapshots: int = setting(10, "earlier selves to play against", least=0)
    snapshot_iterations: int = setting(15, "between two snapshots")
    level_share: float = setting(0.0, "of lanes in which other levels play some seats", *SHARE)
    levels: str = setting("normal,strong", "levels to play against while training, by commas; empty: none")
    maps: int = setting(512, "maps drawn together")
    opening_plies: int = setting(4, "a game without chance opens with 0 to so many random plies", least=0)
    evaluate_options: str = setting("", "environment options of evaluations, such as side=5,komi=0")

    batch: int = setting(1024, "decisions of a gradient step, over all devices")
    microbatch: int = setting(64, "decisions whose gradient is taken at once on a device; no effect on the result")
    epochs: int = setting(2, "how often a decision is learned from")
    learning_rate: float = setting(1e-3, "of Adam, at first")
    final_learning_rate: float = setting(1e-4, "after decay_positions, by half a cosine")
    decay_positions: int = setting(2_000_000, "over which learning rate and entropy_weight fall")
    entropy: float = setting(0.01, "weight of the policy's entropy in the loss, at first")
    final_entropy: float = setting(0.003, "the same in the end")
    discount: float = setting(0.998, "of a decision (gamma)", *SHARE)
    trace: float = setting(0.95, "of the advantage estimate (lambda)", *SHARE)
    ratio_clip: float = setting(0.2, "how far a probability may move before its gradient stops")
    value_weight: float = setting(0.5, "of the value in the loss, the policy's being 1")
    clip: float = setting(1.0, "largest norm of a gradient", least=1e-6)
    average: float = setting(
        0.99, "decay of the running average of parameters, which is evaluated and exported", *SHARE
    )

    groups: int = setting(8, "parts of the lanes that draw for themselves; a multiple of the devices")


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """How long a run goes on and what it reports; may differ from sitting to sitting."""

    minutes: float = setting(30.0, "of training, all sittings together, evaluations included, compiling not")
    iterations: int = setting(0, "of training, all sittings together; 0: as many as the minutes allow", least=0)
    save_minutes: float = setting(5.0, "between two saves of the whole state")
    log_seconds: float = setting(10.0, "between two lines of metrics")
    evaluate_minutes: float = setting(10.0, "between two evaluations; there is one at the end too; 0: none")
    evaluate_games: int = setting(64, "against each opponent, an even number", least=2)
    opponents: str = setting("weak,normal,strong", "levels to be evaluated against, by commas")
