"""Ops of MLIR's `tensor` and `arith` that xDSL has not, or not in full."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    TensorType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.op_accessors import op_definition


@op_definition
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


@op_definition
class BitcastOp(IRDLOperation):
    """The same bits under another element type of the same width."""

    name = "tensor.bitcast"
    source = operand_def(TensorType)
    dest = result_def(TensorType)
    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"
    traits = traits_def(Pure())


@op_definition
class RemFOp(IRDLOperation):
    """The remainder of a division of floats, with the dividend's sign, as C's `fmod`."""

    name = "arith.remf"
    T: ClassVar = VarConstraint("T", AnyAttr())
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"
    traits = traits_def(Pure())


@op_definition
class CollapseShapeOp(IRDLOperation):
    """`%r = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>`.

    xDSL's op does not let dimensions of 1 become a tensor of rank 0.
    """

    name = "tensor.collapse_shape"
    src = operand_def(TensorType)
    reassociation = prop_def(ArrayAttr)
    result = result_def(TensorType)
    assembly_format = "$src $reassociation attr-dict `:` type($src) `into` type($result)"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        _verify_groups(self, self.src.type, self.result.type, self.reassociation)


@op_definition
class ExpandShapeOp(IRDLOperation):
    """`%r = tensor.expand_shape %x [[0, 1]] output_shape [2, 3] : tensor<6xf32> into ...`.

    xDSL's op does not let a tensor of rank 0 become one with dimensions of 1.
    """

    name = "tensor.expand_shape"
    src = operand_def(TensorType)
    dynamic_output_shape = var_operand_def(IndexType)
    reassociation = prop_def(ArrayAttr)
    static_output_shape = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)
    assembly_format = (
        "$src $reassociation `output_shape` "
        "custom<DynamicIndexList>($dynamic_output_shape, $static_output_shape) "
        "attr-dict `:` type($src) `into` type($result)"
    )
    custom_directives = (DynamicIndexList,)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        given = self.static_output_shape.get_values()
        if len(given) != self.result.type.get_num_dims():
            raise VerifyException(f"output_shape {list(given)} for {self.result.type}")
        _verify_groups(self, self.result.type, self.src.type, self.reassociation)


def _verify_groups(op: Operation, expanded: Attribute, collapsed: Attribute, held: Any) -> None:
    assert isinstance(expanded, TensorType) and isinstance(collapsed, TensorType)
    groups = [[entry.value.data for entry in group] for group in held]
    long, short = expanded.get_shape(), collapsed.get_shape()
    fits = len(groups) == len(short)
    if short:
        fits = fits and [n for group in groups for n in group] == list(range(len(long)))
    elif any(extent not in (1, DYNAMIC_INDEX) for extent in long):
        fits = False
    if expanded.element_type != collapsed.element_type or not fits:
        raise VerifyException(
            f"{op.name}: reassociation {groups} between {expanded} and {collapsed}"
        )
    for group, extent in zip(groups, short, strict=False):
        sizes = [long[n] for n in group]
        if DYNAMIC_INDEX not in (*sizes, extent) and prod(sizes) != extent:
            raise VerifyException(f"{op.name}: dimensions of {sizes} are not one of {extent}")
