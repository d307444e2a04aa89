"""MLIR's `linalg` and `tensor` dialects, as far as programs on tensors of static shape use them.

They stand in the place of xDSL's, whose ops read less of the text that MLIR prints.
"""

from __future__ import annotations

from xdsl.dialects import arith, tensor
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Dialect

from lamina.dialects.linalg.elementwise_bools import PLAIN, CmpfOp, CmpiOp, SelectOp
from lamina.dialects.linalg.named_ops_table import NAMED
from lamina.dialects.linalg.structured import (
    ElementwiseKindAttr,
    GenericOp,
    IndexOp,
    StructuredOp,
    TypeFnAttr,
    YieldOp,
)
from lamina.dialects.linalg.tensor_ops import (
    BitcastOp,
    CollapseShapeOp,
    ExpandShapeOp,
    GenerateOp,
    RemFOp,
)
from lamina.dialects.op_accessors import op_definition


def _named(name: str) -> type[StructuredOp]:
    members = {"name": f"linalg.{name}", "__module__": __name__}
    members["__doc__"] = f"MLIR's `linalg.{name}`."
    return op_definition(type(f"{name.title().replace('_', '')}Op", (StructuredOp,), members))


NAMED_OPS: dict[str, type[StructuredOp]] = {name: _named(name) for name in NAMED}
"""Classes of the named ops, by name."""

Linalg = Dialect(
    "linalg",
    [GenericOp, YieldOp, IndexOp, *NAMED_OPS.values()],
    [IteratorTypeAttr, TypeFnAttr, ElementwiseKindAttr],
)

_OWN_TENSORS = (GenerateOp, BitcastOp, CollapseShapeOp, ExpandShapeOp)
_REPLACED = {op.name for op in _OWN_TENSORS}
_TENSORS = [op for op in tensor.Tensor.operations if op.name not in _REPLACED]

Tensor = Dialect("tensor", [*_TENSORS, *_OWN_TENSORS], list(tensor.Tensor.attributes))

_NUMBERS = [op for op in arith.Arith.operations if op.name not in PLAIN]

Arith = Dialect(
    "arith", [*_NUMBERS, CmpfOp, CmpiOp, SelectOp, RemFOp], list(arith.Arith.attributes)
)
