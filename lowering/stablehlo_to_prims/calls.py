"""What holds programs together: tuples, barriers, annotations, calls of what is known by name."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.stablehlo_to_prims.linear_algebra import FACTORIZATIONS, ROUTINE
from lamina.lowering.stablehlo_to_prims.table import HloBuilder, lowers

ANNOTATIONS = (
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "annotate_device_placement",
)
"""Calls that say where values are, and give them back."""


@lowers("optimization_barrier")
def barrier(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    """What it is given."""
    return list(op.operands)


@lowers("custom_call")
def custom_call(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    """Annotations give what they are given; calls of LAPACK are those of extern kernels."""
    given = op.attr("call_target_name")
    target = given.data if isinstance(given, StringAttr) else ""
    if target in ANNOTATIONS and len(op.operands) == len(op.results):
        return list(op.operands)
    routine = ROUTINE.fullmatch(target)
    if routine is not None and routine[1] in FACTORIZATIONS:
        return FACTORIZATIONS[routine[1]](op, b)
    known = ", ".join((*ANNOTATIONS[:1], *(f"lapack_?{name}_ffi" for name in FACTORIZATIONS)))
    raise b.refuse(f"calls @{target}, which is not known here", known)


@lowers("tuple", "get_tuple_element")
def tuple_(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    """Tuples are taken apart in front of the conversion, where they are made in the program."""
    raise b.refuse("of a tuple that the function is given or returns", "several values")
