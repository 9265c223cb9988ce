"""Gumbel AlphaZero: self-play by search, learning from a replay, as one program over a mesh of devices."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from audamir_envs import registry
from audamir_envs.agents.loading import make_agent
from audamir_envs.core import Array, Pytree, State
from audamir_envs.learned.checkpoints import save_level
from audamir_envs.learned.networks import HexConfig, bind, init_parameters, make_network
from audamir_envs.learned.search import SearchConfig
from audamir_envs.learned.zero import Zero
from audamir_envs.learning import Variant
from audamir_training import evaluation, games, losses, replay, selfplay
from audamir_training.devices import AXIS
from audamir_training.overhead import Overhead
from audamir_training.settings import AlphaZeroSettings, check_numbers


class LearnerState(Pytree):
    """What learning changes; the same on every device."""

    parameters: Any
    average: Any  # running average of the parameters, which plays
    optimiser: Any
    updates: Array  # int32 []: gradient steps made


class AlphaZeroState(Pytree):
    """A whole run, at an iteration's end."""

    learner: LearnerState
    lanes: tuple[selfplay.Lanes, ...]  # by variant; [lanes], spread over the devices
    replay: tuple[replay.Replay, ...]  # by variant; [length, lanes], spread likewise
    iteration: Array  # int32 []
    positions: Array  # int32 []: plies played so far in all lanes
    games: Array  # int32 []: games finished


