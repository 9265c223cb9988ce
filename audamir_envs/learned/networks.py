"""Networks of the learning agents.

``HexNetwork`` serves the games on hexagonal boards: a residual tower of hexagonal convolutions with global pooling, and
heads for policy, value, final ownership and score. No parameter is tied to the size of the board, so one set plays on
every side. Activations lie as [cells, batch, channels]: a neighbour is then a contiguous block, which is what makes
the shifts cheap on a CPU; the products are plain matrix products on every device.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array
from audamir_envs.hexboard import hexboard
from audamir_envs.learning import HexInterface

_BEHIND = "Dense_7"  # of the parameters: the logits behind those of the cells
_OPPOSITE = np.array([0, 4, 5, 6, 1, 2, 3])  # of the seven places "here, E, SE, SW, W, NW, NE"


class HexOutput(NamedTuple):
    """What ``HexNetwork`` says of a batch of positions, each from its mover's point of view."""

    logits: Array  # float32 [batch, actions]: of the policy, illegal actions not masked
    value: Array  # float32 [batch]: expected result, -1..1
    value_logit: Array  # float32 [batch]: value = 2 * sigmoid(value_logit) - 1
    ownership: Array  # float32 [batch, cells]: expected final owner of each cell, 1 mine .. -1 theirs
    score: Array  # float32 [batch]: expected final margin, as a share of the board


HEADS = ("cells", "komi")


