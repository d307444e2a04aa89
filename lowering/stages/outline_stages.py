"""`outline-stages`: a function for each stage of a program, which `@main` calls in order.

A stage ends in front of each op with `lamina.begins_stage`. What stages behind it need of it is a
result; sizes that it gives are named in `lamina.dims` of the arguments of those.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.lowering.stages.choose_stages import main_with_sizes_of_data
from lamina.lowering.stages.cut import cut
from lamina.lowering.stages.size_names import SizeNames
from lamina.passes.contracts.argument_sizes import DIMS
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.stages import BEGINS_STAGE, STAGE


class OutlineStagesPass(ModulePass):
    """Make a private function of each stage, and of `@main` calls of these."""

    name = "outline-stages"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_with_sizes_of_data(op)
        if main is not None:
            outline_stages(main, op)


def outline_stages(main: FuncOp, module: ModuleOp) -> None:
    """Makes the stages of a function whose ops are marked; without marks nothing happens.

    Raises InputError where a stage needs sizes to be equal which need not be.
    """
    count = sum(BEGINS_STAGE in op.attributes for op in main.body.block.ops)
    if not count:
        return
    names = SizeNames.of(main)
    block = main.body.block
    held: dict[SSAValue, SSAValue] = {argument: argument for argument in block.args}
    calls: list[Operation] = []
    left = main
    stages: list[FuncOp] = []
    while (at := _marked(left)) is not None:
        at.attributes.pop(BEGINS_STAGE)
        made = cut(left, at, names)
        if made is None:
            continue
        stages.append(made.first)
        call = _call(main, len(stages) - 1, made.first, [held[value] for value in made.taken])
        calls.append(call)
        for value, result in zip(made.handed, call.results, strict=True):
            held[value] = result
            result.name_hint = value.name_hint
        arguments = zip(made.rest.body.block.args, made.given, strict=True)
        held = {argument: held[value] for argument, value in arguments}
        left = made.rest
    if not stages:
        return
    stages.append(left)
    results = _without_handed(left, held)
    operands = [held[value] for value in left.body.block.args]
    calls.append(_call(main, len(stages) - 1, left, operands))
    own = iter(calls[-1].results)
    _only(main, calls, [next(own) if value is None else value for value in results])
    for number, stage in enumerate(stages):
        stage.properties["sym_name"] = StringAttr(_name(main, number))
        stage.properties["sym_visibility"] = StringAttr("private")
        stage.attributes[STAGE] = UnitAttr()
        for op in stage.body.block.ops:
            op.attributes.pop(DIMS, None)
        module.body.block.insert_op_before(stage, main)


def _marked(function: FuncOp) -> Operation | None:
    return next((op for op in function.body.block.ops if BEGINS_STAGE in op.attributes), None)


def _name(main: FuncOp, number: int) -> str:
    return f"{main.sym_name.data}_stage_{number}"


def _call(main: FuncOp, number: int, stage: FuncOp, operands: list[SSAValue]) -> CallOp:
    call = CallOp(_name(main, number), operands, list(stage.function_type.outputs))
    call.location = main.location
    return call


def _without_handed(stage: FuncOp, held: dict[SSAValue, SSAValue]) -> list[SSAValue | None]:
    """Takes from the results of the last stage what it is handed itself, once each.

    Gives, for each result, what stands for it in `@main`, or None for one of the stage's own.
    """
    end = stage.body.block.last_op
    assert end is not None
    found: list[SSAValue | None] = []
    for value in end.operands:
        given = held[value] if isinstance(value, BlockArgument) else None
        is_handed = isinstance(given, SSAValue) and not isinstance(given, BlockArgument)
        found.append(given if is_handed and given not in found else None)
    pairs = zip(list(end.operands), found, strict=True)
    end.operands = [value for value, given in pairs if given is None]
    entries = arguments_of(stage)
    kept = [d.number for d in entries if stage.body.block.args[d.number].uses]
    for argument in reversed(list(stage.body.block.args)):
        if argument.index not in kept:
            stage.body.block.erase_arg(argument)
    stage.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(entries[n].entries) for n in kept])
    stage.update_function_type()
    return found


def _only(main: FuncOp, calls: list[Operation], results: list[SSAValue]) -> None:
    """Leaves these calls in a function, which gives these results."""
    old = main.body.block
    for op in reversed(list(old.ops)):
        op.detach()
        op.erase(safe_erase=False)
    for op in calls:
        old.add_op(op)
    end = ReturnOp(*results)
    end.location = main.location
    old.add_op(end)
