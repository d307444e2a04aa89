"""Sums, extrema, variances, logical reductions, running sums."""

from __future__ import annotations

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.rounding import IMPLICIT
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, accumulation_type, lowers, truth
from lamina.lowering.core_aten_to_prims.variance import mean_over, squared_distances
from lamina.lowering.tensor_types import (
    element_of,
    is_bool,
    is_complex,
    is_float,
    normalized,
    normalized_dims,
    rank_of,
    shape_of,
)


def dims_of(op: SchemaOp, empty_is_all: bool = True) -> list[int]:
    """Reduced dimensions, sorted; all if the overload has none or says None or []."""
    rank = rank_of(op.arg("self"))
    if op.schema.arg("dim") is None:
        return list(range(rank))
    return sorted(set(normalized_dims(op.arg("dim"), rank)))


def shaped(op: SchemaOp, b: PrimsBuilder, value: SSAValue, result: int = 0) -> SSAValue:
    """The result's shape, in which reduced dimensions may be kept as 1."""
    return b.reshape(value, shape_of(op.results[result]))


@lowers("sum.dim_IntList", "mean", "mean.dim")
def total(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """In the result's dtype, half floats in f32."""
    result = element_of(op.results[0])
    x = b.convert(op.arg("self"), accumulation_type(result))
    dims = dims_of(op)
    value = (
        b.reduce("sum", x, dims) if op.overload_name.startswith("sum") else mean_over(b, x, dims)
    )
    return shaped(op, b, b.convert(value, result))


@lowers("prod", "prod.dim_int")
def prod(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Floats in f64: parts of a product that overflow would make NaN of a zero among the others,
    or not, by the order in which vectors take the factors."""
    result = element_of(op.results[0])
    x = b.convert(op.arg("self"), f64 if is_float(result) else result)
    return shaped(op, b, b.convert(b.reduce("prod", x, dims_of(op)), result))


@lowers("amax", "amin")
def extremum(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.amax, prims.amin."""
    name = op.overload_name.partition(".")[0]
    return shaped(op, b, b.reduce(name, op.arg("self"), dims_of(op)))


@lowers("any", "any.dim", "any.dims")
def any_(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The largest bool."""
    value = b.reduce("amax", truth(b, op.arg("self")), dims_of(op))
    return shaped(op, b, b.convert(value, element_of(op.results[0])))


@lowers("argmax", "argmin")
def index_of_extremum(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.argmax over one dimension, or over the flattened tensor."""
    name, x = op.overload_name.partition(".")[0], op.arg("self")
    if op.arg("dim") is None or rank_of(x) == 0:
        count = 1
        for extent in shape_of(x):
            count *= extent
        return shaped(op, b, b(name, b.reshape(x, [count]), [0]))
    return shaped(op, b, b(name, x, dims_of(op)))


@lowers("max.dim", "min.dim")
def extremum_with_index(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """amax, and argmax if the index is used."""
    x, kind = op.arg("self"), "max" if op.overload_name.startswith("max") else "min"
    dims = dims_of(op)
    value = shaped(op, b, b.reduce(f"a{kind}", x, dims))
    if not op.results[1].uses:
        return [value, None]
    flat = x if rank_of(x) else b.reshape(x, [1])
    return [value, shaped(op, b, b(f"arg{kind}", flat, dims or [0]), 1)]


@lowers("var.correction", "var.dim")
def var(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The mean of squared distances from the mean, by count - correction; in f64, as in torch."""
    result = element_of(op.results[0])
    if op.overload_name == "var.dim":
        correction = 1 if op.arg("unbiased") else 0
    else:
        correction = 1 if op.arg("correction") is None else op.arg("correction")
    x, dims = op.arg("self"), dims_of(op)
    count = 1
    for dim in dims:
        count *= shape_of(x)[dim]
    # The squared distance of complex numbers is the sum of those of their parts.
    parts = [b("real", x), b("imag", x)] if is_complex(element_of(x)) else [_narrow(x)]
    wide = [b.convert(part, accumulation_type(element_of(part))) for part in parts]
    squares = [squared_distances(b, w, dims, _stored_as(w)) for w in wide]
    total = b("add", *squares) if len(squares) == 2 else squares[0]
    if isinstance(count, int):
        value = b.with_number("div", total, max(count - correction, 0))
    else:
        degrees = b.full(shape_of(total), count - correction, element_of(total))
        value = b("div", total, b.with_number("maximum", degrees, 0))
    return shaped(op, b, b.convert(value, result))


def _narrow(x: SSAValue) -> SSAValue:
    """What was converted to f64, since squared distances are f64 anyway."""
    made = x.owner
    if not isinstance(made, SchemaOp) or made.overload_name != "convert_element_type":
        return x
    source = made.operands[0]
    return source if element_of(x) == f64 and is_float(element_of(source)) else x


def _stored_as(x: SSAValue) -> Attribute:
    """The element type of what was widened for an op on 16-bit floats, whose result is narrow."""
    made = x.owner
    if isinstance(made, SchemaOp) and IMPLICIT in made.attributes:
        return element_of(made.operands[0])
    return element_of(x)


@lowers("cumsum")
def cumsum(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.scan."""
    result: Attribute = element_of(op.results[0])
    x = b.convert(op.arg("self"), accumulation_type(result))
    if is_bool(result):
        raise b.refuse("running sum into bool", "dtype = i64")
    if rank_of(x) == 0:
        return b.convert(x, result)
    return b.convert(b("scan", x, "add", normalized(op.arg("dim"), rank_of(x))), result)
