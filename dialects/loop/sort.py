"""`loop.sort`: rows put in order, with the positions that their elements had."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import EffectInstance, MemoryEffect
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.body_ops import Shaped


class SortMemoryEffect(MemoryEffect):
    """No effects on tensors; unknown effects once the sort writes into memrefs."""

    @classmethod
    def get_effects(cls, op: object) -> set[EffectInstance] | None:
        """None (unknown) for sorts on memrefs."""
        assert isinstance(op, SortOp)
        return None if op.outs else set()


@irdl_op_definition
class SortOp(IRDLOperation):
    """The rows along the last dimension in order, and where each element stood.

    Equal elements keep their order. NaN is larger than any number; `descending` puts the largest
    first. The last two results are working memory and hold nothing of use.

    ```mlir
    %v, %i, %w, %j = loop.sort %x {descending} : tensor<4x10xf32> -> tensor<4x10xf32>, tensor<4x10xi64>, tensor<4x10xf32>, tensor<4x10xi64>
    ```
    """  # noqa: E501 - an op on one line

    name = "loop.sort"
    input = operand_def(base(TensorType) | base(MemRefType))
    outs = var_operand_def(MemRefType)
    descending = opt_prop_def(UnitAttr)
    res = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(SortMemoryEffect())
    assembly_format = (
        "$input (`outs` `(` $outs^ `:` type($outs) `)`)? attr-dict `:` type($input)"
        " (`->` type($res)^)?"
    )

    def __init__(
        self, value: SSAValue, *, descending: bool = False, outs: Sequence[SSAValue] = ()
    ) -> None:
        kind = value.type
        assert isinstance(kind, Shaped)
        types: list[Attribute] = []
        if not outs:
            places = TensorType(i64, kind.get_shape())
            types = [kind, places, kind, places]
        super().__init__(
            operands=[value, list(outs)],
            result_types=[types],
            properties={"descending": UnitAttr() if descending else None},
        )

    def verify_(self) -> None:
        kind = self.input.type
        assert isinstance(kind, Shaped)
        if not kind.get_num_dims():
            raise VerifyException("loop.sort needs a dimension to sort along")
        made = type(kind)(i64, kind.get_shape())  # pyright: ignore[reportCallIssue]
        given = [v.type for v in (self.outs or self.res)]
        if given != [kind, made, kind, made]:
            raise VerifyException(
                f"loop.sort of {kind} makes values and positions twice: ({kind}, {made}) and again"
            )
