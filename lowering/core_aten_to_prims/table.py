"""The table of lowerings, and the builder they use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import isfinite
from pathlib import Path

from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects import prims
from lamina.dialects.errors import InputError
from lamina.dialects.sizes import Size
from lamina.lowering.conversion import Builder, Conversion, drops_imaginary
from lamina.lowering.tensor_types import (
    element_of,
    is_bool,
    is_complex,
    is_float,
    rank_of,
    shape_of,
)

Number = bool | int | float | complex


class PrimsBuilder(Builder):
    """Makes prims ops, whose operands have one shape and element type; nothing is promoted.

    A call `b(name, *arguments)` makes the op of that name and gives its first result, `b.op` the
    op. The methods below leave out what would change nothing. Element types are xDSL's.

        @mine.lowers("mine.softplus", to="prims")
        def lower(op, b):
            (x,) = op.operands
            return b("log1p", b("exp", x))
    """

    def __init__(self, anchor: Operation) -> None:
        super().__init__(anchor, prims.op)

    # Constants

    def full(self, shape: Sequence[int], value: Number, element: Attribute) -> SSAValue:
        """`value` in a tensor of this `shape`, converted to the `element` type as torch would."""
        return self(
            "full",
            list(shape),
            as_element(value, element),
            dtype=element,
            device="cpu",
            requires_grad=False,
        )

    def iota(self, length: int, element: Attribute, start: int = 0, step: int = 1) -> SSAValue:
        """The vector of start + step * i for i below `length`, of this `element` type."""
        return self(
            "iota",
            length,
            start=start,
            step=step,
            dtype=element,
            device="cpu",
            requires_grad=False,
        )

    # Types and shapes

    def convert(self, x: SSAValue, element: Attribute) -> SSAValue:
        """`x` with another `element` type.

        Imaginary parts are dropped only if the program asks for it; refused otherwise.
        """
        if drops_imaginary(self.anchor, x, element):
            raise self.refuse("is not lowered for complex numbers", "real tensors")
        return x if element_of(x) == element else self("convert_element_type", x, element)

    def reshape(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The elements of `x`, in order, in another `shape`."""
        return x if shape_of(x) == list(shape) else self("reshape", x, list(shape))

    def transpose(self, x: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """`x` with its dimensions in the order of `permutation`."""
        return (
            x
            if list(permutation) == list(range(len(permutation)))
            else self("transpose", x, list(permutation))
        )

    def broadcast(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`x` broadcast to `shape` by torch's rule: dimensions are aligned at the end."""
        if shape_of(x) == list(shape):
            return x
        lead = len(shape) - rank_of(x)
        return self("broadcast_in_dim", x, list(shape), list(range(lead, len(shape))))

    def along(self, x: SSAValue, shape: Sequence[int], dim: int) -> SSAValue:
        """The vector `x` laid along dimension `dim` of `shape`, repeated along the others."""
        return self("broadcast_in_dim", x, list(shape), [dim])

    def keep_dims(self, reduced: SSAValue, shape: Sequence[int], dims: Sequence[int]) -> SSAValue:
        """`reduced`, which a reduction of `shape` over `dims` left, repeated over `dims` again."""
        rest = [d for d in range(len(shape)) if d not in dims]
        return self("broadcast_in_dim", reduced, list(shape), rest)

    def value(self, x: SSAValue | Number, shape: Sequence[int], element: Attribute) -> SSAValue:
        """`x`, a tensor or a number, as a tensor of this `shape` and `element` type."""
        if isinstance(x, SSAValue):
            return self.broadcast(self.convert(x, element), shape)
        return self.full(shape, x, element)

    # Arithmetic with numbers

    def with_number(self, name: str, x: SSAValue, number: Number) -> SSAValue:
        """The binary op `name` of `x` and a constant `number`."""
        return self(name, x, self.full(shape_of(x), number, element_of(x)))

    def where(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        """Elements of `x` where `condition` holds, of `y` elsewhere; all three of one shape."""
        return self("where", condition, x, y)

    # Pieces

    def slice(self, x: SSAValue, dim: int, start: int, end: int, step: int = 1) -> SSAValue:
        """x[start:end:step] along dimension `dim`, bounds already inside.

        There is no slice among prims: a pad by negative amounts cuts, and a step is the first
        column after the dimension is split into rows of `step`.
        """
        shape = shape_of(x)
        if step > 1:
            count = max(0, -(-(end - start) // step))
            x = self.pad(x, dim, -start, start + count * step - shape[dim])
            split = [*shape[:dim], count, step, *shape[dim + 1 :]]
            first = self.pad(self.reshape(x, split), dim + 1, 0, 1 - step)
            return self.reshape(first, [*shape[:dim], count, *shape[dim + 1 :]])
        return self.pad(x, dim, -start, max(end, start) - shape[dim])

    def pad(
        self, x: SSAValue, dim: int, low: int, high: int, value: Number | None = None
    ) -> SSAValue:
        """`x` with `low` and `high` times `value` (0) around dimension `dim`; negative ones cut."""
        if low == 0 and high == 0:
            return x
        lows, highs = [0] * rank_of(x), [0] * rank_of(x)
        lows[dim], highs[dim] = low, high
        element = element_of(x)
        return self("pad", x, as_element(value or 0, element), lows, highs)

    # Reductions

    def reduce(self, name: str, x: SSAValue, dims: Sequence[int]) -> SSAValue:
        """Reduction `name` (sum, amax, ...) of `x` over `dims`, which go away; `x` over none."""
        return self(name, x, list(dims)) if dims else x

    def mean(self, x: SSAValue, dims: Sequence[int]) -> SSAValue:
        """The sum of `x` over `dims`, divided by the number of its terms."""
        count = 1
        for dim in dims:
            count *= shape_of(x)[dim]
        return self.with_number("div", self.reduce("sum", x, dims), count)


def as_element(value: Number, element: Attribute) -> Number:
    """`value` as a constant of the element type: bool, int, float or complex.

    Raises InputError for an infinity or NaN as an integer.
    """
    if isinstance(value, Size):  # a size, which the op that takes it converts
        return value
    if is_bool(element):
        return bool(value)
    if is_complex(element):
        return value
    if isinstance(value, complex):
        value = value.real
    if is_float(element):
        return float(value)
    if not isfinite(value):
        raise InputError(f"{value} is no number of {element}")
    return int(value)


def accumulation_type(element: Attribute) -> Attribute:
    """f32 for half floats, in which sums, norms and softmax are computed; others as they are."""
    return f32 if str(element) in ("f16", "bf16") else element


def truth(b: PrimsBuilder, x: SSAValue) -> SSAValue:
    """x != 0, as bool."""
    return b.convert(x, i1)


@cache
def limitations() -> dict[str, str]:
    """Core overloads that are not lowered, with the reason, from `limitations.tsv`."""
    text = (Path(__file__).parent / "limitations.tsv").read_text()
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {row[0]: row[1] for row in rows}


LOWERINGS = Conversion(
    source="core_aten",
    package=__package__,
    families=(
        "activation",
        "bits",
        "complex",
        "convolution",
        "convolution_backward",
        "creation",
        "fourier",
        "histogram",
        "indexing",
        "linear",
        "linear_algebra",
        "normalization",
        "normalization_backward",
        "padding",
        "pointwise",
        "pooling",
        "pooling_backward",
        "ragged",
        "random",
        "reduction",
        "resampling",
        "sampling",
        "sampling_backward",
        "scatter",
        "sort",
        "view",
    ),
    builder=PrimsBuilder,
    limitations=limitations,
    target="prims",
    default_suffix=".default",
)

lowers = LOWERINGS.lowers
"""Decorator: register a lowering for overload names, `.default` left out."""
