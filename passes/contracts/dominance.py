"""Every value is defined before it is used: what xDSL's own verifier leaves out.

Ops that are isolated from above (functions, kernels, nests, branches) see their arguments only.
"""

from __future__ import annotations

from functools import cache

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from lamina.dialects.ir_links import block_ops
from lamina.dialects.op_accessors import operands_of
from lamina.passes.refusal import invalid


def verify_dominance(root: Operation) -> None:
    """Check all regions under `root`, in time linear in the program.

    Regions of one block are walked in order. Only regions of several blocks compute dominators.
    Raises `InputError` at the first use that its definition does not dominate.
    """
    for region in root.regions:
        _check_region(region, set())


def _check_region(region: Region, visible: set[SSAValue]) -> None:
    """`visible` holds what is defined above; it is the same set again on return."""
    blocks = list(region.blocks)
    if len(blocks) == 1:
        _forget(_check_block(blocks[0], visible), visible)
    elif blocks:
        _check_graph(region, blocks, visible)


def _check_graph(region: Region, blocks: list[Block], visible: set[SSAValue]) -> None:
    from xdsl.irdl.dominance import DominanceInfo

    dominance = DominanceInfo(region)
    defined = {block: _definitions(block) for block in blocks}
    for block in blocks:
        above = [v for b in blocks if dominance.strictly_dominates(b, block) for v in defined[b]]
        visible.update(above)
        _forget(_check_block(block, visible), visible)
        _forget(above, visible)


def _definitions(block: Block) -> list[SSAValue]:
    return [*block.args, *(result for op in block_ops(block) for result in op.results)]


def _check_block(block: Block, visible: set[SSAValue]) -> list[SSAValue]:
    """Check one block and return what it defines, which stays in `visible`."""
    made: list[SSAValue] = list(block.args)
    visible.update(made)
    for op in block_ops(block):
        operands = operands_of(op)
        if not visible.issuperset(operands):
            index = next(n for n, operand in enumerate(operands) if operand not in visible)
            raise invalid(op, _message(op, index, operands[index]))
        isolated = bool(op.regions) and _is_isolated(type(op))
        for region in op.regions:
            _check_region(region, set() if isolated else visible)
        made.extend(op.results)
        visible.update(op.results)
    return made


@cache
def _is_isolated(kind: type[Operation]) -> bool:
    return kind.has_trait(IsolatedFromAbove)


def _forget(values: list[SSAValue], visible: set[SSAValue]) -> None:
    visible.difference_update(values)


def _message(op: Operation, index: int, operand: SSAValue) -> str:
    name = f" %{operand.name_hint}" if operand.name_hint else ""
    owner = operand.owner
    if isinstance(owner, Operation) and owner.parent is op.parent:
        return f"operand {index}{name} is used before {owner.name} defines it"
    return f"operand {index}{name} is defined where this op cannot see it"
