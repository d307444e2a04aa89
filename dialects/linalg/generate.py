"""Ops of MLIR's `tensor` that xDSL has not."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class GenerateOp(IRDLOperation):
    """A tensor whose body says the element at each place.

    ```mlir
    %r = tensor.generate {
    ^bb0(%i: index):
      ...
      tensor.yield %v : f32
    } : tensor<4xf32>
    ```
    """

    name = "tensor.generate"
    extents = var_operand_def(IndexType)
    body = region_def("single_block")
    result = result_def(TensorType)
    assembly_format = "$extents $body attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if len(self.body.block.args) != len(self.result.type.get_shape()):
            raise VerifyException("tensor.generate: the body takes one index for each dimension")


@irdl_op_definition
class BitcastOp(IRDLOperation):
    """The same bits under another element type of the same width."""

    name = "tensor.bitcast"
    source = operand_def(TensorType)
    dest = result_def(TensorType)
    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"
    traits = traits_def(Pure())