class AlphaZero:
    """The algorithm for one game under settings, on a mesh; see ``runs.Algorithm`` for what a run asks of it."""

    name = "alphazero"

    def __init__(self, settings: AlphaZeroSettings, mesh: Mesh) -> None:
        """Raises: ValueError for settings that do not fit each other, the game or the mesh."""
        self.settings, self.mesh = settings, mesh
        _check(settings, mesh.size)
        self.config: HexConfig = games.hex_config(settings.env, settings.channels, settings.blocks)
        self.variants = games.variants(settings.env, settings.layouts)
        for variant in self.variants:
            games.check_environment(variant.env)
        self.network = make_network(self.config)
        self.tables = [games.symmetry(variant.env) for variant in self.variants]
        self.play_settings = _play_settings(settings)
        self.level = make_agent(settings.env, settings.level) if self.play_settings.against else None
        self.optimiser = optax.chain(
            optax.clip_by_global_norm(settings.clip),
            optax.scale_by_adam(b1=0.9, b2=0.99),
            optax.add_decayed_weights(settings.weight_decay, _is_matrix),
        )
        self.length = max(1, settings.replay_positions // (settings.lanes * settings.plies)) * settings.plies
        self.steps = max(
            1, round(settings.lanes * settings.plies * settings.full_share * settings.reuse / settings.batch)
        )
        # Timed by this process on its own part of the lanes.
        lanes = settings.lanes * len(mesh.local_devices) // mesh.size
        self._overhead = [Overhead(self.network, variant.env, lanes) for variant in self.variants]
        self._timed: set[int] = set()  # variants whose programs are compiled, so that their time means something
        # The first games begin anywhere, or all would end together and the first to learn from be the shortest.
        self._begin = [
            jax.jit(functools.partial(selfplay.begin, variant, variant.longest // 2)) for variant in self.variants
        ]
        self._play = [self._jit_play(number) for number in range(len(self.variants))]
        self._learn = [self._jit_learn(number) for number in range(len(self.variants))]

    # What a run asks.

    def start(self) -> AlphaZeroState:
        """The state before the first iteration, from ``settings.seed``."""
        key = jax.random.key(self.settings.seed)
        first = self.variants[0].env
        parameters = init_parameters(
            self.network, first.observation_shape, first.num_actions, jax.random.fold_in(key, 0)
        )
        learner = LearnerState(
            parameters=parameters,
            average=jax.tree.map(jnp.copy, parameters),
            optimiser=self.optimiser.init(parameters),
            updates=jnp.int32(0),
        )
        lanes, rings = [], []
        for number, variant in enumerate(self.variants):
            lane_key = jax.random.fold_in(jax.random.fold_in(key, 1), number)
            count = self.settings.lanes
            fresh = selfplay.Lanes(
                game=self._begin[number](jax.random.split(lane_key, count)),
                ply=jnp.zeros(count, jnp.int32),
                number=jnp.arange(count, dtype=jnp.int32),
            )
            lanes.append(fresh)
            rings.append(replay.empty(self.length, self._example(variant, fresh)))
        state = AlphaZeroState(
            learner=learner,
            lanes=tuple(lanes),
            replay=tuple(rings),
            iteration=jnp.int32(0),
            positions=jnp.int32(0),
            games=jnp.int32(0),
        )
        return self.place(state)

    def place(self, state: AlphaZeroState) -> AlphaZeroState:
        """The state (of host arrays, say) laid out over the mesh."""
        specs = self._specs(state)
        return jax.tree.map(lambda leaf, spec: jax.device_put(leaf, NamedSharding(self.mesh, spec)), state, specs)

    def iterate(self, state: AlphaZeroState) -> tuple[AlphaZeroState, dict[str, Array]]:
        """Plays ``plies`` plies in every lane of a variant, then learns from it. The state given is used up."""
        iteration = int(state.iteration)
        number = self._variant(iteration)
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(self.settings.seed), 2), iteration)
        play_key, learn_key = jax.random.split(key)
        lanes, rings = list(state.lanes), list(state.replay)
        start = time.perf_counter()
        lanes[number], rings[number], played = self._play[number](
            state.learner.average, lanes[number], rings[number], play_key
        )
        overhead = self._over_network(number, state.learner.average, jax.block_until_ready(played), start)
        positions = state.positions + self.settings.lanes * self.settings.plies
        learner, learned = self._learn[number](state.learner, lanes[number].number, rings[number], learn_key, positions)
        state = AlphaZeroState(
            learner=learner,
            lanes=tuple(lanes),
            replay=tuple(rings),
            iteration=state.iteration + 1,
            positions=positions,
            games=state.games + played["games"].astype(jnp.int32),
        )
        extra = {"all_games": state.games.astype(jnp.float32), "play_over_network": jnp.float32(overhead)}
        return state, played | learned | extra

    def iteration(self, state: AlphaZeroState) -> int:
        """Iterations made."""
        return int(state.iteration)

    def positions(self, state: AlphaZeroState) -> int:
        """Positions played in all lanes."""
        return int(state.positions)

    def learner(self, state: AlphaZeroState) -> Any:
        """Parameters, optimiser and counters."""
        return {
            "learner": state.learner,
            "iteration": state.iteration,
            "positions": state.positions,
            "games": state.games,
        }

    def with_learner(self, state: AlphaZeroState, learner: Any) -> AlphaZeroState:
        """A fresh state that goes on from there; its replay refills."""
        return state.replace(**learner)

    def player(self, state: AlphaZeroState) -> Any:
        """The parameters to play with."""
        return state.learner.average

    def match(self, opponent: str, games: int) -> Callable[[Any, Array], tuple[Array, Array]]:
        """Games of search against a level under the options ``evaluate_options``, two random plies first."""
        settings = self.settings
        options = registry.environment_class(settings.env).OPTIONS
        chosen = {}
        for part in filter(None, settings.evaluate_options.split(",")):
            name, _, value = part.partition("=")
            if name not in options:
                raise ValueError(
                    f"evaluate_options: {settings.env} has no option {name!r}; it has {', '.join(options)}"
                )
            chosen[name] = options[name].parse(name, value)
        env = registry.make(settings.env, **chosen)
        config = _search_config(settings, settings.evaluate_simulations)

        def learner(parameters: Any, states: State, key: Array) -> Array:
            return Zero(settings.env, self.network, parameters, config).act_batch(states, key)

        level: Any = make_agent(env, opponent)
        limit = min(env.max_steps, 2 * max(variant.longest for variant in self.variants))
        return evaluation.two_player_match(env, learner, level, games, 2, limit)

    def export(self, path: Path, parameters: Any, facts: dict[str, Any]) -> None:
        """Writes a level. Raises: OSError."""
        save_level(path, self.variants[0].env, self.config, parameters, **facts)

    def summary(self, metrics: dict[str, float]) -> dict[str, str]:
        """Games, losses and entropy."""
        plies = self.settings.lanes * self.settings.plies
        games = max(metrics["games"], 1e-9)
        return {
            "games": f"{metrics['all_games']:,.0f}",
            "plies a game": f"{metrics['length'] / games:.0f}",
            "drawn": f"{metrics['drawn'] / games:.1%}",
            "loss of policy, value": f"{metrics['policy_loss']:.3f}, {metrics['value_loss']:.3f}",
            "loss of ownership, score": f"{metrics['ownership_loss']:.3f}, {metrics['score_loss']:.4f}",
            "policy's entropy": f"{metrics['entropy'] / plies:.2f}",
            "play over its network": f"{metrics['play_over_network']:.2f}",
            "learning rate": f"{metrics['learning_rate']:.1e}",
        }

    # How it is done.

    def _over_network(self, number: int, parameters: Any, played: dict[str, Array], start: float) -> float:
        """The time of play since ``start`` over that of its network evaluations alone; nan where play compiled."""
        seconds = time.perf_counter() - start
        if number not in self._timed:
            self._timed.add(number)
            return math.nan
        full = float(played["full"]) / self.settings.lanes
        fast = self.settings.plies - full
        evaluations = full * (self.settings.simulations + 1) + fast * (self.settings.fast_simulations + 1)
        return seconds / (evaluations * self._overhead[number].seconds(parameters))

    def _variant(self, iteration: int) -> int:
        if len(self.variants) == 1:
            return 0
        draw = np.random.default_rng((self.settings.seed, iteration)).random()
        shares = np.cumsum([variant.share for variant in self.variants])
        return int(min(np.searchsorted(shares, draw), len(self.variants) - 1))

    def _specs(self, state: Any) -> Any:
        """How each leaf lies on the mesh: lanes are spread, all else is on every device."""
        everywhere = jax.tree.map(lambda _: P(), state)
        return everywhere.replace(
            lanes=jax.tree.map(lambda _: P(AXIS), state.lanes),
            replay=tuple(_replay_specs(ring) for ring in state.replay),
        )

    def _example(self, variant: Variant, lanes: selfplay.Lanes) -> replay.Replay:
        """The shapes of one ply of the replay."""
        slots = min(self.settings.slots, variant.env.num_actions)
        count = lanes.ply.shape[0]
        zeros = functools.partial(jnp.zeros, dtype=jnp.float32)
        cells = self.tables[self.variants.index(variant)].cells.shape[1]
        return replay.Replay(
            game=lanes.game,
            slot_action=zeros((count, slots), dtype=jnp.int16),
            slot_weight=zeros((count, slots), dtype=jnp.float16),
            rest=zeros(count, dtype=jnp.float16),
            full=zeros(count, dtype=jnp.bool_),
            mover=zeros(count, dtype=jnp.int8),
            root=zeros(count),
            random=zeros(count, dtype=jnp.bool_),
            over=zeros(count, dtype=jnp.bool_),
            result=zeros(count),
            ownership=zeros((count, cells), dtype=jnp.int8),
            target=zeros(count),
            ready=zeros(count, dtype=jnp.bool_),
            cursor=None,  # type: ignore[arg-type]
            filled=None,  # type: ignore[arg-type]
        )

    def _jit_play(self, number: int) -> Any:
        variant, settings = self.variants[number], self.settings
        window = variant.longest + settings.plies

        def play(parameters: Any, lanes: selfplay.Lanes, ring: replay.Replay, key: Array) -> Any:
            evaluate = bind(self.network, parameters, variant.env.num_actions)
            lanes, plies, sums = selfplay.play(variant, self.play_settings, evaluate, lanes, key, self.level)
            ring = replay.settle(replay.append(ring, plies), window, settings.root_share)
            return lanes, ring, jax.tree.map(lambda leaf: jax.lax.psum(leaf, AXIS), sums)

        def sharded(parameters: Any, lanes: selfplay.Lanes, ring: replay.Replay, key: Array) -> Any:
            spread = (jax.tree.map(lambda _: P(AXIS), lanes), _replay_specs(ring))
            return jax.shard_map(
                play, mesh=self.mesh, in_specs=(P(), *spread, P()), out_specs=(*spread, P()), check_vma=False
            )(parameters, lanes, ring, key)

        return jax.jit(sharded, donate_argnums=(1, 2))

    def _jit_learn(self, number: int) -> Any:
        def learn(learner: LearnerState, lanes: Array, ring: replay.Replay, key: Array, positions: Array) -> Any:
            return self._learn_here(number, learner, lanes, ring, key, positions)

        def sharded(learner: LearnerState, lanes: Array, ring: replay.Replay, key: Array, positions: Array) -> Any:
            specs = (P(), P(AXIS), _replay_specs(ring), P(), P())
            return jax.shard_map(learn, mesh=self.mesh, in_specs=specs, out_specs=P(), check_vma=False)(
                learner, lanes, ring, key, positions
            )

        return jax.jit(sharded, donate_argnums=(0,))

    def _learn_here(
        self, number: int, learner: LearnerState, lanes: Array, ring: replay.Replay, key: Array, positions: Array
    ) -> tuple[LearnerState, dict[str, Array]]:
        """One device's part of the iteration's gradient steps. Consumes key."""
        settings, variant = self.settings, self.variants[number]
        groups = settings.groups // self.mesh.size
        first = lanes[0] // (settings.lanes // settings.groups)
        keys = jax.vmap(lambda group: jax.random.fold_in(key, group))(first + jnp.arange(groups, dtype=jnp.int32))
        each = settings.batch // settings.groups
        newest = jnp.maximum(positions.astype(jnp.float32) * settings.window_share, settings.window_positions)
        newest = (newest / settings.lanes).astype(jnp.int32)
        time, lane, weight = replay.draw(ring, keys, self.steps * each, newest)
        weight = jnp.where(positions >= settings.warmup_positions, weight, jnp.float32(0))
        turn_keys = jax.vmap(lambda key: jax.random.fold_in(key, 1))(keys)
        images = self.tables[number].grid.shape[0]
        turns = jax.vmap(lambda key: jax.random.randint(key, (self.steps * each,), 0, images, jnp.int32))(turn_keys)

        local = groups * each
        micro = math.gcd(settings.microbatch, local)

        def by_step(leaf: Array) -> Array:
            leaf = leaf.reshape(groups, self.steps, each).transpose(1, 0, 2)
            return leaf.reshape(self.steps, local // micro, micro)

        rate = learning_rate(settings, positions)
        weights = losses.LossWeights(settings.value_weight, settings.ownership_weight, settings.score_weight)
        gradient = jax.grad(functools.partial(losses.loss, self.network, weights=weights), has_aux=True)

        def step(learner: LearnerState, chosen: tuple[Array, ...]) -> tuple[LearnerState, dict[str, Array]]:
            def part(total: Any, chosen: tuple[Array, ...]) -> tuple[Any, None]:
                time, lane, weight, turn = chosen
                batch = losses.gather(variant, self.tables[number], ring, time, lane, weight, turn)
                return jax.tree.map(jnp.add, total, gradient(learner.parameters, batch)), None

            shapes = jax.eval_shape(lambda: part_shape(learner, chosen))
            zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
            total, _ = jax.lax.scan(part, zeros, chosen)
            gradients, sums = jax.lax.psum(total, AXIS)
            samples = sums.pop("samples")
            gradients, sums = jax.tree.map(lambda leaf: leaf / jnp.maximum(samples, jnp.float32(1)), (gradients, sums))
            with jax.numpy_dtype_promotion("standard"):  # Adam raises a number to an integer power
                updates, optimiser = self.optimiser.update(gradients, learner.optimiser, learner.parameters)
            parameters = jax.tree.map(lambda old, update: old - rate * update, learner.parameters, updates)
            count = learner.updates.astype(jnp.float32)
            decay = jnp.minimum(jnp.float32(settings.average), (1 + count) / (10 + count))
            average = jax.tree.map(lambda old, new: decay * old + (1 - decay) * new, learner.average, parameters)
            after = LearnerState(
                parameters=parameters, average=average, optimiser=optimiser, updates=learner.updates + 1
            )
            after = jax.tree.map(lambda new, old: jnp.where(samples > 0, new, old), after, learner)
            return after, sums | {"gradient_norm": _norm(gradients)}

        def part_shape(learner: LearnerState, chosen: tuple[Array, ...]) -> Any:
            time, lane, weight, turn = (leaf[0] for leaf in chosen)
            return gradient(
                learner.parameters, losses.gather(variant, self.tables[number], ring, time, lane, weight, turn)
            )

        learner, sums = jax.lax.scan(step, learner, tuple(by_step(leaf) for leaf in (time, lane, weight, turns)))
        means = jax.tree.map(jnp.mean, sums)
        return learner, means | {"learning_rate": rate, "window": newest.astype(jnp.float32) * settings.lanes}


def learning_rate(settings: AlphaZeroSettings, positions: Array) -> Array:
    """float32 []: half a cosine from the first to the last rate over ``decay_positions``."""
    done = jnp.minimum(positions.astype(jnp.float32) / settings.decay_positions, jnp.float32(1))
    low, high = settings.final_learning_rate, settings.learning_rate
    return low + (high - low) * (1 + jnp.cos(jnp.pi * done)) / 2


def _norm(tree: Any) -> Array:
    """float32 []: the Euclidean norm of all leaves together."""
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)))


