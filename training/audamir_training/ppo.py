"""Masked PPO against a pool of past snapshots and scripted levels, for games of several players and chance."""

from __future__ import annotations

import functools
import math
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
from audamir_envs.autoreset import auto_reset
from audamir_envs.core import Array, Environment, Pytree, State
from audamir_envs.learned.checkpoints import save_level
from audamir_envs.learned.search import mask_logits
from audamir_envs.learning import Variant
from audamir_training import evaluation, games, ppo_losses, ppo_play
from audamir_training.devices import AXIS
from audamir_training.settings import PPOSettings, check_numbers

_POOL_ITERATIONS = 8  # for which a pool of prepared games is used before a new one is drawn


class PPOLearner(Pytree):
    """What learning changes; the same on every device."""

    parameters: Any
    average: Any  # running average of the parameters, which is evaluated and exported
    optimiser: Any
    snapshots: Any  # earlier parameters, stacked
    taken: Array  # int32 []: snapshots taken so far


class PPOState(Pytree):
    """A whole run, at an iteration's end."""

    learner: PPOLearner
    lanes: tuple[ppo_play.Lanes, ...]  # by variant; [lanes], spread over the devices
    iteration: Array  # int32 []
    positions: Array  # int32 []: decisions so far in all lanes
    games: Array  # int32 []: games finished


