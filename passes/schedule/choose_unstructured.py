"""How a scatter, scan, sort or reduction of segments runs."""

from __future__ import annotations

from math import isqrt, log, prod

from xdsl.dialects.builtin import MemRefType

from lamina.codegen.target import Target
from lamina.dialects.loop import FourierOp, ScanOp, ScatterOp, SegmentReduceOp, SortOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.kernel_nests import taken_of
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.schedules import UnstructuredTasks
from lamina.passes.cost.unstructured_cost import (
    LEAST_TASKS,
    LEFT_OUT,
    LINES,
    LOOK_COST,
    MOST_STEPS,
    NEIGHBOURS,
    OPEN_RANKED,
    PARALLEL_WORK,
    RANK_REGISTERS,
    RANKED,
    REGISTER_SHARE,
    SAMPLE_SHARE,
    unstructured_work,
)
from lamina.passes.memory.plan_memory import byte_size
from lamina.passes.schedule.choose_fourier import choose_fourier
from lamina.passes.schedule.choose_sweeps import fitting_lanes
from lamina.passes.schedule.live_rows import live_digits
from lamina.passes.schedule.scatter_rows import rows_are_runs
from lamina.passes.schedule.segment_reduce import carried_arguments, fetchable, varying_values
from lamina.passes.schedule.sort import RANKING
from lamina.passes.schedule.top import has_vectors
from lamina.passes.schedule.top_of_rows import TopOfRows
from lamina.passes.schedule.unstructured_ops import Unstructured
from lamina.passes.schedule.words import WORD_BITS, word_lanes


def choose_unstructured(
    op: Unstructured, given: UnstructuredTasks, target: Target, *, forks: bool
) -> UnstructuredTasks:
    """The schedule of the kernel; what is given stays."""
    tasks = UnstructuredTasks(parallel=forks and unstructured_work(op) >= PARALLEL_WORK)
    match op:
        case ScanOp():
            tasks = tasks.completed_by(UnstructuredTasks(jam=_lines(op)))
        case ScatterOp() if rows_are_runs(op):
            tasks = _rows(op, target).completed_by(tasks)
        case SegmentReduceOp() if len(op.extents) > 2:
            tasks = _segments(op, target).completed_by(tasks)
        case SortOp() if prod(shape_of(op.input)):
            tasks = _sort(op, given, target).completed_by(tasks)
        case FourierOp() if op.given.count:
            tasks = choose_fourier(op, target).completed_by(tasks)
        case _:
            pass
    return given.completed_by(tasks)