def _is_matrix(parameters: Any) -> Any:
    """Which parameters decay: kernels, not biases and gains."""
    return jax.tree.map(lambda leaf: leaf.ndim > 1, parameters)


def _replay_specs(ring: replay.Replay) -> Any:
    specs = jax.tree.map(lambda _: P(None, AXIS), ring)
    return specs.replace(cursor=P(), filled=P())


def _search_config(settings: AlphaZeroSettings, simulations: int) -> SearchConfig:
    return SearchConfig(simulations, min(settings.considered, simulations), settings.slots)


def _play_settings(settings: AlphaZeroSettings) -> selfplay.PlaySettings:
    group = settings.lanes // settings.groups
    against = max(1, round(settings.level_share * group)) if settings.level_share else 0
    return selfplay.PlaySettings(
        plies=settings.plies,
        full=_search_config(settings, settings.simulations),
        fast=_search_config(settings, settings.fast_simulations),
        full_share=settings.full_share,
        opening_plies=settings.opening_plies,
        random_share=settings.random_share,
        noise_halflife=settings.noise_halflife,
        noise_floor=settings.noise_floor,
        group=group,
        against=against,
    )


def _check(settings: AlphaZeroSettings, devices: int) -> None:
    """Raises: ValueError naming what must divide what, or what a number and a level may be."""
    check_numbers(settings)
    scripted = registry.room(settings.env, "scripted").AGENTS
    if settings.level not in scripted:
        raise ValueError(f"level={settings.level!r} is not valid: use {', '.join(scripted)}")
    for name, whole, part in (
        ("groups", settings.groups, devices),
        ("lanes", settings.lanes, settings.groups),
        ("batch", settings.batch, settings.groups),
    ):
        if whole % part:
            by = "the number of devices" if name == "groups" else "groups"
            raise ValueError(f"{name}={whole} is not valid: use a multiple of {by}, {part}")
