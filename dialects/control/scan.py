"""`control.scan`: a region runs for each slice of tensors and hands values on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntAttr, MemRefType, TensorType
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.control.region_op import RegionOp
from lamina.dialects.op_accessors import op_definition


@op_definition
class ScanOp(RegionOp):
    """The last carried values, then what each step gave, stacked.

    Step i has the carried values, which start with the operands `from`, element i along the first
    dimension of each operand `over`, and the operands `with`. It yields the next carried values and
    then one element of each stacked result. A scan that carries nothing is a map.

    ```mlir
    %r:2 = control.scan from(%h) over(%xs) : (tensor<f32>, tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>) do {
    ^bb0(%sum: tensor<f32>, %x: tensor<f32>):
      %s = aten.add.Tensor(%sum, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      control.yield %s, %s : tensor<f32>, tensor<f32>
    }
    ```
    """  # noqa: E501 - an op on one line

    name = "control.scan"
    starts = var_operand_def()
    sequences = var_operand_def(TensorType)
    inputs = var_operand_def()
    res = var_result_def()
    body_region = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsolatedFromAbove(), Pure())

    GROUPS: ClassVar[tuple[str, ...]] = ("from", "over", "with")
    REGIONS: ClassVar[tuple[str, ...]] = ("do",)

    def __init__(
        self,
        starts: Sequence[SSAValue],
        sequences: Sequence[SSAValue],
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body_region: Region,
    ) -> None:
        super().__init__(
            operands=[list(starts), list(sequences), list(inputs)],
            result_types=[list(result_types)],
            regions=[body_region],
        )

    @property
    def length(self) -> int:
        """How many steps there are; -1 if that is not static."""
        kind = self.sequences[0].type
        assert isinstance(kind, TensorType | MemRefType)
        return kind.get_shape()[0]

    @property
    def groups(self) -> tuple[Sequence[SSAValue], ...]:
        """Carried values at the start; what is walked; what stays the same."""
        return tuple(self.starts), tuple(self.sequences), tuple(self.inputs)

    @classmethod
    def build_from(
        cls, groups: Sequence[Sequence[SSAValue]], types: Sequence[Attribute], regions: list[Region]
    ) -> Self:
        """The op of these parts."""
        return cls(groups[0], groups[1], groups[2], types, *regions)

    def region_inputs(self) -> tuple[tuple[Attribute, ...], ...]:
        """Carried values, elements, and what stays the same."""
        starts = [value.type for value in self.starts]
        rows = [_element(value.type) for value in self.sequences]
        return ((*starts, *rows, *(value.type for value in self.inputs)),)

    def region_results(self) -> tuple[tuple[Attribute, ...] | None, ...]:
        """The next carried values, and an element of each stacked result."""
        types = [result.type for result in self.res]
        carried = len(self.starts)
        return ((*types[:carried], *map(_element, types[carried:])),)

    def verify_(self) -> None:
        if not self.sequences:
            raise VerifyException("control.scan must walk over a tensor: over(%xs)")
        if [r.type for r in self.res[: len(self.starts)]] != [v.type for v in self.starts]:
            raise VerifyException(
                "control.scan: the first results must have the types of what is carried"
            )
        lengths: set[int] = set()
        for value in (*self.sequences, *self.res[len(self.starts) :]):
            if not isinstance(value.type, TensorType) or not value.type.get_shape():
                raise VerifyException(f"control.scan: {value.type} has no first dimension")
            lengths.add(value.type.get_shape()[0])
        if len(lengths - {-1}) > 1:
            raise VerifyException(
                f"control.scan: what is walked and stacked has one length, not {sorted(lengths)}"
            )
        super().verify_()


def _element(kind: Attribute) -> Attribute:
    assert isinstance(kind, TensorType)
    return TensorType(kind.element_type, map(_entry, kind.get_shape()[1:]))


def stacked(kind: Attribute, length: int) -> TensorType:
    """The type of `length` tensors of a type, one after the other."""
    assert isinstance(kind, TensorType)
    return TensorType(kind.element_type, map(_entry, [length, *kind.get_shape()]))


def _entry(extent: int) -> int | IntAttr:
    """An extent as a type takes it, which is no number where sizes are open."""
    return extent if isinstance(extent, int) else IntAttr(extent)
