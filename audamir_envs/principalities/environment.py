"""The environment "principalities-v0"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from audamir_envs.core import Array, Environment, Option, Outcome, State
from audamir_envs.principalities import maps, notation, observation, rules
from audamir_envs.principalities.maps import Map
from audamir_envs.principalities.rules import Position

_TILES = {6: 36, 7: 42, 8: 48}  # by players; 32 for fewer


class Principalities(Environment):
    """2 to 8 players attack each other with dice on a map of tiles; the last one with a tile wins.

    ``num_actions`` is tiles² + 3: from * tiles + to for an attack, then end, accept, decline.
    """

    id: ClassVar[str] = "principalities-v0"
    version: ClassVar[str] = "0"
    stochastic: ClassVar[bool] = True
    OPTIONS: ClassVar[Mapping[str, Option]] = {
        "players": Option(4, "number of players", low=2, high=8),
        "tiles": Option(
            None,
            "tiles of a random map; None: 32 for up to 5 players, 36, 42, 48 for 6, 7, 8",
            (None,),
            low=2,
            high=maps.MAX_TILES,
        ),
        "map": Option(
            None,
            "None for a new random map each game, or a map of one's own: see maps.user_map",
            (None,),
            read=lambda spec: maps.plain(maps.user_map(spec)),
            form="a map of one's own",
        ),
        "starter": Option("random", "the seat that starts", ("random",), low=0, high=7),
        "points_offer": Option(
            "vote", "whether the game offers to end on points after quiet rounds", ("vote", "never")
        ),
        "hints": Option(False, "show the odds; a win then scores less", (False, True)),
        "max_rounds": Option(500, "rounds after which the game is cut", low=1, high=observation.MAX_ROUNDS),
    }

    def _setup(self) -> None:
        players = self.options["players"]
        starter = self.options["starter"]
        self._starter = None if starter == "random" else starter
        if self._starter is not None and self._starter >= players:
            raise ValueError(f"option starter={starter} is not valid: use 'random' or a seat from 0 to {players - 1}")
        tiles = self.options["tiles"]
        self._map: Map | None = None
        if self.options["map"] is not None:
            self._map = maps.user_map(self.options["map"])
            own = self._map.neighbours.shape[0]
            if tiles not in (None, own):
                raise ValueError(f"option tiles={tiles} is not valid: the map has {own} tiles; leave tiles out")
            tiles = own
        self.tiles: int = _TILES.get(players, 32) if tiles is None else tiles
        if self.tiles < players:
            raise ValueError(f"{players} players need as many tiles or more, not {self.tiles}")
        self.num_players = players
        self.num_actions = rules.num_actions(self.tiles)
        self.chance_shape = rules.chance_shape(self.tiles)
        self.observation_shape = observation.shape(players, self.tiles)
        self.observation_dtype = jnp.uint8
        self.observation_high = 255.0
        self.max_steps = rules.most_actions(players, self.tiles, self.options["max_rounds"])

    @classmethod
    def options_for_shapes(
        cls, observation_shape: tuple[int, ...], num_actions: int, num_players: int
    ) -> dict[str, Any]:
        """Players and tiles; whose map it is lies in the position."""
        del num_actions
        return {"players": num_players, "tiles": observation_shape[0]}

    @property
    def _options_in_position(self) -> dict[str, Any]:
        return {
            "points_offer": self.options["points_offer"] == "vote",
            "hints": self.options["hints"],
            "max_rounds": self.options["max_rounds"],
        }

    def new_map(self, key: Array) -> Map:
        """The map of a new game: a random one, or the user's. Consumes key."""
        return maps.generate(key, self.tiles) if self._map is None else self._map

    def game_on(self, key: Array, map: Map) -> Position:
        """A new game on a map of ``self.tiles`` tiles. Consumes key."""
        return rules.start(
            key,
            jnp.asarray(map.neighbours),
            jnp.asarray(map.hex_of_tile),
            self.num_players,
            starter=self._starter,
            **self._options_in_position,
        )

    def init_from_map(self, key: Array, map: Map) -> State:
        """A new game on a given map (with ``self.tiles`` tiles), as from a pool of prepared ones. Consumes key."""
        return self.state_of(self.game_on(key, map))

    def init_game(self, key: Array) -> Position:
        """A new game. Consumes key."""
        map_key, deal_key = jax.random.split(key)
        return self.game_on(deal_key, self.new_map(map_key))

    def step_game(self, game: Position, action: Array, key: Array | None) -> Position:
        """See ``rules.step``. Consumes key."""
        assert key is not None
        return rules.step(game, action, key)

    def draw_chance(self, game: Position, action: Array, key: Array) -> Array:
        """See ``rules.draw``. Consumes key."""
        return rules.draw(game, action, key)

    def step_game_given(self, game: Position, action: Array, chance: Array) -> Position:
        """See ``rules.given``."""
        return rules.given(game, action, chance)

    def chance_possible(self, game: Position, action: Array, chance: Array) -> Array:
        """See ``rules.possible``."""
        return rules.possible(game, action, chance)

    def chance_to_text(self, action: int, chance: np.ndarray) -> str:
        """Of an attack both sums (``20:13``), of the end of a turn a tile for each die that fell (``3 3 7``)."""
        return notation.chance_to_text(action, chance)

    def chance_to_texts(self, actions: Sequence[int], chance: np.ndarray) -> list[str]:
        """The same for many actions."""
        return notation.chance_to_texts(actions, chance)

    def text_to_chance(self, action: int, text: str) -> np.ndarray:
        """The inverse. Raises: ValueError that says where; TypeError for no text."""
        return notation.text_to_chance(action, text, self.tiles)

    def legal_actions(self, game: Position) -> Array:
        """bool [tiles² + 3]."""
        return rules.legal_actions(game)

    def mover(self, game: Position) -> Array:
        """int32 []: in a vote the seat that has to answer."""
        return rules.mover(game)

    def outcome(self, game: Position) -> Outcome:
        """See ``rules.outcome``."""
        return rules.outcome(game)

    def observe_game(self, game: Position, player: Array) -> Array:
        """uint8 [tiles, players + 17 + tiles]; see ``observation``."""
        return observation.observe(game, player)

    def alive(self, state: State) -> Array:
        """bool [players]: who has a tile."""
        return rules.alive(state.game)

    def info(self, state: State, opponents: tuple[str, ...] = ()) -> dict[str, Array]:
        """``score`` int32 [players] (not 0 for a sole winner at the end), ``round`` int32 []; with the option ``hints``
        also ``odds`` float32 [actions]: the exact chance that each legal attack wins, 0 for other actions.
        """
        del opponents
        game: Position = state.game
        facts = {"score": rules.score(game), "round": jnp.minimum(game.round, game.max_rounds)}
        if self.options["hints"]:
            over = state.terminated | state.truncated
            odds = jnp.where(over, jnp.float32(0), rules.odds(game)).reshape(-1)
            facts["odds"] = jnp.concatenate([odds, jnp.zeros(3, jnp.float32)])
        return facts

    def action_to_text(self, action: int) -> str:
        """``12>7``, ``end``, ``accept``, ``decline``. Raises: ValueError."""
        return notation.action_to_text(action, self.tiles)

    def text_to_action(self, text: str) -> int:
        """The inverse. Raises: ValueError that says where; TypeError for no text."""
        return notation.text_to_action(text, self.tiles)

    def to_text(self, state: State) -> str:
        """One line of JSON; see ``notation``."""
        return notation.to_text(state.game)

    def from_text(self, text: str) -> State:
        """The inverse, for this environment's numbers of players and tiles. Raises: ValueError that says where."""
        if self._map is None:
            hexagons = np.full(maps.grid_shape(self.tiles), -1, np.int8)
        else:
            hexagons = np.asarray(self._map.hex_of_tile)
        position = notation.from_text(
            text,
            players=self.num_players,
            tiles=self.tiles,
            check_neighbours=lambda lists: np.asarray(maps.user_map(lists).neighbours),
            hex_of_tile=hexagons,
            **self._options_in_position,
        )
        return self._state_read(position)

    def scene(self, state: State, last_action: int | None = None, selected: int | None = None) -> Any:
        """See ``drawing``."""
        from audamir_envs.principalities import drawing

        return drawing.scene(self, state, last_action, selected)

    def places(self, state: State) -> Any:
        """See ``drawing``."""
        from audamir_envs.principalities import drawing

        return drawing.places(state)

    def board_text(self, state: State, last_action: int | None = None) -> str:
        """See ``drawing``."""
        from audamir_envs.principalities import drawing

        return drawing.board_text(self, state, last_action)


ENVIRONMENT = Principalities
