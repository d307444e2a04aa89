"""Sums and extremes of rows of a table, over segments of a list of their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.ordered import Reads, segment_reduce
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, d, lowers
from lamina.lowering.scalar import compare, number, select
from lamina.lowering.tensor_types import element_of, shape_of


class _Rows:
    """The nest that walks the segments of an op's index, and what its body reads there."""

    def __init__(self, op: SchemaOp, b: LoopBuilder) -> None:
        self.b, self.op = b, op
        self.table, self.index = op.arg("a"), op.arg("index")
        self.offsets: SSAValue = op.arg("offsets")
        self.columns = shape_of(self.table)[1:]
        segments, positions = shape_of(self.offsets)[0] - 1, shape_of(self.index)[0]
        self.domain = [segments, positions, *self.columns]

    def element(self, inner: Body, at: SSAValue, source: SSAValue) -> SSAValue:
        """The element of the row that an index names."""
        columns = [inner.index(dim + 2) for dim in range(len(self.columns))]
        return inner.read(source, [inner.as_index(at), *columns])

    def kept(self, inner: Body, at: SSAValue) -> SSAValue | None:
        """Whether an index is not the one that is left out; None if none is."""
        skipped: int = self.op.arg("skipped")
        if skipped < 0:
            return None
        return compare(inner, "ne", at, inner.constant(skipped, at.type))


@lowers("segment_sum")
def _segment_sum(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """What is left out adds nothing: not even zero times a row, which may be infinite."""
    rows, scale = _Rows(op, b), op.arg("scale")
    element = element_of(op.results[0])
    reads: Reads = [(v, [d(1)]) for v in (rows.index, scale) if v is not None]

    def body(inner: Body, args: list[SSAValue], carried: list[SSAValue]) -> Sequence[SSAValue]:
        value = scalar.convert(inner, rows.element(inner, args[0], args[-1]), element)
        if scale is not None:
            value = scalar.mul(inner, value, scalar.convert(inner, args[1], element))
        made = scalar.add(inner, carried[0], value)
        kept = rows.kept(inner, args[0])
        return [made if kept is None else select(inner, kept, made, carried[0])]

    starts = [number(0, element)]
    return segment_reduce(
        b, rows.domain, rows.offsets, reads, starts, 1, body, sources=[rows.table]
    )[0]


@lowers("segment_max")
def _segment_max(op: SchemaOp, b: LoopBuilder) -> Sequence[SSAValue | None]:
    """The first value that is kept is taken as it is, a later one where it is greater.

    The index is carried along only if somebody reads it.
    """
    rows = _Rows(op, b)
    values, places = op.results
    wanted = [values, places] if places.first_use else [values]
    starts = [number(0, element_of(v)) for v in wanted]

    def body(inner: Body, args: list[SSAValue], carried: list[SSAValue]) -> Sequence[SSAValue]:
        at, source = args
        best, begun = carried[0], carried[-1]
        value, yes = rows.element(inner, at, source), inner.constant(1, i1)
        greater = compare(inner, "gt", scalar.widen(inner, value), scalar.widen(inner, best))
        taken = scalar.bitwise_or(inner, greater, scalar.bitwise_xor(inner, begun, yes))
        kept = rows.kept(inner, at)
        if kept is not None:
            taken, yes = (
                scalar.bitwise_and(inner, taken, kept),
                scalar.bitwise_or(inner, begun, kept),
            )
        now = [value, at][: len(wanted)]
        return [*(select(inner, taken, n, c) for n, c in zip(now, carried, strict=False)), yes]

    reads: Reads = [(rows.index, [d(1)])]
    made = segment_reduce(
        b,
        rows.domain,
        rows.offsets,
        reads,
        [*starts, number(0, i1)],
        len(wanted),
        body,
        sources=[rows.table],
    )
    return [*made, *[None] * (2 - len(made))]
