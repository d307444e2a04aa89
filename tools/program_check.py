"""All that stops a program: the compiler's own passes, run again past each refusal.

An op that is refused gives way to a stand-in (a new tensor of the types of its results), and the
whole program is tried again. So an op is judged where it stands, with the aliases and views around
it. Ops that neither alias nor write are tried alone before: equal ones once, and in one go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects.builtin import (
    FileLineColLoc,
    FunctionType,
    IntAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from lamina.dialects.context import Context
from lamina.dialects.errors import InputError, LaminaError, UnsupportedError
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.source import describe_location
from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS
from lamina.lowering.bound_dynamic_shapes.table import bounding_of
from lamina.lowering.bound_dynamic_shapes.values import is_dynamic, is_number
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.passes.contracts.argument_sizes import has_open_sizes, some_sizes
from lamina.passes.contracts.stages import stages_of
from lamina.passes.sizes.bind_sizes import bind_sizes
from lamina.runtime.entry import function_named
from lamina.runtime.extern_kernels.calls import refused_calls
from lamina.runtime.layers import layer_of, verify_scheduled
from lamina.runtime.program_entries import with_main
from lamina.runtime.staged import stage_programs
from lamina.tools.op_trials import Trial, try_op
from lamina.tools.program_removal import Removal
from lamina.tools.tolerant_parser import UnknownOp

_MARK = "<op>"
_MARKED = re.compile(rf"{_MARK}:(\d+):\d+(?:: error: )?")
"""Where ops of a program under trial stand: their number in the program."""

_MOST_ROUNDS = 500
_WITH_CALLS = ("loop", "fused")
"""Layers whose calls of extern kernels are ops on tensors."""

Location = str | None


@dataclass
class _Check:
    """One program, which shrinks while its blockers are found."""

    module: ModuleOp
    order: dict[str, int]
    found: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])

    @cached_property
    def removal(self) -> Removal:
        """How ops are taken out of the program."""
        return Removal(self.module, self.refuse, self._check_body)

    def use(self, module: ModuleOp) -> None:
        """Goes on with another form of the program."""
        self.module = module
        self.__dict__.pop("removal", None)

    def _check_body(self, block: Block) -> None:
        for place, message in _of_body(block, self.order):
            self.found.setdefault((place, message), message)

    def report(self, op: Operation, message: str) -> None:
        """Note what stops an op, in the order of the program."""
        self.found.setdefault((self.order.get(_place(op) or "", len(self.order)), message), message)

    def refuse(self, op: Operation, error: LaminaError) -> None:
        """Note an error about an op of the program."""
        self.report(op, str(_at(op, error)))


def blockers(module: ModuleOp) -> list[str]:
    """A message for all that keeps a program from being compiled, in its order.

    Each names the op, why, and its place. The module stays as it is.
    """
    order: dict[str, int] = {}
    for op in module.walk():
        order.setdefault(_place(op) or "", len(order))
    check = _Check(module.clone(), order)
    _keep_locations(module, check.module)
    try:
        check.use(with_main(check.module))
    except InputError as error:
        check.found[-1, str(error)] = str(error)
    _unknown_ops(check)
    _open_arguments(check)
    _single_ops(check)
    _whole_program(check)
    return [message for _, message in sorted(check.found.items(), key=lambda item: item[0][0])]


def _place(op: Operation) -> Location:
    place = describe_location(op.location)
    return place.removesuffix(":0") if place else None


def _keep_locations(source: Operation, copy: Operation) -> None:
    for op, other in zip(source.walk(), copy.walk(), strict=True):
        other.location = op.location


def _at(op: Operation, error: LaminaError) -> LaminaError:
    """The error, about the op of the program that it comes from."""
    if not isinstance(error, UnsupportedError):
        text = _MARKED.sub("", str(error))
        place = _place(op)
        named = text if text.startswith(f"{op.name}:") else f"{op.name}: {text}"
        return LaminaError(named + (f"\n  at: {place}" if place else ""))
    about = error.op == op.name or error.op.partition(".")[2] == op.name.partition(".")[2]
    about = about or error.op == "loop.extern"
    return UnsupportedError(
        op.name,
        error.reason if about else f"{error.op}: {error.reason}",
        types=[str(operand.type) for operand in op.operands],
        location=_place(op),
        nearest=error.nearest,
    )


# What the text alone tells


def _unknown_ops(check: _Check) -> None:
    for op in list(check.module.walk()):
        if isinstance(op, UnknownOp):
            near = ", ".join(op.hint) or None
            check.refuse(op, UnsupportedError(op.name, "no such op", nearest=near))
            check.removal.remove(op)


def _open_arguments(check: _Check) -> None:
    """Arguments of unknown sizes: the program is checked for some sizes that they may have.

    Where sizes cannot be followed that is reported, and what is computed of them only looked up.
    """
    main = function_named(check.module, "main")
    if main is None or not main.body.blocks or not has_open_sizes(main):
        return
    bound = check.module.clone()
    _keep_locations(check.module, bound)
    try:
        bind_sizes(bound, some_sizes(main))
    except LaminaError as error:
        check.refuse(main, error)
        dynamic = [value for value in main.body.block.args if is_dynamic(value.type)]
        for value in reversed(dynamic):
            check.removal.remove_argument(value, _without_any_lowering)
        return
    check.use(bound)


def _without_any_lowering(op: Operation) -> UnsupportedError | None:
    name = op.name.removeprefix("aten.")
    reason = DECOMPOSITIONS.limitations().get(name)
    if reason is None or name in DECOMPOSITIONS.table() or bounding_of(op) is not None:
        return None
    return UnsupportedError(op.name, reason)


# Ops on their own


def _single_ops(check: _Check) -> None:
    """Try each op that neither aliases nor writes by itself; equal ones once."""
    tried: dict[str, Trial] = {}
    for op in list(check.module.walk()):
        if not isinstance(op, SchemaOp) or op.parent is None or not _stands_alone(op):
            continue
        key = _key(op)
        if key not in tried:
            tried[key] = try_op(op, [result for result in op.results if result.uses])
        error = tried[key].error
        if error is not None:
            check.refuse(op, error)
            check.removal.remove(op)


def _stands_alone(op: SchemaOp) -> bool:
    values = (*op.operands, *op.results)
    if any(is_dynamic(value.type) or is_number(value.type) for value in values):
        return False
    if "dynamic_output_shape" in op.schema.tags:
        return False
    return not any(argument.alias is not None for argument in op.schema.args)


def _key(op: Operation) -> str:
    """The same for ops of one name, types and constants, and with the same results in use."""
    properties = sorted((name, str(value)) for name, value in op.properties.items())
    types = [str(value.type) for value in (*op.operands, *op.results)]
    used = [bool(result.uses) for result in op.results]
    return f"{op.name} {types} {properties} {used}"


# The whole program, again and again


def _whole_program(check: _Check) -> None:
    for _ in range(_MOST_ROUNDS):
        trial = check.module.clone()
        ops = list(check.module.walk())
        for number, op in enumerate(trial.walk()):
            op.location = FileLineColLoc(StringAttr(_MARK), IntAttr(number), IntAttr(1))
        error = _lowered(trial, lambda module, ops=ops: _extern_calls(module, ops, check))
        if error is None:
            return
        culprit = _culprit(error, ops)
        if culprit is None:
            check.found[-1, str(error)] = _MARKED.sub("", str(error))
            return
        check.refuse(culprit, error)
        if not check.removal.remove(culprit):
            return


def _lowered(module: ModuleOp, at_loops: Callable[[ModuleOp], None]) -> LaminaError | None:
    """Take a module down to the scheduled layer; what stopped it."""
    start = layer_of(module)
    try:
        if start == "scheduled":
            verify_scheduled(module)
            return None
        if start not in _WITH_CALLS:
            if start == "aten":
                run_pipeline(module, pipeline(start=start, stop="functional"), Context())
                if stages_of(module):
                    return _lowered_stages(module, at_loops)
                start = "functional"
            enters = start != "functional"
            specs = pipeline(start=start, stop="loop", enters=enters)
            run_pipeline(module, specs, Context())
            start = "loop"
        at_loops(module)
        run_pipeline(module, pipeline(start=start, stop="scheduled"), Context())
    except LaminaError as error:
        return error
    except (DiagnosticException, VerifyException) as error:
        return LaminaError(str(error))
    except Exception as error:  # a bug of ours at one op must not hide what stops others
        notes = " ".join(getattr(error, "__notes__", []))
        place = _MARKED.search(notes)
        mark = place.group() if place else ""
        return LaminaError(f"{mark}internal error: {type(error).__name__}: {error}")
    return None


def _lowered_stages(module: ModuleOp, at_loops: Callable[[ModuleOp], None]) -> LaminaError | None:
    """What stops a stage, for some sizes that it may have."""
    for program in stage_programs(module):
        main = function_named(program, "main")
        assert main is not None
        try:
            bind_sizes(program, some_sizes(main))
        except LaminaError as error:
            return error
        stopped = _lowered(program, at_loops)
        if stopped is not None:
            return stopped
    return None


def _culprit(error: LaminaError, ops: list[Operation]) -> Operation | None:
    place = error.location if isinstance(error, UnsupportedError) else str(error)
    found = _MARKED.search(place or "")
    return ops[int(found[1])] if found else None


def _extern_calls(module: ModuleOp, ops: list[Operation], check: _Check) -> None:
    """All calls of kernels that nobody registered, or with dtypes that they do not take."""
    for error in refused_calls(module):
        culprit = _culprit(error, ops)
        if culprit is not None:
            check.refuse(culprit, error)


def _of_body(block: Block, order: dict[str, int]) -> Iterator[tuple[int, str]]:
    body = Region(Block(arg_types=[argument.type for argument in block.args]))
    mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, body.block.args, strict=True))
    for op in block.ops:
        copy = op.clone(mapping)
        _keep_locations(op, copy)
        end = op is block.last_op
        body.block.add_op(ReturnOp(*copy.operands) if end else copy)
    end_types = [value.type for value in body.block.last_op.operands]  # pyright: ignore
    kinds = FunctionType.from_lists(list(body.block.arg_types), end_types)
    # It is no @main, which alone may run in stages.
    check = _Check(ModuleOp([FuncOp("body", kinds, body)]), order)
    _whole_program(check)
    return ((place, message) for (place, _), message in check.found.items())
