"""`control.while`: a region runs as long as another says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

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
class WhileOp(RegionOp):
    """The last values of what a loop carries, which starts with the operands `from`.

    Region `test` yields one boolean; as long as it is true, region `do` gives the next values. Both
    take the carried values and then the operands `with`, which stay the same.

    ```mlir
    %r:2 = control.while from(%i, %x) with(%w) : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) test {
    ^bb0(%n: tensor<i64>, %a: tensor<4xf32>, %b: tensor<4xf32>):
      %p = aten.lt.Scalar(%n, other = 5) : (tensor<i64>) -> tensor<i1>
      control.yield %p : tensor<i1>
    } do {
    ^bb0(%n: tensor<i64>, %a: tensor<4xf32>, %b: tensor<4xf32>):
      %m = aten.add.Scalar(%n, other = 1) : (tensor<i64>) -> tensor<i64>
      %s = aten.mul.Tensor(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      control.yield %m, %s : tensor<i64>, tensor<4xf32>
    }
    ```
    """  # noqa: E501 - an op on one line

    name = "control.while"
    starts = var_operand_def()
    inputs = var_operand_def()
    res = var_result_def()
    test_region = region_def()
    body_region = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsolatedFromAbove(), Pure())

    GROUPS: ClassVar[tuple[str, ...]] = ("from", "with")
    REGIONS: ClassVar[tuple[str, ...]] = ("test", "do")

    def __init__(
        self,
        starts: Sequence[SSAValue],
        inputs: Sequence[SSAValue],
        test_region: Region,
        body_region: Region,
    ) -> None:
        super().__init__(
            operands=[list(starts), list(inputs)],
            result_types=[[value.type for value in starts]],
            regions=[test_region, body_region],
        )

    @property
    def groups(self) -> tuple[Sequence[SSAValue], ...]:
        """Carried values at the start; what stays the same."""
        return tuple(self.starts), tuple(self.inputs)

    @classmethod
    def build_from(
        cls, groups: Sequence[Sequence[SSAValue]], types: Sequence[Attribute], regions: list[Region]
    ) -> Self:
        """The op of these parts. Raises ValueError if the results are not as what is carried."""
        if [value.type for value in groups[0]] != list(types):
            raise ValueError("control.while gives results of the types that it starts from")
        return cls(groups[0], groups[1], *regions)

    def region_inputs(self) -> tuple[tuple[Attribute, ...], ...]:
        """Both regions take all operands."""
        types = tuple(value.type for value in (*self.starts, *self.inputs))
        return types, types

    def region_results(self) -> tuple[tuple[Attribute, ...] | None, ...]:
        """A predicate; the next carried values."""
        return None, tuple(value.type for value in self.starts)

    def verify_(self) -> None:
        if not self.starts:
            raise VerifyException("control.while must carry a value")
        if [v.type for v in self.starts] != [r.type for r in self.res]:
            raise VerifyException("control.while: results must have the types of what is carried")
        super().verify_()
