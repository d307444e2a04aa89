"""Vector code for the scalar body of a nest.

Values that do not depend on the vector dimension are computed once, as scalars, before the vector
loop; the rest in vectors. Index values are followed symbolically (`uniform + scale * v`), so that
an indirect read along the vector dimension is a vector load where its addresses are contiguous.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, cf, vector
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
    i1,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.loop import GatherOp, IndexOp, ReadOp, YieldOp
from lamina.dialects.loop.access import row_major_strides
from lamina.dialects.loop.body_ops import RUNS, out_of_range
from lamina.dialects.loop.memory_ops import load_op, vector_load_op
from lamina.dialects.loop.vector_arith import VECTOR_FORMS, SelectOp
from lamina.dialects.op_accessors import first_result, operands_of
from lamina.dialects.plain_ops import plain_op
from lamina.dialects.records import mutable_record
from lamina.passes.schedule.combine import CONTRACT
from lamina.passes.schedule.compare import compare
from lamina.passes.schedule.emitter import Emitter, Index, number_attribute, vector_of
from lamina.passes.schedule.strided_access import Elements, deinterleave

CONTRACTABLE = ("arith.addf", "arith.mulf")
"""A difference is not contracted: of `x s - m`, where m is the largest `x s`, the rounding error of
the product would be left in place of 0, and e to the power of it is infinite for huge logits."""


@mutable_record
class Lane:
    """A body value at hand: a scalar that is the same in every lane, or a vector."""

    value: SSAValue
    uniform: bool


@mutable_record
class Affine:
    """An index value `base + scale * v` along the vector dimension; `base` is a scalar.

    Over the whole domain the value lies in `low .. high`, both included.
    """

    base: Index
    scale: int
    low: int
    high: int

    def within(self, extent: int) -> bool:
        """Whether it never leaves `[0, extent)`."""
        return self.low >= 0 and self.high < extent


class Body:
    """Evaluates a stage's body for one vector; `values` holds what is known so far."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.values: dict[SSAValue, Lane] = {}
        self.indices: dict[SSAValue, Affine] = {}
        self.checked: dict[tuple[SSAValue, int, SSAValue | None], Lane] = {}
        """Indices of indirect reads that were checked against an extent and a limit, made safe."""
        self.strides: Mapping[SSAValue, Sequence[Index]] = {}
        """Of sources whose extents in memory are numbers of the call (`lamina.extents`)."""

    def fork(self) -> Body:
        """A copy that later additions do not reach: the state inside one loop iteration."""
        copy = Body(self.lanes)
        copy.values = dict(self.values)
        copy.indices = dict(self.indices)
        copy.checked = self.checked
        copy.strides = self.strides
        return copy

    def vector(self, emit: Emitter, value: SSAValue) -> SSAValue:
        """A body value as a vector (a scalar for one lane)."""
        known = self.values[value]
        if not known.uniform or self.lanes == 1:
            return known.value
        return broadcast(emit, known.value, self.lanes)

    def run(
        self,
        emit: Emitter,
        ops: list[Operation],
        flat: dict[SSAValue, SSAValue],
        mask: SSAValue | None,
    ) -> None:
        """Emit the given body ops, whose operands must all be known."""
        for op in ops:
            if isinstance(op, YieldOp):
                continue
            if isinstance(op, ReadOp):
                self._read(emit, op, flat, mask)
            else:
                self._compute(emit, op)

    def _compute(self, emit: Emitter, op: Operation) -> None:
        if isinstance(op, arith.ConstantOp):
            self.values[op.result] = Lane(emit.constant(op.value), True)
            if isinstance(op.result.type, IndexType) and isinstance(op.value, IntegerAttr):
                number = op.value.value.data
                self.indices[op.result] = Affine(number, 0, number, number)
            return
        if isinstance(op, IndexOp):
            return  # bound by the loops
        made, given = first_result(op), operands_of(op)
        if type(made.type) is IndexType and self._index_arithmetic(emit, op):
            return
        if isinstance(op, arith.IndexCastOp) and self._cast_position(emit, op):
            return
        for operand in given:
            self.materialize(emit, operand)
        uniform = all(self.values[o].uniform for o in given)
        lanes = 1 if uniform else self.lanes
        operands = [self.values[o].value if uniform else self.vector(emit, o) for o in given]
        kind = VECTOR_FORMS.get(type(op), type(op)) if lanes > 1 else type(op)
        properties = dict(op.properties)
        if kind is not type(op):
            properties.pop("fastmath", None)  # the forms for vectors have no such property
        types = [vector_of(r.type, lanes) for r in op.results]
        new = plain_op(kind, operands, types, properties)  # pyright: ignore[reportArgumentType]
        new.attributes.update(op.attributes)
        if op.name in CONTRACTABLE and not getattr(new.properties.get("fastmath"), "data", ()):
            new.properties["fastmath"] = CONTRACT
        self.values[made] = Lane(emit.add(new), uniform)

    def _index_arithmetic(self, emit: Emitter, op: Operation) -> bool:
        """Follow sums and constant multiples of known index values; whether `op` was one."""
        if len(given := operands_of(op)) != 2:
            return False
        left, right = map(self.indices.get, given)
        if left is None or right is None:
            return False
        if op.name == "arith.addi":
            base, scale = emit.plus(left.base, right.base), left.scale + right.scale
            ends = [left.low + right.low, left.high + right.high]
        elif op.name == "arith.subi":
            base, scale = emit.minus(left.base, right.base), left.scale - right.scale
            ends = [left.low - right.high, left.high - right.low]
        elif op.name == "arith.muli" and right.low == right.high == right.base:
            factor = right.low
            base, scale = emit.times(left.base, factor), left.scale * factor
            ends = [left.low * factor, left.high * factor]
        else:
            return False
        self.indices[first_result(op)] = Affine(base, scale, min(ends), max(ends))
        return True

    def _cast_position(self, emit: Emitter, op: arith.IndexCastOp) -> bool:
        """A position as integers: lanes count in their own width; whether `op` is one."""
        known, kind = self.indices.get(op.input), op.result.type
        if known is None or known.scale == 0 or self.lanes == 1 or isinstance(kind, IndexType):
            return False
        base = emit.add(arith.IndexCastOp(emit.value(known.base), kind))
        steps = emit.lane_numbers(self.lanes, kind, known.scale)
        total = arith.AddiOp(broadcast(emit, base, self.lanes), steps)
        self.values[op.result] = Lane(emit.add(total), False)
        return True

    def materialize(self, emit: Emitter, value: SSAValue) -> None:
        """Make an index value that is only known symbolically an SSA value."""
        if value in self.values:
            return
        known = self.indices[value]
        base = emit.value(known.base)
        if known.scale == 0 or self.lanes == 1:
            self.values[value] = Lane(base, True)
            return
        steps = emit.lane_numbers(self.lanes, scale=known.scale)
        total = emit.add(arith.AddiOp(broadcast(emit, base, self.lanes), steps))
        self.values[value] = Lane(total, False)

    def is_invariant(self, op: Operation) -> bool:
        """Whether an op but a read computes from what is the same in every lane."""
        if isinstance(op, IndexOp | ReadOp) or not op.results:
            return False
        for operand in operands_of(op):
            index = self.indices.get(operand)
            if index is not None and index.scale == 0:
                continue
            known = self.values.get(operand)
            if known is None or not known.uniform:
                return False
        return True

    # Indirect reads

    def check_uniform(self, emit: Emitter, op: ReadOp) -> None:
        """Check those indices of a read that are the same in every lane, once for all vectors."""
        kind = op.source.type
        assert isinstance(kind, MemRefType)
        limits = op.limit_of_each
        for index, extent, limit in zip(op.indices, kind.get_shape(), limits, strict=True):
            affine = self.indices.get(index)
            is_inside = limit is None and affine is not None and affine.within(extent)
            if not is_inside and self._is_uniform(index) and self._is_uniform(limit):
                self.checked[index, extent, limit] = self._check(emit, index, extent, limit, None)

    def _is_uniform(self, value: SSAValue | None) -> bool:
        """Whether a value is known, and the same in every lane."""
        lane = None if value is None else self.values.get(value)
        return value is None or (lane is not None and lane.uniform)

    def _read(
        self, emit: Emitter, op: ReadOp, flat: dict[SSAValue, SSAValue], mask: SSAValue | None
    ) -> None:
        kind = op.source.type
        assert isinstance(kind, MemRefType)
        memory = flat[op.source]
        shape = kind.get_shape()
        strides = self.strides.get(op.source, row_major_strides(shape))
        base: Index = 0
        scale = 0
        varying: SSAValue | None = None
        for index, extent, stride, limit in zip(
            op.indices, shape, strides, op.limit_of_each, strict=True
        ):
            known = self.indices.get(index)
            if known is not None and known.within(extent) and limit is None:
                base = emit.plus(base, emit.times(known.base, stride))
                if isinstance(stride, int):
                    scale += known.scale * stride
                elif known.scale:
                    steps = emit.lane_numbers(self.lanes, scale=known.scale)
                    varying = self._sum(emit, varying, self._scaled(emit, steps, stride))
                continue
            checked = self.checked.get((index, extent, limit))
            if checked is None:
                checked = self._check(emit, index, extent, limit, mask)
            if checked.uniform:
                base = emit.plus(base, emit.times(checked.value, stride))
            else:
                varying = self._sum(emit, varying, self._scaled(emit, checked.value, stride))
        if varying is not None and scale:
            steps = self._scaled(emit, emit.lane_numbers(self.lanes), scale)
            varying = emit.add(arith.AddiOp(varying, steps))
        where, runs = Elements(memory, base, scale, self.lanes, mask), RUNS in op.attributes
        made = None if varying is None else gather(emit, where, varying, runs=runs)
        self.values[op.result] = load(emit, where) if made is None else Lane(made, False)

    def _check(
        self,
        emit: Emitter,
        index: SSAValue,
        extent: int,
        limit: SSAValue | None,
        mask: SSAValue | None,
    ) -> Lane:
        """Assert that an index is inside `[0, extent)`, and below its limit; returns a safe one."""
        self.materialize(emit, index)
        end = self._end(emit, extent, limit)
        uniform = self.values[index].uniform and end.uniform
        lanes = 1 if uniform else self.lanes
        given = self.values[index].value if uniform else self.vector(emit, index)
        bound = end.value if end.uniform == uniform else broadcast(emit, end.value, lanes)
        zero = emit.splat(number_attribute(0, IndexType()), lanes)
        inside = compare(emit, given, bound, "ult")  # negative ones count as huge
        safe = choose(emit, inside, given, zero)
        verdict = inside
        if lanes > 1:
            if mask is not None:
                on = emit.splat(number_attribute(1, i1), lanes)
                verdict = choose(emit, mask, inside, on)
            verdict = emit.add(vector_reduce(verdict, "and"))
        message = out_of_range(extent, is_limited=limit is not None)
        emit.run(cf.AssertOp(verdict, message))
        return Lane(safe, uniform)

    def _end(self, emit: Emitter, extent: int, limit: SSAValue | None) -> Lane:
        """Where an index ends: at the extent, or before at a limit, which is 1 at least."""
        if limit is None:
            return Lane(emit.constant(number_attribute(extent, IndexType())), True)
        self.materialize(emit, limit)
        given = self.values[limit]
        lanes = 1 if given.uniform else self.lanes
        one, most = (
            emit.splat(number_attribute(number, IndexType()), lanes) for number in (1, extent)
        )
        least = emit.add(arith.MaxSIOp(given.value, one))
        return Lane(emit.add(arith.MinSIOp(least, most)), given.uniform)

    def _sum(self, emit: Emitter, total: SSAValue | None, term: SSAValue) -> SSAValue:
        return term if total is None else emit.add(arith.AddiOp(total, term))

    def _scaled(self, emit: Emitter, value: SSAValue, stride: Index) -> SSAValue:
        if stride == 1:
            return value
        if isinstance(stride, int):
            factor = emit.splat(number_attribute(stride, IndexType()), self.lanes)
        else:
            factor = broadcast(emit, stride, self.lanes)
        return emit.add(arith.MuliOp(value, factor))


