"""How Fourier transforms of rows run: rows in lanes, and the steps of a size."""

from __future__ import annotations

from functools import lru_cache
from math import inf

from xdsl.dialects.builtin import AnyFloat, MemRefType

from lamina.codegen.target import Target
from lamina.dialects.loop.fourier import FourierOp
from lamina.dialects.loop.schedules import UnstructuredTasks
from lamina.passes.cost.unstructured_cost import (
    FACTOR_REGISTERS,
    GROUP_LANES,
    SET_BYTES,
    SET_LINES,
    SET_OPERATIONS,
    STEP_OPERATIONS,
)
from lamina.passes.schedule.butterflies import butterfly_operations, is_prime
from lamina.passes.schedule.fourier import most_lanes


def choose_fourier(op: FourierOp, target: Target) -> UnstructuredTasks:
    """Full vectors where there are as many rows, and the factors that take the least."""
    kind = op.input.type
    assert isinstance(kind, MemRefType)
    element = kind.element_type
    assert isinstance(element, AnyFloat)
    lanes = _lanes(op, target.lanes(element.bitwidth))
    apart = 2 * lanes * element.bitwidth // 8
    factors = fastest_factors(op.points, target.vector_registers, apart)[1]
    return UnstructuredTasks(lanes=lanes, factors=factors)


def _lanes(op: FourierOp, most: int) -> int:
    """Lanes of a vector: fewer where the last ones would do again what others have done."""
    neighbours = op.given.count if op.columns is None else op.given.columns
    sizes = [1 << power for power in range(most.bit_length())]
    fitting = [lanes for lanes in sizes if lanes <= min(most, most_lanes(op))]
    return min(fitting, key=lambda lanes: -(-neighbours // lanes) * (lanes + GROUP_LANES))


@lru_cache
def fastest_factors(points: int, registers: int, apart: int) -> tuple[float, tuple[int, ...]]:
    """The operations for each number of a transform, and the factors that take the least.

    The longer ones stand last, where numbers are not turned, unless their results lie in one set of
    the nearest cache. `apart` are the bytes from a result of these steps to the next one.
    """
    best: tuple[float, tuple[int, ...]] = (inf, ())
    for factor in range(1, points + 1):
        if points % factor:
            continue
        last = factor == points
        held = (2 if last else FACTOR_REGISTERS) * factor
        if (held > registers and not is_prime(factor)) or (factor == 1 and not last):
            continue
        cost = STEP_OPERATIONS + butterfly_operations(factor) / factor
        if last and factor > SET_LINES and apart % SET_BYTES == 0:
            cost += SET_OPERATIONS
        others: tuple[int, ...] = ()
        if not last:
            rest, others = fastest_factors(points // factor, registers, apart * factor)
            cost += rest
        best = min(best, (cost, (factor, *others)))
    return best
