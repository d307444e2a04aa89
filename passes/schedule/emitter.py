"""Building scheduled code: an insertion point for loops, branches and vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    UnitAttr,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from lamina.dialects.loop.memory_ops import load_op
from lamina.dialects.loop.scalar_ops import constant_integer
from lamina.dialects.loop.segments import SEGMENTS, segment_sizes
from lamina.dialects.loop.team import BACKWARD
from lamina.dialects.plain_ops import plain_op
from lamina.passes.schedule.index_emitter import (
    INDEX,
    Index,
    IndexEmitter,
    known_index,
    number_attribute,
)

__all__ = [
    "INDEX",
    "Branch",
    "Emitter",
    "Index",
    "LoopBody",
    "NestBody",
    "known_index",
    "number_attribute",
    "vector_of",
]

LoopBody = Callable[["Emitter", Index, list[SSAValue]], Sequence[SSAValue]]
"""What a loop does: emitter of its body, index, carried values; gives the values to carry on."""

NestBody = Callable[["Emitter", list[Index], list[SSAValue]], Sequence[SSAValue]]
"""The same of loops in one another, at the position that all of them are at."""

Branch = Callable[["Emitter"], Sequence[SSAValue] | None]
"""What is done in a branch; gives its values, if there are any."""


class Emitter(IndexEmitter):
    """Appends ops, loops and branches; `inside` shares what is known of the whole kernel."""

    def inside(self, block: Block) -> Emitter:
        """An emitter at the end of a nested block."""
        inner = Emitter(block)
        inner.entry, inner.constants, inner.divisors = self.entry, self.constants, self.divisors
        inner.indices = self.indices
        return inner

    def again(self, op: Operation) -> None:
        """Append an op that was taken out of a kernel; constants and divisors are noted."""
        self.block.add_op(op)
        self.note(op)

    def note(self, op: Operation) -> None:
        """Know an op that stands in the kernel: what is constant, and what divides an index."""
        match op:
            case arith.ConstantOp():
                self.constants.setdefault(op.value, op.result)
            case arith.MuliOp() if (factor := constant_integer(op.rhs)) is not None:
                self.divisors[op.result] = self.divisor(op.lhs) * factor
            case arith.AddiOp():
                self.divisors[op.result] = self.divisor(op.lhs, op.rhs)
            case scf.ForOp() if (low := constant_integer(op.lb)) is not None:
                step = constant_integer(op.step)
                self.divisors[op.body.block.args[0]] = self.divisor(
                    low, 1 if step is None else step
                )
            case _:
                pass

    # Constants of vectors

    def splat(self, value: Attribute, lanes: int) -> SSAValue:
        """A vector constant with the same number in every lane; a scalar for one lane."""
        if lanes == 1:
            return self.constant(value)
        assert isinstance(value, FloatAttr | IntegerAttr)
        kind = _vector(value.type, lanes)
        data = value.value.data
        if isinstance(data, float) and not math.isfinite(data):
            # xDSL prints a dense infinity as bits that it reads back as a number.
            return self._entry_broadcast(value, kind)
        return self.constant(_splat(value, lanes))

    def _entry_broadcast(self, value: Attribute, kind: VectorType) -> SSAValue:
        key = (value, kind)
        found = self.constants.get(key)
        if found is None:
            op = vector.BroadcastOp(self.constant(value), kind)
            scalar = op.source.owner
            assert isinstance(scalar, Operation)
            self.entry.insert_op_after(op, scalar)
            found = self.constants[key] = op.vector
        return found

    def lane_numbers(self, lanes: int, element: Attribute = INDEX, scale: int = 1) -> SSAValue:
        """The vector 0, scale, 2 scale, ... of index type, or of another integer."""
        return self.constant(_lane_numbers(lanes, element, scale))

    def first_lanes(self, on: Index, lanes: int) -> SSAValue:
        """A mask of the first `on` of so many lanes."""
        operands, kind = [self.value(on)], _vector(i1, lanes)
        return self.add(vector.CreateMaskOp.create(operands=operands, result_types=[kind]))

    def read_index(self, memory: SSAValue, at: Index = 0) -> SSAValue:
        """A number in flat memory, such as one of the call, as an index."""
        given = self.add(load_op(memory, [self.value(at)]))
        return self.add(arith.IndexCastOp(given, INDEX))

    # Loops

    def loop(
        self,
        low: Index,
        high: Index,
        step: int,
        carried: Sequence[SSAValue],
        body: LoopBody,
    ) -> list[SSAValue]:
        """A serial loop; one that runs once is emitted straight, one that never runs is not."""
        if low is high:
            return list(carried)
        if isinstance(low, int) and isinstance(high, int):
            if high <= low:
                return list(carried)
            if high - low <= step:
                return list(body(self, low, list(carried)))
        block = Block(arg_types=[INDEX, *(v.type for v in carried)])
        inner = self.inside(block)
        inner.divisors[block.args[0]] = self.divisor(low, step)
        results = body(inner, block.args[0], list(block.args[1:]))
        block.add_op(plain_op(scf.YieldOp, list(results)))
        op = plain_op(
            scf.ForOp,
            [self.value(low), self.value(high), self.value(step), *carried],
            [value.type for value in carried],
            regions=[Region(block)],
        )
        self.block.add_op(op)
        return list(op.results)

    def each(
        self, low: Index, high: Index, step: int, body: Callable[[Emitter, Index], None]
    ) -> None:
        """A serial loop that carries no values."""

        def one(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            body(inner, at)
            return values

        self.loop(low, high, step, [], one)

    def nest(
        self,
        bounds: Sequence[tuple[Index, Index]],
        carried: Sequence[SSAValue],
        body: NestBody,
    ) -> list[SSAValue]:
        """Serial loops over a box, the last dimension innermost."""
        return self._within([], bounds, list(carried), body)

    def _within(
        self,
        outer: list[Index],
        bounds: Sequence[tuple[Index, Index]],
        carried: list[SSAValue],
        body: NestBody,
    ) -> list[SSAValue]:
        """The loops of `nest` inside of those at `outer`.

        No function in a function, which refers to itself: it would keep all ops that were made from
        being freed.
        """
        if len(outer) == len(bounds):
            return list(body(self, outer, carried))

        def step(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            return inner._within([*outer, at], bounds, values, body)

        return self.loop(*bounds[len(outer)], 1, carried, step)

    def branch(
        self, condition: SSAValue, then: Branch, otherwise: Branch | None = None
    ) -> list[SSAValue]:
        """What is done if a condition holds, or else; gives the values of either."""
        blocks: list[list[Block]] = [[], []]
        types: list[Attribute] = []
        for done, own in zip((then, otherwise), blocks, strict=True):
            if done is not None:
                own.append(Block())
                values = done(self.inside(own[0])) or ()
                types = [value.type for value in values]
                own[0].add_op(plain_op(scf.YieldOp, list(values)))
        either = scf.IfOp(condition, types, blocks[0], blocks[1] or None)
        self.run(either)
        return list(either.results)

    def parallel(
        self, count: Index, body: Callable[[Emitter, Index], None], *, backward: bool = False
    ) -> None:
        """A parallel loop over `0 .. count`, whose iterations do not depend on one another."""
        block = Block(arg_types=[INDEX])
        body(self.inside(block), block.args[0])
        block.add_op(scf.ReduceOp.create())
        self.block.add_op(
            scf.ParallelOp.create(
                operands=[self.value(0), self.value(count), self.value(1)],
                properties={SEGMENTS: segment_sizes(1, 1, 1, 0)},
                attributes={BACKWARD: UnitAttr()} if backward else {},
                regions=[Region(block)],
            )
        )

    def tasks(
        self, count: Index, body: Callable[[Emitter, Index], None], *, parallel: bool | None
    ) -> None:
        """A loop over the tasks of a kernel; `parallel` is a clause, which may be left out."""
        if parallel and not (isinstance(count, int) and count <= 1):
            self.parallel(count, body)
        else:
            self.each(0, count, 1, body)


def vector_of(kind: Attribute, lanes: int) -> Attribute:
    """The type that holds `lanes` elements; the element type itself for one lane."""
    return kind if lanes == 1 else _vector(kind, lanes)


@lru_cache(maxsize=256)
def _vector(kind: Attribute, lanes: int) -> VectorType:
    return VectorType(kind, [lanes])


@lru_cache(maxsize=256)
def _lane_numbers(lanes: int, element: Attribute, scale: int) -> DenseIntOrFPElementsAttr:
    numbers = [lane * scale for lane in range(lanes)]
    return DenseIntOrFPElementsAttr.from_list(_vector(element, lanes), numbers)  # pyright: ignore


@lru_cache(maxsize=1024)
def _splat(value: FloatAttr | IntegerAttr, lanes: int) -> DenseIntOrFPElementsAttr:
    """A vector with the same number in every lane; they are the same in all kernels."""
    kind = _vector(value.type, lanes)
    return DenseIntOrFPElementsAttr.from_list(kind, [value.value.data] * lanes)  # pyright: ignore
