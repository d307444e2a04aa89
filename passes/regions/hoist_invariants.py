"""`hoist-invariants`: what every round of a loop computes anew from the same is computed before it.

Packed weights and transposed copies are the usual case: in a recurrent network they would else be
made in every step. A branch hands up only what depends on constants, or on what stays the same in
a loop around it, so that the work is done once though the branch may never be taken. What grows its
operands stays, and so do indirect reads, whose checks must not fail for a round that never comes.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.control import ScanOp
from lamina.passes.regions.region_functions import (
    Outlined,
    can_move,
    invariant_values,
    outlined_ops,
)


@dataclass(frozen=True)
class HoistInvariantsPass(ModulePass):
    """Move nests on values that stay the same out of the regions of control ops."""

    name = "hoist-invariants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        invariants = invariant_values(op)
        for outlined in outlined_ops(op):
            if isinstance(outlined.op, ScanOp) and outlined.op.length < 1:
                continue
            for region in range(len(outlined.functions)):
                _hoist(outlined, region, invariants)
            outlined.drop_unused()


def _hoist(outlined: Outlined, region: int, invariants: set[SSAValue]) -> None:
    body = outlined.bodies[region]
    operands = [value for group in outlined.op.groups for value in group]
    shift = len(operands) - len(body.args)  # a branch is not given its predicate
    outside: dict[SSAValue, SSAValue] = {
        argument: operands[argument.index + shift]
        for argument in body.args
        if argument in invariants
    }
    moved: dict[Operation, None] = {}
    for op in body.ops:
        if op.operands and all(operand in outside for operand in op.operands) and can_move(op):
            made = op.clone(outside)
            control = outlined.op
            assert control.parent is not None
            control.parent.insert_op_before(made, control)
            outside.update(zip(op.results, made.results, strict=True))
            moved[op] = None
    for op in moved:
        for result in op.results:
            if all(use.operation in moved for use in result.uses):
                continue
            arguments = outlined.add_fixed(outside[result])
            invariants.update(arguments)
            result.replace_uses_with_if(arguments[region], lambda use: use.operation not in moved)
    for op in reversed(list(moved)):
        body.erase_op(op)
