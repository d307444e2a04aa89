"""`outline-callees`: functions that are not inlined become programs beside the one that calls them.

See `callee_programs` for what they are then. What a function writes to its arguments it gives back
as results behind its own, which the caller copies to what it passed; numbers are tensors of rank 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects import aten, prims
from lamina.dialects.loop.extern import ExternOp
from lamina.dialects.op_list import list_ops
from lamina.dialects.records import mutable_record
from lamina.dialects.source_layers import marks_linalg
from lamina.passes.calls.callee_programs import (
    callee_of,
    callee_programs,
    in_order_of_calls,
    kernel_of,
)
from lamina.passes.contracts.declared import arguments_of, results_of
from lamina.passes.functionalize.aliases import Storage
from lamina.passes.functionalize.functional_forms import written_arguments
from lamina.passes.functionalize.functionalize import functionalize, storages_in
from lamina.passes.functionalize.inline_calls import NO_INLINE, inlined_functions
from lamina.passes.functionalize.number_arguments import is_number, numbers_as_tensors
from lamina.passes.refusal import invalid, unsupported

_NAME = re.compile(r"[\w$]+")
_INLINED = f"the function without {NO_INLINE}"


class OutlineCalleesPass(ModulePass):
    """Make a program of each function whose calls stay, and calls of extern kernels of those."""

    name = "outline-callees"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outline_callees(op)


def outline_callees(module: ModuleOp) -> None:
    """Outlines what is called; `inline-calls` has been there, so that such calls are to stay.

    Raises UnsupportedError for what only inlining can do, and InputError for a call whose types do
    not fit.
    """
    functions = inlined_functions(module)
    made: dict[str, _Callee] = {}
    called = _called(functions)
    if not called:
        return
    for name in called:
        made[name] = _outlined(module, functions[name])
        _replace_calls(functions[name], made)
        made[name].fill()
    for name, function in functions.items():
        if name not in made:
            _replace_calls(function, made)
        elif (visibility := function.sym_visibility) is not None and visibility.data == "private":
            function.detach()
            function.erase()


@mutable_record
class _Callee:
    """A program beside its callers, and the function that it was.

    `written` are the numbers of the arguments that it writes, whose new values are its last
    results.
    """

    program: ModuleOp
    function: func.FuncOp
    written: list[int] = field(default_factory=list[int])

    def fill(self) -> None:
        """Puts a copy of the function into the program, as `@main`."""
        function = self.function
        copy = function.clone()
        for old, new in zip(function.walk(), copy.walk(), strict=True):
            new.location = old.location
        copy.attributes.pop(NO_INLINE, None)
        copy.properties.pop("sym_visibility", None)
        for entries in ("arg_attrs", "res_attrs"):
            copy.properties.pop(entries, None)
        copy.properties["sym_name"] = StringAttr("main")
        self.program.body.block.add_op(copy)
        numbers_as_tensors(self.program)
        if not _writes(copy):
            return
        functionalize(copy)
        names = {argument.name: argument.number for argument in arguments_of(copy)}
        for result in results_of(copy):
            target = result.entries.get("lamina.target")
            if isinstance(target, StringAttr):
                self.written.append(names[target.data])
        copy.properties.pop("res_attrs", None)


def _called(functions: Mapping[str, func.FuncOp]) -> list[str]:
    """The functions that others call, each behind those that it calls itself."""
    found: dict[str, None] = {}

    def visit(function: func.FuncOp) -> None:
        for op in list_ops(function):
            name = op.callee.root_reference.data if isinstance(op, func.CallOp) else ""
            if name in functions and name not in found:
                visit(functions[name])
                found[name] = None

    for function in functions.values():
        visit(function)
    return list(found)


def _outlined(module: ModuleOp, function: func.FuncOp) -> _Callee:
    """An empty program for a function."""
    name = function.sym_name.data
    if not _NAME.fullmatch(name):
        raise unsupported(function, f"@{name} stays, and its name is no identifier")
    if name in callee_programs(module):
        raise invalid(function, f"a program @{name} stands in the module already")
    if len(function.body.blocks) != 1:
        raise unsupported(function, f"@{name} has several blocks", "control.cond and control.while")
    kind = function.function_type
    for given in (*kind.inputs, *kind.outputs):
        if not _stays(given, given in kind.inputs.data):
            reason = f"@{name} stays, and takes or gives {given}, which is no tensor of known size"
            raise unsupported(function, reason, _INLINED)
    program = ModuleOp([], {}, sym_name=StringAttr(name))
    module.body.block.add_op(program)
    return _Callee(program, function)


def _stays(kind: Attribute, is_argument: bool) -> bool:
    if isinstance(kind, TensorType):
        return all(extent >= 0 for extent in kind.get_shape())
    return is_argument and is_number(kind)


def _writes(function: func.FuncOp) -> bool:
    return any(op.name.startswith("aten.") and written_arguments(op) for op in function.walk())


def _storages(function: func.FuncOp) -> dict[SSAValue, Storage]:
    """The memory behind the values of a function that is not functional yet."""
    mapping: dict[SSAValue, SSAValue] = {}
    copy = function.clone(mapping)
    found = storages_in(copy)
    return {old: found[new] for old, new in mapping.items() if new in found}


def _results_share(function: func.FuncOp) -> bool:
    """Whether a result is, or may be, memory of an argument or of another result."""
    end = function.body.block.last_op
    assert end is not None
    found = _storages(function)
    families = [_family(found, value) for value in end.operands]
    taken = [one for family in families for one in family]
    return any(one.argument is not None for one in taken) or len(set(taken)) < len(taken)


def _replace_calls(function: func.FuncOp, made: Mapping[str, _Callee]) -> None:
    """Calls of kernels in the place of a function's calls."""
    writing: list[tuple[Operation, list[int]]] = []
    for call in [op for op in function.walk() if isinstance(op, func.CallOp)]:
        callee = made.get(call.callee.root_reference.data)
        if callee is None:
            continue
        new = _replace(call, callee)
        if callee.written:
            writing.append((new, callee.written))
    if not writing and not _writes(function):
        return
    _refuse_shared_results(function, made)
    if writing:
        _refuse_shared_arguments(function, writing)


