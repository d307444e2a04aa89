"""`while`, `case` and `if` as ops of `control`, whose regions see their arguments alone."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, TensorType, i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects.control import CondOp, WhileOp, YieldOp
from lamina.dialects.op_list import list_ops
from lamina.dialects.stablehlo.all_ops import StableHLO
from lamina.dialects.stablehlo.attributes import make_word
from lamina.dialects.stablehlo.op import HloOp
from lamina.passes.refusal import invalid, unsupported

BRANCHING = ("stablehlo.while", "stablehlo.case", "stablehlo.if")


def convert_control_flow(module: ModuleOp) -> None:
    """Replaces branches and loops, outer ones first; what their regions compute stays.

    Raises InputError for regions whose arguments or results do not fit.
    """
    for op in [op for op in list_ops(module) if op.name in BRANCHING]:
        assert isinstance(op, HloOp)
        for region in op.regions:
            if len(region.blocks) != 1:
                raise unsupported(op, "with regions of several blocks", "regions of one block")
        made = _while(op) if op.name == "stablehlo.while" else _branch(op)
        Rewriter.replace_op(op, [], made)


def _captured(regions: Sequence[Region]) -> list[SSAValue]:
    """What regions use that is defined outside of them, in the order of first use."""
    inside: set[SSAValue] = set()
    for region in regions:
        for block in region.blocks:
            inside.update(block.args)
            for op in block.walk():
                inside.update(op.results)
                for nested in op.regions:
                    inside.update(arg for inner in nested.blocks for arg in inner.args)
    found: dict[SSAValue, None] = {}
    for region in regions:
        for op in region.walk():
            found.update(dict.fromkeys(value for value in op.operands if value not in inside))
    return list(found)


def _isolated(op: HloOp, region: Region, captured: Sequence[SSAValue]) -> Region:
    """The region, taken from the op, with captured values as its last arguments."""
    block = region.block
    mapping: dict[SSAValue, SSAValue] = {}
    for value in captured:
        argument = block.insert_arg(value.type, len(block.args))
        argument.name_hint = value.name_hint
        mapping[value] = argument
    for inner in block.walk():
        if any(value in mapping for value in inner.operands):
            inner.operands = [mapping.get(value, value) for value in inner.operands]
    end = block.last_op
    if end is None or end.name != "stablehlo.return":
        raise invalid(op, "a region does not end in stablehlo.return")
    values = list(end.operands)
    end.detach()
    end.erase()
    block.add_op(YieldOp(values))
    region.detach_block(block)
    return Region(block)


def _inserted(anchor: Operation, op: Operation) -> Operation:
    op.location = anchor.location
    assert anchor.parent is not None
    anchor.parent.insert_op_before(op, anchor)
    return op


def _while(op: HloOp) -> Sequence[SSAValue]:
    kinds = [value.type for value in op.operands]
    for region in op.regions:
        if [argument.type for argument in region.block.args] != kinds:
            raise invalid(op, "a region does not take what the loop carries")
    if not kinds:
        raise unsupported(op, "carries nothing", "a loop that carries a value")
    _check_yield(op, op.regions[1], kinds)
    captured = _captured(op.regions)
    test, body = (_isolated(op, region, captured) for region in list(op.regions))
    return _inserted(op, WhileOp(list(op.operands), captured, test, body)).results


def _check_yield(op: HloOp, region: Region, kinds: Sequence[object]) -> None:
    end = region.block.last_op
    if end is not None and [value.type for value in end.operands] != list(kinds):
        raise invalid(op, f"a region gives ({', '.join(str(v.type) for v in end.operands)})")


def _branch(op: HloOp) -> Sequence[SSAValue]:
    kinds = [result.type for result in op.results]
    for region in op.regions:
        if region.block.args:
            raise invalid(op, "a branch takes no arguments")
        _check_yield(op, region, kinds)
    captured = _captured(op.regions)
    choice = op.operands[0]
    if op.name == "stablehlo.if":
        branches = [_isolated(op, region, captured) for region in list(op.regions)]
        return _inserted(op, CondOp(choice, captured, kinds, *branches)).results
    if len(op.regions) == 0:
        raise invalid(op, "has no branch")
    if len(op.regions) == 1:
        return _only(op)
    given = [*captured, choice]
    branches = [_isolated(op, region, given) for region in list(op.regions)]
    return _chain(op, branches, given, 0, op).results


def _only(op: HloOp) -> Sequence[SSAValue]:
    """The one branch, which always runs."""
    block = op.regions[0].block
    values: list[SSAValue] = []
    for inner in list(block.ops):
        if inner is block.last_op:
            values = list(inner.operands)
            break
        inner.detach()
        assert op.parent is not None
        op.parent.insert_op_before(inner, op)
    return values


def _chain(
    op: HloOp,
    branches: Sequence[Region],
    given: Sequence[SSAValue],
    number: int,
    anchor: Operation,
) -> Operation:
    """Branch `number` if the choice says so, else one of those behind it; of others the last."""
    kinds = [result.type for result in op.results]
    predicate = _is_number(anchor, given[-1], number)
    if number == len(branches) - 2:
        rest = branches[-1]
    else:
        block = Block(arg_types=[value.type for value in given])
        rest = Region(block)
        end = YieldOp([])
        block.add_op(end)
        end.location = op.location
        inner = _chain(op, branches, list(block.args), number + 1, end)
        Rewriter.replace_op(end, YieldOp(list(inner.results)), [])
    return _inserted(anchor, CondOp(predicate, given, kinds, branches[number], rest))


def _is_number(anchor: Operation, choice: SSAValue, number: int) -> SSAValue:
    """Whether a tensor of rank 0 is a number, in ops that are still to be lowered."""
    classes = {kind.name: kind for kind in StableHLO.operations}
    literal = DenseIntOrFPElementsAttr.from_list(choice.type, [number])  # pyright: ignore
    constant = classes["stablehlo.constant"].create(
        result_types=[choice.type], properties={"value": literal}
    )
    made = _inserted(anchor, constant).results[0]
    word = make_word("stablehlo.comparison_direction", "EQ")
    compare = classes["stablehlo.compare"].create(
        operands=[choice, made],
        result_types=[TensorType(i1, [])],
        properties={"comparison_direction": word},
    )
    return _inserted(anchor, compare).results[0]
