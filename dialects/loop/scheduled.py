"""Memory ops of the scheduled level that xDSL's `vector` and `memref` dialects lack."""

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, UnitAttr, VectorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.segments import integer64
from lamina.dialects.op_accessors import op_definition
from lamina.dialects.plain_ops import init_plain


@op_definition
class GatherOp(IRDLOperation):
    """Reads one element per lane from the address of `base[indices]` plus an element offset.

    Lanes whose mask is off read nothing and give the lane of `pass`. Where `runs` are expected,
    elements that lie side by side, in this order or the other, are read at once.
    `%v = loop.gather %m[%i, %j][%offsets], %mask, %pass : memref<8x4xf32>, vector<16xi64>,
    vector<16xf32>`
    """

    name = "loop.gather"
    ref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    offsets = operand_def(VectorType)
    mask = operand_def(VectorType)
    pass_thru = operand_def(VectorType)
    runs = opt_prop_def(UnitAttr)
    result = result_def(VectorType)
    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$ref `[` $indices `]` `[` $offsets `]` `,` $mask `,` $pass_thru attr-dict `:` "
        "type($ref) `,` type($offsets) `,` type($mask) `,` type($pass_thru) `->` type($result)"
    )

    def __init__(
        self,
        ref: SSAValue,
        indices: Sequence[SSAValue],
        offsets: SSAValue,
        mask: SSAValue,
        pass_thru: SSAValue,
        *,
        runs: bool = False,
    ) -> None:
        operands = [ref, *indices, offsets, mask, pass_thru]
        init_plain(self, operands, [pass_thru.type], {"runs": UnitAttr()} if runs else None)

    def verify_(self) -> None:
        assert isinstance(self.ref.type, MemRefType)
        assert isinstance(self.result.type, VectorType)
        if len(self.indices) != self.ref.type.get_num_dims():
            raise VerifyException(f"loop.gather gives {len(self.indices)} indices")
        if self.result.type.element_type != self.ref.type.element_type:
            raise VerifyException("loop.gather: result lanes must have the memref's element type")
        lanes = {v.type.get_shape() for v in (self.offsets, self.mask, self.pass_thru)}  # pyright: ignore
        if lanes != {self.result.type.get_shape()}:
            raise VerifyException("loop.gather: offsets, mask, pass and result differ in lanes")


@op_definition
class PrefetchOp(IRDLOperation):
    """Asks for the cache line of `base[indices]` ahead of its use; never faults.

    `locality` is LLVM's: 3 brings the line into every cache (as without it), 2 into the second
    level and further out, 1 into the last level.
    """

    name = "loop.prefetch"
    ref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    locality = opt_prop_def(IntegerAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$ref `[` $indices `]` attr-dict `:` type($ref)"

    def __init__(
        self, ref: SSAValue, indices: Sequence[SSAValue], locality: int | None = None
    ) -> None:
        noted: dict[str, Attribute] = {} if locality is None else {"locality": integer64(locality)}
        init_plain(self, [ref, *indices], (), noted)

    def verify_(self) -> None:
        if self.locality is not None and self.locality.value.data not in (1, 2, 3):
            raise VerifyException("loop.prefetch: locality must be 1, 2 or 3")
