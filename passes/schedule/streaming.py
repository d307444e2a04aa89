"""Which results of kernels are stored past the caches (non-temporal stores).

An ordinary store reads its cache line from memory before it writes it, and pushes other lines out.
Past the caches neither happens; but who reads the result next reads it from memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from lamina.codegen.target import Target
from lamina.dialects.loop import GenericOp, ReshapeOp, before_reshapes
from lamina.dialects.loop.kernel_nests import part_of
from lamina.dialects.op_list import instances_under, list_ops, ops_of
from lamina.passes.cost.sweep_limits import LEAST_SHARE
from lamina.passes.fusion.outline_kernels import KERNEL, kernel_functions
from lamina.passes.memory.plan_memory import byte_size
from lamina.passes.schedule.live_rows import open_rows


def streamed_arguments(module: ModuleOp, target: Target) -> dict[str, dict[int, Fraction]]:
    """For each kernel, the numbers of the arguments to write past the caches in all its calls.

    Beside each stands which part of the rows that write it may count without that.
    """
    kernels = {function.sym_name.data: function for function in kernel_functions(module)}
    written = {name: _only_written(function) for name, function in kernels.items()}
    shrinking = {name: _shrinking(function) for name, function in kernels.items()}
    chosen: dict[str, dict[int, Fraction]] = {}
    for call in _calls(module):
        name = call.callee.root_reference.data
        if name not in kernels:
            continue
        parts = {n: _least_part(call, n, shrinking[name], target) for n in written[name]}
        here = {n: part for n, part in parts.items() if part is not None}
        before = chosen.get(name, here)
        chosen[name] = {n: max(part, before[n]) for n, part in here.items() if n in before}
    return chosen


def _shrinking(kernel: func.FuncOp) -> frozenset[int]:
    """Arguments of which calls touch less if fewer rows count."""
    found: set[int] = set()
    for op in instances_under(kernel, GenericOp):
        if not (own := open_rows(op)):
            continue
        maps = zip((*op.inputs, *op.outs), (*op.read_maps, *op.write_maps), strict=True)
        found.update(
            value.index
            for value, index_map in maps
            if isinstance(value, BlockArgument) and own & index_map.used_dims()
        )
    return frozenset(found)


def _calls(module: ModuleOp) -> Iterator[func.CallOp]:
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp) and KERNEL not in function.attributes:
            yield from ops_of(function, func.CallOp)


def _only_written(kernel: func.FuncOp) -> frozenset[int]:
    """Arguments that the kernel's nests write once and never read."""
    writers: dict[SSAValue, int] = {}
    read: set[SSAValue] = set()
    for op in list_ops(kernel):
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


def _least_part(
    call: func.CallOp, number: int, shrinking: frozenset[int], target: Target
) -> Fraction | None:
    """Above which part of the rows a result leaves the caches before anybody reads it.

    One that a later kernel reads must more than fill the last-level cache alone; otherwise all that
    the call touches together must. None if all rows do not, 0 if none need count.
    """
    value, caches = before_reshapes(call.arguments[number]), target.l3_bytes
    size = _bytes(value)
    touched = [value]
    if len(_users(value)) <= 1:
        touched = list(dict.fromkeys(map(before_reshapes, call.arguments)))
    whole = sum(map(_bytes, touched))
    if size * LEAST_SHARE < caches or whole <= caches:
        return None
    fewer = {before_reshapes(call.arguments[n]) for n in shrinking}
    by_rows = sum(_bytes(v) for v in touched if v in fewer)
    if not by_rows:
        return Fraction(0)
    filled = Fraction(max(0, caches - (whole - by_rows)), by_rows)
    return max(filled, Fraction(caches, LEAST_SHARE * size)) if value in fewer else filled


def _bytes(value: SSAValue) -> int:
    """What memory takes of the caches: numbers, such as those at which loops end, nothing."""
    kind = value.type
    return byte_size(kind) if isinstance(kind, MemRefType) and kind.get_num_dims() else 0


def _users(value: SSAValue) -> set[Operation]:
    users: set[Operation] = set()
    for use in value.uses:
        if isinstance(use.operation, ReshapeOp):
            users |= _users(use.operation.result)
        else:
            users.add(use.operation)
    return users
