"""Times functions side by side: interleaved, so that all of them meet the same machine."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from statistics import median

Clock = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}
"""Seconds that pass, or that all threads of the process work: the latter for one thread on cores
with other work."""

_SHORTEST_SAMPLE = 1e-3
"""Faster functions are called several times for one sample, so that the clock can see them, and so
that most calls find the caches as their own calls leave them, not as another function's do."""


@dataclass(frozen=True)
class Timing:
    """Seconds for one call: the best and the median of `samples`."""

    best: float
    median: float
    samples: int

    def __str__(self) -> str:
        return f"{format_seconds(self.best)} / {format_seconds(self.median)}"


@dataclass(frozen=True)
class Comparison:
    """Our time and the peers', by name."""

    ours: Timing
    peers: Mapping[str, Timing]

    @property
    def fastest(self) -> str:
        """The peer with the best time."""
        return min(self.peers, key=lambda name: self.peers[name].best)

    @property
    def ratio(self) -> float:
        """The fastest peer's best time over ours: above 1, Lamina is faster."""
        return self.peers[self.fastest].best / self.ours.best


def interleave(
    functions: Mapping[str, Callable[[], object]],
    *,
    seconds: float = 3.0,
    least: int = 5,
    clock: Clock = time.perf_counter,
) -> dict[str, Timing]:
    """Calls the functions in turn for about `seconds` in all, at least `least` rounds.

    Each function is called twice before the clock starts. Rounds have other orders, the same in
    each run: what ran before leaves more or less of the caches, so that one that always follows
    the same other would be judged by its neighbour.
    """
    repeats = {name: _repeats(function, clock) for name, function in functions.items()}
    samples: dict[str, list[float]] = {name: [] for name in functions}
    end = time.perf_counter() + seconds
    rounds = 0
    order, orders = list(functions), Random(0)
    while rounds < least or time.perf_counter() < end:
        orders.shuffle(order)
        for name in order:
            samples[name].append(_sample(functions[name], repeats[name], clock))
        rounds += 1
    return {name: Timing(min(taken), median(taken), len(taken)) for name, taken in samples.items()}


def _repeats(function: Callable[[], object], clock: Clock) -> int:
    function()
    once = _sample(function, 1, clock)
    return max(1, round(_SHORTEST_SAMPLE / max(once, 1e-9)))


def _sample(function: Callable[[], object], repeats: int, clock: Clock) -> float:
    start = clock()
    for _ in range(repeats):
        function()
    return (clock() - start) / repeats


def format_seconds(seconds: float) -> str:
    """Three digits with a fitting unit: `1.23 ms`."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def print_table(title: str, timings: Mapping[str, Timing], baseline: str) -> None:
    """One line for each function: best, median, and how many times as fast as `baseline`."""
    print(title)
    width = max(len(name) for name in timings)
    for name, timing in timings.items():
        ratio = timings[baseline].best / timing.best
        print(
            f"  {name.ljust(width)}  best {format_seconds(timing.best):>8}"
            f"  median {format_seconds(timing.median):>8}  {ratio:5.2f} x {baseline}"
        )