@dataclasses.dataclass(frozen=True)
class HexConfig:
    """Size and interface of a ``HexNetwork``; written into checkpoints.

    The actions of its game are those of the cells, cell * kinds + kind, then the ``further`` ones. With the head
    ``komi`` a game may have a pie behind these: komi 0, 2, 4, ..., then the colours black and white; without a pie the
    same parameters play.
    """

    planes: int  # of the observation
    kinds: int  # actions of one cell
    features: tuple[int, ...]  # [planes] which input feature each plane adds to
    scales: tuple[float, ...]  # [planes] and by which factor, so that features lie about 0..1
    channels: int = 32
    blocks: int = 4
    further: tuple[str, ...] = ("pass",)  # actions behind those of the cells, each with a logit of its own
    head: str = "cells"  # or "komi"
    architecture: str = "hex-2"  # raised when the meaning of the parameters changes

    def __post_init__(self) -> None:
        """Raises: ValueError naming the field that cannot be."""
        for name in ("planes", "kinds", "channels", "blocks"):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= LARGEST[name]:
                raise ValueError(f"{name}={value!r} of the network is not valid: use an integer up to {LARGEST[name]}")
        whole = _is_tuple_of(self.features, int) and all(0 <= number < self.planes for number in self.features)
        finite = _is_tuple_of(self.scales, (int, float)) and all(map(math.isfinite, self.scales))
        if not (whole and finite and len(self.features) == len(self.scales) == self.planes):
            raise ValueError(f"features and scales of the network do not say how {self.planes} planes are read")
        if not _is_tuple_of(self.further, str) or len(set(self.further)) < len(self.further):
            raise ValueError(f"further={self.further!r} of the network is not valid: name each action once")
        if self.head not in HEADS:
            raise ValueError(f"head={self.head!r} of the network is not valid: use {' or '.join(HEADS)}")

    @classmethod
    def of(cls, interface: HexInterface, channels: int, blocks: int) -> Self:
        """The configuration for what a game says of its observations and actions."""
        return cls(
            interface.planes,
            interface.kinds,
            interface.features,
            interface.scales,
            channels,
            blocks,
            interface.further,
            "komi" if interface.pie else "cells",
        )

    def choices(self, observation_shape: tuple[int, ...], actions: int) -> int:
        """How many komi the pie of a game offers, 0 if it has none.

        Raises: ValueError: the network does not fit a game with these observations and this number of actions.
        """
        if len(observation_shape) != 3 or observation_shape[0] != observation_shape[1] or observation_shape[0] % 2 == 0:
            raise ValueError(f"the network reads hexagonal boards [width, width, planes], not {observation_shape}")
        if observation_shape[2] != self.planes:
            raise ValueError(f"the network reads {self.planes} planes, not {observation_shape[2]}")
        cells = hexboard((observation_shape[0] + 1) // 2).size
        covered = cells * self.kinds + len(self.further)
        choices = actions - covered - 2
        if actions == covered or (self.head == "komi" and choices > 0):
            return max(choices, 0)
        further = ", ".join(self.further) if self.further else "nothing else"
        pie = ", or more than two more (a pie)" if self.head == "komi" else ""
        raise ValueError(
            f"the network's actions are {self.kinds} on each of {cells} cells, and {further}: {covered}{pie}; "
            f"the game has {actions}"
        )


LARGEST = {"planes": 4096, "kinds": 4096, "channels": 4096, "blocks": 1024}


def _is_tuple_of(value: Any, kinds: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(part, kinds) and not isinstance(part, bool) for part in value)


@functools.lru_cache(maxsize=64)
def _input_matrix(config: HexConfig) -> np.ndarray:
    """float32 [planes, features]."""
    matrix = np.zeros((config.planes, max(config.features) + 1), np.float32)
    matrix[np.arange(config.planes), config.features] = config.scales
    return matrix


@functools.lru_cache(maxsize=64)
def _places(side: int) -> np.ndarray:
    """int32 [cells, 7]: each cell and its neighbours; the number of cells stands for "off the board"."""
    board = hexboard(side)
    table = np.concatenate([np.arange(board.size)[:, None], board.neighbours], axis=1)
    return np.where(table < 0, board.size, table).astype(np.int32)


def side_of(cells: int) -> int:
    """The side of a board by its number of cells. Raises: ValueError."""
    side = round((3 + math.sqrt(12 * cells - 3)) / 6)
    if 3 * side * (side - 1) + 1 != cells:
        raise ValueError(f"no hexagonal board has {cells} cells")
    return side


def _shifted(x: Array, places: np.ndarray) -> list[Array]:
    """Seven times [cells, batch, channels]: x as seen from each place, zero beyond the board."""
    padded = jnp.pad(x, ((0, 1), (0, 0), (0, 0)))
    return [padded[places[:, k]] for k in range(7)]


@jax.custom_vjp
def hex_convolution(x: Array, kernel: Array) -> Array:
    """float32 [cells, batch, out]: out[p] = sum over the seven places k around p of x[place k of p] @ kernel[k].

    One matrix product, then seven shifted additions. Its gradient is written out, as shifts of the incoming gradient
    and two matrix products: the automatic one scatters, and is several times slower.

    Args: x: float32 [cells, batch, in], the cells of a hexagonal board; kernel: float32 [7, in, out].
    """
    places = _places(side_of(x.shape[0]))
    _, inputs, outputs = kernel.shape
    flat = kernel.transpose(1, 0, 2).reshape(inputs, 7 * outputs)
    products = jnp.dot(x.reshape(-1, inputs), flat).reshape(*x.shape[:2], 7 * outputs)
    padded = jnp.pad(products, ((0, 1), (0, 0), (0, 0)))
    total = products[..., :outputs]
    for k in range(1, 7):
        total = total + padded[places[:, k], :, k * outputs : (k + 1) * outputs]
    return total


def _convolution_forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return hex_convolution(x, kernel), (x, kernel)


def _convolution_backward(saved: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    x, kernel = saved
    _, inputs, outputs = kernel.shape
    # x[p] reached the outputs of its neighbours: through the kernel of direction k that of the opposite neighbour.
    received = jnp.concatenate(_shifted(gradient, _places(side_of(x.shape[0]))), axis=-1)
    turned = kernel[_OPPOSITE]
    of_x = received @ turned.transpose(0, 2, 1).reshape(7 * outputs, inputs)
    of_kernel = x.reshape(-1, inputs).T @ received.reshape(-1, 7 * outputs)
    return of_x, of_kernel.reshape(inputs, 7, outputs)[:, _OPPOSITE].transpose(1, 0, 2)


hex_convolution.defvjp(_convolution_forward, _convolution_backward)


class _HexConvolution(nn.Module):
    """``hex_convolution`` with a bias."""

    channels: int
    scale: float = 1.0  # of the initial kernel

    @nn.compact
    def __call__(self, x: Array) -> Array:
        initial = nn.initializers.variance_scaling(self.scale, "fan_in", "truncated_normal", in_axis=(0, 1), out_axis=2)
        kernel = self.param("kernel", initial, (7, x.shape[-1], self.channels), jnp.float32)
        bias = self.param("bias", nn.initializers.zeros, (self.channels,), jnp.float32)
        return hex_convolution(x, kernel) + bias


def _pooled(x: Array) -> Array:
    """float32 [batch, 2 * channels]: mean and maximum over the cells."""
    return jnp.concatenate([jnp.mean(x, axis=0), jnp.max(x, axis=0)], axis=-1)


class _Block(nn.Module):
    """Two convolutions around a bias from the pooled board, added to the input."""

    scale: float

    @nn.compact
    def __call__(self, x: Array) -> Array:
        channels = x.shape[-1]
        gain = self.param("gain", nn.initializers.ones, (channels,), jnp.float32)
        shift = self.param("shift", nn.initializers.zeros, (channels,), jnp.float32)
        hidden = _HexConvolution(channels, scale=2.0)(nn.relu(x * gain + shift))
        bias = nn.Dense(channels, kernel_init=nn.initializers.variance_scaling(0.2, "fan_in", "truncated_normal"))
        hidden = nn.relu(hidden + bias(_pooled(hidden)))
        return x + _HexConvolution(channels, scale=self.scale)(hidden)


class HexNetwork(nn.Module):
    """See the module's docstring. ``apply({"params": params}, observation, actions)`` gives a ``HexOutput``."""

    config: HexConfig

    @nn.compact
    def __call__(self, observation: Array, actions: int) -> HexOutput:
        """Args: observation: [batch, width, width, planes] of any dtype; actions: the environment's number of them."""
        config = self.config
        batch, width = observation.shape[:2]
        board = hexboard((width + 1) // 2)
        cells = observation.reshape(batch, width * width, config.planes)[:, board.grid].astype(jnp.float32)
        x = cells.transpose(1, 0, 2) @ jnp.asarray(_input_matrix(config))
        size = jnp.full((board.size, batch, 1), (board.side - 5) / 3, jnp.float32)
        x = _HexConvolution(config.channels)(jnp.concatenate([x, size], axis=-1))
        for _ in range(config.blocks):
            x = _Block(scale=0.5 / config.blocks)(x)
        x = nn.relu(x)
        pooled = _pooled(x)

        features = nn.relu(nn.Dense(config.channels)(x) + nn.Dense(config.channels, use_bias=False)(pooled))
        small = nn.initializers.variance_scaling(0.1, "fan_in", "truncated_normal")
        of_cells = nn.Dense(config.kinds, kernel_init=small)(features)
        of_cells = of_cells.transpose(1, 0, 2).reshape(batch, board.size * config.kinds)
        choices = config.choices(observation.shape[1:], actions)

        hidden = nn.relu(nn.Dense(2 * config.channels)(pooled))
        value_logit = nn.Dense(1, kernel_init=small)(hidden)[:, 0]
        score = nn.Dense(1, kernel_init=small)(hidden)[:, 0]
        ownership = jnp.tanh(nn.Dense(1, kernel_init=small)(x)[..., 0].T)
        behind = self._komi_head(hidden, board.size, choices) if config.head == "komi" else self._further(hidden)
        return HexOutput(
            logits=jnp.concatenate([of_cells, behind], axis=-1),
            value=2 * nn.sigmoid(value_logit) - 1,
            value_logit=value_logit,
            ownership=ownership,
            score=score,
        )

    def _further(self, hidden: Array) -> Array:
        """float32 [batch, further]: logits of the actions behind those of the cells."""
        if not self.config.further:
            return jnp.zeros((hidden.shape[0], 0), jnp.float32)
        return nn.Dense(len(self.config.further), kernel_init=nn.initializers.zeros, name=_BEHIND)(hidden)

    def _komi_head(self, hidden: Array, cells: int, choices: int) -> Array:
        """float32 [batch, further, or further + choices + 2]: where there is a pie, each komi, black and white too.

        The network names one komi that it would choose, and others are liked the less the farther they are: so the
        number of parameters does not grow with the range of komi.
        """
        count = len(self.config.further)
        said = nn.Dense(count + 2, kernel_init=nn.initializers.zeros, name=_BEHIND)(hidden)
        further, fair, black = jnp.split(said, (count, count + 1), axis=-1)
        sharpness = self.param("komi_sharpness", nn.initializers.constant(0.3), (), jnp.float32)
        if not choices:
            return further
        komi = jnp.arange(0, 2 * choices, 2, dtype=jnp.float32)
        near = -jnp.abs(sharpness) * jnp.abs(komi - fair * cells)
        return jnp.concatenate([further, near, black, -black], axis=-1)


def make_network(config: HexConfig) -> HexNetwork:
    """The network of a configuration."""
    return HexNetwork(config)


def init_parameters(network: HexNetwork, observation_shape: tuple[int, ...], actions: int, key: Array) -> Any:
    """Fresh parameters, a tree of dicts of float32 arrays. Consumes key.

    Raises: ValueError: the network does not fit such a game.
    """
    network.config.choices(tuple(observation_shape), actions)
    return _initial(network, tuple(observation_shape), actions, key)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _initial(network: HexNetwork, observation_shape: tuple[int, ...], actions: int, key: Array) -> Any:
    observation = jnp.zeros((1, *observation_shape), jnp.float32)
    return network.init(key, observation, actions=actions)["params"]


def without_komi_head(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Parameters (or an optimiser's arrays like them) of a game with a pass alone behind its cells, from the time when
    all networks had the head for komi.

    Args: arrays: by the path of each in its tree, however written.
    """
    kept = {name: array for name, array in arrays.items() if "komi_sharpness" not in name}
    return {name: array[..., :1] if _BEHIND in name else array for name, array in kept.items()}


Evaluate = Callable[[Array], HexOutput]


def bind(network: HexNetwork, parameters: Any, actions: int) -> Evaluate:
    """``evaluate(observation)`` of parameters."""

    def evaluate(observation: Array) -> HexOutput:
        return network.apply({"params": parameters}, observation, actions)  # type: ignore[return-value]

    return evaluate