def _lines(op: ScanOp) -> int | None:
    lines = prod(extent for dim, extent in enumerate(op.extents) if dim != op.dim)
    choices = LINES if op.dim == len(op.extents) - 1 else NEIGHBOURS
    fitting = (n for n in choices if lines % n == 0 and lines // n >= LEAST_TASKS)
    return next(fitting, None)


def _rows(op: ScatterOp, target: Target) -> UnstructuredTasks:
    """Vectors of the runs to which rows go."""
    width = op.extents[-1]
    lanes = _column_lanes(op, width, target)
    most = max(1, target.vector_registers // REGISTER_SHARE // len(op.block.args))
    unroll = min(most, LINES[0], -(-width // lanes))
    return UnstructuredTasks(
        lanes=lanes if lanes > 1 else None, unroll=unroll if unroll > 1 and lanes > 1 else None
    )


def _column_lanes(op: OrderedNest, width: int, target: Target) -> int:
    """Elements of a vector along so many columns."""
    kinds = [str(v.type) for v in op.yielded] + [str(v.type) for v in op.block.args]
    lanes = target.lanes(64 if "f64" in kinds else 32)
    memory = [v.type.element_type for v in op.operands if isinstance(v.type, MemRefType)]
    lanes = min(lanes, max(1, target.lanes(min(kind.bitwidth for kind in memory))))  # pyright: ignore
    return fitting_lanes(lanes, width)


def _segments(op: SegmentReduceOp, target: Target) -> UnstructuredTasks:
    """Vectors of columns, and the tables beyond the nearest cache."""
    varying, width = varying_values(op), op.extents[-1]
    lanes = _column_lanes(op, width, target)
    carried = sum(v in varying for v in carried_arguments(op))
    most = max(1, target.vector_registers // REGISTER_SHARE // max(1, carried))
    whole = -(-width // lanes)
    far = {
        number
        for number, _ in fetchable(op)
        if isinstance(kind := op.sources[number].type, MemRefType)
        and byte_size(kind) > target.l1d_bytes
    }
    return UnstructuredTasks(
        lanes=lanes, unroll=-(-whole // -(-whole // most)), prefetch=tuple(sorted(far)) or None
    )


def _sort(op: SortOp, given: UnstructuredTasks, target: Target) -> UnstructuredTasks:
    *rows, length = shape_of(op.input)
    window = op.window
    algorithm = given.algorithm or _algorithm(op, prod(rows), length, target)
    kind = op.input.type
    assert isinstance(kind, MemRefType)
    element = kind.element_type
    lanes, vectors = 1, None
    if algorithm == "rows":
        lanes = target.lanes(64)
    elif algorithm in ("merge", "rank"):
        lanes = word_lanes(element, target.lanes(WORD_BITS), length)
    elif algorithm in ("insertion", "selection") and has_vectors(element):
        lanes = target.lanes(element.bitwidth)
    lanes = given.lanes or lanes
    if lanes > 1 and algorithm in RANKING:
        vectors = target.vector_registers // RANK_REGISTERS
    few = left_out = sample = None
    if algorithm == "selection" and window is not None and taken_of(op) is not None:
        few = next((n for n in range(window[1], 0, -1) if is_few(n, length)), None)
        left_out = LEFT_OUT if window == (0, length) else None
    if algorithm == "selection" and window is not None and 1 < lanes <= target.lanes(32):
        sample = _sample(sum(window), length) if target.compresses_vectors else None
    return UnstructuredTasks(
        algorithm=algorithm,
        lanes=lanes if lanes > 1 else None,
        sample=sample,
        few=few,
        left_out=left_out,
        unroll=vectors,
    )


def _sample(wanted: int, length: int) -> int | None:
    """Elements of a row by which most of the others are left out, if `wanted` are few.

    Of a row without order, `wanted * length / sample` are left: with its square root in place of
    the sample, that is as many, and both together are fewest.
    """
    sample = isqrt(wanted * length)
    return sample if sample * SAMPLE_SHARE <= length else None


def _algorithm(op: SortOp, rows: int, length: int, target: Target) -> str:
    window, lanes = op.window, target.lanes(64)
    wanted = window or (0, length)
    fits = 2 <= lanes <= rows and TopOfRows.fits(op.input, length, wanted)
    if fits and TopOfRows.of(length, wanted, lanes).kept * length <= MOST_STEPS * lanes:
        return "rows"
    if window is None:
        return "merge"
    if window[0] == 0 and is_few(window[1], length):
        return "insertion"
    kind = op.input.type
    assert isinstance(kind, MemRefType)
    ranked = (OPEN_RANKED if _is_open(op) else RANKED) * word_lanes(
        kind.element_type, lanes, length
    )
    return "rank" if length <= ranked else "selection"


def _is_open(op: SortOp) -> bool:
    """Whether the number of elements of a row comes with the call."""
    last = len(op.row_extents) - 1
    return any(digit.count is not None for digit in live_digits(op).get(last, ()))


def is_few(count: int, length: int) -> bool:
    """Whether keeping the first `count` in order is cheaper than finding them by their digits.

    In a row without order, element n goes before the last kept one with probability count / n, and
    moves as many at most.
    """
    insertions = count * (1 + log(length / count))
    return insertions * count <= LOOK_COST * length
