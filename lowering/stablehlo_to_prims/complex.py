"""Complex numbers and their parts."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.stablehlo_to_prims.table import HloBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_complex, shape_of


@lowers("complex")
def complex_(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.complex."""
    return b("complex", *op.operands)


@lowers("real")
def real(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.real; a real number is its own."""
    x = op.operands[0]
    return b("real", x) if is_complex(element_of(x)) else x


@lowers("imag")
def imag(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.imag; 0 of a real number."""
    x = op.operands[0]
    return b("imag", x) if is_complex(element_of(x)) else b.full(shape_of(x), 0, element_of(x))


@lowers("conj")
def conj(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.conj_physical."""
    return b("conj_physical", op.operands[0])
