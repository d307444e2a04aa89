"""Running combinations along a dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.identities import identity_value
from lamina.dialects.loop.rounding import is_half
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.ordered import scan
from lamina.lowering.prims_to_loop.table import Body, LoopBuilder, lowers
from lamina.lowering.scalar import compare, is_float, number, select
from lamina.lowering.tensor_types import element_of, normalized, shape_of


def log_add_exp(b: Body, left: SSAValue, right: SSAValue) -> SSAValue:
    """log(exp(left) + exp(right)) without overflow; equal infinities stay."""
    most, least = scalar.maximum(b, left, right), scalar.minimum(b, left, right)
    gap = scalar.sub(b, least, most)
    made = scalar.add(b, most, b.add(math.Log1pOp(b.add(math.ExpOp(gap)))))
    infinite = compare(b, "eq", b.add(math.AbsFOp(most)), b.constant(float("inf"), most.type))
    same = compare(b, "eq", left, right)
    return select(b, b.add(arith.AndIOp(infinite, same)), left, made)


COMBINERS: dict[str, Callable[..., SSAValue]] = {
    "add": scalar.add,
    "mul": scalar.mul,
    "max": scalar.maximum,
    "min": scalar.minimum,
    "logaddexp": log_add_exp,
}


def _carried_type(combiner: str, element: Attribute) -> Attribute:
    """Sums and products of f32 are carried as f64, as torch does on a CPU."""
    if is_half(element):
        return f32
    return f64 if element == f32 and combiner in ("add", "mul") else element


@lowers("scan")
def _scan(op: SchemaOp, b: LoopBuilder) -> SSAValue:
    """result[i] = a[0] combined with ... a[i], one element after the other."""
    source, combiner = op.operands[0], op.arg("combiner")
    if combiner not in COMBINERS:
        raise b.refuse(f"no scan with combiner '{combiner}'", ", ".join(COMBINERS))
    shape, element = shape_of(source), element_of(op.results[0])
    if not shape:
        return b.pointwise([source], element, lambda i, a: scalar.convert(i, a[0], element))
    wide = _carried_type(combiner, element)
    join = COMBINERS[combiner]
    nothing = "max" if combiner == "logaddexp" else combiner

    def body(
        inner: Body, args: list[SSAValue], carried: list[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        following = join(inner, carried[0], scalar.convert(inner, args[0], wide))
        return [following], [scalar.convert(inner, following, element)]

    dim = normalized(op.arg("dim"), len(shape))
    start = identity_value(nothing, wide)
    return scan(b, shape, dim, [(source, None)], [start], [element], body)[0]


@lowers("scan_extreme")
def _scan_extreme(op: SchemaOp, b: LoopBuilder) -> Sequence[SSAValue]:
    """The largest (smallest) so far and the last place that has it; NaN is extreme."""
    source, combiner = op.operands[0], op.arg("combiner")
    shape, element = shape_of(source), element_of(source)
    wide = f32 if is_half(element) else element
    dim = normalized(op.arg("dim"), len(shape))

    def body(
        inner: Body, args: list[SSAValue], carried: list[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        value = scalar.convert(inner, args[0], wide)
        best, place = carried
        taken = compare(inner, "ge" if combiner == "max" else "le", value, best)
        if is_float(wide):
            number_so_far = compare(inner, "eq", best, best)
            nan = compare(inner, "ne", value, value)
            taken = scalar.bitwise_or(inner, scalar.bitwise_and(inner, taken, number_so_far), nan)
        best = select(inner, taken, value, best)
        here = inner.add(arith.IndexCastOp(inner.index(dim), i64))
        place = select(inner, taken, here, place)
        return [best, place], [scalar.convert(inner, best, element), place]

    starts = [identity_value(combiner, wide), number(0, i64)]
    return scan(b, shape, dim, [(source, None)], starts, [element, i64], body)