def _replace(call: func.CallOp, callee: _Callee) -> Operation:
    name, kinds = callee.function.sym_name.data, callee.function.function_type
    if [value.type for value in call.arguments] != list(kinds.inputs.data) or [
        value.type for value in call.results
    ] != list(kinds.outputs.data):
        raise invalid(call, f"@{name} is {kinds}")
    operands = [_as_tensor(call, value) for value in call.arguments]
    news = [operands[number] for number in callee.written]
    types = [*call.result_types, *(value.type for value in news)]
    made = _extern(call, kernel_of(name), operands, types)
    made.location = call.location
    block = call.parent
    assert block is not None
    block.insert_op_before(made, call)
    values = list(made.results)
    for target, value in zip(news, values[len(call.results) :], strict=True):
        copy: Any = aten.op("copy_.default")
        block.insert_op_before(copy(target, value, location=call.location), call)
    for old, new in zip(call.results, values, strict=False):
        new.name_hint = old.name_hint
    Rewriter.replace_op(call, [], values[: len(call.results)])
    return made


def _as_tensor(call: func.CallOp, value: SSAValue) -> SSAValue:
    """What is passed in the place of a number."""
    if not is_number(value.type):
        return value
    make: Any = aten.op("scalar_tensor.default")
    made = make(value, dtype=value.type, location=call.location)
    block = call.parent
    assert block is not None
    block.insert_op_before(made, call)
    return made.results[0]


def _extern(
    call: func.CallOp, kernel: str, operands: Sequence[SSAValue], types: Sequence[Attribute]
) -> Operation:
    """A call of a kernel, as the layer of the program has it."""
    if not types:
        raise unsupported(call, "what it calls gives nothing and writes nothing", "no call")
    if _is_of_nests(call):
        return ExternOp(kernel, operands, types)
    made: Any = prims.op("extern")
    return made(list(operands), kernel, result_types=list(types))


def _is_of_nests(call: Operation) -> bool:
    """Whether the program of a call has ops of a layer of nests, and of none above."""
    program = call
    while (above := program.parent_op()) is not None:
        program = above
    dialects = {op.name.partition(".")[0] for op in program.walk()}
    return dialects.isdisjoint({"aten", "core_aten", "prims", "stablehlo", "chlo"}) and any(
        marks_linalg(op) or op.name.startswith("loop.") for op in program.walk()
    )


def _refuse_shared_results(function: func.FuncOp, made: Mapping[str, _Callee]) -> None:
    """A result that is a view of an argument would be a copy, which shows where one is written."""
    for op in function.walk():
        name = callee_of(op) or ""
        if name in made and _results_share(made[name].function):
            raise unsupported(
                op,
                f"@{name} gives back memory of its arguments, or some twice, and its caller writes",
                _INLINED,
            )


def _refuse_shared_arguments(
    function: func.FuncOp, writing: Sequence[tuple[Operation, list[int]]]
) -> None:
    """What a callee writes is no memory that it takes as another argument as well."""
    found = _storages(function)
    for call, written in writing:
        if call.parent is not function.body.block:
            raise unsupported(call, "writes its argument in a region of a branch or a loop")
        families = [_family(found, value) for value in call.operands]
        for number in written:
            for other, family in enumerate(families):
                if other != number and families[number] & family:
                    raise unsupported(
                        call,
                        f"writes argument {number}, whose memory is that of argument {other}",
                        _INLINED,
                    )


def _family(found: Mapping[SSAValue, Storage], value: SSAValue) -> set[Storage]:
    """All memory that a value may share."""
    storage = found.get(value)
    return set() if storage is None else {storage, *storage.family()}


def leave_called(module: ModuleOp) -> None:
    """Removes the programs that nothing in a module calls any more."""
    programs = callee_programs(module)
    kept = in_order_of_calls(module, programs)
    for name, program in programs.items():
        if name not in kept:
            program.detach()
            program.erase()
