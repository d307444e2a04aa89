"""Rows of a scatter: its points along the last dimension.

What is the same along a row is computed once in front of it. Where all points of a row go to
neighbouring elements, in their order, the place is checked once, and the row is in vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from lamina.dialects.loop import IndexOp, ReadOp, ScatterOp
from lamina.dialects.loop.access import row_major_strides, shape_of
from lamina.dialects.loop.body_ops import out_of_range
from lamina.dialects.loop.bounds import masks_of
from lamina.dialects.loop.scatter_masks import masks_within_rows
from lamina.dialects.loop.schedules import UnstructuredTasks
from lamina.dialects.records import record
from lamina.passes.schedule.body import Body, load
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.compare import compare
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_domain import LiveDomain
from lamina.passes.schedule.live_rows import ends_of, kept_digits, live_digits
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.peel import Vectors, each_vector
from lamina.passes.schedule.points import OpPoint, needed_for, varying_along, with_tables
from lamina.passes.schedule.scatter_checks import kept_place, write_kept
from lamina.passes.schedule.strided_access import Elements


def row_values(op: ScatterOp) -> frozenset[SSAValue]:
    """Values of the body that differ along the last dimension."""
    return varying_along(op, len(op.extents) - 1, op.block.args[-1:])


def rows_are_runs(op: ScatterOp) -> bool:
    """Whether each row goes to elements side by side: the last dimension is the last index, and
    nothing else that says where, or whether, differs along it."""
    if not op.extents or not op.places:
        return False
    *others, last = op.places
    others += [] if op.mask is None else [op.mask]
    owner, along = last.owner, len(op.extents) - 1
    if not isinstance(owner, IndexOp) or owner.dim.value.data != along:
        return False
    varying = row_values(op)
    fits = op.extents[along] <= shape_of(op.into)[-1]
    return fits and not any(value in varying for value in others)


@record
class ScatterRows:
    """Loops over the points of a scatter on memrefs."""

    op: ScatterOp
    memory: Memory
    domain: LiveDomain
    lanes: int
    unroll: int
    varying: frozenset[SSAValue]
    kept: tuple[Index | None, ...]
    """Along each axis of the result, where what is written ends, if that has to be asked."""
    true: frozenset[int]
    """Reads that are masks of the rows that run."""

    @staticmethod
    def of(
        emit: Emitter,
        op: ScatterOp,
        memory: Memory,
        domain: LiveDomain,
        tasks: UnstructuredTasks,
    ) -> ScatterRows:
        """As the schedule asks for, where the kernel begins. Raises InputError for vectors where
        rows are no runs."""
        lanes, unroll = tasks.lanes or 1, tasks.unroll or 1
        if lanes.bit_count() != 1:
            raise illegal(op, f"lanes = {lanes}: a power of 2")
        if lanes > 1 and not rows_are_runs(op):
            raise illegal(op, f"lanes = {lanes}: its rows do not go to elements side by side")
        if lanes > 1 and not domain.is_one(len(op.extents) - 1):
            lanes = unroll = 1
        varying = row_values(op) if op.extents else frozenset(op.block.args[-1:])
        kept = _kept_ends(emit, op, memory)
        true = frozenset(masks_within_rows(op, _masks(emit.entry)))
        return ScatterRows(op, memory, domain, lanes, unroll, varying, kept, true)

    def over(
        self,
        emit: Emitter,
        position: Sequence[Index],
        cut: Mapping[int, tuple[Index, Index]] | None = None,
    ) -> None:
        """All points behind a position in the first dimensions, the last dimension innermost.

        `cut` gives bounds of a dimension that are not all of it.
        """
        dims = range(len(position), len(self.op.extents))
        if not dims or not self.domain.is_one(dims[-1]):
            self.domain.over_points(emit, dims, lambda e, at: self._point(e, [*position, *at]), cut)
            return
        last = dims[-1]
        bounds = (cut or {}).get(last, (0, self.domain.end(last)))
        if self.lanes > 1 and (kept := self.kept[-1]) is not None:
            bounds = (bounds[0], emit.least(bounds[1], kept))
        self.domain.over_points(
            emit, dims[:-1], lambda e, at: self._row(e, [*position, *at], bounds), cut
        )

    def _point(self, emit: Emitter, position: Sequence[Index]) -> None:
        """One point, alone."""
        body = Body(1)
        self._bind(emit, body, position, None)
        self._update(emit, body, position, needed_for(self.op, self.op.yielded))

    def _row(self, emit: Emitter, position: Sequence[Index], bounds: tuple[Index, Index]) -> None:
        """The points of a row, all of whose other positions are given."""
        op, body = self.op, Body(self.lanes)
        self._bind(emit, body, position, False)
        ops = needed_for(op, op.yielded)
        own = [inner for inner in ops if any(r in self.varying for r in inner.results)]
        shared = [inner for inner in ops if inner not in own]
        if self.lanes > 1:
            self._run(emit, body, position, shared, own, bounds)
            return
        # What fails where no point asks for it stays with the points.
        early = _without_reads(shared)
        body.run(emit, early, self._flat, None)
        late = [inner for inner in ops if inner not in early]

        def point(inner: Emitter, at: Index) -> None:
            here, place = body.fork(), [*position, at]
            self._bind(inner, here, place, True)
            self._update(inner, here, place, late)

        emit.each(*bounds, 1, point)

    def _update(
        self, emit: Emitter, body: Body, position: Sequence[Index], ops: Sequence[Operation]
    ) -> None:
        """One point, whose reads are bound, by the ops that are left."""
        op = self.op

        def update(target: Emitter, at: Index, rest: list[Operation]) -> None:
            where = Elements(self._out, at, 1, 1, None)
            if op.block.args[-1].first_use:
                body.values[op.block.args[-1]] = load(target, where)
            body.run(target, rest, self._flat, None)
            store(target, body.values[op.value].value, where)

        self._inside(emit, body, ops, update)

    def _run(
        self,
        emit: Emitter,
        body: Body,
        position: Sequence[Index],
        shared: list[Operation],
        own: list[Operation],
        bounds: tuple[Index, Index],
    ) -> None:
        """A row to elements side by side."""
        op = self.op

        def update(target: Emitter, start: Index, rest: list[Operation]) -> None:
            body.run(target, rest, self._flat, None)
            for inner in own:
                if isinstance(inner, ReadOp):
                    body.check_uniform(target, inner)

            def vectors(inner: Emitter, at: Vectors) -> None:
                for number in range(at.count):
                    column = inner.plus(at.at, number * self.lanes)
                    here = body.fork()
                    self._bind(inner, here, [*position, column], True, at.mask)
                    place = inner.plus(start, column)
                    where = Elements(self._out, place, 1, self.lanes, at.mask)
                    if op.block.args[-1].first_use:
                        here.values[op.block.args[-1]] = load(inner, where)
                    here.run(inner, own, self._flat, at.mask)
                    store(inner, here.vector(inner, op.value), where)

            each_vector(target, bounds, self.lanes, vectors, self.unroll)

        self._inside(emit, body, shared, update)

    def _inside(
        self,
        emit: Emitter,
        body: Body,
        ops: Sequence[Operation],
        update: Callable[[Emitter, Index, list[Operation]], None],
    ) -> None:
        """Run ops as far as they say whether, and where, something is written, and `update` where
        it is: from the element offset on, with the ops that are left."""
        op, left = self.op, list(ops)
        places = op.places[:-1] if self.lanes > 1 else op.places
        number = kept_place(op, self.kept, len(places))
        if number is not None:
            asked = places if op.mask is None else (*places, op.mask)
            left = self._run_first(emit, body, left, asked)
            self._write_kept(emit, body, places, number, lambda e, at: update(e, at, left))
            return
        if op.mask is not None:
            left = self._run_first(emit, body, left, [op.mask])

        def write(masked: Emitter) -> None:
            rest = self._run_first(masked, body, left, places)
            at, inside = self._address(masked, body, places)
            if inside is None:
                update(masked, at, rest)
            else:
                masked.branch(inside, lambda target: update(target, at, rest))

        if op.mask is None:
            write(emit)
        else:
            emit.branch(body.values[op.mask].value, write)

    def _write_kept(
        self,
        emit: Emitter,
        body: Body,
        places: Sequence[SSAValue],
        number: int,
        update: Callable[[Emitter, Index], None],
    ) -> None:
        """Write where the one of the places that is asked is kept."""
        shape, mask = shape_of(self.op.into), self.op.mask
        strides = self.memory.strides.get(self.op.outs[0], row_major_strides(shape))
        body.materialize(emit, places[number])
        index, end = body.values[places[number]].value, self.kept[number]
        assert end is not None

        def write(target: Emitter) -> None:
            at: Index = 0
            for place, stride in zip(places, strides, strict=False):
                known = body.indices.get(place)
                at = target.plus(at, target.times(index if known is None else known.base, stride))
            update(target, at)

        given = None if mask is None else body.values[mask].value
        write_kept(emit, (index, end, shape[number]), given, write)

    def _run_first(
        self,
        emit: Emitter,
        body: Body,
        ops: Sequence[Operation],
        values: Sequence[SSAValue],
    ) -> list[Operation]:
        """Run those ops that values depend on; gives the others."""
        first = set(needed_for(self.op, values))
        body.run(emit, [inner for inner in ops if inner in first], self._flat, None)
        return [inner for inner in ops if inner not in first]

    @property
    def _out(self) -> SSAValue:
        return self.memory.flat[self.op.outs[0]]

    @property
    def _flat(self) -> dict[SSAValue, SSAValue]:
        return with_tables(self.op, self.memory)

    def _bind(
        self,
        emit: Emitter,
        body: Body,
        position: Sequence[Index],
        along: bool | None,
        mask: SSAValue | None = None,
    ) -> None:
        """Reads and positions: those that differ along a row if `along`, the others if it is
        False, or all of them; masks of the rows that run are true."""
        point = OpPoint(self.op, self.memory, position, self.varying, self.true)
        point.bind(emit, body, along, mask)

    def _address(
        self, emit: Emitter, body: Body, given: Sequence[SSAValue]
    ) -> tuple[Index, SSAValue | None]:
        """Element offset by the places of the first dimensions, and whether it is inside unless
        that is certain."""
        shape = shape_of(self.op.into)
        strides = self.memory.strides.get(self.op.outs[0], row_major_strides(shape))
        at: Index = 0
        inside: SSAValue | None = None
        axes = zip(given, shape, strides, self.kept, strict=False)
        for place, extent, stride, kept in axes:
            known = body.indices.get(place)
            if known is not None and known.within(extent):
                at = emit.plus(at, emit.times(known.base, stride))
                if kept is None:
                    continue
                fits = compare(emit, emit.value(known.base), emit.value(kept), "ult")
            else:
                body.materialize(emit, place)
                index = body.values[place].value
                limit = emit.constant(number_attribute(extent, IndexType()))
                fits = compare(emit, index, limit, "ult")
                emit.run(cf.AssertOp(fits, out_of_range(extent)))
                if kept is not None:
                    fits = compare(emit, index, emit.value(kept), "ult")
                at = emit.plus(at, emit.times(index, stride))
            inside = fits if inside is None else emit.add(arith.AndIOp(inside, fits))
        return at, inside


def _masks(block: Block) -> dict[SSAValue, int]:
    """The arguments of a kernel that are true below the number in another argument."""
    kernel = block.parent_op()
    assert kernel is not None
    return {block.args[mask]: number for mask, number in masks_of(kernel).items()}


def _kept_ends(emit: Emitter, op: ScatterOp, memory: Memory) -> tuple[Index | None, ...]:
    """Where digits of the result end, but along a dimension of the domain that ends there too."""
    own = live_digits(op)
    found: list[Index | None] = []
    for place, digit in zip(op.places, kept_digits(op), strict=True):
        dim = place.owner.dim.value.data if isinstance(place.owner, IndexOp) else None
        if digit is None or (dim is not None and own.get(dim) == (digit,)):
            found.append(None)
            continue
        assert digit.count is not None
        flat = {digit.count: memory.flat[emit.entry.args[digit.count]]}
        found.append(ends_of(emit, [digit], flat)[0].end)
    return tuple(found)


def _without_reads(ops: Sequence[Operation]) -> list[Operation]:
    """Those that neither read a table nor follow from what is read there."""
    kept: list[Operation] = []
    left_out: set[SSAValue] = set()
    for op in ops:
        if isinstance(op, ReadOp) or any(value in left_out for value in op.operands):
            left_out.update(op.results)
        else:
            kept.append(op)
    return kept
