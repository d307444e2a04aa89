"""A nest's body at one point, in scalars; loops over points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp, YieldOp
from lamina.dialects.loop.access import Forms, flatten, forms_of, shape_of
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.records import record
from lamina.passes.cost.unstructured_cost import COPIED_BYTES, COPIED_VECTORS
from lamina.passes.schedule.body import Affine, Body, Lane, load
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.peel import whole_steps
from lamina.passes.schedule.strided_access import Elements


@record
class OpPoint:
    """A position of the domain of an op; `varying` are the values of its body that differ along
    the last dimension."""

    op: OrderedNest
    memory: Memory
    position: Sequence[Index]
    varying: frozenset[SSAValue] = frozenset()
    true: frozenset[int] = frozenset()
    """Reads that are known to be true."""

    def bind(
        self, emit: Emitter, body: Body, along: bool | None = None, mask: SSAValue | None = None
    ) -> None:
        """Give a body what it reads there, and positions: what varies, in vectors of the body's
        lanes, if `along`; what does not, if that is False; or all of it, in scalars."""
        op, known = self.op, dict(enumerate(self.position))
        wide = along is True and body.lanes > 1
        reads = zip(op.inputs, op.read_maps, op.block.args, strict=False)
        for number, (value, index_map, argument) in enumerate(reads):
            if along is not None and (argument in self.varying) is not along:
                continue
            if number in self.true:
                body.values[argument] = Lane(emit.constant(number_attribute(1, i1)), True)
                continue
            forms = forms_of(index_map, op.extents)
            assert forms is not None, f"{op.name}: a read without a linear index"
            place = self._place(emit, value, forms, known)
            where = Elements(self.memory.flat[value], place)
            if wide:
                stride = flatten(forms, shape_of(value)).coefficient(len(op.extents) - 1)
                where = replace(where, stride=stride, lanes=body.lanes, mask=mask)
            body.values[argument] = load(emit, where)
        for inner in op.block.ops:
            if isinstance(inner, IndexOp) and along in (None, inner.result in self.varying):
                dim = inner.dim.value.data
                index = Affine(self.position[dim], int(wide), 0, op.extents[dim] - 1)
                body.indices[inner.result] = index

    def _place(
        self, emit: Emitter, value: SSAValue, forms: Forms, known: Mapping[int, Index]
    ) -> Index:
        """Element offset of what is read."""
        strides = self.memory.strides.get(value)
        if strides is None:
            return emit.linear(flatten(forms, shape_of(value)), known)
        at: Index = 0
        for form, stride in zip(forms, strides, strict=True):
            at = emit.plus(at, emit.times(emit.linear(form, known), stride))
        return at


def with_tables(op: OrderedNest, memory: Memory) -> dict[SSAValue, SSAValue]:
    """Memory by what the body of an op calls it."""
    arguments = op.block.args[len(op.inputs) :]
    tables = {a: memory.flat[source] for source, a in zip(op.sources, arguments, strict=False)}
    return {**memory.flat, **tables}


class Point:
    """The body of a nest at one position of its domain."""

    def __init__(
        self, emit: Emitter, op: OrderedNest, memory: Memory, position: Sequence[Index]
    ) -> None:
        self.emit = emit
        self.flat = with_tables(op, memory)
        self.body = Body(1)
        OpPoint(op, memory, position).bind(emit, self.body)

    def bind(self, arguments: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
        """Give values to the last body arguments."""
        for argument, value in zip(arguments, values, strict=True):
            self.body.values[argument] = Lane(value, True)

    def run(self, ops: Sequence[Operation]) -> None:
        """Emit body ops."""
        self.body.run(self.emit, list(ops), self.flat, None)

    def value(self, value: SSAValue) -> SSAValue:
        """A body value that was computed."""
        self.body.materialize(self.emit, value)
        return self.body.values[value].value


def needed_for(op: OrderedNest | GenericOp, values: Sequence[SSAValue]) -> list[Operation]:
    """The body ops that `values` depend on, in order."""
    wanted: set[SSAValue] = set(values)
    found: list[Operation] = []
    for inner in reversed(block_ops(op.block)):
        if not isinstance(inner, YieldOp) and any(r in wanted for r in inner.results):
            wanted.update(inner.operands)
            found.append(inner)
    return found[::-1]


def varying_along(
    op: OrderedNest,
    dim: int,
    known: Iterable[SSAValue] = (),
    handed: Sequence[tuple[SSAValue, SSAValue]] = (),
) -> frozenset[SSAValue]:
    """The values of the body that differ along a dimension: `known` ones, reads and positions along
    it, what is computed of these, and arguments to which one of them is handed on."""
    found = set(known)
    for argument, index_map in zip(op.block.args, op.read_maps, strict=False):
        forms = forms_of(index_map, op.extents)
        assert forms is not None, f"{op.name}: a read without a linear index"
        if any(dim in form.coefficients for form in forms):
            found.add(argument)
    while True:
        before = len(found)
        for inner in op.block.ops:
            is_along = isinstance(inner, IndexOp) and inner.dim.value.data == dim
            if is_along or any(o in found for o in inner.operands):
                found.update(inner.results)
        found.update(argument for argument, value in handed if value in found)
        if len(found) == before:
            return frozenset(found)


def over_points(
    emit: Emitter,
    bounds: Sequence[tuple[Index, Index]],
    body: Callable[[Emitter, list[Index]], None],
) -> None:
    """Serial loops over a box, the last dimension innermost."""

    def point(inner: Emitter, at: list[Index], values: list[SSAValue]) -> list[SSAValue]:
        body(inner, at)
        return values

    emit.nest(bounds, [], point)


def copy_elements(
    emit: Emitter,
    source: SSAValue,
    target: SSAValue,
    count: Index,
    begin: tuple[Index, Index] = (0, 0),
) -> None:
    """target[j + n] = source[i + n] for rank-1 memrefs, in vectors but for the last ones; `begin`
    has i and j."""
    bits = getattr(Elements(source, 0).element, "bitwidth", 8 * COPIED_BYTES)  # complex: one by one
    lanes = max(COPIED_BYTES // max(bits // 8, 1), 1)
    low: Index = 0
    for unroll, width in ((COPIED_VECTORS, lanes), (1, lanes), (1, 1)):

        def step(inner: Emitter, at: Index, unroll: int = unroll, width: int = width) -> None:
            places = [inner.plus(at, number * width) for number in range(unroll)]
            there = [Elements(source, inner.plus(begin[0], p), 1, width) for p in places]
            here = [Elements(target, inner.plus(begin[1], p), 1, width) for p in places]
            values = [load(inner, where).value for where in there]
            for where, value in zip(here, values, strict=True):
                store(inner, value, where)

        high = whole_steps(emit, low, count, unroll * width)
        emit.each(low, high, unroll * width, step)
        low = high


def elements(value: SSAValue) -> int:
    """How many elements a memref has."""
    return prod(shape_of(value))
