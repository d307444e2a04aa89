"""Reductions into a few columns, fewer than a vector has lanes: rows side by side fill vectors.

    loop.generic (i, j) in [n, 5] reads(%x[i, j]) writes([j] add)
        #loop.schedule<vectorize = d0 x 16, jam = d1 x 5>

Sixteen rows of five columns are five whole vectors, read as they lie; each has an accumulator of
its own. A lane of one is always of the same column, and at the end lanes of a column are joined:
by halves of the rows, until one row is left. A vector of one column alone
would gather its lanes; one of the columns of a row would be two thirds empty, and its additions
wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, VectorType
from xdsl.ir import SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import IndexOp
from lamina.dialects.loop.bounded_dims import mask_bound
from lamina.dialects.loop.bounds import ends_of, masks_of
from lamina.dialects.loop.clauses import By
from lamina.passes.schedule.body import Body, Lane, gather, load
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Envs, Memory, Sweep
from lamina.passes.schedule.peel import Vectors, whole_steps, whole_vectors
from lamina.passes.schedule.stages import Access, Stage
from lamina.passes.schedule.step import Step
from lamina.passes.schedule.strided_access import Elements, shuffled
from lamina.passes.schedule.sweep import SweepEmitter


def joins_columns(sweep: Sweep) -> bool:
    """Whether a sweep has vectors over rows of the columns that it jams."""
    jam = sweep.schedule.jam
    return jam is not None and bool(sweep.kept) and sweep.place not in sweep.kept


def joined_columns(sweep: Sweep) -> int:
    """How many columns have accumulators of their own side by side; 1 if vectors are of one."""
    jam = sweep.schedule.jam
    return jam.count if jam is not None and joins_columns(sweep) else 1


def narrow_rows(sweep: Sweep, columns: int, lanes: int) -> int | None:
    """The reduced dimension whose rows of a few columns fill vectors together, if there is one."""
    stage = sweep.stages[0]
    if stage.schedule.jam is not None or stage.schedule.rfactor is not None:
        return None
    for rows in sweep.order[stage]:
        fills = stage.extents[rows] >= lanes > 1 and _is_dense(stage, rows, columns, lanes)
        if fills and narrow_refusal(sweep, By(columns, stage.extents[columns]), rows) is None:
            return rows
    return None


def narrow_refusal(sweep: Sweep, by: By, rows: int) -> str | None:
    """Why the columns of a reduction with vectors along `rows`, which it reduces, cannot be jammed;
    None if they can."""
    stage = sweep.stages[0]
    kept = [sweep.order[stage][p] for p in sweep.kept]
    if by.dim not in kept or by.count != stage.extents[by.dim]:
        return "with vectors along a reduced dimension, all of a kept one"
    positions = {op.dim.value.data for op in block_ops(stage.op.block) if isinstance(op, IndexOp)}
    if positions & {by.dim, rows} or stage.op.sources or len(sweep.stages) > 1 or sweep.followers:
        return "of a nest alone whose body asks for no position in either, and looks nothing up"
    if any(read.pad is not None for read in stage.reads) or stage.op.monoids:
        return "of reads without a pad, by combiners that have a name"
    if any(write.stride(rows) for write in stage.writes):
        return "of a nest whose results are all reduced along the vectors"
    return None


def _is_dense(stage: Stage, rows: int, columns: int, lanes: int) -> bool:
    """Whether rows of a few columns lie behind one another in what a nest reads, and all else that
    it reads is the same for all rows, or for all columns, or a mask of the rows that count."""
    width = stage.extents[columns]
    if not 1 < width <= lanes or rows not in stage.reduced or columns in stage.reduced:
        return False
    found = False
    for number, read in enumerate(stage.reads):
        strides = read.stride(rows), read.stride(columns)
        if read.pad is not None or read.walks_open_axis(rows, columns):
            return False
        found |= strides == (width, 1)
        if (
            strides not in ((width, 1), (1, 0))
            and strides[0] != 0
            and not _counts_rows(stage, number, rows)
        ):
            return False
    return found


def _counts_rows(stage: Stage, number: int, rows: int) -> bool:
    """Whether a read is a mask that is true up to where the loop over the rows ends."""
    above = stage.op.parent_op()
    while above is not None and above.name != "func.func":
        above = above.parent_op()
    if above is None:
        return False
    arguments = above.regions[0].block.args
    masks: dict[SSAValue, int] = {arguments[m]: n for m, n in masks_of(above).items()}
    bounds = ends_of(stage.op, stage.op.extents).get(rows, ())
    return mask_bound(stage.op, number, rows, masks) in set(bounds)


class NarrowColumnsEmitter(SweepEmitter):
    """Emits a single stage's reduction into the columns that its schedule jams."""

    def __init__(self, sweep: Sweep, memory: Memory, outputs: set[SSAValue]) -> None:
        super().__init__(sweep, memory, outputs)
        assert sweep.schedule.jam is not None
        (self.stage,) = sweep.stages
        self.columns = sweep.schedule.jam
        self.rows = sweep.order[self.stage][self.place]
        self.copies = self.columns.count * self.unroll
        self.held: dict[tuple[Access, int], Lane] = {}
        """What is the same for all rows, by the elements in front of a vector."""
        self.counted: SSAValue | None = None
        """Which rows of a block there are, where these are not all."""
        self.shift = 0
        """Elements of a block of rows in front of the vector that is computed."""

    def run(self, emit: Emitter, envs: Envs, ranges: Sequence[tuple[Index, Index]]) -> None:
        place = self.sweep.order[self.stage].index(self.columns.dim)
        outer = [p for p in range(len(ranges)) if p not in (place, self.place)]
        first = self._bind(envs, place, 0)
        start = self._start(emit) * self.copies
        totals = self._nest(emit, first, ranges, outer, start, whole=True)
        self._join(emit, first, totals)

    def _vector_loop(
        self,
        emit: Emitter,
        rows: Sequence[Envs],
        bounds: tuple[Index, Index] | None,
        carried: list[SSAValue],
    ) -> list[SSAValue]:
        """Blocks of as many rows as there are lanes; the last is masked."""
        assert bounds is not None
        (envs,), (low, high) = rows, bounds
        prepared = {self.stage: self._prepare(emit, self.stage, envs[self.stage])}
        width, count = self.columns.count, len(self.reductions)
        self._hold(emit, envs[self.stage])

        def step(inner: Emitter, at: Vectors, values: list[SSAValue]) -> list[SSAValue]:
            made = list(values)
            for copy in range(at.count):
                row = inner.plus(at.at, copy * self.lanes)
                self.counted = at.mask and inner.first_lanes(inner.minus(high, row), self.lanes)
                for number in range(width):
                    self.shift = number * self.lanes
                    own = (copy * width + number) * count
                    part = slice(own, own + count)
                    one = Vectors(row, 1, self._mask(inner, row, high) if at.mask else None)
                    made[part] = self._step(inner, envs, prepared, one, made[part])
            return made

        def rest(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            return step(inner, Vectors(at, 1, inner.first_lanes(0, self.lanes)), values)

        end = whole_steps(emit, low, high, self.lanes)
        carried = whole_vectors(emit, (low, end), self.lanes, self.unroll, carried, step)
        return emit.loop(end, high, self.lanes, carried, rest)

    def _hold(self, emit: Emitter, env: Env) -> None:
        """Read what differs from column to column alone in front of the loop."""
        self.held = {}
        for access in self.stage.reads:
            rows, columns = (self.memory.varies(access, d) for d in (self.rows, self.columns.dim))
            if rows or not columns or access.pad is not None:
                continue
            at = Step(self.stage, Body(self.lanes), {**env, self.rows: 0}, self.rows, None, {})
            for number in range(self.columns.count):
                self.shift = number * self.lanes
                self.held[access, self.shift] = self._elements(emit, access, at)

    def _mask(self, emit: Emitter, row: Index, high: Index) -> SSAValue:
        left = emit.times(emit.minus(high, row), self.columns.count)
        return emit.first_lanes(emit.minus(left, self.shift), self.lanes)

    def _varies(self, access: Access, dim: int) -> bool:
        return super()._varies(access, dim) or super()._varies(access, self.columns.dim)

    def _elements(self, emit: Emitter, access: Access, at: Step) -> Lane:
        if (held := self.held.get((access, self.shift))) is not None:
            return held
        width = self.columns.count
        steps = [self.memory.lane_stride(access, dim) for dim in (self.rows, self.columns.dim)]
        start = self.memory.offset(emit, access, at.env, None)
        flat = self.memory.flat[access.memory]
        if steps == [width, 1]:
            return load(emit, Elements(flat, emit.plus(start, self.shift), 1, self.lanes, at.mask))
        if steps == [1, 0]:  # one of each row, for all of its columns
            of_rows = load(emit, Elements(flat, start, 1, self.lanes, self.counted)).value
            order = [(self.shift + lane) // width for lane in range(self.lanes)]
            return Lane(shuffled(emit, of_rows, of_rows, order), False)
        places = [divmod(self.shift + lane, width) for lane in range(self.lanes)]
        numbers = [row * steps[0] + column * steps[1] for row, column in places]
        kind = VectorType(IndexType(), [self.lanes])
        offsets = emit.constant(DenseIntOrFPElementsAttr.from_list(kind, numbers))
        return Lane(gather(emit, Elements(flat, start, 1, self.lanes, at.mask), offsets), False)

    def _join(self, emit: Emitter, envs: Envs, carried: list[SSAValue]) -> None:
        """Join the rows of a block, and store a total of each column."""
        width, count = self.columns.count, len(self.reductions)
        sets = self.accumulators.parts(carried)
        block = [self.accumulators.joined(emit, sets[number::width]) for number in range(width)]
        rows = self.lanes
        while rows > 1:
            rows //= 2
            halves = range(0, rows * width, self.lanes)
            block = [
                self.accumulators.combined(
                    emit,
                    self._from(emit, block, start),
                    self._from(emit, block, rows * width + start),
                )
                for start in halves
            ]
        for (stage, number), total in zip(self.reductions, block[0][:count], strict=True):
            access = stage.writes[number]
            if access.memory in self.memory.dead and access.memory not in self.outputs:
                continue
            kind = access.element
            for column in range(width):
                one = emit.add(vector.ExtractOp(total, [column], kind))
                self.memory.write(emit, access, {**envs[stage], self.columns.dim: column}, one)

    def _from(self, emit: Emitter, block: list[list[SSAValue]], start: int) -> list[SSAValue]:
        """Of each result the vector that begins at an element of a block; what is behind the block
        stands for any number."""
        number, shift = divmod(start, self.lanes)
        if shift == 0:
            return block[number]
        following = block[min(number + 1, len(block) - 1)]
        order = range(shift, shift + self.lanes)
        return [shuffled(emit, *both, order) for both in zip(block[number], following, strict=True)]
