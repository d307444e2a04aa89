"""`verify-prims`: types and shapes are explicit; elementwise ops have equal shapes and dtypes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.elementwise import PRIMITIVES
from lamina.dialects.records import record
from lamina.passes.contracts.contracts import refuse_mutation, verify_layer
from lamina.passes.refusal import invalid

ELEMENTWISE_BINARY = frozenset(row.name for row in PRIMITIVES.values() if row.operands == 2)
"""prims whose operands have one shape and one dtype."""


@record
class VerifyPrimsPass(ModulePass):
    """Refuse a module that does not stand at the prims layer.

    `allow` names other ops that may stand there; `mine.*` is all of a dialect.
    """

    name = "verify-prims"

    allow: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_layer(op, "prims", ("prims",), _check, allow=self.allow)


def _check(op: Operation) -> None:
    name = op.name.removeprefix("prims.")
    if name != "as_strided":  # a view, which torch's schema says is written
        refuse_mutation(op)
    if name in ELEMENTWISE_BINARY:
        _same_types(op, list(op.operands))
    elif name == "where":
        _same_types(op, list(op.operands)[1:])
        _same_shapes(op)


def _same_types(op: Operation, operands: Sequence[SSAValue]) -> None:
    types = [operand.type for operand in operands]
    if any(found is not types[0] and found != types[0] for found in types):
        shown = ", ".join(str(found) for found in types)
        raise invalid(op, f"operands must have one type, not {shown}")


def _same_shapes(op: Operation) -> None:
    shapes = [v.type.get_shape() for v in op.operands if isinstance(v.type, TensorType)]
    if any(shape != shapes[0] for shape in shapes):
        raise invalid(op, "operands must have one shape")
