"""Loops over vectors: where they begin and end, the aligned start, the mask of the rest.

Stores past the caches must be aligned. Rows whose length is no multiple of a vector begin anywhere,
so a walk that stores so begins with the few elements in front of an aligned place.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from lamina.dialects.records import record
from lamina.passes.cost.sweep_limits import LEAST_RUN
from lamina.passes.schedule.emitter import Emitter, Index, LoopBody
from lamina.passes.schedule.memory import Envs, Memory, Sweep


@record
class Vectors:
    """So many vectors side by side from a position on; `mask` is of one that is partly filled."""

    at: Index
    count: int = 1
    mask: SSAValue | None = None


VectorStep = Callable[[Emitter, Vectors, list[SSAValue]], list[SSAValue]]
"""What a step over vectors does, with carried values; gives the values to carry on."""


def by_vectors(
    emit: Emitter,
    bounds: tuple[Index, Index],
    lanes: int,
    unroll: int,
    carried: list[SSAValue],
    step: VectorStep,
) -> list[SSAValue]:
    """Loops over a dimension in vectors: `unroll` a step, then one by one; the last is masked."""
    low, high = bounds
    end = whole_steps(emit, low, high, lanes)
    carried = whole_vectors(emit, (low, end), lanes, unroll, carried, step)
    return masked_vectors(emit, (end, high), lanes, carried, step) if lanes > 1 else carried


def whole_vectors(
    emit: Emitter,
    bounds: tuple[Index, Index],
    lanes: int,
    unroll: int,
    carried: list[SSAValue],
    step: VectorStep,
) -> list[SSAValue]:
    """Loops over so many whole vectors: `unroll` a step, then one by one."""
    low, end = bounds

    def steps(vectors: int) -> LoopBody:
        def body(inner: Emitter, index: Index, values: list[SSAValue]) -> list[SSAValue]:
            return step(inner, Vectors(index, vectors), values)

        return body

    middle = low
    if unroll > 1:
        middle = whole_steps(emit, low, end, lanes * unroll)
        carried = emit.loop(low, middle, lanes * unroll, carried, steps(unroll))
    return emit.loop(middle, end, lanes, carried, steps(1))


def masked_vectors(
    emit: Emitter,
    bounds: tuple[Index, Index],
    lanes: int,
    carried: list[SSAValue],
    step: VectorStep,
) -> list[SSAValue]:
    """A loop over a few positions, one vector a step, each of them masked."""
    low, high = bounds

    def body(inner: Emitter, index: Index, values: list[SSAValue]) -> list[SSAValue]:
        return step(inner, Vectors(index, 1, mask_below(inner, high, index, lanes)), values)

    return emit.loop(low, high, lanes, carried, body)


def each_vector(
    emit: Emitter,
    bounds: tuple[Index, Index],
    lanes: int,
    body: Callable[[Emitter, Vectors], None],
    unroll: int = 1,
) -> None:
    """`by_vectors` without values to carry on."""

    def step(inner: Emitter, at: Vectors, values: list[SSAValue]) -> list[SSAValue]:
        body(inner, at)
        return values

    by_vectors(emit, bounds, lanes, unroll, [], step)


def mask_below(emit: Emitter, high: Index, index: Index, lanes: int) -> SSAValue:
    """Which of the positions from `index` on are below `high`."""
    return emit.first_lanes(emit.minus(high, index), lanes)


def whole_steps(emit: Emitter, low: Index, high: Index, step: int) -> Index:
    """The end of the last whole step that fits."""
    if emit.divisor(low, high) % step == 0:
        return high
    length = emit.minus(high, low)
    return emit.plus(low, emit.times(emit.quotient(length, step), step))


def aligned_start(
    emit: Emitter,
    sweep: Sweep,
    place: int,
    lanes: int,
    memory: Memory,
    envs: Envs,
    bounds: tuple[Index, Index],
) -> Index | None:
    """The first position at which vectors of the sweep's streamed result are aligned, `low` if all.

    None if the run is known to be too short for stores past the caches that begin anywhere. With
    several streamed results it is the first of them that counts. `place` is the dimension that
    vectors run along; a buffer itself is taken for aligned.
    """
    low, high = bounds
    for stage in sweep.stages:
        dim = sweep.order[stage][place]
        for write in stage.writes:
            form = memory.layout(write)
            if lanes == 1 or write.memory not in memory.streamed or form.coefficient(dim) != 1:
                continue
            others = [c for d, c in form.terms if d != dim]
            if isinstance(low, int):
                others += [low + form.constant]
            if all(c % lanes == 0 for c in others):
                return low
            longest = sweep.extents[place]
            if isinstance(low, int) and isinstance(high, int):
                longest = high - low
            if longest < LEAST_RUN * lanes:
                return None
            at = memory.offset(emit, write, {**envs[stage], dim: low}, None)
            past = emit.remainder(at, lanes)
            missing = emit.remainder(emit.minus(lanes, past), lanes)
            return emit.least(emit.plus(low, missing), high)
    return low
