"""Running combinations along a dimension, as masked reductions over blocks."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from lamina.dialects.loop.rounding import is_half
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, Map, d, lowers
from lamina.lowering.prims_to_loop.window import identity
from lamina.lowering.scalar import compare, select
from lamina.lowering.tensor_types import element_of, normalized, shape_of

COMBINERS: dict[str, Callable[..., SSAValue]] = {
    "add": scalar.add,
    "mul": scalar.mul,
    "max": scalar.maximum,
    "min": scalar.minimum,
}

DIRECT = 64
"""Longest dimension scanned in one nest; longer ones are cut into blocks."""


@lowers("scan")
def _scan(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """result[i] = a[0] combined with ... a[i]: n*n steps up to `DIRECT`, else about n*sqrt(n)."""
    source, combiner = op.operands[0], op.arg("combiner")
    if combiner not in COMBINERS:
        raise b.refuse(f"no scan with combiner '{combiner}'", ", ".join(COMBINERS))
    shape, element = shape_of(source), element_of(op.results[0])
    if not shape:
        return b.pointwise([source], element, lambda i, a: scalar.convert(i, a[0], element))
    wide = f32 if is_half(element) else element
    dim = normalized(op.arg("dim"), len(shape))
    if element_of(source) != wide:
        source = b.pointwise([source], wide, lambda i, a: scalar.convert(i, a[0], wide))
    made = _prefixes(b, source, dim, combiner, exclusive=False)
    if wide == element:
        return made
    return b.pointwise([made], element, lambda i, a: scalar.rounded(i, a[0], element))


def _prefixes(
    b: LoopBuilder, source: SSAValue, dim: int, combiner: str, exclusive: bool
) -> SSAValue:
    """Combinations of everything before (and at, unless `exclusive`) each position of `dim`."""
    shape = shape_of(source)
    length = shape[dim]
    if length <= DIRECT or exclusive:
        return _direct(b, source, dim, combiner, exclusive)
    size = isqrt(length - 1) + 1
    blocks = -(-length // size)
    cut = [*shape[:dim], blocks, size, *shape[dim + 1 :]]
    exprs: Map = [d(p) if p < dim else d(p + 1) for p in range(len(shape))]
    exprs[dim] = d(dim) * size + d(dim + 1)
    neutral = identity(combiner, element_of(source))
    inside = b.copy(source, exprs, cut, neutral if blocks * size > length else None)
    local = _direct(b, inside, dim + 1, combiner, exclusive=False)
    last: list[AffineExpr | int] = [d(p) if p <= dim else d(p - 1) for p in range(len(cut))]
    last[dim + 1] = size - 1
    totals = b.copy(local, last, [*shape[:dim], blocks, *shape[dim + 1 :]])
    before = _direct(b, totals, dim, combiner, exclusive=True)
    spread: Map = [d(p) if p <= dim else d(p + 1) for p in range(len(shape))]
    joined = _joined(b, before, spread, local, combiner)
    flat = [*shape[:dim], blocks * size, *shape[dim + 1 :]]
    return b.copy(b.reshape(joined, flat), None, shape)


def _joined(
    b: LoopBuilder, before: SSAValue, spread: Map, local: SSAValue, combiner: str
) -> SSAValue:
    shape, element = shape_of(local), element_of(local)
    write = (None, "store", shape, element)
    reads: list[tuple[SSAValue, Map]] = [(before, spread), (local, None)]
    join = COMBINERS[combiner]
    return b.generic(shape, reads, [write], lambda i, a: [join(i, a[0], a[1])]).res[0]


def _direct(b: LoopBuilder, source: SSAValue, dim: int, combiner: str, exclusive: bool) -> SSAValue:
    """A reduction over a last dimension k that takes what lies before position `dim` only."""
    shape, element = shape_of(source), element_of(source)
    rank = len(shape)
    neutral: Attribute = identity(combiner, element)

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        before = compare(inner, "lt" if exclusive else "le", inner.index(rank), inner.index(dim))
        nothing = inner.constant(neutral.value.data, element)  # pyright: ignore
        return [select(inner, before, args[0], nothing)]

    where: Map = [d(rank) if p == dim else d(p) for p in range(rank)]
    write = ([d(p) for p in range(rank)], combiner, shape, element)
    return b.generic([*shape, shape[dim]], [(source, where)], [write], body).res[0]
