"""Products of tensors: contractions and convolutions."""

from __future__ import annotations

import re
from math import prod

from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.rounding import is_half
from lamina.dialects.records import record
from lamina.dialects.stablehlo.attributes import body_of, fields
from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.stablehlo_to_prims.shapes import dilated, reversed_dims
from lamina.lowering.stablehlo_to_prims.table import (
    HloBuilder,
    lowers,
    result_element,
    result_shape,
)
from lamina.lowering.tensor_types import element_of, is_bool, rank_of, shape_of

_DIM_NUMBERS = re.compile(r"\[([^\]]*)\]\s*x\s*\[([^\]]*)\]\s*->\s*\[([^\]]*)\]")


@lowers("dot_general")
def dot_general(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.contract, which has its results' dimensions in the same order."""
    numbers = fields(body_of(op.attr("dot_dimension_numbers")))
    names = [f"{side}_{kind}_dimensions" for kind in ("batching", "contracting") for side in "lr"]
    names = [name.replace("l_", "lhs_").replace("r_", "rhs_") for name in names]
    return _contract(op, b, *(numbers.get(name, []) for name in names))


@lowers("dot")
def dot(op: HloOp, b: HloBuilder) -> SSAValue:
    """The last dimension of the left and the first of the right side."""
    return _contract(op, b, [], [], [rank_of(op.operands[0]) - 1], [0])


def _contract(op: HloOp, b: HloBuilder, *dims: list[int]) -> SSAValue:
    x, y = op.operands
    element = result_element(op)
    wide = _computed_in(element)
    sides = [_widened(b, side, wide) for side in (x, y)]
    for given, own in ((x, (dims[0], dims[2])), (y, (dims[1], dims[3]))):
        _check_dims(shape_of(given), [*own[0], *own[1]])
    made = b("contract", *sides, *dims)
    return _narrowed(b, made, element)


def _computed_in(element: Attribute) -> Attribute:
    """Products of half floats are summed in f32, those of bools counted."""
    if is_half(element):
        return f32
    return i32 if is_bool(element) else element


def _widened(b: HloBuilder, x: SSAValue, wide: Attribute) -> SSAValue:
    return b.implicitly(x, wide) if is_half(element_of(x)) else b.convert(x, wide)


def _narrowed(b: HloBuilder, x: SSAValue, element: Attribute) -> SSAValue:
    if element == i1:
        return b.with_number("ne", x, 0)
    return b.implicitly(x, element) if is_half(element) else b.convert(x, element)


def _check_dims(shape: list[int], dims: list[int]) -> None:
    """Raises ValueError for dimensions that are not there, or named twice."""
    if len(set(dims)) != len(dims) or not all(0 <= dim < len(shape) for dim in dims):
        raise ValueError(f"dimensions {dims} of {shape}")


@record
class DimNumbers:
    """Which dimensions of a tensor are its first two (batch and channels, or outputs and inputs)
    and its spatial ones."""

    first: int
    second: int
    spatial: list[int]

    @staticmethod
    def of(text: str, first: str, second: str) -> DimNumbers:
        """Those of `b, f, 0, 1`. Raises ValueError for a text that does not name each once."""
        names = [name.strip() for name in text.split(",")]
        spatial = [names.index(str(n)) for n in range(len(names) - 2)]
        return DimNumbers(names.index(first), names.index(second), spatial)

    @property
    def order(self) -> list[int]:
        """The permutation that puts the spatial dimensions last."""
        return [self.first, self.second, *self.spatial]


@lowers("convolution")
def convolution(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.convolution of tensors whose spatial dimensions are last; what it lacks is padding."""
    found = _DIM_NUMBERS.fullmatch(body_of(op.attr("dimension_numbers")).strip())
    if found is None:
        raise ValueError("dimension_numbers are not like [b, f, 0]x[o, i, 0]->[b, f, 0]")
    image, kernel, out = (
        DimNumbers.of(found[1], "b", "f"),
        DimNumbers.of(found[2], "o", "i"),
        DimNumbers.of(found[3], "b", "f"),
    )
    element = result_element(op)
    wide = _computed_in(element)
    x, weight = (_widened(b, side, wide) for side in op.operands)
    x, weight = b.transpose(x, image.order), b.transpose(weight, kernel.order)
    dims = len(image.spatial)
    ones = [1] * dims
    padding = op.ints("padding", [0] * (2 * dims))
    reversal = op.ints("window_reversal", [0] * dims)
    weight = reversed_dims(b, weight, [2 + d for d in range(dims) if reversal[d]])
    x = dilated(b, x, [1, 1, *op.ints("lhs_dilation", ones)])
    low, high = padding[::2], padding[1::2]
    if low != high or min(low, default=0) < 0:
        x = b.pad_dims(x, [0, 0, *low], [0, 0, *high])
        low = [0] * dims
    groups, batches = op.int("feature_group_count", 1), op.int("batch_group_count", 1)
    if batches > 1:
        shape = shape_of(x)
        parts = b.reshape(x, [batches, shape[0] // batches, *shape[1:]])
        turned = b.transpose(parts, [1, 0, *range(2, dims + 3)])
        x = b.reshape(turned, [shape[0] // batches, batches * shape[1], *shape[2:]])
        groups = batches
    wanted = [result_shape(op)[d] for d in out.order]
    if 0 in (*wanted, prod(shape_of(x)), prod(shape_of(weight))):
        made = b.full(wanted, 0, wide)
    else:
        stride, dilation = op.ints("window_strides", ones), op.ints("rhs_dilation", ones)
        made = _convolved(b, x, weight, (stride, low, dilation, groups))
    back = [out.order.index(d) for d in range(dims + 2)]
    return _narrowed(b, b.transpose(made, back), element)


def _convolved(
    b: HloBuilder,
    x: SSAValue,
    weight: SSAValue,
    window: tuple[list[int], list[int], list[int], int],
) -> SSAValue:
    """Without spatial dimensions a convolution is one of a line of one element."""
    if rank_of(x) > 2:
        return b("convolution", x, weight, *window)
    lines = [b.reshape(side, [*shape_of(side), 1]) for side in (x, weight)]
    made = b("convolution", *lines, [1], [0], [1], window[3])
    return b.reshape(made, shape_of(made)[:2])
