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
"""Faster functions are called several times for one sample, so that the clock can see them."""
_SAMPLES_A_TURN = 3
"""Samples that a function takes in a turn. The first finds the caches as another function left
them, the others as its own calls do. With one, functions of 0.3 to 0.7 ms were judged by whether
their sample was of one call or of three: a layer norm of 1024x2048 took 606 us so, beside 431 of
eager mode, and 315 beside 322 where both had three."""
_REFILLS = 10e-3
"""Calls as long as this, in seconds, fill the caches anew, and take one sample in a turn."""


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

    Each function is called a few times before the clock starts. Rounds have other orders, the same
    in each run: what ran before leaves more or less of the caches, so that one that always follows
    the same other would be judged by its neighbour.
    """
    once = {name: _once(function, clock) for name, function in functions.items()}
    repeats = {name: max(1, round(_SHORTEST_SAMPLE / taken)) for name, taken in once.items()}
    samples: dict[str, list[float]] = {name: [] for name in functions}
    end = time.perf_counter() + seconds
    rounds = 0
    order, orders = list(functions), Random(0)
    while rounds < least or time.perf_counter() < end:
        orders.shuffle(order)
        for name in order:
            for _ in range(1 if once[name] > _REFILLS else _SAMPLES_A_TURN):
                samples[name].append(_sample(functions[name], repeats[name], clock))
        rounds += 1
    return {name: Timing(min(taken), median(taken), len(taken)) for name, taken in samples.items()}


def _once(function: Callable[[], object], clock: Clock) -> float:
    """The least seconds of a few calls behind a first one."""
    function()
    return max(1e-9, min(_sample(function, 1, clock) for _ in range(_SAMPLES_A_TURN)))


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