def choose(emit: Emitter, on: SSAValue, left: SSAValue, right: SSAValue) -> SSAValue:
    """`left` where the condition holds, else `right`, lane by lane."""
    kind = SelectOp if isinstance(on.type, VectorType) else arith.SelectOp
    return emit.add(kind(on, left, right))


def broadcast(emit: Emitter, value: SSAValue, lanes: int) -> SSAValue:
    """A scalar in every lane; constants become vector constants."""
    if lanes == 1:
        return value
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, FloatAttr | IntegerAttr):
        return emit.splat(owner.value, lanes)
    return emit.add(plain_op(vector.BroadcastOp, (value,), (vector_of(value.type, lanes),)))


def load(emit: Emitter, where: Elements, passing: SSAValue | None = None) -> Lane:
    """Read elements; lanes masked off read nothing, and have what is `passing`, or 0."""
    memory, lanes, mask = where.memory, where.lanes, where.mask
    if where.is_empty:
        if passing is not None:
            return Lane(passing, False)
        return Lane(emit.constant(number_attribute(0, where.element)), True)
    if (where.stride == 0 or lanes == 1) and (lanes > 1 or mask is None):
        return Lane(emit.add(load_op(memory, [emit.value(where.at)])), True)
    if where.stride == 1 and mask is None:
        kind = vector_of(where.element, lanes)
        made = vector_load_op(memory, emit.value(where.at), kind)
        return Lane(emit.add(made), False)
    given, passing = passing, passing or emit.splat(number_attribute(0, where.element), lanes)
    if where.stride == 1:
        assert mask is not None
        operands = (memory, emit.value(where.at), mask, passing)
        return Lane(emit.add(plain_op(vector.MaskedLoadOp, operands, (passing.type,))), False)
    if given is None and where.can_be_shuffled():
        return Lane(deinterleave(emit, where), False)
    factor = emit.splat(number_attribute(where.stride, IndexType()), lanes)
    offsets = emit.add(arith.MuliOp(emit.lane_numbers(lanes), factor))
    return Lane(gather(emit, where, offsets, passing), False)


