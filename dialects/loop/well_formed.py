"""Whether a `loop.generic` is made of what its declarations say, in one look; and what is wrong."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    MemRefType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValues
from xdsl.irdl import IRDLOperation

from lamina.dialects.loop.segments import SEGMENTS
from lamina.dialects.loop.slices import SliceAttr

_SHAPED = frozenset({TensorType, MemRefType})
_PROPERTIES = frozenset({"domain", "input_maps", "pads", "output_maps", "combiners", SEGMENTS})
_OPTIONAL = frozenset({"slices", "identities"})


def verify_declared(op: IRDLOperation) -> None:
    """Raises VerifyException for the first declaration that an op does not hold to.

    xDSL asks fields of several operands for their types, which those read by place do not have.
    """
    op.get_irdl_definition().verify(_Declared(op))  # pyright: ignore[reportArgumentType]


class _Declared:
    """An op whose fields of several operands are as xDSL's own accessors give them."""

    def __init__(self, op: IRDLOperation) -> None:
        self._op = op

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._op, name)
        return SSAValues(value) if type(value) is tuple else value


def is_well_formed(op: Operation) -> bool:
    """Whether operands, results, properties and regions are of the kinds that are declared."""
    properties = op.properties
    if properties.keys() - _OPTIONAL != _PROPERTIES or not op.regions or op.successors:
        return False
    pads, domain, sizes = properties["pads"], properties["domain"], properties[SEGMENTS]
    if not isinstance(domain, DenseArrayBase) or not isinstance(sizes, DenseArrayBase):
        return False
    counts = [int(size) for size in sizes.get_values()]
    if [len(counts), sum(counts)] != [5, len(op.operands)] or min(counts) < 0:
        return False
    types = [type(value.type) for value in op.operands]
    read, written = counts[0] + counts[1], len(types) - counts[3] - counts[4]
    return (
        type(pads) is ArrayAttr
        and _holds(properties["input_maps"], AffineMapAttr)
        and _holds(properties["output_maps"], AffineMapAttr)
        and _holds(properties["combiners"], StringAttr)
        and ("slices" not in properties or _holds(properties["slices"], SliceAttr))
        and set(types[:read]) <= _SHAPED
        and set(types[read:written]) <= {MemRefType}
        and set(types[written:]) <= {IndexType}
        and {type(value.type) for value in op.results} <= {TensorType}
        and ("identities" not in properties or _holds(properties["identities"], ArrayAttr))
        and all(len(region.blocks) == 1 for region in op.regions)
    )


def _holds(array: Attribute, kind: type[Attribute]) -> bool:
    return type(array) is ArrayAttr and all(type(entry) is kind for entry in array.data)
