"""Lane-wise comparisons, selection and casts: the ops that xDSL's `arith` has for scalars only.

`VECTOR_FORMS` names the vector form of each scalar op, so that a body is vectorized op by op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import I64, IntegerAttr, VectorType, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.op_accessors import op_definition
from lamina.dialects.plain_ops import init_plain


def _same_lanes(op: Operation) -> None:
    shapes = {
        v.type.get_shape() for v in (*op.operands, *op.results) if isinstance(v.type, VectorType)
    }
    if len(shapes) != 1:
        raise VerifyException(f"{op.name}: operands and results differ in lanes")


class _Compare(IRDLOperation):
    """Compares two vectors lane by lane; predicate numbers are those of the `arith` op."""

    lhs = operand_def(VectorType)
    rhs = operand_def(VectorType)
    predicate = prop_def(IntegerAttr[I64])
    result = result_def(VectorType)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"

    def verify_(self) -> None:
        _same_lanes(self)
        if self.lhs.type != self.rhs.type:
            raise VerifyException(f"{self.name}: compares {self.lhs.type} with {self.rhs.type}")
        assert isinstance(self.result.type, VectorType)
        if self.result.type.element_type != i1:
            raise VerifyException(f"{self.name}: the result must be a vector of i1")


@op_definition
class CmpiOp(_Compare):
    """`%m = loop.cmpi %a, %b {predicate = 6} : vector<8xi32>, vector<8xi32> -> vector<8xi1>`"""

    name = "loop.cmpi"


@op_definition
class CmpfOp(_Compare):
    """`%m = loop.cmpf %a, %b {predicate = 4} : vector<8xf32>, vector<8xf32> -> vector<8xi1>`"""

    name = "loop.cmpf"


@op_definition
class SelectOp(IRDLOperation):
    """Chooses lane by lane; `%v = loop.select %m, %a, %b : vector<8xi1>, vector<8xf32>`."""

    name = "loop.select"
    cond = operand_def(VectorType)
    lhs = operand_def(VectorType)
    rhs = operand_def(VectorType)
    result = result_def(VectorType)

    traits = traits_def(Pure())
    assembly_format = (
        "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($lhs) `,` type($rhs) `->` "
        "type($result)"
    )

    def __init__(self, cond: SSAValue, lhs: SSAValue, rhs: SSAValue) -> None:
        init_plain(self, (cond, lhs, rhs), (lhs.type,))

    def verify_(self) -> None:
        _same_lanes(self)
        if not self.lhs.type == self.rhs.type == self.result.type:
            raise VerifyException("loop.select: both choices and the result must have one type")


class _Cast(IRDLOperation):
    """Converts every lane as the scalar `arith` op of the same name does."""

    input = operand_def(VectorType)
    result = result_def(VectorType)

    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"
    SCALAR: ClassVar[type[Operation]] = Operation

    def __init__(self, value: SSAValue, result_type: Attribute) -> None:
        init_plain(self, (value,), (result_type,))

    def verify_(self) -> None:
        _same_lanes(self)


@op_definition
class ExtSIOp(_Cast):
    """Sign-extends every lane: `loop.extsi %v : vector<8xi8> -> vector<8xi32>`."""

    name = "loop.extsi"
    SCALAR: ClassVar[type[Operation]] = arith.ExtSIOp


@op_definition
class ExtUIOp(_Cast):
    """Zero-extends every lane: `loop.extui %v : vector<8xi1> -> vector<8xi32>`."""

    name = "loop.extui"
    SCALAR: ClassVar[type[Operation]] = arith.ExtUIOp


@op_definition
class TruncIOp(_Cast):
    """Keeps the low bits of every lane: `loop.trunci %v : vector<8xi64> -> vector<8xi32>`."""

    name = "loop.trunci"
    SCALAR: ClassVar[type[Operation]] = arith.TruncIOp


@op_definition
class FPToSIOp(_Cast):
    """Floats to signed integers, toward zero: `loop.fptosi %v : vector<8xf32> -> vector<8xi32>`."""

    name = "loop.fptosi"
    SCALAR: ClassVar[type[Operation]] = arith.FPToSIOp


@op_definition
class FPToUIOp(_Cast):
    """Floats to unsigned integers: `loop.fptoui %v : vector<8xf32> -> vector<8xi8>`."""

    name = "loop.fptoui"
    SCALAR: ClassVar[type[Operation]] = arith.FPToUIOp


@op_definition
class SIToFPOp(_Cast):
    """Signed integers to floats: `loop.sitofp %v : vector<8xi32> -> vector<8xf32>`."""

    name = "loop.sitofp"
    SCALAR: ClassVar[type[Operation]] = arith.SIToFPOp


@op_definition
class UIToFPOp(_Cast):
    """Unsigned integers to floats: `loop.uitofp %v : vector<8xi1> -> vector<8xf32>`."""

    name = "loop.uitofp"
    SCALAR: ClassVar[type[Operation]] = arith.UIToFPOp


@op_definition
class IndexCastOp(_Cast):
    """Indices to and from integers: `loop.index_cast %v : vector<8xi64> -> vector<8xindex>`."""

    name = "loop.index_cast"
    SCALAR: ClassVar[type[Operation]] = arith.IndexCastOp


CASTS: tuple[type[_Cast], ...] = (
    ExtSIOp,
    ExtUIOp,
    TruncIOp,
    FPToSIOp,
    FPToUIOp,
    SIToFPOp,
    UIToFPOp,
    IndexCastOp,
)

VECTOR_FORMS: dict[type[Operation], type[IRDLOperation]] = {
    arith.CmpiOp: CmpiOp,
    arith.CmpfOp: CmpfOp,
    arith.SelectOp: SelectOp,
    **{cast.SCALAR: cast for cast in CASTS},
}
"""Scalar `arith` op to the `loop` op with the same properties on vectors."""

VECTOR_OPS: Sequence[type[Operation]] = (CmpiOp, CmpfOp, SelectOp, *CASTS)

__all__ = ["CASTS", "VECTOR_FORMS", "VECTOR_OPS", "CmpfOp", "CmpiOp", "SelectOp"]
