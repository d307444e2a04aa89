"""`hoist-invariants`: what every round of a loop computes anew from the same is computed before it.

Packed weights and transposed copies are the usual case: in a recurrent network they would else be
made in every step. A branch hands up only what depends on constants, or on what stays the same in
a loop around it, so that the work is done once though the branch may never be taken. What grows its
operands stays, and so do indirect reads, whose checks must not fail for a round that never comes.
"""

from __future__ import annotations

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
    # By step of a repeat, whose operands differ; other ops have one.
    outside: list[dict[SSAValue, SSAValue]] = [
        {argument: step[argument.index] for argument in body.args if argument in invariants}
        for step in outlined.steps
    ]
    moved: dict[Operation, None] = {}
    for op in body.ops:
        if op.operands and all(operand in outside[0] for operand in op.operands) and can_move(op):
            _compute_outside(op, outside, outlined)
            moved[op] = None
    for op in moved:
        for result in op.results:
            if all(use.operation in moved for use in result.uses):
                continue
            values = [known[result] for known in outside]
            if _are_one(values):
                arguments = outlined.add_fixed(values[0])
            else:
                arguments = [outlined.add_own(values)]
            invariants.update(arguments)
            result.replace_uses_with_if(arguments[region], lambda use: use.operation not in moved)
    for op in reversed(list(moved)):
        body.erase_op(op)


def _compute_outside(
    op: Operation, outside: list[dict[SSAValue, SSAValue]], outlined: Outlined
) -> None:
    """Copies of an op in front of the control op, one for each step with operands of its own."""
    control = outlined.op
    assert control.parent is not None
    once = all(_are_one([known[operand] for known in outside]) for operand in op.operands)
    made: Operation | None = None
    for known in outside:
        if made is None or not once:
            made = op.clone(known)
            control.parent.insert_op_before(made, control)
        known.update(zip(op.results, made.results, strict=True))


def _are_one(values: list[SSAValue]) -> bool:
    return all(value is values[0] for value in values)
