"""`loop.fourier`: Fourier transforms of rows."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import FloatAttr, MemRefType, StringAttr, TensorType, UnitAttr, f32, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    base,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.body_ops import Shaped
from lamina.dialects.loop.clauses import MOST_FACTOR
from lamina.dialects.loop.effects import WritesOuts
from lamina.dialects.op_accessors import op_definition
from lamina.dialects.records import record

KINDS = ("c2c", "r2c", "c2r")
"""Which side of a transform is complex, the operand first."""


@record
class Rows:
    """Rows as [outer, numbers, columns]; columns is 1 where rows lie behind each other."""

    outer: tuple[int, ...]
    numbers: int
    columns: int

    @property
    def count(self) -> int:
        """How many rows there are."""
        return prod(self.outer) * self.columns


@op_definition
class FourierOp(IRDLOperation):
    """Discrete Fourier transforms of the rows of a tensor of f32 or f64, times `scale`.

    Of N numbers x, `c2c` makes N sums of x[n] exp(-2 pi i k n / N), or of exp(2 pi i k n / N) if
    `inverse`. `r2c` takes real numbers and gives all N sums or the first N // 2 + 1, which the
    others mirror; `c2r` is its inverse from so many, and N is even for both. Complex numbers are a
    last dimension of 2. With `columns` the rows lie side by side: the last dimension but that is
    theirs, and the one in front of it is transformed. `turns` holds cosine and sine of -2 pi k / N for each k.

    ```mlir
    %y = loop.fourier %x by %turns {kind = "r2c", scale = 1.0 : f64} : tensor<4x64xf32>, tensor<64x2xf32> -> tensor<4x33x2xf32>
    ```
    """  # noqa: E501 - an op on one line

    name = "loop.fourier"
    input = operand_def(base(TensorType) | base(MemRefType))
    turns = operand_def(base(TensorType) | base(MemRefType))
    outs = var_operand_def(MemRefType)
    kind = prop_def(StringAttr)
    inverse = opt_prop_def(UnitAttr)
    columns = opt_prop_def(UnitAttr)
    scale = prop_def(FloatAttr)
    res = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(WritesOuts())
    assembly_format = (
        "$input `by` $turns (`outs` `(` $outs^ `:` type($outs) `)`)? attr-dict"
        " `:` type($input) `,` type($turns) (`->` type($res)^)?"
    )

    def __init__(
        self,
        value: SSAValue,
        turns: SSAValue,
        made: SSAValue | Attribute,
        *,
        kind: str,
        scale: float = 1.0,
        inverse: bool = False,
        columns: bool = False,
    ) -> None:
        """`made` is the type of the result, or the memory that it goes to."""
        outs = [made] if isinstance(made, SSAValue) else []
        super().__init__(
            operands=[value, turns, outs],
            result_types=[[] if isinstance(made, SSAValue) else [made]],
            properties={
                "kind": StringAttr(kind),
                "inverse": UnitAttr() if inverse else None,
                "columns": UnitAttr() if columns else None,
                "scale": FloatAttr(scale, f64),
            },
        )

    def into_memory(self, out: SSAValue) -> FourierOp:
        """The same transforms, with their results in a buffer."""
        return FourierOp(
            self.input,
            self.turns,
            out,
            kind=self.kind.data,
            scale=self.scale.value.data,
            inverse=self.inverse is not None,
            columns=self.columns is not None,
        )

    @property
    def given(self) -> Rows:
        """The operand's rows."""
        return self._rows(self.input.type, is_complex=self.kind.data != "r2c")

    @property
    def made(self) -> Rows:
        """The result's rows."""
        written = (*self.outs, *self.res)[0].type
        return self._rows(written, is_complex=self.kind.data != "c2r")

    @property
    def row_extents(self) -> tuple[int, ...]:
        """The extents of the dimensions by which rows are named: those in front of the numbers."""
        return self.given.outer

    @property
    def possible_rows(self) -> tuple[int, ...]:
        """All of them."""
        return tuple(range(len(self.row_extents)))

    @property
    def walked_dim(self) -> int | None:
        """Transforms need all numbers."""
        return None

    @property
    def size(self) -> int:
        """N, the numbers of a transform."""
        return self.made.numbers if self.kind.data == "c2r" else self.given.numbers

    @property
    def points(self) -> int:
        """Complex numbers that are transformed: half of the real ones."""
        return self.size if self.kind.data == "c2c" else self.size // 2

    @property
    def is_whole(self) -> bool:
        """Whether `r2c` makes all N sums."""
        return self.kind.data == "r2c" and self.made.numbers == self.size

    def _rows(self, kind: Attribute, *, is_complex: bool) -> Rows:
        shape = _shape(kind)
        if is_complex and (not shape or shape.pop() != 2):
            raise VerifyException(
                f"loop.fourier: complex numbers are a last dimension of 2: {kind}"
            )
        columns = shape.pop() if self.columns is not None and len(shape) > 1 else 1
        if not shape:
            raise VerifyException(f"loop.fourier: {kind} has no dimension to transform")
        return Rows(tuple(shape[:-1]), shape[-1], columns)

    def verify_(self) -> None:
        written = [v.type for v in (*self.outs, *self.res)]
        if len(written) != 1:
            raise VerifyException(f"loop.fourier makes one tensor, not {len(written)}")
        kind = self.kind.data
        if kind not in KINDS:
            raise VerifyException(f"loop.fourier: kind = '{kind}' is none of {', '.join(KINDS)}")
        elements = {_element(v) for v in (self.input.type, self.turns.type, *written)}
        if len(elements) != 1 or not elements <= {f32, f64}:
            raise VerifyException("loop.fourier: all tensors are of f32, or all of f64")
        if kind != "c2c" and (self.inverse is not None) != (kind == "c2r"):
            raise VerifyException(f"loop.fourier: '{kind}' is{' not' * (kind == 'r2c')} inverse")
        self._verify_shapes()
        if self.attributes:
            from lamina.dialects.loop.live_domains import verify_live_note

            verify_live_note(self)

    def _verify_shapes(self) -> None:
        given, made, kind, size = self.given, self.made, self.kind.data, self.size
        if size < 0:
            raise VerifyException(
                "loop.fourier: of how many numbers a transform is may not be open, only of how "
                "many rows there are"
            )
        half = size // 2 + 1
        legal = {"c2c": [(size, size)], "r2c": [(size, half), (size, size)], "c2r": [(half, size)]}
        if (given.numbers, made.numbers) not in legal[kind]:
            wanted = "half and one" if kind == "c2r" else legal[kind][0][1]
            raise VerifyException(
                f"loop.fourier: '{kind}' of {size} numbers: from {given.numbers} to {made.numbers}"
                f" is not from {legal[kind][0][0]} to {wanted}"
            )
        if (given.outer, given.columns) != (made.outer, made.columns):
            raise VerifyException("loop.fourier: the operand and the result have other rows")
        if size < 1 or (kind != "c2c" and size % 2):
            raise VerifyException(f"loop.fourier: '{kind}' of {size} numbers, which is not even")
        if greatest_factor(self.points) > MOST_FACTOR:
            raise VerifyException(
                f"loop.fourier: {self.points} numbers have a prime factor above {MOST_FACTOR}"
            )
        if _shape(self.turns.type) != [size, 2]:
            raise VerifyException(f"loop.fourier: turns of {size} numbers are {size}x2")


def greatest_factor(number: int) -> int:
    """The greatest prime that divides a number; 1 of 1."""
    factor = 2
    while factor * factor <= number:
        if number % factor:
            factor += 1
        else:
            number //= factor
    return number


def _shape(kind: Attribute) -> list[int]:
    assert isinstance(kind, Shaped)
    return list(kind.get_shape())


def _element(kind: Attribute) -> Attribute:
    assert isinstance(kind, Shaped)
    return kind.get_element_type()
