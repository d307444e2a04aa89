"""What is checked of every program that comes in, at whatever layer, and behind each pass.

Ops verify themselves; here stands what takes more than one op: values are defined before they are
used, bodies see their arguments only, and the nests of a kernel agree on its rows.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    Float80Type,
    Float128Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
)

from lamina.dialects.source import verify_module
from lamina.passes.contracts.dominance import verify_dominance
from lamina.passes.contracts.task_loops import verify_task_loops
from lamina.passes.fusion.outline_kernels import kernel_functions, verify_kernel_function
from lamina.passes.refusal import invalid


def verify_program(module: ModuleOp) -> None:
    """Raises InputError, with place and reason, for a program that is not well formed."""
    verify_module(module)
    verify_between_ops(module)


def verify_between_ops(module: ModuleOp) -> None:
    """`verify_program`, without the ops' own verifiers."""
    _refuse_long_numbers(module)
    verify_dominance(module)
    for function in kernel_functions(module):
        verify_kernel_function(function)
        verify_task_loops(function)


INDICES = range(-(1 << 63), 1 << 63)
"""What an index can be."""


def _refuse_long_numbers(module: ModuleOp) -> None:
    """Nothing computes in long floats, and xDSL cannot print them; an index has 64 bits."""
    for op in module.walk():
        kinds = [value.type for value in (*op.operands, *op.results)]
        kinds += [
            argument.type for region in op.regions for b in region.blocks for argument in b.args
        ]
        noted = [*op.properties.values(), *op.attributes.values()]
        kinds += [a.type for a in noted if isinstance(a, FloatAttr)]
        kinds += [
            a.type for n in noted if isinstance(n, ArrayAttr) for a in n if isinstance(a, FloatAttr)
        ]
        long = next((kind for kind in kinds if isinstance(kind, Float80Type | Float128Type)), None)
        if long is not None:
            raise invalid(op, f"{long} is no type that is computed in; the widest is f64")
        numbers = (n for n in noted if isinstance(n, IntegerAttr) and isinstance(n.type, IndexType))
        if (far := next((n for n in numbers if n.value.data not in INDICES), None)) is not None:
            raise invalid(op, f"{far.value.data} is no index: those have 64 bits")
