"""What the contracts of the tensor layers share: which ops may stand there, how values are used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.passes.contracts.entry_attributes import verify_entries
from lamina.passes.contracts.verify_program import verify_between_ops
from lamina.passes.refusal import invalid, unsupported

SURROUNDINGS = ("builtin", "func", "arith", "control")
"""What holds programs together, branches and loops, and computes with sizes, at every layer."""

FOREIGN = "prims.extern"
"""A call of a kernel that is no op of any layer: it stands from `aten` on as it is."""

MOST_ELEMENTS = 2**59
"""In one tensor: sixteen bytes each are as many bytes as an i64 counts.

Extents of 0 count as 1, since the others make strides."""


_INLINED = "the ops of the function in the place of its call"


def verify_layer(
    module: ModuleOp,
    layer: str,
    dialects: Collection[str],
    check: Callable[[Operation], None] = lambda op: None,
) -> None:
    """Every op is of one of `dialects` (or func, builtin) and passes `check`; values dominate.

    No tensor has more than `MOST_ELEMENTS`.

    Raises `InputError` naming the first op that breaks the contract of `layer`.
    """
    module.verify()
    verify_between_ops(module)
    verify_entries(module, layer.replace("-", "_"))
    verify_addressable(module)
    for op in module.walk():
        _refuse_calls(op)
        dialect = op.name.partition(".")[0]
        if dialect in dialects:
            check(op)
        elif dialect not in SURROUNDINGS and op.name != FOREIGN:
            allowed = ", ".join([*dialects, *SURROUNDINGS])
            raise invalid(op, f"not allowed at the {layer} layer, only: {allowed}")


def verify_addressable(module: ModuleOp) -> None:
    """Refuse tensors and buffers whose bytes an i64 does not count."""
    addressable: set[Attribute] = set()
    for op in module.walk():
        for value in (*op.results, *_arguments(op)):
            if value.type not in addressable:
                _check_addressable(op, value.type)
                addressable.add(value.type)


def _arguments(op: Operation) -> Iterator[SSAValue]:
    return (argument for region in op.regions for block in region.blocks for argument in block.args)


def _check_addressable(op: Operation, kind: Attribute) -> None:
    if not isinstance(kind, TensorType | MemRefType) or DYNAMIC_INDEX in kind.get_shape():
        return
    if prod(max(extent, 1) for extent in kind.get_shape()) > MOST_ELEMENTS:
        raise invalid(op, f"{kind} has more elements than memory can hold, 2^59")


def _refuse_calls(op: Operation) -> None:
    """Functions of the program's own are for kernels and regions, further down."""
    if isinstance(op, func.CallOp):
        callee = op.callee.string_value()
        raise unsupported(op, f"calls @{callee}; programs are one function", _INLINED)
    if isinstance(op, func.FuncOp) and not op.body.blocks:
        name = op.sym_name.data
        raise unsupported(op, f"@{name} is declared without a body", "loop.extern for own kernels")


def refuse_open_sizes(op: Operation) -> None:
    """No result of the op has a dimension that only the data tell."""
    for result in op.results:
        if isinstance(result.type, TensorType) and DYNAMIC_INDEX in result.type.get_shape():
            raise invalid(op, f"gives {result.type}; run bound-dynamic-shapes first")


def refuse_mutation(op: Operation) -> None:
    """No argument of the op is written."""
    schema = getattr(op, "schema", None)
    if schema is None:
        return
    for argument in schema.args:
        if argument.mutated:
            raise invalid(op, f"mutates its argument {argument.name}; run functionalize first")
