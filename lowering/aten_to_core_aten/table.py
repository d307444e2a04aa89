"""The table of decompositions, and the builder they use."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects import aten, core_aten
from lamina.dialects.schema.dialect import UnknownOpError
from lamina.lowering.conversion import Builder, Conversion, Lowering, drops_imaginary
from lamina.lowering.tensor_types import element_of, shape_of


def _core_class(name: str) -> type[Operation]:
    return core_aten.op(name if "." in name else f"{name}.default")


class CoreBuilder(Builder):
    """Makes core_aten ops; `.default` may be left out of names.

    A call `b(name, *arguments)` makes the op of that name and gives its first result, `b.op` the
    op. The methods below leave out what would change nothing. Element types are xDSL's.

        @mine.lowers("mine.silu", to="core_aten")
        def lower(op, b):
            return b("mul.Tensor", op.operands[0], b("sigmoid", op.operands[0]))
    """

    def __init__(self, anchor: Operation) -> None:
        super().__init__(anchor, _core_class)

    def view(self, x: SSAValue, shape: list[int]) -> SSAValue:
        """`x` in another shape; nothing if it has that shape."""
        return x if shape_of(x) == shape else self("view", x, shape)

    def permute(self, x: SSAValue, dims: list[int]) -> SSAValue:
        """`x` with dimensions permuted as `dims` say; nothing for the identity."""
        return x if dims == list(range(len(dims))) else self("permute", x, dims)

    def expand(self, x: SSAValue, shape: list[int]) -> SSAValue:
        """`x` broadcast to `shape`; nothing if it has that shape."""
        return x if shape_of(x) == shape else self("expand", x, shape)

    def swap(self, x: SSAValue, first: int, second: int) -> SSAValue:
        """`x` with the dimensions `first` and `second` swapped."""
        rank = len(shape_of(x))
        dims = list(range(rank))
        if rank:
            dims[first], dims[second] = dims[second], dims[first]
        return self.permute(x, dims)

    def cast(self, x: SSAValue, element: Attribute) -> SSAValue:
        """`x` with another element type; nothing if it has that type.

        Complex numbers lose their imaginary parts only in conversions that the program asks for.
        """
        if drops_imaginary(self.anchor, x, element):
            raise self.refuse("is not decomposed for complex numbers", "real tensors")
        return x if element_of(x) == element else self("_to_copy", x, dtype=element)

    def full(self, shape: list[int], value: float | int | bool, element: Attribute) -> SSAValue:
        """A tensor of this `shape` and `element` type, with `value` everywhere."""
        return self("full", shape, value, dtype=element)


def _same_op_in_core(op: Operation) -> Lowering | None:
    try:
        core_class = core_aten.op(op.name.partition(".")[2])
    except UnknownOpError:
        return None

    def rename(op: Operation, b: CoreBuilder) -> list[SSAValue]:
        renamed = core_class.create(
            operands=op.operands,
            result_types=[result.type for result in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        return list(b.insert(renamed).results)

    return rename


@cache
def limitations() -> dict[str, str]:
    """Overloads that are not decomposed, with the reason; the file may say `*` in names."""
    text = (Path(__file__).parent / "limitations.tsv").read_text()
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    found: dict[str, str] = {}
    for pattern, reason in rows:
        names = [pattern]
        if "*" in pattern:
            names = [name for name in aten.Aten.names if fnmatchcase(name, pattern)]
        for name in names:
            found.setdefault(name, reason)
    return found


DECOMPOSITIONS = Conversion(
    source="aten",
    package=__package__,
    families=(
        "activation",
        "activation_backward",
        "attention",
        "attention_backward",
        "cast",
        "complex",
        "convolution",
        "covariance",
        "creation",
        "distance",
        "dropout",
        "einsum",
        "embedding_bag_backward",
        "equivalents",
        "exponent",
        "foreach",
        "fourier",
        "grouped_product",
        "histogram",
        "indexing",
        "integration",
        "linear",
        "loss",
        "loss_backward",
        "margin_loss",
        "margin_loss_backward",
        "masked_softmax",
        "matrix",
        "normalization",
        "normalization_backward",
        "partition",
        "pointwise",
        "pooling",
        "quantiles",
        "quantization",
        "random",
        "random_integers",
        "ranges",
        "rearrange",
        "recurrent",
        "recurrent_backward",
        "reduction",
        "renormalization",
        "sampling",
        "scan_backward",
        "segments",
        "selection_backward",
        "short_time_fourier",
        "special",
        "view",
        "windows",
    ),
    builder=CoreBuilder,
    fallback=_same_op_in_core,
    limitations=limitations,
    target="core_aten",
    default_suffix=".default",
)


def composed(b: CoreBuilder, name: str, *args: Any, **kwargs: Any) -> list[SSAValue]:
    """The results of any ATen op, decomposed in front of the anchor: for ops made of other ops."""
    made = b.insert(aten.op(name)(*args, **kwargs))
    results = DECOMPOSITIONS.apply(made)
    return [value for value in results if value is not None]


lowers = DECOMPOSITIONS.lowers
"""Decorator: register a decomposition for overload names, `.default` left out."""