class PPO:
    """The algorithm under settings, on a mesh; see ``runs.Algorithm`` for what a run asks of it."""

    name = "ppo"

    def __init__(self, settings: PPOSettings, mesh: Mesh) -> None:
        """Raises: ValueError for settings that do not fit each other, the game or the mesh."""
        check_numbers(settings)
        self.settings, self.mesh = settings, mesh
        own = games.own_network(settings.env)
        self.variants = games.variants(settings.env, settings.layouts)
        self.shares = np.array([variant.share for variant in self.variants])
        self.chance = games.learning_of(settings.env).chance
        self.config = own.Config(channels=settings.channels, blocks=settings.blocks)
        self.network = own.make_network(self.config)
        first = self.variants[0].env
        self._fresh = functools.partial(own.init_parameters, self.network, first.observation_shape, first.num_actions)
        self.levels = tuple(_level(settings.env, name) for name in settings.levels.split(",") if name)
        self.mix = _mix(settings, len(self.levels), mesh.size)
        self.optimiser = optax.chain(
            optax.clip_by_global_norm(settings.clip), optax.scale_by_adam(b1=0.9, b2=0.99, eps=1e-6)
        )
        self._iterate = [self._jit_iterate(variant) for variant in self.variants]
        self._begin_lanes = [jax.jit(functools.partial(self._begin, variant.env)) for variant in self.variants]
        self._pools: dict[int, tuple[int, Any]] = {}

    # What a run asks.

    def start(self) -> PPOState:
        """The state before the first iteration, from ``settings.seed``."""
        key = jax.random.key(self.settings.seed)
        parameters = self._fresh(jax.random.fold_in(key, 0))
        pool = max(1, self.settings.snapshots)
        learner = PPOLearner(
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
        learner, lanes, measured = self._iterate[number](
            state.learner, state.lanes[number], self._pool(number, iteration), key, state.iteration, state.positions
        )
        state = PPOState(
            learner=learner,
            lanes=(*state.lanes[:number], lanes, *state.lanes[number + 1 :]),
            iteration=state.iteration + 1,
            positions=state.positions + self.settings.lanes * self.settings.steps,
            games=state.games + measured["games"].astype(jnp.int32),
        )
        return state, measured | {"all_games": state.games.astype(jnp.float32)}

    def iteration(self, state: PPOState) -> int:
        """Iterations made."""
        return int(state.iteration)

    def positions(self, state: PPOState) -> int:
        """Decisions made in all lanes."""
        return int(state.positions)

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

    def match(self, opponent: str, count: int) -> Callable[[Any, Array], tuple[Array, Array]]:
        """Games of the bare policy in one seat against a level in all others; ``normal@LAYOUTS`` in other games.

        Args: count: of games.
        """
        name, at, layouts = opponent.partition("@")
        variant = games.variants(self.settings.env, layouts)[0] if at else self.variants[0]

        def learner(parameters: Any, states: State, key: Array) -> Array:
            del key
            logits = mask_logits(self._apply(parameters, states.observation).logits, states.legal_action_mask)
            return jnp.argmax(logits, axis=-1).astype(jnp.int32)

        level: Any = make_agent(self.settings.env, name)
        return evaluation.rotated_match(variant.env, learner, level, count, variant.longest)

    def export(self, path: Path, parameters: Any, facts: dict[str, Any]) -> None:
        """Writes a level. Raises: OSError."""
        save_level(path, self.variants[0].env, self.config, parameters, **facts)

    def summary(self, metrics: dict[str, float]) -> dict[str, str]:
        """Games, results, losses and entropy."""
        games = max(metrics["games"], 1e-9)

        def share(name: str) -> str:
            seats = metrics[f"{name}_seats"]
            return f"{metrics[f'{name}_won'] / seats:.3f} of {seats:.0f}" if seats else "-"

        return {
            "games": f"{metrics['all_games']:,.0f}",
            "decisions a game": f"{metrics['length'] / games:.0f}",
            "share won among snapshots": share("snapshots"),
            "share won among levels": share("levels"),
            "loss of policy, value": f"{metrics['policy_loss']:.4f}, {metrics['value_loss']:.4f}",
            "policy's entropy": f"{metrics['entropy']:.2f}",
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

    def _begin(self, env: Environment, pool: Any, key: Array) -> ppo_play.Lanes:
        """Fresh games in all lanes. Consumes key."""
        lanes = self.settings.lanes
        state_key, seat_key = jax.random.split(key)
        mixed = ppo_play.is_mixed(self.mix, len(self.levels), lanes)
        return ppo_play.Lanes(
            state=jax.vmap(auto_reset(env, init=self._init(env, pool)).init)(jax.random.split(state_key, lanes)),
            own=jax.vmap(lambda m, k: ppo_play.draw_own(m, env.num_players, k))(
                mixed, jax.random.split(seat_key, lanes)
            ),
            length=jnp.zeros(lanes, jnp.int32),
            number=jnp.arange(lanes, dtype=jnp.int32),
        )

    def _init(self, env: Environment, pool: Any) -> Callable[[Array], State]:
        return env.init if self.chance is None else self.chance.init(env, pool)

    def _jit_iterate(self, variant: Variant) -> Any:
        def here(learner: PPOLearner, lanes: Any, pool: Any, key: Array, iteration: Array, positions: Array) -> Any:
            return self._iterate_here(variant, learner, lanes, pool, key, iteration, positions)

        def sharded(learner: PPOLearner, lanes: Any, *rest: Any) -> Any:
            specs = jax.tree.map(lambda _: P(AXIS), lanes)
            return jax.shard_map(
                here,
                mesh=self.mesh,
                in_specs=(P(), specs, P(), P(), P(), P()),
                out_specs=(P(), specs, P()),
                check_vma=False,
            )(learner, lanes, *rest)

        return jax.jit(sharded, donate_argnums=(0, 1))

    def _iterate_here(
        self,
        variant: Variant,
        learner: PPOLearner,
        lanes: ppo_play.Lanes,
        pool: Any,
        key: Array,
        iteration: Array,
        positions: Array,
    ) -> tuple[PPOLearner, ppo_play.Lanes, dict[str, Array]]:
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

        def snapshot(observation: Array) -> Array:
            return jax.vmap(lambda parameters, seen: self._apply(parameters, seen).logits)(opponents, observation)

        env = variant.env
        auto = auto_reset(env, init=self._init(env, pool))
        lanes, decisions, last, sums = ppo_play.play(
            auto,
            functools.partial(self._apply, learner.parameters),
            snapshot,
            self.levels,
            self.mix,
            settings.steps,
            lanes,
            play_key,
            variant.table,
            None if self.chance is None else self.chance.other_way,
        )
        samples = self._samples(decisions, last)
        learner, learned = self._learn(learner, samples, group_keys, positions)

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
        return learner, lanes, jax.lax.psum(sums, AXIS) | learned

    def _apply(self, parameters: Any, observation: Array) -> Any:
        return self.network.apply({"params": parameters}, observation)

    def _samples(self, decisions: ppo_play.Decisions, last: Array) -> ppo_losses.Samples:
        """All decisions, [steps, lanes], with advantages normalised over all devices."""
        settings = self.settings
        advantages, targets = ppo_losses.estimate(decisions, last, settings.discount, settings.trace)
        mover = decisions.mover
        advantage = jnp.take_along_axis(advantages, mover[..., None], axis=-1)[..., 0]
        own = (decisions.own & (jnp.sum(decisions.legal, axis=-1, dtype=jnp.int32) > 1)).astype(jnp.float32)
        count, total, squares = jax.lax.psum(
            (jnp.sum(own), jnp.sum(advantage * own), jnp.sum(jnp.square(advantage) * own)), AXIS
        )
        mean = total / jnp.maximum(count, 1)
        deviation = jnp.sqrt(jnp.maximum(squares / jnp.maximum(count, 1) - jnp.square(mean), jnp.float32(1e-8)))
        players = targets.shape[-1]
        return ppo_losses.Samples(
            observation=decisions.observation,
            legal=decisions.legal,
            action=decisions.action,
            log_prob=decisions.log_prob,
            advantage=(advantage - mean) / deviation,
            target=((players - 1) * ppo_play.relative(targets, mover) + 1) / players,
            own=own,
        )

    def _learn(
        self, learner: PPOLearner, samples: ppo_losses.Samples, keys: Array, positions: Array
    ) -> tuple[PPOLearner, dict[str, Array]]:
        """Epochs over all samples. Consumes keys [groups]."""
        settings = self.settings
        groups, width = keys.shape[0], self.mix.lanes(len(self.levels))
        each = settings.batch // settings.groups
        steps = settings.steps * width // each
        micro = math.gcd(settings.microbatch, groups * each)
        rate = schedule(settings.learning_rate, settings.final_learning_rate, settings.decay_positions, positions)
        entropy = schedule(settings.entropy, settings.final_entropy, settings.decay_positions, positions)
        weights = ppo_losses.LossWeights(settings.value_weight, settings.ratio_clip)
        gradient = jax.grad(ppo_losses.loss, argnums=1, has_aux=True)

        def order(key: Array, epoch: Array) -> Array:
            """int32 [steps, each]: a group's samples as time * lanes + lane, in random order."""
            shuffled = jax.random.permutation(jax.random.fold_in(key, epoch), settings.steps * width)
            return shuffled.astype(jnp.int32)[: steps * each].reshape(steps, each)

        def step(learner: PPOLearner, chosen: Array) -> tuple[PPOLearner, dict[str, Array]]:
            def part(total: Any, chosen: Array) -> tuple[Any, None]:
                time, lane = chosen // jnp.int32(groups * width), chosen % jnp.int32(groups * width)
                batch = jax.tree.map(lambda leaf: leaf[time, lane], samples)
                found = gradient(self.network, learner.parameters, batch, weights, entropy)
                return jax.tree.map(jnp.add, total, found), None

            shapes = jax.eval_shape(lambda: part_shape(learner, chosen))
            zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
            total, _ = jax.lax.scan(part, zeros, chosen)
            gradients, sums = jax.lax.psum(total, AXIS)
            gradients = jax.tree.map(lambda leaf: leaf / settings.batch, gradients)
            own = jnp.maximum(sums.pop("own"), 1)
            value = sums.pop("value_loss") / settings.batch
            with jax.numpy_dtype_promotion("standard"):  # Adam raises a number to an integer power
                updates, optimiser = self.optimiser.update(gradients, learner.optimiser, learner.parameters)
            parameters = jax.tree.map(lambda old, update: old - rate * update, learner.parameters, updates)
            average = jax.tree.map(
                lambda old, new: settings.average * old + (1 - settings.average) * new, learner.average, parameters
            )
            after = learner.replace(parameters=parameters, average=average, optimiser=optimiser)
            parts = jax.tree.map(lambda leaf: leaf / own, sums)
            return after, parts | {"value_loss": value, "gradient_norm": _norm(gradients)}

        def part_shape(learner: PPOLearner, chosen: Array) -> Any:
            batch = jax.tree.map(lambda leaf: leaf[0, chosen[0]], samples)
            return gradient(self.network, learner.parameters, batch, weights, entropy)

        def epoch(learner: PPOLearner, number: Array) -> tuple[PPOLearner, dict[str, Array]]:
            shuffled = jax.vmap(lambda key: order(jax.random.fold_in(key, 1), number))(keys)  # [groups, steps, each]
            time, lane = shuffled // jnp.int32(width), shuffled % jnp.int32(width)
            lane = lane + jnp.arange(groups, dtype=jnp.int32)[:, None, None] * jnp.int32(width)
            place = time * jnp.int32(groups * width) + lane
            chosen = place.transpose(1, 0, 2).reshape(steps, groups * each // micro, micro)
            return jax.lax.scan(step, learner, chosen)

        learner, sums = jax.lax.scan(epoch, learner, jnp.arange(settings.epochs, dtype=jnp.int32))
        means = jax.tree.map(jnp.mean, sums)
        return learner, means | {"learning_rate": rate, "entropy_weight": entropy}


def schedule(first: float, last: float, over: int, positions: Array) -> Array:
    """float32 []: half a cosine from the first to the last value over so many positions."""
    done = jnp.minimum(positions.astype(jnp.float32) / over, jnp.float32(1))
    return last + (first - last) * (1 + jnp.cos(jnp.pi * done)) / 2


def _norm(tree: Any) -> Array:
    """float32 []: the Euclidean norm of all leaves together."""
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)))


def _level(env_id: str, name: str) -> Any:
    """A scripted level by name. Raises: ValueError."""
    scripted = registry.room(env_id, "scripted").AGENTS
    if name not in scripted:
        raise ValueError(f"levels: {name!r} is not valid: use {', '.join(scripted)}")
    return make_agent(env_id, name)


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
