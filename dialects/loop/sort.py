"""`loop.sort`: rows put in order, with the positions that their elements had."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    I64,
    DenseArrayBase,
    IndexType,
    IntAttr,
    MemRefType,
    TensorType,
    UnitAttr,
    i64,
)
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
from lamina.dialects.loop.segments import array64, set_last_segment
from lamina.dialects.op_accessors import op_definition
from lamina.dialects.sizes import Extent


@op_definition
class SortOp(IRDLOperation):
    """The rows along the last dimension in order, and where each element stood.

    Equal elements keep their order. NaN is larger than any number; `descending` puts the largest
    first. `taken` = [start, count] asks for the elements from `start` on only: the first ones
    (start 0), or a single one (count 1). The last two results are working memory and hold nothing
    of use; with `taken` their rows are longer than those of the input, by `count`.

    Start and count may be values: an entry -1 - n of `taken` is value n of `sizes`. Of the first
    elements `#loop.nest<taken = [arg2 of 10]>` says that nothing reads those from a number on.

    ```mlir
    %v, %i, %w, %j = loop.sort %x {descending} : tensor<4x10xf32> -> tensor<4x10xf32>, tensor<4x10xi64>, tensor<4x10xf32>, tensor<4x10xi64>
    %a, %b, %c, %d = loop.sort %x {taken = array<i64: 4, 1>} : tensor<4x10xf32> -> tensor<4x1xf32>, tensor<4x1xi64>, tensor<4x11xf32>, tensor<4x11xi64>
    %k, %l, %m, %n = loop.sort %x[%s] {taken = array<i64: 0, -1>} : tensor<4x10xf32> -> tensor<4x?xf32>, tensor<4x?xi64>, tensor<4x?xf32>, tensor<4x?xi64>
    ```
    """  # noqa: E501 - an op on one line

    name = "loop.sort"
    input = operand_def(base(TensorType) | base(MemRefType))
    outs = var_operand_def(MemRefType)
    sizes = var_operand_def(IndexType)
    descending = opt_prop_def(UnitAttr)
    taken = opt_prop_def(DenseArrayBase[I64])
    res = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(WritesOuts())
    assembly_format = (
        "$input (`[` $sizes^ `]`)? (`outs` `(` $outs^ `:` type($outs) `)`)? attr-dict"
        " `:` type($input) (`->` type($res)^)?"
    )

    def __init__(
        self,
        value: SSAValue,
        *,
        descending: bool = False,
        taken: tuple[int, int] | None = None,
        outs: Sequence[SSAValue] = (),
        sizes: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] | None = None,
    ) -> None:
        """Results have the types that follow from that of `value`, unless some are given."""
        kind = value.type
        assert isinstance(kind, Shaped)
        made = sorted_types(kind, taken) if result_types is None else list(result_types)
        super().__init__(
            operands=[value, list(outs), list(sizes)],
            result_types=[[] if outs else made],
            properties={
                "descending": UnitAttr() if descending else None,
                "taken": array64(*taken) if taken is not None else None,
            },
        )

    @property
    def window(self) -> tuple[int, int] | None:
        """(start, count) of the elements that are asked for; None for all.

        What is value `n` of `sizes` is -1 - n.
        """
        if self.taken is None:
            return None
        start, count = self.taken.get_values()
        return int(start), int(count)

    def bind(self, numbers: Sequence[int | None]) -> None:
        """Gives sizes their numbers, in place; None leaves one as it is."""
        kept = [place for place, number in enumerate(numbers) if number is None]

        def bound(entry: int) -> int:
            number = None if entry >= 0 else numbers[-1 - entry]
            if number is not None:
                return number
            return entry if entry >= 0 else -1 - kept.index(-1 - entry)

        if self.window is not None:
            self.properties["taken"] = array64(*map(bound, self.window))
        set_last_segment(self, [self.sizes[place] for place in kept])

    @property
    def row_extents(self) -> tuple[int, ...]:
        """The extents of the dimensions by which rows are named: those of the operand."""
        kind = self.input.type
        assert isinstance(kind, Shaped)
        return tuple(kind.get_shape())

    @property
    def possible_rows(self) -> tuple[int, ...]:
        """Where all elements are asked for, or the first, those that go last may be left out."""
        dims = range(len(self.row_extents))
        return tuple(dims if self.window is None or self.window[0] == 0 else dims[:-1])

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
            _verify_taken(self.taken, kind, len(self.sizes))
        elif self.sizes:
            raise VerifyException("loop.sort: only what is taken has sizes")
        made = sorted_types(kind, self.window)
        given = [v.type for v in (self.outs or self.res)]
        if given != made:
            raise VerifyException(
                f"loop.sort of {kind} makes values and positions twice: ({made[0]}, {made[1]}) and "
                + ("again" if self.taken is None else f"({made[2]}, {made[3]})")
            )
        if self.attributes:
            from lamina.dialects.loop.live_domains import verify_live_note

            window = self.window
            first = window[1] if window is not None and window[0] == 0 else None
            verify_live_note(self, taken=first)


def _verify_taken(taken: DenseArrayBase[I64], kind: Shaped, sizes: int) -> None:
    numbers = list(map(int, taken.get_values()))
    if len(numbers) != 2:
        raise VerifyException(f"taken is [start, count], not {taken}")
    length = kind.get_shape()[-1]
    if sizes == 0 and length != DYNAMIC_INDEX:
        verify_window((numbers[0], numbers[1]), length)
    elif min(numbers) < -sizes:
        raise VerifyException(f"taken: an entry is size {-1 - min(numbers)}, and there are {sizes}")


def verify_window(taken: tuple[Extent, Extent], length: Extent) -> None:
    """Check that rows of a length have the elements that are asked for, as (start, count).

    Raises VerifyException, and UndecidedSizeError where the ranges of sizes do not tell.
    """
    start, count = taken
    if start < 0 or count < 1 or start + count > length:
        raise VerifyException(
            f"taken: rows of {length} do not have {count} elements from {start} on"
        )
    if start != 0 and count != 1:
        raise VerifyException(
            f"taken: {count} elements from {start} on; either start is 0 or count is 1"
        )


def sorted_types(kind: Shaped, taken: tuple[Extent, Extent] | None) -> list[Attribute]:
    """Types of values, positions and working memory for rows of `kind`; what is below 0 of `kind`
    or of `taken` is left open."""
    *rows, length = kind.get_shape()
    extents = (length, length) if taken is None else (taken[1], _longer(length, taken[1]))
    return [
        type(kind)(element, [_entry(extent) for extent in (*rows, last)])  # pyright: ignore
        for last in extents
        for element in (kind.get_element_type(), i64)
    ]


def _longer(length: Extent, by: Extent) -> Extent:
    is_open = any(isinstance(extent, int) and extent < 0 for extent in (length, by))
    return DYNAMIC_INDEX if is_open else length + by


def _entry(extent: Extent) -> int | IntAttr:
    """An extent as a type takes it."""
    if isinstance(extent, int):
        return extent if extent >= 0 else DYNAMIC_INDEX
    return IntAttr(extent)  # pyright: ignore[reportArgumentType]
