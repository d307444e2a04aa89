"""Fourier transforms of rows."""

from __future__ import annotations

from math import pi, prod

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ComplexType, TensorType, f64, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.clauses import MOST_FACTOR
from lamina.dialects.loop.fourier import FourierOp, greatest_factor
from lamina.dialects.loop.labels import set_names
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules.shapes import tensor as shaped
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, lowers
from lamina.lowering.scalar import compare, select
from lamina.lowering.tensor_types import element_of, normalized, rank_of
from lamina.passes.refusal import unsupported


@lowers("fourier")
def _fourier(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """Of complex numbers as pairs; dimensions behind the transformed one are columns."""
    kind, size = op.arg("kind"), op.arg("size")
    factor = greatest_factor(size if kind == "c2c" else size // 2)
    if factor > MOST_FACTOR:
        raise unsupported(
            op,
            f"{size} numbers have the prime factor {factor}; steps are of {MOST_FACTOR} at most",
            f"prims.fft_{kind}, which calls a library",
        )
    source, result = op.operands[0], op.results[0].type
    assert isinstance(result, TensorType)
    dim = normalized(op.arg("dim"), rank_of(source))
    columns = dim < rank_of(source) - 1
    made = FourierOp(
        _in_rows(b, source, dim),
        _turns(b, size, _real(element_of(source))),
        _rows_of(result, dim),
        kind=kind,
        scale=op.arg("scale"),
        inverse=op.arg("inverse"),
        columns=columns,
    )
    set_names(made, [op.name])
    b.insert(made)
    return b.seen_as(made.res[0], result)


def _real(element: Attribute) -> Attribute:
    return element.element_type if isinstance(element, ComplexType) else element


def _rows_of(kind: TensorType, dim: int) -> TensorType:
    """The type with one dimension of columns, if any, in which pairs are complex numbers."""
    shape, element = list(kind.get_shape()), kind.element_type
    if dim < len(shape) - 1:
        shape = [*shape[: dim + 1], prod(shape[dim + 1 :])]
    if isinstance(element, ComplexType):
        return shaped([*shape, 2], element.element_type)
    return shaped(shape, element)


def _in_rows(b: LoopBuilder, value: SSAValue, dim: int) -> SSAValue:
    assert isinstance(value.type, TensorType)
    return b.seen_as(value, _rows_of(value.type, dim))


def _turns(b: LoopBuilder, size: int, element: Attribute) -> SSAValue:
    """Cosine and sine of -2 pi k / N for each k, from angles of at most half a turn, in f64."""

    def body(inner: Body, _: list[SSAValue]) -> SSAValue:
        count = inner.add(arith.IndexCastOp(inner.index(0), i64))
        less = scalar.sub(inner, count, inner.constant(size, i64))
        far = compare(inner, "gt", count, inner.constant(size // 2, i64))
        near = scalar.convert(inner, select(inner, far, less, count), f64)
        angle = scalar.mul(inner, near, inner.constant(-2 * pi / size, f64))
        part = inner.index(1)
        is_cosine = compare(inner, "eq", part, inner.constant(0, part.type))
        cosine, sine = (inner.add(kind(angle)) for kind in (math.CosOp, math.SinOp))
        return scalar.convert(inner, select(inner, is_cosine, cosine, sine), element)

    return b.pointwise([], element, body, [size, 2])
