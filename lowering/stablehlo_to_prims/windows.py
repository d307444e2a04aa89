"""Reductions over sliding windows, and what their gradients scatter back."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, Block, SSAValue

from lamina.dialects.loop.monoid import COMBINE
from lamina.dialects.stablehlo.attributes import word
from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body, Map, d
from lamina.lowering.scalar import is_unsigned, number
from lamina.lowering.stablehlo_to_prims.reductions import (
    combiner_of,
    identity_number,
    joined_start,
    make_monoid,
    narrowed,
    wide_type,
)
from lamina.lowering.stablehlo_to_prims.scalar_bodies import one_op
from lamina.lowering.stablehlo_to_prims.scattering import scattered
from lamina.lowering.stablehlo_to_prims.shapes import scalar_number, with_interior
from lamina.lowering.stablehlo_to_prims.table import HloBuilder, lowers, result_shape
from lamina.lowering.tensor_types import element_of, is_complex, is_float, rank_of, shape_of

SCANNED = {"add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}
"""Combiners of prims.scan, and of nests on numbers with a sign."""


@lowers("reduce_window")
def reduce_window(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    """A nest over windows and the places within; a window that grows to the whole is a scan."""
    count = len(op.operands) // 2
    values, starts = list(op.operands[:count]), list(op.operands[count:])
    rank = rank_of(values[0])
    ones = [1] * rank
    window = op.ints("window_dimensions")
    stride, dilation = op.ints("window_strides", ones), op.ints("window_dilations", ones)
    base = op.ints("base_dilations", ones)
    padding = op.ints("padding", [0] * (2 * rank))
    if any(len(given) != rank for given in (window, stride, dilation, base, padding[::2])):
        raise ValueError(f"a window of {len(window)} dimensions for {values[0].type}")
    out = result_shape(op)
    if any(step != 1 for step in base):
        between = [step - 1 for step in base]
        numbers = [scalar_number(start) for start in starts]
        values = [
            with_interior(b, value, between, start if given is None else given)
            for value, start, given in zip(values, starts, numbers, strict=True)
        ]
    block = op.regions[0].block
    combiner = combiner_of(block) if count == 1 else None
    if combiner is None:
        return _by_monoid(op, b, block, values, (window, stride, dilation, padding))
    element = element_of(values[0])
    if is_complex(element) and combiner != "add":
        raise b.refuse("combines complex numbers", "add")
    if _is_plain(stride, dilation, base) and combiner in SCANNED and not is_complex(element):
        made = _scanned(b, combiner, values[0], window, padding)
        if made is not None:
            return [joined_start(b, combiner, made, starts[0], element)]
    if is_complex(element):
        parts = [
            _windows(b, combiner, b(part, values[0]), (window, stride, dilation, padding), out)
            for part in ("real", "imag")
        ]
        made = b("complex", *parts)
    else:
        made = _windows(b, combiner, values[0], (window, stride, dilation, padding), out)
    return [joined_start(b, combiner, made, starts[0], element)]


Window = tuple[list[int], list[int], list[int], list[int]]
"""Sizes, strides, dilations, and the padding before and after each dimension in turn."""


def _is_plain(*steps: list[int]) -> bool:
    return all(step == 1 for given in steps for step in given)


def _scanned(
    b: HloBuilder, combiner: str, x: SSAValue, window: list[int], padding: list[int]
) -> SSAValue | None:
    """Running combinations along a dimension, from either end; None for other windows."""
    shape = shape_of(x)
    along = [dim for dim, size in enumerate(window) if size != 1]
    if len(along) != 1:
        return None
    (dim,) = along
    size = shape[dim]
    others = [p for place, p in enumerate(padding) if place // 2 != dim]
    if window[dim] != size or size < 2 or any(others):
        return None
    around = padding[2 * dim : 2 * dim + 2]
    if around == [size - 1, 0]:
        return b("scan", x, SCANNED[combiner], dim)
    if around == [0, size - 1]:
        return b("rev", b("scan", b("rev", x, [dim]), SCANNED[combiner], dim), [dim])
    return None


def _domain(window: Window, shape: list[int], out: list[int]) -> tuple[list[int], Map, bool]:
    """Windows and places within, where a place is in the source, whether it may be outside."""
    sizes, stride, dilation, padding = window
    rank, beyond, exprs = len(out), False, []
    for dim in range(rank):
        low = padding[2 * dim]
        expr = d(dim) * stride[dim] + d(rank + dim) * dilation[dim]
        exprs.append(expr - low if low else expr)
        last = (out[dim] - 1) * stride[dim] + (sizes[dim] - 1) * dilation[dim] - low
        beyond = beyond or low > 0 or last >= shape[dim]
    return [*out, *sizes], exprs, beyond


def _windows(b: HloBuilder, combiner: str, x: SSAValue, window: Window, out: list[int]) -> SSAValue:
    element = element_of(x)
    wide = wide_type(element)
    if combiner in ("maximum", "minimum") and is_unsigned(element):
        wide = i64  # combiners compare signed numbers
    domain, exprs, beyond = _domain(window, shape_of(x), out)
    ignored = identity_number(combiner, element)
    assert ignored is not None
    pad = number(ignored, element) if beyond else None
    name = SCANNED.get(combiner, combiner)
    write = ([d(p) for p in range(len(out))], name, out, wide)
    made = b.loop.generic(
        domain,
        [(x, exprs)],
        [write],
        lambda inner, args: [scalar.convert(inner, args[0], wide)],
        pads=[pad],
    ).res[0]
    return made if wide == element else b.implicitly(made, element)


def _by_monoid(
    op: HloOp, b: HloBuilder, block: Block, values: list[SSAValue], window: Window
) -> list[SSAValue]:
    starts = op.operands[len(values) :]
    monoid = make_monoid(op, b, block, starts)
    out = result_shape(op)
    domain, exprs, beyond = _domain(window, shape_of(values[0]), out)
    pads: list[Attribute | None] = [None] * len(values)
    if beyond:
        literals = [scalar_number(start) for start in starts]
        assert all(literal is not None for literal in literals)
        pads = [
            number(literal or 0, element_of(value))
            for literal, value in zip(literals, values, strict=True)
        ]
    into: Map = [d(p) for p in range(len(out))]
    writes = [(into, COMBINE, out, value.type) for value in monoid.yielded]

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        return [scalar.widen(inner, value) for value in args]

    made = b.loop.generic(
        domain, [(value, exprs) for value in values], writes, body, pads=pads, monoids=[monoid]
    )
    return narrowed(op, b, list(made.res))


@lowers("select_and_scatter")
def select_and_scatter(op: HloOp, b: HloBuilder) -> SSAValue:
    """The place of each window's extreme, and then a scatter to those places."""
    x, source, start = op.operands
    rank = rank_of(x)
    chooses = next(iter(op.regions[0].block.ops))
    direction = word(chooses.attr("comparison_direction")) if isinstance(chooses, HloOp) else ""
    first = chooses.operands[0] is op.regions[0].block.args[0] if chooses.operands else False
    combiner = combiner_of(op.regions[1].block)
    if one_op(op.regions[0].block) != "compare" or direction not in ("GE", "LE") or not first:
        raise b.refuse("selects by a region of its own", "compare GE or LE of its arguments")
    if combiner is None or combiner not in SCANNED:
        raise b.refuse("combines by a region of its own", ", ".join(SCANNED))
    element = element_of(x)
    keys = x
    if direction == "LE":
        keys = b("neg", x) if is_float(element) else b("bitwise_not", x)
    if element == i1:
        keys = b.convert(keys, i64)
    padding = op.ints("padding", [0] * (2 * rank))
    low, high = padding[::2], padding[1::2]
    shape = [
        extent + before + after
        for extent, before, after in zip(shape_of(x), low, high, strict=True)
    ]
    least = identity_number("maximum", element_of(keys))
    assert least is not None
    keys = b.pad_dims(keys, low, high, least)
    ones = [1] * rank
    stride = op.ints("window_strides", ones)
    window = op.ints("window_dimensions")
    place = b("window_index", keys, window, stride, [0] * rank, ones, False)
    flat = b.splat(start, [prod(shape)])
    count = prod(shape_of(source))
    made = scattered(
        b, flat, b.reshape(place, [count]), b.reshape(source, [count]), SCANNED[combiner]
    )
    made = b.reshape(made, shape)
    return b.pad_dims(made, [-n for n in low], [-n for n in high])
