"""Which results of kernels are stored past the caches (non-temporal stores).

An ordinary store reads its cache line from memory before it writes it, and pushes other lines out.
Past the caches neither happens; but who reads the result next reads it from memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue

from lamina.codegen.target import Target
from lamina.dialects.loop import GenericOp, ReshapeOp, before_reshapes
from lamina.dialects.loop.kernel_nests import part_of
from lamina.passes.cost.sweep_limits import LEAST_SHARE
from lamina.passes.fusion.outline_kernels import KERNEL, kernel_functions
from lamina.passes.memory.plan_memory import byte_size


def streamed_arguments(module: ModuleOp, target: Target) -> dict[str, frozenset[int]]:
    """For each kernel, the numbers of the arguments to write past the caches in all its calls."""
    written = {
        function.sym_name.data: _only_written(function) for function in kernel_functions(module)
    }
    chosen: dict[str, frozenset[int]] = {}
    for call in _calls(module):
        name = call.callee.root_reference.data
        if name in written:
            here = frozenset(n for n in written[name] if _pays(call, n, target))
            chosen[name] = chosen.get(name, here) & here
    return chosen


def _calls(module: ModuleOp) -> Iterator[func.CallOp]:
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp) and KERNEL not in function.attributes:
            yield from (op for op in function.body.walk() if isinstance(op, func.CallOp))


def _only_written(kernel: func.FuncOp) -> frozenset[int]:
    """Arguments that the kernel's nests write once and never read."""
    writers: dict[SSAValue, int] = {}
    read: set[SSAValue] = set()
    for op in kernel.body.walk():
        if isinstance(op, GenericOp):
            read.update((*op.inputs, *op.sources))
            again = part_of(op) > 0  # it writes other elements
            for out, combiner in zip(op.outs, op.combiner_names, strict=True):
                writers[out] = writers.get(out, 0) + (2 if combiner != "store" else not again)
        else:
            read.update(op.operands)
    return frozenset(
        number
        for number, argument in enumerate(kernel.body.block.args)
        if writers.get(argument) == 1 and argument not in read
    )


def _pays(call: func.CallOp, number: int, target: Target) -> bool:
    """Whether the result would leave the caches anyway before anybody reads it.

    One that a later kernel reads must fill the last-level cache alone; otherwise all that the call
    touches together must.
    """
    value = call.arguments[number]
    size = _bytes(value)
    if size * LEAST_SHARE < target.l3_bytes:
        return False
    if len(_users(before_reshapes(value))) > 1:
        return size > target.l3_bytes
    return (
        sum(_bytes(v) for v in dict.fromkeys(map(before_reshapes, call.arguments)))
        > target.l3_bytes
    )


def _bytes(value: SSAValue) -> int:
    return byte_size(value.type) if isinstance(value.type, MemRefType) else 0


def _users(value: SSAValue) -> set[Operation]:
    users: set[Operation] = set()
    for use in value.uses:
        if isinstance(use.operation, ReshapeOp):
            users |= _users(use.operation.result)
        else:
            users.add(use.operation)
    return users
