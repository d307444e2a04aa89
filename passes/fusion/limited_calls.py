"""Calls of one kernel that end at different sizes: each such set of calls gets its own copy.

What calls disagree on limits none of them: of weights with other sizes, packed alike, or of layers
over two lengths, rows would all run.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Block, Operation

from lamina.dialects.ir_links import block_ops
from lamina.passes.cost.fusion_limits import MOST_KERNEL_COPIES
from lamina.passes.fusion.kernel_ends import KernelCall


def told_apart(
    kernel: func.FuncOp, calls: Sequence[KernelCall]
) -> Iterator[tuple[func.FuncOp, Sequence[KernelCall]]]:
    """A kernel for each set of calls that agree, the given one among them, with these calls.

    Calls that differ in too many ways share one, without limits.
    """
    groups: dict[Hashable, list[KernelCall]] = {}
    for call in calls:
        groups.setdefault(_said(call), []).append(call)
    if not 1 < len(groups) <= MOST_KERNEL_COPIES:
        yield kernel, calls
        return
    first, *others = groups.values()
    for number, alike in enumerate(others, 1):
        yield _copied(kernel, f"{kernel.sym_name.data}_{number}", alike)
    yield kernel, first


def _said(call: KernelCall) -> Hashable:
    limits = (
        frozenset((op, limit) for op, own in rows.items() for limit in own)
        for rows in (call.rows, call.copied, call.points)
    )
    return *limits, frozenset(call.masks.items()), frozenset(call.zeros.items())


def _copied(
    kernel: func.FuncOp, name: str, calls: Sequence[KernelCall]
) -> tuple[func.FuncOp, list[KernelCall]]:
    copy, block = kernel.clone(), kernel.parent
    assert isinstance(block, Block)
    copy.sym_name = StringAttr(name)
    block.insert_op_after(copy, kernel)
    pairs = zip(block_ops(kernel.body.block), block_ops(copy.body.block), strict=True)
    ops: dict[Operation, Operation] = dict(pairs)
    made: list[KernelCall] = []
    for call in calls:
        call.op.callee = SymbolRefAttr(name)
        rows, copied, points = (
            {ops[op]: own for op, own in limits.items()}
            for limits in (call.rows, call.copied, call.points)
        )
        made.append(replace(call, rows=rows, copied=copied, points=points))  # pyright: ignore
    return copy, made
