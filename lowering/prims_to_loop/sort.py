"""Order: sorts, and places in sorted rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, TensorType, f32, i1, i64
from xdsl.ir import SSAValue

from lamina.dialects.loop import SortOp
from lamina.dialects.loop.labels import set_names
from lamina.dialects.loop.rounding import is_half
from lamina.dialects.loop.sort import sorted_types
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.sizes import Extent, Size
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, Map, d, lowers
from lamina.lowering.scalar import compare, select
from lamina.lowering.tensor_types import element_of, is_certain, normalized, shape_of


@lowers("sort")
def _sort(op: SchemaOp, b: LoopBuilder) -> Sequence[SSAValue]:
    return _ordered(op, b, op.arg("descending"), None)


@lowers("topk")
def _topk(op: SchemaOp, b: LoopBuilder) -> Sequence[SSAValue]:
    if not op.arg("k"):
        return [b.pointwise([], element_of(r), _zero(r), shape_of(r)) for r in op.results]
    return _ordered(op, b, op.arg("descending"), (0, op.arg("k")))


@lowers("kthvalue")
def _kthvalue(op: SchemaOp, b: LoopBuilder) -> Sequence[SSAValue]:
    return _ordered(op, b, False, (op.arg("k"), 1))


def _zero(result: SSAValue) -> Callable[[Body, list[SSAValue]], SSAValue]:
    return lambda inner, _: inner.constant(0, element_of(result))


def _ordered(
    op: SchemaOp, b: LoopBuilder, descending: bool, taken: tuple[Extent, Extent] | None
) -> Sequence[SSAValue]:
    """Rows along the last dimension; half floats as f32, which holds them all."""
    source = op.operands[0]
    element, shape = element_of(source), shape_of(source)
    dim = normalized(op.arg("dim"), len(shape))
    if is_half(element):
        source = b.pointwise([source], f32, lambda i, a: scalar.widen(i, a[0]))
    rows = _swapped(b, source, dim)
    assert isinstance(rows.type, TensorType)
    made = SortOp(
        rows,
        descending=descending,
        taken=None if taken is None else _entries(taken),
        sizes=b.values([extent for extent in taken or () if isinstance(extent, Size)]),
        result_types=sorted_types(rows.type, taken),
    )
    set_names(made, [op.name])
    b.insert(made)
    values, places = (_swapped(b, v, dim) for v in made.res[:2])
    if is_half(element):
        values = b.pointwise([values], element, lambda i, a: scalar.convert(i, a[0], element))
    return [values, places]


def _entries(taken: tuple[Extent, Extent]) -> tuple[int, int]:
    """What is taken, with -1 - n in the place of size n."""
    start, count = taken
    first = start if isinstance(start, int) else -1
    return first, count if isinstance(count, int) else -1 - isinstance(start, Size)


def _swapped(b: LoopBuilder, source: SSAValue, dim: int) -> SSAValue:
    """`dim` and the last dimension change places."""
    shape = shape_of(source)
    last = len(shape) - 1
    if dim == last:
        return source
    order = list(range(len(shape)))
    order[dim], order[last] = last, dim
    return b.copy(source, [d(p) for p in order], [shape[p] for p in order])


@lowers("searchsorted")
def _search_sorted(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """Binary search, one read for each halving: all values take the same number of steps.

    The middle is torch's, as any order of reads gives the same but in rows that hold NaN.
    """
    table, values = op.operands
    length = shape_of(table)[-1]
    batched = len(shape_of(table)) > 1
    right = op.arg("right")
    shape = shape_of(values)
    halvings = _halvings(length, b)

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        wanted, source = args
        outer = [inner.index(p) for p in range(len(shape) - 1)] if batched else []
        low, high = inner.constant(0, IndexType()), inner.constant(length, IndexType())
        one, end = inner.constant(1, IndexType()), inner.constant(length - 1, IndexType())
        # Everything before `low` goes before the value, and nothing from `high` on.
        for _ in range(halvings):
            middle = inner.add(arith.ShRUIOp(scalar.add(inner, low, high), one))
            # Nothing is open any more where they meet, perhaps behind the row.
            is_open = compare(inner, "lt", low, high)
            found = inner.read(source, [*outer, inner.add(arith.MinUIOp(middle, end))])
            before = _goes_before(inner, found, wanted, right)
            both = scalar.bitwise_and(inner, is_open, before)
            low = select(inner, both, scalar.add(inner, middle, one), low)
            # Where they have met, this is the same place again.
            high = select(inner, before, high, middle)
        return [inner.add(arith.IndexCastOp(low, i64))]

    reads: list[tuple[SSAValue, Map]] = [(values, None)]
    if not length:
        return b.pointwise([], i64, lambda i, _: i.constant(0, i64), shape)
    return b.generic(shape, reads, [(None, "store", shape, i64)], body, sources=[table]).res[0]


def _halvings(length: Extent, b: LoopBuilder) -> int:
    """How many steps are enough to find a place in a row."""
    if isinstance(length, int):
        return length.bit_length()
    most = length.range[1]
    if most == inf or not is_certain(lambda: length >= 1):
        raise b.refuse(
            f"a row of {length} elements is halved as often as its range says",
            "a size with an upper bound that is 1 at least, as #lamina.size<n in [1, 4096]>",
        )
    return int(most).bit_length()


def _goes_before(inner: Body, found: SSAValue, wanted: SSAValue, right: bool) -> SSAValue:
    """Whether an element stands before the place of the value; false only where a comparison is
    true, so that everything goes before NaN."""
    behind = compare(inner, "gt" if right else "ge", found, wanted)
    return inner.add(arith.XOrIOp(behind, inner.constant(1, i1)))