def gather(
    emit: Emitter,
    where: Elements,
    offsets: SSAValue,
    passing: SSAValue | None = None,
    *,
    runs: bool = False,
) -> SSAValue:
    """Read one element per lane, at `offsets` from the first one; `runs` of neighbours at once."""
    mask = where.mask or emit.splat(number_attribute(1, i1), where.lanes)
    passing = passing or emit.splat(number_attribute(0, where.element), where.lanes)
    if where.is_empty:
        return passing
    return emit.add(
        GatherOp(where.memory, [emit.value(where.at)], offsets, mask, passing, runs=runs)
    )


def vector_reduce(value: SSAValue, combiner: str) -> Operation:
    """Horizontal reduction of a vector with a combiner of `loop.generic`.

    Float sums may be reassociated: a tree is both faster and more exact than a chain.
    """
    kind = value.type
    assert isinstance(kind, VectorType)
    flag = combining_kind(combiner, kind.element_type)
    return vector.ReductionOp.create(
        operands=[value],
        result_types=[kind.element_type],
        properties={
            "kind": vector.CombiningKindAttr(flag),
            "fastmath": FastMathFlagsAttr([FastMathFlag.REASSOC]),
        },
    )


def combining_kind(combiner: str, element: Attribute) -> vector.CombiningKindFlag:
    """MLIR's name for a combiner on an element type."""
    integer = isinstance(element, IntegerType | IndexType)
    if element == i1:
        combiner = {"max": "or", "min": "and", "mul": "and"}.get(combiner, combiner)
    suffix = {"max": "maxsi" if integer else "maximumf", "min": "minsi" if integer else "minimumf"}
    return vector.CombiningKindFlag(suffix.get(combiner, combiner))


def position(extents: Sequence[int], op: IndexOp, base: Index, scale: int) -> Affine:
    """The value of `loop.index` at a position of its dimension."""
    return Affine(base, scale, 0, extents[op.dim.value.data] - 1)
