"""A nest's body at one point, in scalars; loops over points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp, YieldOp
from lamina.dialects.loop.access import flatten, forms_of, shape_of
from lamina.dialects.loop.memory_ops import load_op
from lamina.dialects.loop.nest import OrderedNest
from lamina.passes.cost.unstructured_cost import COPIED_BYTES, COPIED_VECTORS
from lamina.passes.schedule.body import Affine, Body, Lane, load
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.peel import whole_steps
from lamina.passes.schedule.strided_access import Elements


class Point:
    """The body of a nest at one position of its domain."""

    def __init__(
        self, emit: Emitter, op: OrderedNest, memory: Memory, position: Sequence[Index]
    ) -> None:
        self.emit = emit
        self.op = op
        self.flat = dict(memory.flat)
        self.body = Body(1)
        arguments = op.block.args
        extents = op.extents
        for value, index_map, argument in zip(op.inputs, op.read_maps, arguments, strict=False):
            forms = forms_of(index_map, extents)
            assert forms is not None, f"{op.name}: a read without a linear index"
            at = emit.linear(flatten(forms, shape_of(value)), dict(enumerate(position)))
            load = load_op(memory.flat[value], [emit.value(at)])
            self.body.values[argument] = Lane(emit.add(load), True)
        for source, argument in zip(op.sources, arguments[len(op.inputs) :], strict=False):
            self.flat[argument] = memory.flat[source]
        for inner in op.block.ops:
            if isinstance(inner, IndexOp):
                dim = inner.dim.value.data
                self.body.indices[inner.result] = Affine(position[dim], 0, 0, extents[dim] - 1)

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
