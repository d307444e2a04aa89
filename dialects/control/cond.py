"""`control.cond`: one of two regions runs, by a boolean tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    operand_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.control.region_op import RegionOp, is_predicate
from lamina.dialects.op_accessors import op_definition


@op_definition
class CondOp(RegionOp):
    """The results of one of two regions. Only that region runs.

    The predicate is a boolean tensor of one element. Both regions take the operands `with`.

    ```mlir
    %r = control.cond if(%p) with(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
    ^bb0(%a: tensor<4xf32>):
      %s = aten.sin.default(%a) : (tensor<4xf32>) -> tensor<4xf32>
      control.yield %s : tensor<4xf32>
    } else {
    ^bb0(%b: tensor<4xf32>):
      control.yield %b : tensor<4xf32>
    }
    ```
    """

    name = "control.cond"
    predicate = operand_def(TensorType)
    inputs = var_operand_def()
    res = var_result_def()
    then_region = region_def()
    else_region = region_def()
    traits = traits_def(IsolatedFromAbove(), Pure())

    GROUPS: ClassVar[tuple[str, ...]] = ("if", "with")
    REGIONS: ClassVar[tuple[str, ...]] = ("then", "else")

    def __init__(
        self,
        predicate: SSAValue,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        then_region: Region,
        else_region: Region,
    ) -> None:
        super().__init__(
            operands=[predicate, list(inputs)],
            result_types=[list(result_types)],
            regions=[then_region, else_region],
        )

    @property
    def groups(self) -> tuple[Sequence[SSAValue], ...]:
        """The predicate; what the regions take."""
        return (self.predicate,), tuple(self.inputs)

    @classmethod
    def build_from(
        cls, groups: Sequence[Sequence[SSAValue]], types: Sequence[Attribute], regions: list[Region]
    ) -> Self:
        """The op of these parts. Raises ValueError unless there is one predicate."""
        if len(groups[0]) != 1:
            raise ValueError("control.cond needs one predicate: if(%p)")
        return cls(groups[0][0], groups[1], types, *regions)

    def region_inputs(self) -> tuple[tuple[Attribute, ...], ...]:
        """Both regions take what stands in `with`."""
        types = tuple(value.type for value in self.inputs)
        return types, types

    def region_results(self) -> tuple[tuple[Attribute, ...] | None, ...]:
        """Both regions give the op's results."""
        types = tuple(result.type for result in self.res)
        return types, types

    def verify_(self) -> None:
        if not is_predicate(self.predicate.type):
            raise VerifyException(
                "control.cond: the predicate must be a boolean tensor of one element, "
                f"not {self.predicate.type}"
            )
        super().verify_()
