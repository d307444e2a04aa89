"""`loop.sort`: rows put in order, with the positions that their elements had."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, DenseArrayBase, MemRefType, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    base,
    operand_def,
    opt_prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.body_ops import Shaped
from lamina.dialects.loop.effects import WritesOuts
from lamina.dialects.loop.segments import array64
from lamina.dialects.op_accessors import op_definition


@op_definition
class SortOp(IRDLOperation):
    """The rows along the last dimension in order, and where each element stood.

    Equal elements keep their order. NaN is larger than any number; `descending` puts the largest
    first. `taken` = [start, count] asks for the elements from `start` on only: the first ones
    (start 0), or a single one (count 1). The last two results are working memory and hold nothing
    of use; with `taken` their rows are longer than those of the input, by `count`.

    ```mlir
    %v, %i, %w, %j = loop.sort %x {descending} : tensor<4x10xf32> -> tensor<4x10xf32>, tensor<4x10xi64>, tensor<4x10xf32>, tensor<4x10xi64>
    %a, %b, %c, %d = loop.sort %x {taken = array<i64: 4, 1>} : tensor<4x10xf32> -> tensor<4x1xf32>, tensor<4x1xi64>, tensor<4x11xf32>, tensor<4x11xi64>
    ```
    """  # noqa: E501 - an op on one line

    name = "loop.sort"
    input = operand_def(base(TensorType) | base(MemRefType))
    outs = var_operand_def(MemRefType)
    descending = opt_prop_def(UnitAttr)
    taken = opt_prop_def(DenseArrayBase[I64])
    res = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(WritesOuts())
    assembly_format = (
        "$input (`outs` `(` $outs^ `:` type($outs) `)`)? attr-dict `:` type($input)"
        " (`->` type($res)^)?"
    )

    def __init__(
        self,
        value: SSAValue,
        *,
        descending: bool = False,
        taken: tuple[int, int] | None = None,
        outs: Sequence[SSAValue] = (),
    ) -> None:
        kind = value.type
        assert isinstance(kind, Shaped)
        super().__init__(
            operands=[value, list(outs)],
            result_types=[[] if outs else _made(kind, taken)],
            properties={
                "descending": UnitAttr() if descending else None,
                "taken": array64(*taken) if taken is not None else None,
            },
        )

    @property
    def window(self) -> tuple[int, int] | None:
        """(start, count) of the elements that are asked for; None for all."""
        if self.taken is None:
            return None
        start, count = self.taken.get_values()
        return int(start), int(count)

    @property
    def row_extents(self) -> tuple[int, ...]:
        """The extents of the dimensions by which rows are named: those of the operand."""
        kind = self.input.type
        assert isinstance(kind, Shaped)
        return tuple(kind.get_shape())

    @property
    def possible_rows(self) -> tuple[int, ...]:
        """Where all elements are asked for, those that go last may be left out."""
        dims = range(len(self.row_extents))
        return tuple(dims if self.taken is None else dims[:-1])

    @property
    def walked_dim(self) -> int | None:
        """The last dimension."""
        return len(self.row_extents) - 1

    def verify_(self) -> None:
        kind = self.input.type
        assert isinstance(kind, Shaped)
        if not kind.get_num_dims():
            raise VerifyException("loop.sort needs a dimension to sort along")
        if self.taken is not None:
            _verify_taken(self.taken, kind)
        made = _made(kind, self.window)
        given = [v.type for v in (self.outs or self.res)]
        if given != made:
            raise VerifyException(
                f"loop.sort of {kind} makes values and positions twice: ({made[0]}, {made[1]}) and "
                + ("again" if self.taken is None else f"({made[2]}, {made[3]})")
            )
        if self.attributes:
            from lamina.dialects.loop.live_domains import verify_live_note

            verify_live_note(self)


def _verify_taken(taken: DenseArrayBase[I64], kind: Shaped) -> None:
    numbers = taken.get_values()
    if len(numbers) != 2:
        raise VerifyException(f"taken is [start, count], not {taken}")
    start, count = map(int, numbers)
    if start < 0 or count < 1 or start + count > kind.get_shape()[-1]:
        raise VerifyException(
            f"taken: rows of {kind.get_shape()[-1]} do not have {count} elements from {start} on"
        )
    if start and count > 1:
        raise VerifyException(
            f"taken: {count} elements from {start} on; either start is 0 or count is 1"
        )


def _made(kind: Shaped, taken: tuple[int, int] | None) -> list[Attribute]:
    """Types of values, positions and working memory for rows of `kind`."""
    *rows, length = kind.get_shape()
    extents = (length, length) if taken is None else (taken[1], length + taken[1])
    return [
        type(kind)(element, [*rows, extent])  # pyright: ignore[reportCallIssue]
        for extent in extents
        for element in (kind.get_element_type(), i64)
    ]
