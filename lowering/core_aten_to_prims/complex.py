"""Complex tensors and pairs of floats."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import rank_of, shape_of


@lowers("view_as_real")
def view_as_real(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The parts along a new last dimension."""
    z = op.arg("self")
    parts = [b.reshape(b(name, z), [*shape_of(z), 1]) for name in ("real", "imag")]
    return b("cat", parts, rank_of(z))


@lowers("view_as_complex")
def view_as_complex(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.complex of the two columns."""
    x = op.arg("self")
    *shape, _ = shape_of(x)
    columns = [b.slice(x, len(shape), place, place + 1) for place in (0, 1)]
    return b("complex", *(b.reshape(column, shape) for column in columns))
