"""The table of lowerings, and the builder they use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects import core_aten
from lamina.dialects.errors import LaminaError
from lamina.dialects.loop.rounding import mark_implicit
from lamina.dialects.records import mutable_record
from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.conversion import Conversion
from lamina.lowering.core_aten_to_prims.table import LOWERINGS as CORE_LOWERINGS
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, as_element
from lamina.lowering.prims_to_loop.table import LoopBuilder
from lamina.lowering.tensor_types import element_of, is_complex, shape_of
from lamina.passes.refusal import invalid

SOURCES = ("stablehlo.", "chlo.")
"""How the names of ops begin that are lowered; what both dialects have means the same."""


class _PartsBuilder(LoopBuilder):
    """Makes nests for an op on complex numbers, which come in their parts."""

    def _check(self, kind: Attribute) -> None:
        """Nothing: operands of the op are not those of the nests."""


class HloBuilder(PrimsBuilder):
    """Makes prims, ops of `core_aten` that are lowered at once, and nests."""

    def __init__(self, anchor: Operation) -> None:
        super().__init__(anchor)
        self._loop: LoopBuilder | None = None

    @property
    def loop(self) -> LoopBuilder:
        """A builder of nests; refuses ops on complex numbers, which no nest computes with."""
        if self._loop is None:
            self._loop = LoopBuilder(self.anchor)
        return self._loop

    @property
    def loop_of_parts(self) -> LoopBuilder:
        """A builder of nests on the parts of the op's complex operands, or on real ones."""
        return self.loop if not self._is_complex() else _PartsBuilder(self.anchor)

    def _is_complex(self) -> bool:
        values = (*self.anchor.operands, *self.anchor.results)
        return any(is_complex(element_of(value)) for value in values)

    def core(self, name: str, *args: Any, **kwargs: Any) -> list[SSAValue]:
        """What an op of `core_aten` becomes. Raises as its lowering does."""
        op = self.insert(core_aten.op(name)(*args, **kwargs))
        made = CORE_LOWERINGS.apply(op)
        return [value for value in made if value is not None]

    def convert(self, x: SSAValue, element: Attribute) -> SSAValue:
        """`x` with another element type, by torch's rules."""
        return x if element_of(x) == element else self("convert_element_type", x, element)

    def implicitly(self, x: SSAValue, element: Attribute) -> SSAValue:
        """`convert`, of half floats that the program does not ask to round."""
        made = self.convert(x, element)
        if made is not x and isinstance(made.owner, Operation):
            mark_implicit(made.owner)
        return made

    def pad_dims(
        self, x: SSAValue, low: Sequence[int], high: Sequence[int], value: SSAValue | float = 0
    ) -> SSAValue:
        """`value` before and after each dimension; negative amounts cut.

        A value that is a tensor takes the place of what is not inside, which a mask tells.
        """
        if not any(low) and not any(high):
            return x
        element = element_of(x)
        if not isinstance(value, SSAValue):
            number = as_element(value, element)
            return self("pad", x, number, list(low), list(high))
        zero = as_element(0, element)
        padded = self("pad", x, zero, list(low), list(high))
        ones = self.full(shape_of(x), True, i1)
        inside = self("pad", ones, False, list(low), list(high))
        return self.where(inside, padded, self.splat(value, shape_of(padded)))

    def splat(self, scalar: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A tensor of rank 0 all over a shape."""
        return self("broadcast_in_dim", scalar, list(shape), []) if shape else scalar


@cache
def limitations() -> dict[str, str]:
    """Ops that are not lowered, with the reason, from `limitations.tsv`."""
    text = (Path(__file__).parent / "limitations.tsv").read_text()
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {row[0]: row[1] for row in rows}


@mutable_record
class HloConversion(Conversion):
    """A conversion whose ops hold regions that go down with them, and of two dialects."""

    def convert(self, root: Operation, keep: Iterable[str] = ()) -> None:
        """Replaces every op of the dialects under `root`, in program order."""
        for region in root.regions:
            for block in region.blocks:
                op = block.first_op
                while op is not None:
                    following = op.next_op
                    if self._takes(op.name, "stablehlo."):
                        self.apply(op)
                    elif op.regions and not op.name.startswith("loop."):
                        self.convert(op)
                    op = following

    def _takes(self, name: str, prefix: str) -> bool:
        return name.startswith(SOURCES) or super()._takes(name, prefix)

    def lowered(self, op: Operation) -> Sequence[SSAValue | None]:
        """As any conversion, but what does not fit together in an op is the program's fault.

        Raises InputError for it: dimension numbers and attributes are data, which lowerings read.
        """
        try:
            return super().lowered(op)
        except (LaminaError, MemoryError, RecursionError):
            raise
        except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise invalid(op, f"its attributes and types do not fit together: {reason}") from error


LOWERINGS = HloConversion(
    source="stablehlo",
    package=__package__,
    families=(
        "calls",
        "complex",
        "constants",
        "fourier",
        "indexing",
        "linear_algebra",
        "pointwise",
        "products",
        "reductions",
        "scattering",
        "shapes",
        "sorting",
        "special",
        "windows",
    ),
    builder=HloBuilder,
    limitations=limitations,
    target="prims",
)

lowers = LOWERINGS.lowers
"""Decorator: register a lowering for ops by name."""


def result_shape(op: HloOp, number: int = 0) -> list[int]:
    """The shape that the text says a result has."""
    return shape_of(op.results[number])


def result_element(op: HloOp, number: int = 0) -> Attribute:
    """The element type that the text says a result has."""
    return element_of(op.results[number])


def scalar_constant(value: SSAValue) -> DenseIntOrFPElementsAttr | None:
    """The literal of a value that is one number all over, where it is written out; else None."""
    owner = value.owner
    while isinstance(owner, Operation) and owner.name in _REPEATING:
        owner = owner.operands[0].owner
    literal = owner.value if isinstance(owner, arith.ConstantOp) else None
    if isinstance(owner, HloOp) and owner.name == "stablehlo.constant":
        literal = owner.attr("value")
    if isinstance(literal, DenseIntOrFPElementsAttr) and len(literal) and literal.is_splat():
        return literal
    return None


_REPEATING = (
    "stablehlo.broadcast_in_dim",
    "stablehlo.reshape",
    "prims.broadcast_in_dim",
    "prims.reshape",
)
"""Ops whose results hold no other numbers than their operands."""
