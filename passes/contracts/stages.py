"""Programs in stages: functions that run one after the other, the sizes of which data decide.

A stage is a private function with the attribute `lamina.stage`, which `@main` calls once. Its
arguments may have open sizes, and so may its results, which are the arguments of stages behind it.
Each is a program of its own, compiled for the sizes that calls bring it. `@main` holds calls of
stages and nothing else; it is no further than `functional`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from lamina.passes.refusal import invalid

STAGE = "lamina.stage"
"""Attribute of a function that is a stage."""

BEGINS_STAGE = "lamina.begins_stage"
"""Attribute of an op in front of which a stage ends: sizes from there on are known numbers."""

STAGED_LAYERS = ("aten", "functional")
"""The layers at which a program in stages stands."""


def stages_of(module: ModuleOp) -> list[func.FuncOp]:
    """The stages that `@main` calls, in order; none of a program that is not in stages."""
    named = _functions(module)
    main = named.get("main")
    if main is None or not any(STAGE in function.attributes for function in named.values()):
        return []
    return [named[name] for name in map(stage_called, main.body.block.ops) if name in named]


def stage_called(op: object) -> str | None:
    """The name of the function that an op calls."""
    return op.callee.root_reference.data if isinstance(op, func.CallOp) else None


def is_stage_call(module: ModuleOp, op: func.CallOp) -> bool:
    """Whether a call is of a stage."""
    called = _functions(module).get(op.callee.root_reference.data)
    return called is not None and STAGE in called.attributes


def leave_called_stages(module: ModuleOp) -> None:
    """Removes stages that nothing calls."""
    kept = stages_of(module)
    for function in _functions(module).values():
        if STAGE in function.attributes and function not in kept:
            function.detach()
            function.erase()


def verify_stages(module: ModuleOp) -> None:
    """Check a program in stages; others pass. Raises InputError naming the place."""
    stages = stages_of(module)
    if not stages:
        return
    main = _functions(module)["main"]
    for op in main.body.block.ops:
        if isinstance(op, func.CallOp):
            _verify_call(op, stages)
        elif not isinstance(op, func.ReturnOp):
            raise invalid(op, "@main calls stages, and holds nothing else then")
    for stage in stages:
        name = stage.sym_name.data
        if stages.count(stage) > 1:
            raise invalid(stage, f"the stage @{name} is called twice")
        if stage.sym_visibility is None or stage.sym_visibility.data != "private":
            raise invalid(stage, f"the stage @{name} is public")
        _refuse_writes(stage)


def _verify_call(op: func.CallOp, stages: Sequence[func.FuncOp]) -> None:
    name = op.callee.root_reference.data
    called = next((stage for stage in stages if stage.sym_name.data == name), None)
    if called is None or STAGE not in called.attributes:
        raise invalid(op, f"@main calls stages, and @{name} is none")


def _refuse_writes(stage: func.FuncOp) -> None:
    for op in stage.walk():
        schema = getattr(op, "schema", None)
        if schema is not None and any(argument.mutated for argument in schema.args):
            raise invalid(op, "writes its argument in a stage; what is written is a result")


def _functions(module: ModuleOp) -> dict[str, func.FuncOp]:
    return {
        op.sym_name.data: op
        for op in module.body.block.ops
        if isinstance(op, func.FuncOp) and op.body.blocks
    }
