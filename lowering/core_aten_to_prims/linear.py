"""Products of matrices: prims.contract."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.ragged import norm
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_bool, shape_of


def _matrix_product(b: PrimsBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    if is_bool(element_of(x)):
        raise b.refuse("product of bool matrices", "convert to an integer type first")
    return b("contract", x, y, [], [], [1], [0])


@lowers("mm")
def mm(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """(n, k) with (k, m)."""
    return _matrix_product(b, op.arg("self"), op.arg("mat2"))


@lowers("bmm")
def bmm(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Dimension 0 is the batch."""
    return b("contract", op.arg("self"), op.arg("mat2"), [0], [0], [2], [1])


@lowers("addmm")
def addmm(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """beta * self + alpha * mat1 mat2; self is not read if beta is 0."""
    product = _matrix_product(b, op.arg("mat1"), op.arg("mat2"))
    if op.arg("alpha") != 1:
        product = b.with_number("mul", product, op.arg("alpha"))
    if op.arg("beta") == 0:
        return product
    addend = op.arg("self")
    if op.arg("beta") != 1:
        addend = b.with_number("mul", addend, op.arg("beta"))
    return b("add", product, b.broadcast(addend, shape_of(product)))


@lowers("_cdist_forward")
def cdist(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Distances of all pairs of rows, from their differences."""
    x, y, order = op.arg("x1"), op.arg("x2"), op.arg("p")
    *batch, rows, size = shape_of(x)
    columns = shape_of(y)[-2]
    if shape_of(y)[:-2] != batch:
        raise b.refuse("batches that broadcast", "expand first")
    shape, n = [*batch, rows, columns, size], len(batch)
    lead = list(range(n))
    left = b("broadcast_in_dim", x, shape, [*lead, n, n + 2])
    right = b("broadcast_in_dim", y, shape, [*lead, n + 1, n + 2])
    distance = b("abs", b("sub", left, right))
    return norm(b, distance, order, n + 2)
