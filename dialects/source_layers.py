"""Which ops make a program one of the `linalg` layer."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

DIALECTS = ("linalg", "tensor")
"""All of whose ops stand at the layer."""

DIM = "tensor.dim"
"""The extent of a dimension, of index type, which programs of open sizes have at any layer."""

SCALAR_DIALECTS = ("arith", "math")
"""Whose ops on tensors do; on numbers they are for `linalg` programs to lower."""


def marks_linalg(op: Operation) -> bool:
    """Whether an op is one that no other layer has: constants stand at all of them."""
    dialect = op.name.partition(".")[0]
    if dialect in DIALECTS:
        return op.name != DIM
    if dialect not in SCALAR_DIALECTS or op.name == "arith.constant":
        return False
    return any(isinstance(result.type, TensorType) for result in op.results)


def is_source_op(op: Operation) -> bool:
    """Whether the op, of a function's own block, is to be lowered."""
    dialect = op.name.partition(".")[0]
    if op.name == "arith.constant":
        return False
    if op.name == "builtin.unrealized_conversion_cast":  # the other way, it stands for a number
        return isinstance(op.results[0].type, TensorType)
    return dialect in (*DIALECTS, *SCALAR_DIALECTS, "affine", "scf")
