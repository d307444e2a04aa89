"""By which element type a result is judged: the coarsest to which anything on its way is rounded.

An interpreter rounds after every op, where compiled code keeps f32 inside a kernel. So a result of
f32 that is computed from values of bf16 may differ by units of bf16, not of its own type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ContainerType, ModuleOp, bf16, f16, f32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.runtime.entry import Slot, function_named

_COARSE: tuple[Attribute, ...] = (bf16, f16, f32)
"""Element types with fewer bits than what is computed in, coarsest first."""
HALF_FLOATS = ("bf16", "f16")
"""Those of them that code rounds to less often than interpreters do, as slots name them."""
_JUDGED = ("f16", "f32", "f64")
"""Types of results that may be less exact than they could be."""


def judged_slots(module: ModuleOp, slots: Sequence[Slot]) -> list[Slot]:
    """The slots of the results of `@main`, each with the type by which it is judged.

    Arguments count for nothing: they are what they are in both. Results that are no floats, and
    those of programs on buffers, keep their types.
    """
    main = function_named(module, "main")
    end = main.body.block.last_op if main is not None and len(main.body.blocks) == 1 else None
    if not isinstance(end, ReturnOp):
        return list(slots)
    judged = list(slots)
    for number, (slot, value) in enumerate(zip(slots, end.operands, strict=False)):
        if slot.dtype in _JUDGED:
            rounded = _rounded(module, value)
            coarsest = next((str(kind) for kind in _COARSE if kind in rounded), slot.dtype)
            judged[number] = replace(slot, dtype=coarsest)
    return judged


def _rounded(module: ModuleOp, value: SSAValue) -> set[Attribute]:
    """Element types of all that is computed for a value."""
    found: set[Attribute] = set()
    seen: set[Operation] = set()
    coming = list(_makers(value))
    while coming:
        op = coming.pop()
        if op in seen:
            continue
        seen.add(op)
        for inner in _inside(module, op):
            found.update(
                made.type.get_element_type() if isinstance(made.type, ContainerType) else made.type
                for made in inner.results
            )
            coming += [maker for operand in inner.operands for maker in _makers(operand)]
    return found


def _makers(value: SSAValue) -> Iterator[Operation]:
    """What makes a value, and what writes to it."""
    if isinstance(value.owner, Operation):
        yield value.owner
    for use in value.uses:
        op = use.operation
        if isinstance(op, SchemaOp) and op.schema.mutates:
            yield op


def _inside(module: ModuleOp, op: Operation) -> Iterator[Operation]:
    """An op with those in its regions, and in the function that it calls."""
    yield from op.walk()
    if isinstance(op, CallOp):
        called = function_named(module, op.callee.root_reference.data)
        if isinstance(called, FuncOp):
            yield from called.walk()
