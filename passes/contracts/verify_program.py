"""What is checked of every program that comes in, at whatever layer, and behind each pass.

Ops verify themselves; here stands what takes more than one op: values are defined before they are
used, bodies see their arguments only, and the nests of a kernel agree on its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    Float80Type,
    Float128Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
)
from xdsl.ir import Attribute, Operation

from lamina.dialects.op_list import list_ops
from lamina.dialects.source import verify_module
from lamina.passes.contracts.casts import CASTS, verify_cast
from lamina.passes.contracts.dominance import verify_dominance
from lamina.passes.contracts.task_loops import verify_task_loops
from lamina.passes.refusal import invalid


def verify_program(module: ModuleOp) -> None:
    """Raises InputError, with place and reason, for a program that is not well formed."""
    verify_module(module)
    verify_between_ops(module)


def verify_between_ops(module: ModuleOp, ops: Sequence[Operation] | None = None) -> None:
    """`verify_program`, without the ops' own verifiers; `ops` are all, if they were listed."""
    from lamina.passes.fusion.outline_kernels import (  # tools start without
        kernel_functions,
        verify_kernel_function,
    )

    _verify_numbers(list_ops(module) if ops is None else ops)
    verify_dominance(module)
    for function in kernel_functions(module):
        verify_kernel_function(function)
        verify_task_loops(function)


INDICES = range(-(1 << 63), 1 << 63)
"""What an index can be."""


_LONG = (Float80Type, Float128Type)


def _verify_numbers(ops: Iterable[Operation]) -> None:
    """Casts fit; nothing computes in long floats, which xDSL cannot print; an index has 64 bits."""
    seen: set[int] = set()  # by identity: a program has few types and attributes, and many uses

    def is_new(attribute: Attribute) -> bool:
        known = id(attribute) in seen
        seen.add(id(attribute))
        return not known

    for op in ops:
        if type(op) in CASTS:
            verify_cast(op)
        for result in op.results:
            if is_new(result.type):
                _refuse_long(op, result.type)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    _refuse_long(op, argument.type)
        for noted in (op.properties, op.attributes):
            for attribute in noted.values():
                if is_new(attribute):
                    _refuse_long_attribute(op, attribute)


def _refuse_long_attribute(op: Operation, attribute: Attribute) -> None:
    if isinstance(attribute, FloatAttr):
        _refuse_long(op, attribute.type)
    elif isinstance(attribute, ArrayAttr):
        for entry in attribute:
            if isinstance(entry, FloatAttr):
                _refuse_long(op, entry.type)
    elif isinstance(attribute, IntegerAttr) and isinstance(attribute.type, IndexType):
        _refuse_far(op, attribute.value.data)


def _refuse_far(op: Operation, index: int) -> None:
    if index not in INDICES:
        raise invalid(op, f"{index} is no index: those have 64 bits")


def _refuse_long(op: Operation, kind: Attribute) -> None:
    if type(kind) in _LONG:
        raise invalid(op, f"{kind} is no type that is computed in; the widest is f64")
