"""What ``audamir bench`` measures of Stigmergy."""

from audamir_envs.benchmark.contract import Benchmark, Setup

BENCHMARK = Benchmark(
    setups={
        "stigmergy side 5": Setup({"side": 5}, rival="hex"),
        "stigmergy side 8": Setup({"side": 8}, rival="hex", alone=False),
    },
    searched={"side": 5},
    growth={"side of the board": ("stigmergy", "side", (2, 3, 4, 5, 6, 7, 8, 10, 12))},
)
