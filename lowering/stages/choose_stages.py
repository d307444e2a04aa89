"""`choose-stages`: where a program is cut, so that sizes which depend on data are known behind.

`bound-dynamic-shapes` takes a program as it is where sizes have bounds. At an op that it refuses,
or pads to far more than what is read (`passes/cost/stage_cost.py`), a stage begins: sizes that
stand in front of it are then those of arguments, and the stage is compiled as a program of open
sizes is, for what calls bring. The op has the attribute `lamina.begins_stage`, and ops that make
numbers which are sizes from there on have `lamina.dims`. Ops that are marked already stay so.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntAttr, ModuleOp, TensorType, UnitAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.errors import LaminaError
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.sizes import MOST_SIZE, Range, SizeAttr
from lamina.lowering.bound_dynamic_shapes.indexing import is_mask
from lamina.lowering.bound_dynamic_shapes.limits import limits_of
from lamina.lowering.bound_dynamic_shapes.values import is_dynamic, is_number
from lamina.lowering.stages.cut import cut
from lamina.lowering.stages.size_names import SizeNames
from lamina.lowering.stages.size_operands import SizeNumbers, is_size_query, sizes_used
from lamina.lowering.stages.trial import tried
from lamina.passes.contracts.argument_sizes import DIMS
from lamina.passes.contracts.stages import BEGINS_STAGE, stages_of
from lamina.passes.cost.stage_cost import DEAR_ELEMENTS
from lamina.passes.refusal import invalid

_ORIGIN = "lamina.origin"
"""Attribute of the ops of a copy: the number of the op of which each is one."""


@dataclass(frozen=True)
class ChooseStagesPass(ModulePass):
    """Mark the ops at which stages begin, and the numbers that are sizes behind them.

    `dear` is how many elements a result is padded to, at least, where a stage is preferred to its
    bound; 0 pads whatever has one.
    """

    name = "choose-stages"

    dear: int = DEAR_ELEMENTS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_with_sizes_of_data(op)
        if main is not None:
            choose_stages(main, self.dear)


def main_with_sizes_of_data(module: ModuleOp) -> FuncOp | None:
    """`@main`, if it has sizes that depend on data and is not in stages yet."""
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main" and op.body.blocks:
            of_data = any(map(_depends_on_data, op.body.block.ops))
            return op if of_data and not stages_of(module) else None
    return None


def _depends_on_data(op: Operation) -> bool:
    """Whether an op makes a number or a size that its operands' types do not have."""
    if BEGINS_STAGE in op.attributes:
        return True
    if not isinstance(op, SchemaOp):
        return False
    is_open = any(is_dynamic(operand.type) for operand in op.operands)
    if "dynamic_output_shape" in op.schema.tags:
        # Of what reads at places, the shapes of the places decide, if none is a mask.
        if op.overload_name == "index.Tensor" and not any(map(is_mask, op.operands[1:])):
            return False
        return any(is_dynamic(result.type) for result in op.results)
    numbers = [operand for operand in op.operands if not isinstance(operand.type, TensorType)]
    if numbers and all(map(_is_given_size, numbers)):
        return False
    return any(
        (is_number(result.type) and not is_size_query(op))
        or (is_dynamic(result.type) and not is_open)
        for result in op.results
    )


def _is_given_size(value: SSAValue) -> bool:
    """Whether a number is asked of an argument's shape."""
    query = value.owner
    if not isinstance(query, SchemaOp) or not is_size_query(query):
        return False
    return all(isinstance(operand, BlockArgument) for operand in query.operands)


def choose_stages(function: FuncOp, dear: int = DEAR_ELEMENTS) -> None:
    """Marks ops of a function, in place.

    Where a stage would not be taken either, nothing is marked: the refusal of the whole stands.
    """
    originals = list(function.body.block.ops)
    left = function.clone()
    for number, op in enumerate(left.body.block.ops):
        op.attributes[_ORIGIN] = IntAttr(number)
    names = SizeNames.of(function)
    marks: list[tuple[Operation, str, Attribute]] = []
    while (at := _next_cut(left, dear)) is not None:
        if isinstance(at, ReturnOp) or _ORIGIN not in at.attributes:
            return
        marks.append((_original(at, originals), BEGINS_STAGE, UnitAttr()))
        for op, size in _sizes_behind(left, at, names):
            marks.append((_original(op, originals), DIMS, size))
        try:
            made = cut(left, at, names)
        except LaminaError:
            return
        if made is None:
            return
        left = made.rest
        for op in left.body.block.ops:
            if op.attributes.get(_ORIGIN) == at.attributes[_ORIGIN]:
                op.attributes.pop(BEGINS_STAGE, None)
    for op, name, value in marks:
        op.attributes[name] = value


def _next_cut(function: FuncOp, dear: int) -> Operation | None:
    """The first op that is marked, or that is refused, or padded to far more than it reads."""
    trial = tried(function)
    chosen = trial.refused or (trial.dear(dear) if dear else None)
    for op in function.body.block.ops:
        if op is chosen or BEGINS_STAGE in op.attributes:
            return op
    return None


def _original(op: Operation, originals: list[Operation]) -> Operation:
    number = op.attributes[_ORIGIN]
    assert isinstance(number, IntAttr)
    return originals[number.data]


def _sizes_behind(
    function: FuncOp, at: Operation, names: SizeNames
) -> list[tuple[Operation, ArrayAttr]]:
    """Marks ops in front of `at` whose numbers are sizes behind it, and gives the marks."""
    block = function.body.block
    ops = list(block.ops)
    place = ops.index(at)
    before, numbers, limits = set(ops[:place]), SizeNumbers(ops), limits_of(block)
    made: list[tuple[Operation, ArrayAttr]] = []
    for op in ops[place:]:
        for size in sizes_used(op):
            for base in numbers.bases(size):
                owner = base.owner
                if isinstance(base, BlockArgument) or owner not in before or base.type != i64:
                    continue
                assert isinstance(owner, Operation)
                if DIMS in owner.attributes or _ORIGIN not in owner.attributes:
                    continue
                held = _range(owner, numbers.least.get(base, 0), limits.get(base))
                said = ArrayAttr([SizeAttr(names.fresh(held))])
                owner.attributes[DIMS] = said
                made.append((owner, said))
    return made


def _range(op: Operation, least: int, most: int | None) -> Range:
    """What a size may be that is between these, by checks. Raises InputError for no number."""
    least = max(least, 0)
    if most is not None and most < least:
        raise invalid(op, f"it is a size of at least {least}, and checked to be at most {most}")
    if least > MOST_SIZE:
        raise invalid(op, f"it is checked to be at least {least}; no size is above {MOST_SIZE}")
    return Range(least, None if most is None or most > MOST_SIZE else most)
