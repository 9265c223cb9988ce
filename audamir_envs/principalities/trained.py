"""What is trained for Principalities: its network, and the agents that play by it; see ``audamir_envs.learning``."""

from audamir_envs.principalities.lookahead import TilePolicy as Policy
from audamir_envs.principalities.lookahead import TileZero as Search
from audamir_envs.principalities.network import BLOCK, Config, init_parameters, make_network

__all__ = ["BLOCK", "Config", "Policy", "Search", "init_parameters", "make_network"]
