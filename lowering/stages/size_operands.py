"""Which numbers of a program are used as sizes."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.limits import lower_limits_of
from lamina.passes.contracts.argument_sizes import DIMS

SIZE_ARGUMENTS = frozenset(
    {
        "end",
        "k",
        "length",
        "m",
        "minlength",
        "n",
        "output_size",
        "repeats",
        "size",
        "sizes",
        "split_size",
        "split_sizes",
        "steps",
    }
)
"""Names of arguments of ATen's ops that say how many elements a result has."""

SIZE_QUERIES = frozenset({"sym_size.int", "size.int", "sym_numel.default", "numel.default"})
"""Ops that ask a tensor for its sizes."""


def is_size_query(op: object) -> bool:
    """Whether an op asks a tensor for a size."""
    return isinstance(op, SchemaOp) and op.overload_name in SIZE_QUERIES


def sizes_used(op: Operation) -> Iterator[SSAValue]:
    """The numbers that an op takes as sizes."""
    if not isinstance(op, SchemaOp):
        return
    for name, value in op.args().items():
        if name in SIZE_ARGUMENTS:
            for entry in value if isinstance(value, list) else [value]:
                if isinstance(entry, SSAValue) and not isinstance(entry.type, TensorType):
                    yield entry


class SizeNumbers:
    """The numbers of a function that sizes are made of, which are never negative."""

    def __init__(self, ops: list[Operation]) -> None:
        self.least = lower_limits_of(ops)
        self._direct = {value for op in ops for value in sizes_used(op)}

    def bases(self, value: SSAValue) -> Iterator[SSAValue]:
        """What a size is computed of, as far as all of that is a size, too; else itself."""
        owner = value.owner
        if not isinstance(owner, Operation) or DIMS in owner.attributes or is_size_query(owner):
            return
        if owner.name == "arith.constant":
            return
        if not owner.name.startswith("arith."):
            yield value
            return
        leaves = list(self._leaves(owner))
        if all(leaf in self._direct or self.least.get(leaf, -1) >= 0 for leaf in leaves):
            yield from leaves
        else:
            yield value

    def _leaves(self, op: Operation) -> Iterator[SSAValue]:
        for operand in op.operands:
            owner = operand.owner
            if not isinstance(owner, Operation) or DIMS in owner.attributes:
                continue
            if owner.name.startswith("arith."):
                yield from self._leaves(owner)
            elif not is_size_query(owner):
                yield operand
