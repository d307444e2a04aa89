"""Sums of products of complex numbers: four real ones, which get the schedule of such."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.split_complex.table import ComplexBuilder, Parts, splits


@splits("contract", "convolution")
def _product(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """(A + iB)(C + iD) = AC - BD + i(AD + BC)."""
    name = op.name.removeprefix("prims.")
    left, right, *rest = op.args().values()
    (x, y), (u, v) = b.parts(left), b.parts(right)

    def real(first: SSAValue, second: SSAValue) -> SSAValue:
        return b(name, first, second, *rest)

    return b.sub(real(x, u), real(y, v)), b.add(real(x, v), real(y, u))
