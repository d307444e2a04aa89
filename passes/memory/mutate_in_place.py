"""`mutate-in-place`: what an argument becomes is written where the argument is.

What a program writes to an argument is a result of kind `mutation`, in memory of its own, which is
copied back when the call ends. Where the kernel that makes it writes over what the argument held,
as a scatter of a token's keys into a cache does, or reads just the elements that it writes (see
`in_place`), and nothing reads the old value afterwards, it may write to the argument at once. The
result then takes no memory: `lamina.in_place` says so.

A call that ends with an error leaves such arguments as they were written so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnitAttr
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops, replace_uses
from lamina.passes.contracts.argument_numbers import COUNTS, EXTENTS, LIMITS
from lamina.passes.contracts.declared import arguments_of, text_of
from lamina.passes.contracts.in_place import IN_PLACE
from lamina.passes.fusion.outline_kernels import KERNEL
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.memory.in_place import in_place_pairs
from lamina.passes.memory.scattered_copies import Scatter, drop_result, scatter_of, touches


class MutateInPlacePass(ModulePass):
    """Write to arguments what they become, where nothing needs what they were."""

    name = "mutate-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        kernels = {
            f.sym_name.data: f for f in functions if KERNEL in f.attributes and f.body.blocks
        }
        entries = [f for f in functions if ENTRY in f.attributes]
        main = next((f for f in entries if f.sym_name.data == "main"), None)
        if main is None:
            return
        others = {one.name for f in entries if f is not main for one in arguments_of(f)}
        changes = _changes(main, others)
        calls: dict[str, list[func.CallOp]] = {}
        for entry in entries:
            for call in entry.walk():
                if isinstance(call, func.CallOp):
                    calls.setdefault(call.callee.root_reference.data, []).append(call)
        for name, kernel in kernels.items():
            own = calls.get(name, [])
            scatter = scatter_of(kernel)
            if scatter is not None:
                _scatter_in_place(main, kernel, scatter, own, changes)
            elif any(v in changes for call in own for v in call.arguments):
                pairs = in_place_pairs(kernel)
                for call in own:
                    _write_over(main, call, pairs, changes)


_LAID_OUT = (LIMITS, EXTENTS)
"""Marks of arguments and results that need not have room for what their types say."""

Changes = dict[SSAValue, SSAValue]
"""By results of kind `mutation`, as arguments of an entry, the arguments that they change."""


def _changes(main: func.FuncOp, others: set[str]) -> Changes:
    """Those that no other entry takes, and that have one new value.

    One of open sizes is padded, and has as many elements afterwards: callers take these of it.
    """
    declared = arguments_of(main)
    block = main.body.block
    by_name = {one.name: one for one in declared if one.kind != "mutation"}
    made = [one for one in declared if one.kind == "mutation"]
    targets = [text_of(one.entries.get("lamina.target")) for one in made]
    found: Changes = {}
    for one, target in zip(made, targets, strict=True):
        old = by_name.get(target or "")
        if old is None or targets.count(target) > 1 or old.name in others:
            continue
        alike = old.type == one.type and old.entries.get(COUNTS) == one.entries.get(COUNTS)
        if alike and not any(key in e.entries for e in (old, one) for key in _LAID_OUT):
            found[block.args[one.number]] = block.args[old.number]
    return found


def _scatter_in_place(
    main: func.FuncOp,
    kernel: func.FuncOp,
    scatter: Scatter,
    calls: Sequence[func.CallOp],
    changes: Changes,
) -> None:
    """Where all calls of a kernel that is one scatter write what their source becomes."""
    if not calls or not all(
        _may_write_over(call, scatter.source, scatter.result, changes, main.body.block)
        for call in calls
    ):
        return
    for call in calls:
        _take_over(main, call.arguments[scatter.result], changes)
        call.operands = list(call.operands)[:-1]
    drop_result(kernel, scatter)


def _write_over(
    main: func.FuncOp, call: func.CallOp, pairs: Sequence[tuple[int, int]], changes: Changes
) -> None:
    """Where a call reads of an argument just what it writes of the argument's new value."""
    for source, result in pairs:
        if _may_write_over(call, source, result, changes, main.body.block):
            _take_over(main, call.arguments[result], changes)


def _take_over(main: func.FuncOp, new: SSAValue, changes: Changes) -> None:
    assert isinstance(new, BlockArgument)
    replace_uses(new, changes.pop(new))
    entries = [dict(one.entries) for one in arguments_of(main)]
    entries[new.index][IN_PLACE] = UnitAttr()
    main.properties["arg_attrs"] = ArrayAttr(map(DictionaryAttr, entries))


def _may_write_over(
    call: func.CallOp,
    source: int,
    result: int,
    changes: Mapping[SSAValue, SSAValue],
    block: Block,
) -> bool:
    """Whether a call of the entry itself is the last to touch an argument, and the first to touch
    what that becomes."""
    old, new = call.arguments[source], call.arguments[result]
    if changes.get(new) is not old or call.parent is not block:
        return False
    places = {op: number for number, op in enumerate(block.ops)}
    before, behind = touches(old, block, places), touches(new, block, places)
    if before is None or behind is None:
        return False
    operands = list(call.arguments)
    if operands.count(old) != 1 or operands.count(new) != 1:
        return False
    return max(before) == places[call] == min(behind)
