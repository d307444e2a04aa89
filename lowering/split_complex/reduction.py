"""Reductions and running combinations of complex numbers."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.split_complex.arithmetic import product
from lamina.lowering.split_complex.table import ComplexBuilder, Parts, splits
from lamina.lowering.tensor_types import element_of, normalized, shape_of


def _dims(op: SchemaOp) -> list[int]:
    rank = len(shape_of(op.operands[0]))
    dims = op.arg("dims")
    return list(range(rank)) if dims is None else sorted({normalized(d, rank) for d in dims})


@splits("sum")
def _sum(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """Part by part."""
    x, y = b.parts(op.operands[0])
    return b("sum", x, _dims(op)), b("sum", y, _dims(op))


@splits("var")
def _var(op: SchemaOp, b: ComplexBuilder) -> SSAValue:
    """The mean of |z - mean|^2: the variances of the parts, added."""
    x, y = b.parts(op.operands[0])
    correction = op.arg("correction")
    return b.add(b("var", x, _dims(op), correction), b("var", y, _dims(op), correction))


@splits("prod")
def _prod(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """Halves are multiplied with each other until one number is left."""
    dims = _dims(op)
    shape = shape_of(op.operands[0])
    kept = [d for d in range(len(shape)) if d not in dims]
    outer, count = [shape[d] for d in kept], prod(shape[d] for d in dims)
    x, y = (
        b.reshape(b.transpose(part, [*kept, *dims]), [*outer, count])
        for part in b.parts(op.operands[0])
    )
    last = len(kept)
    if count == 0:
        one = b.full(outer, 1, element_of(x))
        return one, b.like(one, 0)
    while count > 1:
        half = -(-count // 2)
        (p, q), (u, v) = (
            tuple(b.slice(part, last, low, high) for part in (x, y))
            for low, high in ((0, half), (half, count))
        )
        u, v = b.pad(u, last, 0, 2 * half - count, 1), b.pad(v, last, 0, 2 * half - count)
        x, y = product(b, (p, q), (u, v))
        count = half
    return b.reshape(x, outer), b.reshape(y, outer)


@splits("scan")
def _scan(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """Running sums part by part; running products by doubling the distance in each step.

    As torch does on a CPU, products of single precision are formed in double precision.
    """
    combiner, dim = op.arg("combiner"), op.arg("dim")
    x, y = b.parts(op.operands[0])
    shape = shape_of(x)
    if combiner == "add" or not shape:
        return b("scan", x, combiner, dim), b("scan", y, combiner, dim)
    if combiner != "mul":
        raise b.refuse(f"no scan of complex numbers with combiner '{combiner}'", "add, mul")
    dim, element = normalized(dim, len(shape)), element_of(x)
    x, y = (b.convert(part, f64) for part in (x, y))
    step = 1
    while step < shape[dim]:
        before = tuple(
            b.pad(b.slice(part, dim, 0, shape[dim] - step), dim, step, 0, fill)
            for part, fill in ((x, 1), (y, 0))
        )
        x, y = product(b, (before[0], before[1]), (x, y))
        step *= 2
    return b.convert(x, element), b.convert(y, element)
