"""Schedule of `loop.segment_reduce`: segments in parallel, vectors along the last dimension.

What is carried along a segment stays in registers: a few vectors of neighbouring columns at once,
whose rows are walked again for the columns behind them. What is the same in every column is
computed once for each position. Rows of large tables are fetched ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from lamina.dialects.loop import IndexOp, ReadOp, SegmentReduceOp
from lamina.dialects.loop.access import row_major_strides
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.scalar_ops import compare_op
from lamina.dialects.loop.scheduled import PrefetchOp
from lamina.dialects.loop.schedules import UnstructuredTasks
from lamina.dialects.records import mutable_record, record
from lamina.passes.cost.sweep_limits import ROWS_AHEAD
from lamina.passes.memory.plan_memory import byte_size
from lamina.passes.schedule.body import Body, Lane, choose
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_domain import LiveDomain
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.peel import mask_below
from lamina.passes.schedule.points import OpPoint, needed_for, varying_along, with_tables
from lamina.passes.schedule.prefetch import LINE_BYTES, kept_inside
from lamina.passes.schedule.strided_access import Elements


def schedule_segments(
    emit: Emitter, op: SegmentReduceOp, memory: Memory, tasks: UnstructuredTasks
) -> None:
    """Emit a task for each segment; its bounds are checked."""
    if 0 in op.kept_extents:
        return
    plan = _Plan.of(op, tasks)
    domain, middle = LiveDomain.of(emit, op, memory), range(2, len(op.extents) - 1)

    def segment(inner: Emitter, number: Index) -> None:
        number = domain.row(inner, number, [0])
        low, high = _bounds(inner, op, memory, number)

        def line(within: Emitter, at: list[Index]) -> None:
            _Line(op, memory, plan, [number, *at], (low, high)).run(within)

        domain.over_points(inner, middle, line)

    emit.tasks(domain.count(emit, [0]), segment, parallel=tasks.parallel)


def _bounds(
    emit: Emitter, op: SegmentReduceOp, memory: Memory, number: Index
) -> tuple[SSAValue, SSAValue]:
    """First position of a segment and the one behind its last; none where the check fails."""
    flat = memory.flat[op.offsets]
    low, high = emit.read_index(flat, number), emit.read_index(flat, emit.plus(number, 1))
    count = emit.value(op.extents[1])
    # Without signs: what is negative is above any count.
    ascends = emit.add(compare_op(low, high, "ule"))
    fits = emit.add(arith.AndIOp(ascends, emit.add(compare_op(high, count, "ule"))))
    message = f"offsets of segments must not fall, and lie between 0 and {op.extents[1]}"
    emit.run(cf.AssertOp(fits, message))
    return low, choose(emit, fits, high, low)


@record
class _Plan:
    """How the last dimension is cut up, and which values of the body differ along it."""

    lanes: int
    vectors: int
    """Vectors of columns walked at once."""
    varying: frozenset[SSAValue]
    """Values of the body that differ from column to column."""
    fetched: tuple[_Fetched, ...] = ()
    """Reads of tables whose rows are fetched ahead."""

    @staticmethod
    def of(op: SegmentReduceOp, tasks: UnstructuredTasks) -> _Plan:
        """What the schedule asks for."""
        if len(op.extents) == 2:
            return _Plan(1, 1, frozenset())
        lanes = tasks.lanes or 1
        if lanes.bit_count() != 1:
            raise illegal(op, f"lanes = {lanes}: a power of 2")
        wanted, found = tasks.prefetch or (), list(fetchable(op))
        if set(wanted) - {number for number, _ in found}:
            raise illegal(op, f"prefetch: of its tables, {sorted(n for n, _ in found)} may be")
        fetched = tuple(read for number, read in found if number in wanted)
        return _Plan(lanes, tasks.unroll or 1, varying_values(op), fetched)


_Fetched = tuple[ReadOp, Sequence[SSAValue], list[Operation]]
"""A read of a row of a table: its indices but the last, and the ops that compute them."""


def fetchable(op: SegmentReduceOp) -> Iterator[tuple[int, _Fetched]]:
    """Tables whose rows are read along, by number, with a read whose place the position says."""
    varying = varying_values(op)
    arguments = list(op.block.args[len(op.inputs) :])
    carried = set(carried_arguments(op))
    for read in op.block.ops:
        if not isinstance(read, ReadOp) or not isinstance(read.indices[-1].owner, IndexOp):
            continue
        *fixed, last = read.indices
        ops = needed_for(op, fixed)
        taken = {v for inner in ops for v in inner.operands} | set(fixed)
        if (
            last in varying
            and not taken & (carried | varying)
            and not any(isinstance(inner, ReadOp) for inner in ops)
        ):
            yield arguments.index(read.source), (read, fixed, ops)  # pyright: ignore


def carried_arguments(op: SegmentReduceOp) -> Sequence[SSAValue]:
    """Arguments of the body that a position hands to the next."""
    return op.block.args[len(op.inputs) + len(op.sources) :]


def varying_values(op: SegmentReduceOp) -> frozenset[SSAValue]:
    """Values that depend on the last dimension, also by what a position hands to the next.

    Results always do: they are written in vectors.
    """
    carried = carried_arguments(op)
    handed = list(zip(carried, op.yielded, strict=True))
    return varying_along(op, len(op.extents) - 1, carried[: len(op.outs)], handed)


@mutable_record
class _Line:
    """One segment at one place of the dimensions between positions and columns."""

    op: SegmentReduceOp
    memory: Memory
    plan: _Plan
    place: list[Index]
    """Of the segment and the dimensions in the middle."""
    bounds: tuple[Index, Index]

    def run(self, emit: Emitter) -> None:
        """All columns, in blocks of vectors."""
        if len(self.op.extents) == 2:
            self._block(emit, 0, 1, False)
            return
        lanes, vectors, width = self.plan.lanes, self.plan.vectors, self.op.extents[-1]
        whole = width - width % (lanes * vectors)

        def block(inner: Emitter, at: Index) -> None:
            self._block(inner, at, vectors, False)

        emit.each(0, whole, lanes * vectors, block)
        if whole < width:
            self._block(emit, whole, -(-(width - whole) // lanes), bool(width % lanes))

    def _block(self, emit: Emitter, column: Index, vectors: int, cut: bool) -> None:
        """`vectors` vectors from `column` on, the last of them `cut` by the end of the row."""
        op, plan = self.op, self.plan
        columns = [emit.plus(column, k * plan.lanes) for k in range(vectors)]
        masks: list[SSAValue | None] = [None] * vectors
        if cut:
            masks[-1] = mask_below(emit, op.extents[-1], columns[-1], plan.lanes)
        carried = carried_arguments(op)
        starts: list[SSAValue] = []
        for argument, start in zip(carried, op.starts, strict=True):
            if argument in plan.varying:
                starts += [emit.splat(start, plan.lanes)] * vectors
            else:
                starts.append(emit.constant(start))

        def step(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            return self._point(inner, at, columns, masks, values)

        made = emit.loop(*self.bounds, 1, starts, step)
        strides = row_major_strides(op.kept_extents)
        for number, out in enumerate(op.outs):
            for k in range(vectors):
                position = [*self.place, columns[k]] if len(op.extents) > 2 else self.place
                form = Linear.of(dict(enumerate(strides)), 0)
                at = emit.linear(form, dict(enumerate(position)))
                value = made[number * vectors + k]
                flat = self.memory.flat[out]
                store(emit, value, Elements(flat, at, 1, plan.lanes, masks[k]))

    def _point(
        self,
        emit: Emitter,
        at: Index,
        columns: Sequence[Index],
        masks: Sequence[SSAValue | None],
        values: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """What one position hands on, from what it gets: each carried value's vectors in turn."""
        op, plan = self.op, self.plan
        carried, vectors = carried_arguments(op), len(columns)
        ops = needed_for(op, op.yielded)
        body = Body(plan.lanes)
        flat = with_tables(op, self.memory)
        # Of `values`, each argument that varies has a vector for each column, others one scalar.
        taken = iter(values)
        of_column: dict[SSAValue, list[SSAValue]] = {}
        for argument in carried:
            if argument in plan.varying:
                of_column[argument] = [next(taken) for _ in range(vectors)]
            else:
                body.values[argument] = Lane(next(taken), True)
        position: list[Index] = [self.place[0], at, *self.place[1:]]
        self._bind(emit, body, position, False, None)
        shared: list[Operation] = [o for o in ops if not any(r in plan.varying for r in o.results)]
        body.run(emit, shared, flat, None)
        own = [o for o in ops if any(r in plan.varying for r in o.results)]
        self._fetch(emit, at, columns[0], vectors)
        for inner in own:
            if isinstance(inner, ReadOp):
                body.check_uniform(emit, inner)
        made: list[list[SSAValue]] = [[] for _ in carried]
        for k, (column, mask) in enumerate(zip(columns, masks, strict=True)):
            here = body.fork()
            for argument, held in of_column.items():
                here.values[argument] = Lane(held[k], plan.lanes == 1)
            self._bind(emit, here, [*position, column], True, mask)
            here.run(emit, own, flat, mask)
            for held, value, argument in zip(made, op.yielded, carried, strict=True):
                here.materialize(emit, value)
                if argument in plan.varying:
                    held.append(here.vector(emit, value))
                elif not held:
                    held.append(here.values[value].value)
        return [v for held in made for v in held]

    def _fetch(self, emit: Emitter, at: Index, column: Index, vectors: int) -> None:
        """Ask for these columns of the rows that a later position reads of large tables."""
        op, plan = self.op, self.plan
        arguments = op.block.args[len(op.inputs) :]
        sources: dict[SSAValue, SSAValue] = dict(zip(arguments, op.sources, strict=False))
        later = emit.least(emit.plus(at, ROWS_AHEAD), op.extents[1] - 1)
        for read, fixed, ops in plan.fetched:
            body = Body(1)
            self._bind(emit, body, [self.place[0], later, *self.place[1:]], False, None)
            body.run(emit, ops, {}, None)
            memory = sources[read.source]
            kind = memory.type
            assert isinstance(kind, MemRefType)
            shape = kind.get_shape()
            start: Index = column
            rows = zip(fixed, shape, row_major_strides(shape), strict=False)
            for index, extent, stride in rows:
                body.materialize(emit, index)
                inside = kept_inside(emit, body.values[index].value, extent)
                start = emit.plus(start, emit.times(inside, stride))
            element = byte_size(kind) // max(1, prod(shape))
            step = max(1, LINE_BYTES // element)
            for offset in range(0, vectors * plan.lanes, step):
                place = emit.value(emit.plus(start, offset))
                emit.run(PrefetchOp(self.memory.flat[memory], [place]))

    def _bind(
        self,
        emit: Emitter,
        body: Body,
        position: Sequence[Index],
        wide: bool,
        mask: SSAValue | None,
    ) -> None:
        """Reads and indices at a position: those that differ from column to column if `wide`,
        else the others."""
        OpPoint(self.op, self.memory, position, self.plan.varying).bind(emit, body, wide, mask)
