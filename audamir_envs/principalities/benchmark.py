"""What ``audamir bench`` measures of Principalities."""

from audamir_envs.benchmark.contract import Benchmark, Setup

BENCHMARK = Benchmark(
    setups={"principalities 4p": Setup({"players": 4}, rival="backgammon")},
    growth={"players": ("principalities", "players", (2, 3, 4, 5, 6, 7, 8))},
)
