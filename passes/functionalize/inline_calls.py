"""`inline-calls`: functions of a program stand in the place of their calls.

At tensor layers a program may be written as several functions. Each public one is an entry of its
own, into which all that it calls is put; private ones are gone then. What is called may write its
arguments, as it could in the caller. Kernels and bodies of regions, which are functions for the
compiler's own reasons, and stages stay; so does what is marked `no_inline`, a function or one
call of it (`outline-callees`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.op_list import list_ops
from lamina.dialects.stablehlo.op import HloOp
from lamina.passes.contracts.declared import results_of
from lamina.passes.contracts.stages import STAGE
from lamina.passes.fusion.outline_kernels import KERNEL
from lamina.passes.refusal import invalid, unsupported
from lamina.passes.regions.outline_regions import REGION

_STAY = (KERNEL, REGION, STAGE)
NO_INLINE = "no_inline"
"""MLIR's attribute of functions, and of calls, that stay."""

_CALLING = (func.CallOp.name, "stablehlo.composite")

MOST_OPS = 200_000
"""Ops of one entry with all that it calls: functions that call others twice grow fast."""


class InlineCallsPass(ModulePass):
    """Put functions in the place of their calls, at tensor layers; refuse recursion."""

    name = "inline-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline_calls(op)


def inline_calls(module: ModuleOp) -> None:
    """Puts the functions of a program in the place of their calls, and removes private ones.

    Calls of what has no body here are left for contracts to refuse. Raises InputError for calls
    whose types do not fit, UnsupportedError for recursion.
    """
    if not any(op.name in _CALLING for op in list_ops(module)):
        return
    _call_decompositions(module)
    functions = inlined_functions(module)
    calls = {name: _calls(function) for name, function in functions.items()}
    called = {name for found in calls.values() for name in _names(found, functions)}
    if not called:
        return
    marked = [op for found in (*calls.values(), functions.values()) for op in found]
    done: set[str] = set()
    for name in functions:
        _inline_into(name, functions, done, ())
    kept = _kept(functions) if any(NO_INLINE in op.attributes for op in marked) else set[str]()
    for name in called - kept:
        function = functions[name]
        if _is_private(function):
            function.detach()
            function.erase()


def _call_decompositions(module: ModuleOp) -> None:
    """Composites of StableHLO are calls of the functions that say what they are."""
    for op in [op for op in list_ops(module) if op.name == "stablehlo.composite"]:
        if not isinstance(op, HloOp):
            continue
        named = op.attr("decomposition")
        if not isinstance(named, SymbolRefAttr):
            name = op.attr("name")
            shown = name.data if isinstance(name, StringAttr) else "of no name"
            raise unsupported(op, f"composite {shown} without a decomposition")
        call = func.CallOp(named, list(op.operands), [result.type for result in op.results])
        call.location = op.location
        Rewriter.replace_op(op, call)


def public_functions(module: ModuleOp) -> list[str]:
    """Names of the functions that somebody outside may call, in the order of the program."""
    return [
        name
        for name, function in inlined_functions(module).items()
        if function.sym_visibility is None or function.sym_visibility.data == "public"
    ]


def inlined_functions(module: ModuleOp) -> dict[str, func.FuncOp]:
    """The functions that calls may stand for, by name: those with a body that are no kernels."""
    return {
        op.sym_name.data: op
        for op in module.body.block.ops
        if isinstance(op, func.FuncOp)
        and op.body.blocks
        and not any(name in op.attributes for name in _STAY)
        and not _is_setup(op)
    }


def _is_setup(function: func.FuncOp) -> bool:
    """Whether a function prepares constants of `@main`, of which it is a part."""
    made = results_of(function)
    return function.sym_name.data == "setup" and any(one.kind == "prepared" for one in made)


def _kept(functions: Mapping[str, func.FuncOp]) -> set[str]:
    """What is called still, by entries and by what they call."""
    kept = set[str]()
    called = {name for function in functions.values() for name in _callees(function, functions)}
    pending = [name for name, f in functions.items() if name not in called or not _is_private(f)]
    while pending:
        for name in _callees(functions[pending.pop()], functions):
            if name not in kept:
                kept.add(name)
                pending.append(name)
    return kept


def _is_private(function: func.FuncOp) -> bool:
    visibility = function.sym_visibility
    return visibility is not None and visibility.data == "private"


def _callees(function: Operation, functions: Mapping[str, func.FuncOp]) -> list[str]:
    return _names(_calls(function), functions)


def _names(calls: Iterable[func.CallOp], functions: Mapping[str, func.FuncOp]) -> list[str]:
    names = [op.callee.root_reference.data for op in calls]
    return [name for name in names if name in functions]


def _calls(function: Operation) -> list[func.CallOp]:
    return [op for op in list_ops(function) if isinstance(op, func.CallOp)]


def _inline_into(
    name: str, functions: Mapping[str, func.FuncOp], done: set[str], above: tuple[str, ...]
) -> None:
    """Inlines the calls of one function; what it calls has none left by then."""
    if name in done:
        return
    calls = _calls(functions[name])
    count = len(list_ops(functions[name])) if calls else 0
    for call in calls:
        callee = functions.get(call.callee.root_reference.data)
        if callee is None:
            continue
        called = callee.sym_name.data
        if called == name or called in above:
            chain = " calls ".join(f"@{n}" for n in (*above, name, called))
            raise unsupported(call, f"{chain}: recursion is not compiled", "control.while")
        _inline_into(called, functions, done, (*above, name))
        if NO_INLINE in call.attributes or NO_INLINE in callee.attributes:
            continue
        count += len(list_ops(callee))
        if count > MOST_OPS:
            raise unsupported(call, f"@{name} has more than {MOST_OPS} ops with what it calls")
        _replace(call, callee)
    done.add(name)


def _replace(call: func.CallOp, function: func.FuncOp) -> None:
    """A copy of the function's body in front of the call, whose results are what it returns."""
    name = function.sym_name.data
    kinds = function.function_type
    if [value.type for value in call.arguments] != list(kinds.inputs.data) or [
        value.type for value in call.results
    ] != list(kinds.outputs.data):
        raise invalid(call, f"@{name} is {kinds}")
    if len(function.body.blocks) != 1:
        raise unsupported(call, f"@{name} has several blocks", "control.cond and control.while")
    block = call.parent
    assert block is not None
    arguments = function.body.block.args
    mapping: dict[SSAValue, SSAValue] = dict(zip(arguments, call.arguments, strict=True))
    results: list[SSAValue] = []
    for inner in function.body.block.ops:
        if isinstance(inner, func.ReturnOp):
            results = [mapping.get(value, value) for value in inner.operands]
            continue
        copy = inner.clone(mapping)
        for old, new in zip(inner.walk(), copy.walk(), strict=True):
            new.location = old.location
        block.insert_op_before(copy, call)
    Rewriter.replace_op(call, [], results)
