"""Gumbel AlphaZero: self-play by search, learning from a replay, as one program over a mesh of devices."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from audamir_envs.agents.base import Agent
from audamir_envs.core import Array, Environment, Pytree, State
from audamir_envs.learned.checkpoints import save_level
from audamir_envs.learned.networks import HexConfig, bind, init_parameters, make_network
from audamir_envs.learned.search import SearchConfig
from audamir_envs.learned.zero import Zero
from audamir_envs.learning import Variant
from audamir_envs.symmetry import symmetries
from audamir_training import evaluation, games, learning, opponents, pools, replay, selfplay
from audamir_training.devices import AXIS
from audamir_training.display import figure
from audamir_training.overhead import Overhead
from audamir_training.programs import Program
from audamir_training.settings import AlphaZeroSettings, check_numbers
from audamir_training.watching import Shown


class AlphaZeroState(Pytree):
    """A whole run, at an iteration's end."""

    learner: learning.LearnerState
    pool: Any  # pools.Pool of earlier selves; () without
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
        self.tables = [symmetries(variant.env) for variant in self.variants]
        self.play_settings = _play_settings(settings)
        self.initial: Any = None  # parameters to start from instead of drawn ones
        self.level = _level(settings)
        self.opponents = () if self.level is None else (self.level,)
        self.optimiser = learning.make_optimiser(settings)
        self.length = max(1, settings.replay_positions // (settings.lanes * settings.plies)) * settings.plies
        self.shown: tuple[Environment, Shown] | None = None
        self.newer = (".pool", *(f".lanes[{number}].opponent" for number in range(len(self.variants))))
        # Timed by this process on its own part of the lanes.
        lanes = settings.lanes * len(mesh.local_devices) // mesh.size
        self._overhead = [Overhead(self.network, variant.env, lanes) for variant in self.variants]
        # The first games begin anywhere, or all would end together and the first to learn from be the shortest.
        self._begin = [
            jax.jit(functools.partial(selfplay.begin, variant, variant.longest // 2)) for variant in self.variants
        ]
        self._play = [self._play_program(number) for number in range(len(self.variants))]
        self._learn = [self._learn_program(number) for number in range(len(self.variants))]
        self._remember = Program(_remember)

    # What a run asks.

    def start(self) -> AlphaZeroState:
        """The state before the first iteration, from ``settings.seed``."""
        key = jax.random.key(self.settings.seed)
        first = self.variants[0].env
        parameters = init_parameters(
            self.network, first.observation_shape, first.num_actions, jax.random.fold_in(key, 0)
        )
        if self.initial is not None:
            parameters = jax.tree.map(jnp.array, self.initial)
        learner = learning.LearnerState(
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
                opponent=jnp.full(count, -1, jnp.int32),
            )
            lanes.append(fresh)
            rings.append(replay.empty(self.length, self._example(variant, fresh)))
        state = AlphaZeroState(
            learner=learner,
            pool=pools.empty(parameters, self.settings.pool) if self.play_settings.pooled else (),
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
        start, compiled = time.perf_counter(), self._play[number].compile_seconds
        lanes[number], rings[number], pool, played, shown = self._play[number](
            state.learner.average, state.pool, lanes[number], rings[number], play_key, state.positions
        )
        jax.block_until_ready(played)
        seconds = time.perf_counter() - start - (self._play[number].compile_seconds - compiled)
        overhead = seconds / self._network_seconds(number, state.learner.average, float(played["full"]))
        positions = state.positions + self.settings.lanes * self.settings.plies
        learner, learned = self._learn[number](state.learner, lanes[number].number, rings[number], learn_key, positions)
        if self.play_settings.pooled and (iteration + 1) % self.settings.pool_iterations == 0:
            pool = self._remember(pool, learner.average, tuple(lane.opponent for lane in lanes))
        state = AlphaZeroState(
            learner=learner,
            pool=pool,
            lanes=tuple(lanes),
            replay=tuple(rings),
            iteration=state.iteration + 1,
            positions=positions,
            games=state.games + played["games"].astype(jnp.int32),
        )
        played_by = self.play_settings
        if played_by.against + played_by.pooled < played_by.group:  # else nobody plays himself
            self.shown = self.variants[number].env, shown
        extra = {"all_games": state.games.astype(jnp.float32), "play_over_network": jnp.float32(overhead)}
        return state, played | learned | extra

    def compile_seconds(self) -> float:
        """Spent on compiling so far, matches not counted."""
        programs = (*self._play, *self._learn, self._remember)
        return sum(part.compile_seconds for part in (*programs, *self._overhead))

    def iteration(self, state: AlphaZeroState) -> int:
        """Iterations made."""
        return int(state.iteration)

    def positions(self, state: AlphaZeroState) -> int:
        """Positions played in all lanes."""
        return int(state.positions)

    def gradient_steps(self, state: AlphaZeroState) -> int:
        """Gradient steps made."""
        return int(state.learner.updates)

    def learner(self, state: AlphaZeroState) -> Any:
        """Parameters, optimiser and counters."""
        names = ("learner", "iteration", "positions", "games")
        return {name: getattr(state, name) for name in names}

    def with_learner(self, state: AlphaZeroState, learner: Any) -> AlphaZeroState:
        """A fresh state that goes on from there; its replay and its pool refill."""
        return state.replace(**learner)

    def player(self, state: AlphaZeroState) -> Any:
        """The parameters to play with."""
        return state.learner.average

    def match(self, opponent: str, games: int, told: bool = False) -> evaluation.Match:
        """Games of search against a level under the options ``evaluate_options``, two random plies first."""
        settings = self.settings
        env = evaluation.environment(settings.env, settings.evaluate_options)
        config = _search_config(settings, settings.evaluate_simulations)

        def learner(parameters: Any, states: State, key: Array) -> Array:
            return Zero(settings.env, self.network, parameters, config).act_batch(states, key)

        level = opponents.load(env, opponent)
        limit = min(env.max_steps, 2 * max(variant.longest for variant in self.variants))
        return evaluation.two_player_match(env, learner, level, games, 2, limit, self.mesh, told)

    def export(self, path: Path, parameters: Any, facts: dict[str, Any]) -> None:
        """Writes a level. Raises: OSError."""
        save_level(path, self.variants[0].env, self.config, parameters, **facts)

    def summary(self, metrics: dict[str, Any]) -> dict[str, str]:
        """Games, losses and entropy."""
        games = max(metrics["games"], 1e-9)

        def shown(name: str, form: str = ".3f") -> str:
            return figure(metrics[name], form)

        return {
            "games": f"{metrics['all_games']:,.0f}",
            "plies a game": f"{metrics['length'] / games:.0f}" if metrics["games"] else "-",
            "drawn": f"{metrics['drawn'] / games:.1%}" if metrics["games"] else "-",
            "loss of policy, value": f"{shown('policy_loss')}, {shown('value_loss')}",
            "loss of ownership, score": f"{shown('ownership_loss')}, {shown('score_loss', '.4f')}",
            "policy's entropy": shown("policy_entropy", ".2f"),
            **({"share won among earlier selves": shown("pool_score")} if "pool_score" in metrics else {}),
            "play over its network": shown("play_over_network", ".2f"),
            "learning rate": shown("learning_rate", ".1e"),
        }

    # How it is done.

    def _network_seconds(self, number: int, parameters: Any, full: float) -> float:
        """What the network evaluations alone of an iteration's play take. Args: full: positions searched in full."""
        full = full / self.settings.lanes
        fast = self.settings.plies - full
        evaluations = full * (self.settings.simulations + 1) + fast * (self.settings.fast_simulations + 1)
        return evaluations * self._overhead[number].seconds(parameters)

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

    def _example(self, variant: Variant, lanes: selfplay.Lanes) -> replay.Plies:
        """The shapes of one ply of the replay."""
        slots = min(self.settings.slots, variant.env.num_actions)
        count = lanes.ply.shape[0]
        zeros = functools.partial(jnp.zeros, dtype=jnp.float32)
        cells = self.tables[self.variants.index(variant)].cells.shape[1]
        return replay.Plies(
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
        )

    def _play_program(self, number: int) -> Program:
        variant, settings = self.variants[number], self.settings
        window = variant.longest + settings.plies

        def play(parameters: Any, pool: Any, lanes: selfplay.Lanes, ring: replay.Replay, key: Array, at: Array) -> Any:
            """One device's part of an iteration's play. Args: at: int32 [], positions played so far."""
            evaluate = bind(self.network, parameters, variant.env.num_actions)
            starts = None
            if settings.fork_share:
                keys = learning.group_keys(settings, self.mesh.size, lanes.number, jax.random.fold_in(key, 1))
                found = replay.draw_positions(ring, keys, learning.newest_plies(settings, at))
                starts = selfplay.Starts(*found)
            others = {"level": self.level, "starts": starts}
            if self.play_settings.pooled:
                others |= {"network": self.network, "pool": pool}
            lanes, plies, sums, shown = selfplay.play(variant, self.play_settings, evaluate, lanes, key, **others)
            ring = replay.settle(replay.append(ring, plies), window, settings.root_share)
            sums = jax.tree.map(lambda leaf: jax.lax.psum(leaf, AXIS), sums)
            sums["policy_entropy"] = sums.pop("entropy") / (settings.lanes * settings.plies)
            if self.play_settings.pooled:
                games, won = sums.pop("pool_games"), sums.pop("pool_won")
                pool = pools.scored(pool, games, won)
                sums["pool_score"] = jnp.sum(won) / jnp.sum(games)  # nan where none ended
            return lanes, ring, pool, sums, jax.tree.map(lambda leaf: leaf[None], shown)

        def sharded(parameters: Any, pool: Any, lanes: selfplay.Lanes, ring: replay.Replay, *rest: Array) -> Any:
            spread = (jax.tree.map(lambda _: P(AXIS), lanes), _replay_specs(ring))
            specs = {"in_specs": (P(), P(), *spread, P(), P()), "out_specs": (*spread, P(), P(), P(AXIS))}
            return jax.shard_map(play, mesh=self.mesh, check_vma=False, **specs)(parameters, pool, lanes, ring, *rest)

        return Program(sharded, donate_argnums=(2, 3))

    def _learn_program(self, number: int) -> Program:
        settings = self.settings
        learner = learning.Learner(
            settings,
            self.network,
            self.optimiser,
            self.variants[number],
            self.tables[number],
            learning.steps_of(settings),
            self.mesh.size,
        )

        def sharded(state: learning.LearnerState, lanes: Array, ring: replay.Replay, *rest: Array) -> Any:
            specs = (P(), P(AXIS), _replay_specs(ring), P(), P())
            return jax.shard_map(learner.learn, mesh=self.mesh, in_specs=specs, out_specs=P(), check_vma=False)(
                state, lanes, ring, *rest
            )

        return Program(sharded, donate_argnums=(0,))


def _remember(pool: pools.Pool, parameters: Any, opponents: tuple[Array, ...]) -> pools.Pool:
    """The pool with today's parameters. Args: opponents: int32 [lanes] of every variant."""
    number = jnp.arange(pool.score.shape[0], dtype=jnp.int32)
    in_play = [jnp.any(opponent[:, None] == number, axis=0) for opponent in opponents]
    return pools.remember(pool, parameters, jnp.any(jnp.stack(in_play), axis=0))


def _replay_specs(ring: replay.Replay) -> Any:
    specs = jax.tree.map(lambda _: P(None, AXIS), ring)
    return specs.replace(cursor=P(), filled=P())


def _search_config(settings: AlphaZeroSettings, simulations: int) -> SearchConfig:
    return SearchConfig(simulations, min(settings.considered, simulations), settings.slots)


def _play_settings(settings: AlphaZeroSettings) -> selfplay.PlaySettings:
    group = settings.lanes // settings.groups
    against = max(1, round(settings.level_share * group)) if settings.level_share else 0
    pooled = max(1, round(settings.pool_share * group)) if settings.pool_share else 0
    if against + pooled > group:
        raise ValueError(f"level_share and pool_share need {against + pooled} lanes of a group, which has {group}")
    return selfplay.PlaySettings(
        plies=settings.plies,
        full=_search_config(settings, settings.simulations),
        fast=_search_config(settings, settings.fast_simulations),
        full_share=settings.full_share,
        opening_plies=settings.opening_plies,
        random_share=settings.random_share,
        noise_halflife=settings.noise_halflife,
        noise_floor=settings.noise_floor,
        fork_share=settings.fork_share,
        group=group,
        against=against,
        pooled=pooled,
    )


def _level(settings: AlphaZeroSettings) -> Agent | None:
    """The level that has a seat in some lanes, if any have one. Raises: ValueError."""
    usual = type(settings)(env=settings.env).level  # which not every game has
    if not settings.level_share and settings.level == usual:
        return None
    try:
        level = opponents.load(settings.env, settings.level)
    except ValueError as error:
        raise ValueError(f"level={settings.level!r} is not valid: {error}") from None
    return level if settings.level_share else None


def _check(settings: AlphaZeroSettings, devices: int) -> None:
    """Raises: ValueError naming what must divide what, or what a number may be."""
    check_numbers(settings)
    for name, whole, part in (
        ("groups", settings.groups, devices),
        ("lanes", settings.lanes, settings.groups),
        ("batch", settings.batch, settings.groups),
    ):
        if whole % part:
            by = "the number of devices" if name == "groups" else "groups"
            raise ValueError(f"{name}={whole} is not valid: use a multiple of {by}, {part}")
