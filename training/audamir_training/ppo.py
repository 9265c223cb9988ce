"""Masked PPO against a pool of past snapshots and scripted levels, for games of several players and chance."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from audamir_envs.autoreset import auto_reset
from audamir_envs.core import Array, Environment, Pytree, State
from audamir_envs.learned.checkpoints import save_level
from audamir_envs.learned.search import mask_logits
from audamir_envs.learning import Variant
from audamir_training import evaluation, games, opponents, ppo_learning, ppo_play
from audamir_training.devices import AXIS
from audamir_training.display import figure
from audamir_training.ppo_network import PolicyNetwork
from audamir_training.programs import Program
from audamir_training.selfplay import begin_game
from audamir_training.settings import PPOSettings, check_numbers
from audamir_training.watching import Shown

_POOL_ITERATIONS = 8  # for which a pool of prepared games is used before a new one is drawn


class PPOState(Pytree):
    """A whole run, at an iteration's end."""

    learner: ppo_learning.PPOLearner
    lanes: tuple[ppo_play.Lanes, ...]  # by variant; [lanes], spread over the devices
    iteration: Array  # int32 []
    positions: Array  # int32 []: decisions so far in all lanes
    games: Array  # int32 []: games finished


class PPO:
    """The algorithm under settings, on a mesh; see ``runs.Algorithm`` for what a run asks of it."""

    name = "ppo"
    newer = ()

    def __init__(self, settings: PPOSettings, mesh: Mesh) -> None:
        """Raises: ValueError for settings that do not fit each other, the game or the mesh."""
        check_numbers(settings)
        self.settings, self.mesh = settings, mesh
        self.variants = games.variants(settings.env, settings.layouts)
        self.shares = np.array([variant.share for variant in self.variants])
        self.chance = games.learning_of(settings.env).chance
        self.policy = PolicyNetwork(self.variants[0].env, settings.channels, settings.blocks)
        self.initial: Any = None  # parameters to start from instead of drawn ones
        self.levels = tuple(_level(settings.env, name) for name in opponents.split(settings.levels))
        self.opponents = self.levels
        self.mix = _mix(settings, len(self.levels), mesh.size)
        self.shown: tuple[Environment, Shown] | None = None
        self.optimiser = ppo_learning.make_optimiser(settings)
        self._iterate = [self._program(variant) for variant in self.variants]
        self._begin_lanes = [jax.jit(functools.partial(self._begin, variant)) for variant in self.variants]
        self._pools: dict[int, tuple[int, Any]] = {}

    # What a run asks.

    def start(self) -> PPOState:
        """The state before the first iteration, from ``settings.seed``."""
        key = jax.random.key(self.settings.seed)
        parameters = self.policy.init(jax.random.fold_in(key, 0))
        if self.initial is not None:
            parameters = jax.tree.map(jnp.array, self.initial)
        pool = max(1, self.settings.snapshots)
        learner = ppo_learning.PPOLearner(
            parameters=parameters,
            average=jax.tree.map(jnp.copy, parameters),
            optimiser=self.optimiser.init(parameters),
            snapshots=jax.tree.map(lambda leaf: jnp.stack([leaf] * pool), parameters),
            taken=jnp.int32(1),
        )
        lanes = [
            begin(self._pool(number, 0), jax.random.fold_in(jax.random.fold_in(key, 1), number))
            for number, begin in enumerate(self._begin_lanes)
        ]
        zero = jnp.int32(0)
        return self.place(PPOState(learner=learner, lanes=tuple(lanes), iteration=zero, positions=zero, games=zero))

    def place(self, state: PPOState) -> PPOState:
        """The state (of host arrays, say) laid out over the mesh."""
        everywhere = jax.tree.map(lambda _: P(), state)
        specs = everywhere.replace(lanes=jax.tree.map(lambda _: P(AXIS), state.lanes))
        return jax.tree.map(lambda leaf, spec: jax.device_put(leaf, NamedSharding(self.mesh, spec)), state, specs)

    def iterate(self, state: PPOState) -> tuple[PPOState, dict[str, Array]]:
        """Plays ``steps`` decisions in every lane of a variant, then learns from them. The state given is used up."""
        iteration = int(state.iteration)
        number = self._variant(iteration)
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(self.settings.seed), 2), iteration)
        learner, lanes, measured, shown = self._iterate[number](
            state.learner, state.lanes[number], self._pool(number, iteration), key, state.iteration, state.positions
        )
        state = PPOState(
            learner=learner,
            lanes=(*state.lanes[:number], lanes, *state.lanes[number + 1 :]),
            iteration=state.iteration + 1,
            positions=state.positions + self.settings.lanes * self.settings.steps,
            games=state.games + measured["games"].astype(jnp.int32),
        )
        if self.mix.alone:  # else nobody plays himself
            self.shown = self.variants[number].env, shown
        return state, measured | {"all_games": state.games.astype(jnp.float32)}

    def compile_seconds(self) -> float:
        """Spent on compiling so far, matches not counted."""
        return sum(program.compile_seconds for program in self._iterate)

    def iteration(self, state: PPOState) -> int:
        """Iterations made."""
        return int(state.iteration)

    def positions(self, state: PPOState) -> int:
        """Decisions made in all lanes."""
        return int(state.positions)

    def gradient_steps(self, state: PPOState) -> int:
        """Gradient steps made."""
        each = self.settings.epochs * ppo_learning.steps_of(self.settings)
        return int(state.iteration) * each

    def learner(self, state: PPOState) -> Any:
        """Parameters, optimiser, snapshots and counters."""
        names = ("learner", "iteration", "positions", "games")
        return {name: getattr(state, name) for name in names}

    def with_learner(self, state: PPOState, learner: Any) -> PPOState:
        """A fresh state that goes on from there, with new games."""
        return state.replace(**learner)

    def player(self, state: PPOState) -> Any:
        """The parameters to play with."""
        return state.learner.average

    def match(self, opponent: str, count: int, told: bool = False) -> evaluation.Match:
        """Games of the bare policy in one seat against a level in all others; ``normal@LAYOUTS`` in other games.

        A game of chance is played under the first variant's options, any other one under ``evaluate_options``, from
        two random plies. Args: count: of games.
        """
        name, at, layouts = (opponent, "", "") if os.path.isfile(opponent) else opponent.partition("@")
        variant = games.variants(self.settings.env, layouts)[0] if at else self.variants[0]
        env = variant.env
        if not env.stochastic and not at:
            env = evaluation.environment(self.settings.env, self.settings.evaluate_options)

        def learner(parameters: Any, states: State, key: Array) -> Array:
            del key
            said = self.policy.apply(env.num_actions, parameters, states.observation)
            return jnp.argmax(mask_logits(said.logits, states.legal_action_mask), axis=-1).astype(jnp.int32)

        level = opponents.load(env, name)
        if env.stochastic:
            return evaluation.rotated_match(env, learner, level, count, variant.longest, self.mesh, told)
        limit = min(env.max_steps, 2 * variant.longest)
        return evaluation.two_player_match(env, learner, level, count, 2, limit, self.mesh, told)

    def export(self, path: Path, parameters: Any, facts: dict[str, Any]) -> None:
        """Writes a level. Raises: OSError."""
        save_level(path, self.variants[0].env, self.policy.config, parameters, **facts)

    def summary(self, metrics: dict[str, Any]) -> dict[str, str]:
        """Games, results, losses and entropy."""
        games = max(metrics["games"], 1e-9)

        def share(name: str) -> str:
            seats = metrics[f"{name}_seats"]
            return f"{metrics[f'{name}_won'] / seats:.3f} of {seats:.0f}" if seats else "-"

        return {
            "games": f"{metrics['all_games']:,.0f}",
            "decisions a game": f"{metrics['length'] / games:.0f}" if metrics["games"] else "-",
            "share won among snapshots": share("snapshots"),
            "share won among levels": share("levels"),
            "loss of policy, value": f"{figure(metrics['policy_loss'], '.4f')}, {figure(metrics['value_loss'], '.4f')}",
            "policy's entropy": figure(metrics["policy_entropy"], ".2f"),
            "divergence, clipped": f"{metrics['divergence']:.4f}, {metrics['clipped']:.1%}",
            "learning rate": f"{metrics['learning_rate']:.1e}",
        }

    # How it is done.

    def _variant(self, iteration: int) -> int:
        """The variant of an iteration: each comes up as often as its share says, as evenly as can be."""
        draw = np.random.default_rng((self.settings.seed, iteration)).random()
        return int(min(np.searchsorted(np.cumsum(self.shares), draw), len(self.shares) - 1))

    def _pool(self, number: int, iteration: int) -> Any:
        """Prepared games: a function of settings and iteration alone, so that no run need store them."""
        if self.chance is None:
            return ()
        age = iteration // _POOL_ITERATIONS
        if self._pools.get(number, (-1, None))[0] != age:
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(self.settings.seed), 3), age)
            env = self.variants[number].env
            pool = self.chance.pool(env, jax.random.fold_in(key, number), self.settings.maps)
            spread = NamedSharding(self.mesh, P())
            self._pools[number] = age, jax.tree.map(lambda leaf: jax.device_put(leaf, spread), pool)
        return self._pools[number][1]

    def _begin(self, variant: Variant, pool: Any, key: Array) -> ppo_play.Lanes:
        """Fresh games in all lanes. Consumes key."""
        env = variant.env
        lanes = self.settings.lanes
        state_key, seat_key = jax.random.split(key)
        mixed = ppo_play.is_mixed(self.mix, len(self.levels), lanes)
        return ppo_play.Lanes(
            state=jax.vmap(auto_reset(env, init=self._init(variant, pool)).init)(jax.random.split(state_key, lanes)),
            own=jax.vmap(lambda m, k: ppo_play.draw_own(m, env.num_players, k))(
                mixed, jax.random.split(seat_key, lanes)
            ),
            length=jnp.zeros(lanes, jnp.int32),
            number=jnp.arange(lanes, dtype=jnp.int32),
        )

    def _init(self, variant: Variant, pool: Any) -> Callable[[Array], State]:
        """``init(key)`` of a variant's games."""
        env = variant.env
        if self.chance is not None:
            return self.chance.init(env, pool)
        if env.stochastic:
            return env.init
        return lambda key: env.state_of(begin_game(variant, self.settings.opening_plies, key))

    def _program(self, variant: Variant) -> Program:
        def here(
            learner: ppo_learning.PPOLearner, lanes: Any, pool: Any, key: Array, iteration: Array, positions: Array
        ) -> Any:
            return self._iterate_here(variant, learner, lanes, pool, key, iteration, positions)

        def sharded(learner: ppo_learning.PPOLearner, lanes: Any, *rest: Any) -> Any:
            specs = jax.tree.map(lambda _: P(AXIS), lanes)
            return jax.shard_map(
                here,
                mesh=self.mesh,
                in_specs=(P(), specs, P(), P(), P(), P()),
                out_specs=(P(), specs, P(), P(AXIS)),
                check_vma=False,
            )(learner, lanes, *rest)

        return Program(sharded, donate_argnums=(0, 1))

    def _iterate_here(
        self,
        variant: Variant,
        learner: ppo_learning.PPOLearner,
        lanes: ppo_play.Lanes,
        pool: Any,
        key: Array,
        iteration: Array,
        positions: Array,
    ) -> tuple[ppo_learning.PPOLearner, ppo_play.Lanes, dict[str, Array], Shown]:
        """One device's part of an iteration. Consumes key."""
        settings = self.settings
        play_key, learn_key = jax.random.split(key)
        width = self.mix.lanes(len(self.levels))
        groups = lanes.number.shape[0] // width
        group = lanes.number[0] // width + jnp.arange(groups, dtype=jnp.int32)
        group_keys = jax.vmap(lambda number: jax.random.fold_in(learn_key, number))(group)

        known = jnp.minimum(learner.taken, jnp.int32(max(1, settings.snapshots)))
        drawn = jax.vmap(lambda k: jax.random.randint(jax.random.fold_in(k, 0), (), 0, known, jnp.int32))(group_keys)
        opponents = jax.tree.map(lambda leaf: leaf[drawn], learner.snapshots)

        env = variant.env
        apply = functools.partial(self.policy.apply, env.num_actions)

        def snapshot(observation: Array) -> Array:
            return jax.vmap(lambda parameters, seen: apply(parameters, seen).logits)(opponents, observation)

        auto = auto_reset(env, init=self._init(variant, pool))
        lanes, decisions, last, sums, shown = ppo_play.play(
            auto,
            functools.partial(apply, learner.parameters),
            snapshot,
            self.levels,
            self.mix,
            settings.steps,
            lanes,
            play_key,
            variant.table,
            None if self.chance is None else self.chance.other_way,
        )
        samples = ppo_learning.samples_of(settings, decisions, last)
        step = ppo_learning.Step(settings, apply, self.optimiser, groups, width)
        learner, learned = ppo_learning.learn(step, learner, samples, group_keys, positions)

        due = (iteration + 1) % jnp.int32(settings.snapshot_iterations) == 0
        slot = jnp.where(due, learner.taken % jnp.int32(max(1, settings.snapshots)), jnp.int32(-1))
        learner = learner.replace(
            snapshots=jax.tree.map(
                lambda ring, now: jnp.where(
                    (jnp.arange(ring.shape[0], dtype=jnp.int32) == slot).reshape(-1, *[1] * now.ndim), now, ring
                ),
                learner.snapshots,
                learner.parameters,
            ),
            taken=learner.taken + due.astype(jnp.int32),
        )
        return learner, lanes, jax.lax.psum(sums, AXIS) | learned, jax.tree.map(lambda leaf: leaf[None], shown)


def _level(env_id: str, name: str) -> Any:
    """A level to train against. Raises: ValueError."""
    try:
        return opponents.load(env_id, name)
    except ValueError as error:
        raise ValueError(f"levels={name!r} is not valid: {error}") from None


def _mix(settings: PPOSettings, levels: int, devices: int) -> ppo_play.Mix:
    """How the lanes of a group are used. Raises: ValueError naming what must divide what."""
    for name, whole, part in (
        ("groups", settings.groups, devices),
        ("lanes", settings.lanes, settings.groups),
        ("batch", settings.batch, settings.groups),
    ):
        if whole % part:
            by = "the number of devices" if name == "groups" else "groups"
            raise ValueError(f"{name}={whole} is not valid: use a multiple of {by}, {part}")
    width = settings.lanes // settings.groups
    snapshots = round(settings.snapshot_share * width)
    scripted = round(settings.level_share * width / levels) if levels else 0
    alone = width - snapshots - scripted * levels
    if alone < 0:
        raise ValueError("snapshot_share and level_share together must leave some lanes to the learner alone")
    if settings.batch > settings.lanes * settings.steps:
        raise ValueError(f"batch={settings.batch} is not valid: use at most lanes times steps")
    return ppo_play.Mix(alone, snapshots, scripted)
