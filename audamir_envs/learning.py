"""What a game says about learning it.

A game that can be learned has a module ``learning`` beside its ``environment``, and in it an object ``LEARNING``, a
``Learning``; the registry finds it there. It holds data and pure functions and knows no trainer and no network library.

========================  ==============================================================================================
what                      who reads it
========================  ==============================================================================================
``algorithm, presets``    ``audamir train``: which algorithm it starts, and with which settings
``layouts, variants``     both trainers: what is played and learned together
``network``               networks and checkpoints: how observations and actions lie
``symmetries``            AlphaZero: it learns every position turned and mirrored
``ownership``             AlphaZero: a further target, who holds each cell at the end
``chance``                PPO: prepared games, and what would have been had the dice fallen otherwise
========================  ==============================================================================================
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array, Environment, State

ALGORITHMS = ("alphazero", "ppo")


@dataclasses.dataclass(frozen=True, eq=False)
class HexInterface:
    """Observations and actions of a game on a hexagonal board, as the network of such games reads them.

    Observations are [2 * side - 1, 2 * side - 1, planes] on the axial grid (``hexboard``). Actions are, in this order:
    ``kinds`` of each cell (action = cell * kinds + kind), the ``further`` ones, and where ``pie`` is set and the
    environment has more actions, the choices of a pie: komi 0, 2, 4, ... and the two colours.
    """

    planes: int
    scales: tuple[float, ...] = ()  # [planes]: by which factor each plane is multiplied, to lie about 0..1; (): by 1
    features: tuple[int, ...] = ()  # [planes]: the input feature that each plane adds to; (): one feature a plane
    kinds: int = 1
    kind_images: np.ndarray | None = None  # int [12, kinds]: the kind that each symmetry makes of one; None: the same
    further: tuple[str, ...] = ("pass",)  # names of actions that belong to no cell; symmetries leave them alone
    pie: bool = False

    def __post_init__(self) -> None:
        """Fills in what was left out. Raises: ValueError naming what does not fit."""
        for name, usual in (("scales", (1.0,) * self.planes), ("features", tuple(range(self.planes)))):
            given = getattr(self, name)
            if given and len(given) != self.planes:
                raise ValueError(f"{name} are {len(given)}, but there are {self.planes} planes")
            object.__setattr__(self, name, tuple(given) or usual)
        images = np.tile(np.arange(self.kinds), (12, 1)) if self.kind_images is None else np.asarray(self.kind_images)
        if images.shape != (12, self.kinds) or (np.sort(images, axis=1) != np.arange(self.kinds)).any():
            raise ValueError(f"kind_images must be 12 permutations of the {self.kinds} kinds")
        object.__setattr__(self, "kind_images", images.astype(np.int32))


@dataclasses.dataclass(frozen=True, eq=False)
class Variant:
    """Games of equal shapes that are played and learned together."""

    name: str
    env: Environment  # supplies the rules; options that live in the position vary over ``starts``
    share: float = 1.0  # of all iterations, among the variants of a layout
    longest: int = 0  # actions that a game hardly ever exceeds: how far back a result is carried; 0: env.max_steps
    starts: Any = None  # positions stacked on a leading axis [starts]; None: those of env.init
    weights: np.ndarray | None = None  # float64 [starts]: how often each is played, sum 1; None: equally often
    table: tuple[int, int] = (0, 0)  # (rows, columns) that the first actions fill, row by row: they are drawn faster so

    def __post_init__(self) -> None:
        """Fills in what was left out. Raises: ValueError: weights that do not fit the starts."""
        if not self.longest:
            object.__setattr__(self, "longest", self.env.max_steps)
        if self.starts is None:
            return
        count = jax.tree.leaves(self.starts)[0].shape[0]
        weights = np.full(count, 1 / count) if self.weights is None else np.asarray(self.weights, np.float64)
        if weights.shape != (count,) or not math.isclose(weights.sum(), 1, rel_tol=1e-6) or (weights < 0).any():
            raise ValueError(f"variant {self.name}: weights must be {count} numbers from 0 that sum to 1")
        object.__setattr__(self, "weights", weights)


@dataclasses.dataclass(frozen=True)
class Chance:
    """What PPO can use of a game of chance."""

    pool: Callable[[Environment, Array, int], Any]
    """(env, key, size) -> the costly part of ``size`` new games (random maps, say), as one tree. Consumes key."""

    init: Callable[[Environment, Any], Callable[[Array], State]]
    """(env, pool) -> an ``init(key)`` that draws that part from the pool."""

    other_way: Callable[[Environment, Any, Array, Any, Array], tuple[Array, Array, Any]]
    """(env, position, action, the position after it, whether the game ended so) -> whether one of two outcomes was
    drawn (bool []), the chance of the one that happened (float32 []; 1 where nothing was drawn), and the position that
    the other one would have led to. The position after is that of a new game where the game ended."""


@dataclasses.dataclass(frozen=True, eq=False)
class Learning:
    """See the module's docstring."""

    algorithm: str  # "alphazero": two players, no chance, and a HexInterface; "ppo": any
    network: HexInterface | str
    """The interface of a game on a hexagonal board; or the dotted name of a module with a network of the game's own:
    ``Config(channels=..., blocks=...)``, ``make_network(config)``, ``init_parameters(network, observation_shape,
    actions, key)``, where ``network.apply({"params": parameters}, observation, actions)`` has ``logits`` [batch,
    actions] and, for PPO, ``values`` and ``seat_logits`` [batch, players] by relative seat."""
    variants: Callable[[str], tuple[Variant, ...]]
    """Text of the setting ``layouts`` -> variants whose shares sum to 1. Raises: ValueError naming the valid texts."""
    layouts: str = "default"  # what is played unless the user says otherwise
    layouts_help: str = ""  # what ``layouts`` may be, in a few words, for the help of ``audamir train``
    presets: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    """For ``quick``, ``small`` and ``full``: settings that differ from the algorithm's own preset of that name."""
    ownership: Callable[[Any], Array] | None = None
    """Position -> int8 [cells]: 1 what seat 0 holds, -1 seat 1, 0 nobody. Of a finished game it must sum to the score;
    None: the game has no such thing."""
    symmetries: tuple[int, ...] = tuple(range(12))
    """Of ``hexboard.transform``, those that turn games into games; 0 comes first."""
    chance: Chance | None = None

    def __post_init__(self) -> None:
        """Raises: ValueError for what cannot be."""
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm {self.algorithm!r} is not known: use {' or '.join(ALGORITHMS)}")
        if not self.symmetries or self.symmetries[0] != 0 or not set(self.symmetries) <= set(range(12)):
            raise ValueError(f"symmetries={self.symmetries} are not valid: use numbers from 0 to 11, 0 first")


def only_default(make: Callable[[], Variant]) -> Callable[[str], tuple[Variant, ...]]:
    """``variants`` of a game that is played in one way alone, whose name is ``default``."""

    def variants(layouts: str) -> tuple[Variant, ...]:
        if layouts != "default":
            raise ValueError(f"layouts={layouts!r} is not valid: use default")
        return (make(),)

    return variants


def read_shares(layouts: str) -> list[tuple[str, float]]:
    """``5:3,8`` as [("5", 0.75), ("8", 0.25)]: texts with how often each is played, 1 if it does not say, sum 1.

    Raises: ValueError for a share that is no number above 0.
    """
    chosen = []
    for part in layouts.split(","):
        text, colon, share = part.partition(":")
        chosen.append((text, _read_share(share, layouts) if colon else 1.0))
    total = sum(share for _, share in chosen)
    return [(text, share / total) for text, share in chosen]


def _read_share(text: str, layouts: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not (math.isfinite(share) and share > 0):
        raise ValueError(f"layouts={layouts!r} is not valid: the share {text!r} is no number above 0")
    return share


def stacked(positions: list[Any]) -> Any:
    """Positions of equal shapes as one tree with a leading axis, for ``Variant.starts``."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *positions)
