"""What ``audamir bench`` measures of Colony."""

from audamir_envs.benchmark.contract import Benchmark, Reference, Setup


def _plies_per_second(plies: int, seed: int) -> float:
    from audamir_envs.colony.reference import run_reference

    run = run_reference(plies, seed)
    return run.plies / run.seconds


BENCHMARK = Benchmark(
    setups={"colony": Setup(rival="othello")},
    searched={},
    reference=Reference("colony in C++", _plies_per_second),
)
