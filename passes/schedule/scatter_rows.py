"""Rows of a scatter: its points along the last dimension.

What is the same along a row is computed once in front of it. Where all points of a row go to
neighbouring elements, in their order, the place is checked once, and the row is in vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, cf, scf
from xdsl.dialects.builtin import IndexType, MemRefType, i1
from xdsl.ir import Block, Operation, SSAValue

from lamina.dialects.loop import IndexOp, ReadOp, ScatterOp
from lamina.dialects.loop.access import Forms, flatten, forms_of, row_major_strides, shape_of
from lamina.dialects.loop.body_ops import out_of_range
from lamina.dialects.loop.bounds import masks_of
from lamina.dialects.loop.kernel_nests import live_rows_of, rows_of
from lamina.dialects.loop.scatter_masks import masks_within_rows
from lamina.dialects.loop.schedules import UnstructuredTasks
from lamina.passes.schedule.body import Affine, Body, Lane, load
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.compare import compare
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute
from lamina.passes.schedule.illegal import illegal
from lamina.passes.schedule.live_domain import LiveDomain
from lamina.passes.schedule.live_rows import ends_of, kept_digits
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.peel import Vectors, each_vector
from lamina.passes.schedule.points import needed_for, varying_along
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


@dataclass(frozen=True)
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
        masked = emit
        if op.mask is not None:
            left = self._run_first(emit, body, left, [op.mask])
            masked = emit.inside(Block())
        left = self._run_first(masked, body, left, places)
        at, inside = self._address(masked, body, places)
        target = masked if inside is None else masked.inside(Block())
        update(target, at, left)
        if inside is not None:
            _close(masked, target, inside)
        if op.mask is not None:
            _close(emit, masked, body.values[op.mask].value)

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
        """Memory of the tables that the body indexes."""
        op, flat = self.op, dict(self.memory.flat)
        for source, argument in zip(op.sources, op.block.args[len(op.inputs) :], strict=False):
            flat[argument] = self.memory.flat[source]
        return flat

    def _bind(
        self,
        emit: Emitter,
        body: Body,
        position: Sequence[Index],
        along: bool | None,
        mask: SSAValue | None = None,
    ) -> None:
        """Reads and positions: those that differ along a row if `along`, the others if it is
        False, or all of them."""
        op, last = self.op, len(self.op.extents) - 1
        reads = enumerate(zip(op.inputs, op.read_maps, op.block.args, strict=False))
        for number, (value, index_map, argument) in reads:
            if along is not None and (argument in self.varying) is not along:
                continue
            if number in self.true:
                body.values[argument] = Lane(emit.constant(number_attribute(1, i1)), True)
                continue
            forms = forms_of(index_map, op.extents)
            assert forms is not None, f"{op.name}: a read without a linear index"
            form = flatten(forms, shape_of(value))
            place = self._place(emit, value, forms, dict(enumerate(position)))
            assert isinstance(value.type, MemRefType)
            wide = bool(along) and self.lanes > 1
            stride, lanes = (form.coefficients[last], self.lanes) if wide else (0, 1)
            where = Elements(self.memory.flat[value], place, stride, lanes, mask if wide else None)
            made = load(emit, where)
            body.values[argument] = made if wide else Lane(made.value, True)
        for inner in op.block.ops:
            if not isinstance(inner, IndexOp):
                continue
            dim = inner.dim.value.data
            if along is None or (dim == last) is along:
                step = int(bool(along) and self.lanes > 1)
                body.indices[inner.result] = Affine(position[dim], step, 0, op.extents[dim] - 1)

    def _place(
        self, emit: Emitter, value: SSAValue, forms: Forms, position: Mapping[int, Index]
    ) -> Index:
        """Element offset of what is read at a position."""
        strides = self.memory.strides.get(value)
        if strides is None:
            return emit.linear(flatten(forms, shape_of(value)), position)
        at: Index = 0
        for form, stride in zip(forms, strides, strict=True):
            at = emit.plus(at, emit.times(emit.linear(form, position), stride))
        return at

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
    live, rows = live_rows_of(op), rows_of(op)
    digits = None if live is None else live.by_row([op.extents[d] for d in rows])
    own = dict(zip(rows, digits or (), strict=False))
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


def _close(emit: Emitter, target: Emitter, condition: SSAValue) -> None:
    """Put what stands in a block of its own behind its condition."""
    target.run(scf.YieldOp())
    emit.run(scf.IfOp(condition, [], [target.block]))
