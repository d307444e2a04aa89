"""`link-callees`: a program and those that it calls become one, whose functions call each other.

Each is scheduled by now, with memory, constants and checks of its own. `@main` of the callee `f`
becomes `@f.main`, called where the extern kernel `call.f` was, and what it takes beside its
operands is handed on: constants and code as arguments of the caller of the same name, prepared
constants as `f.NAME`, which `@setup` has `@f.setup` make first, and scratch memory as the end of
the caller's arena. Callees run one after another, so that they share it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i8,
)
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects.loop.extern import ExternOp
from lamina.dialects.loop.memory_ops import ALIGNMENT
from lamina.dialects.records import record
from lamina.passes.calls.callee_programs import (
    CALLEE,
    callee_named,
    callee_programs,
    calls_of_callees,
    in_order_of_calls,
)
from lamina.passes.contracts.declared import Declared, arguments_of
from lamina.passes.kernel_passes import EntryPass
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.memory.plan_memory import byte_size
from lamina.passes.refusal import invalid, unsupported

_MAIN, _SETUP = "main", "setup"
_REFUSED = {
    "seed": "draws random numbers",
    "size": "has a result whose size depends on data",
    "check": "checks sizes that depend on data",
}
"""By kinds of arguments that only a program called from outside has, what it does."""


class LinkCalleesPass(EntryPass):
    """Make one program of a module and the modules in it."""

    name = "link-callees"
    links = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        link_callees(op)


def link_callees(module: ModuleOp) -> None:
    """Links what is called; other callees are dropped. Raises UnsupportedError for callees that do
    what only a whole program can, and InputError for calls that do not fit."""
    programs = callee_programs(module)
    for program in programs.values():
        program.detach()
    linked: dict[str, _Linked] = {}
    for name in in_order_of_calls(module, programs):
        linked[name] = _Linked.of(name, programs[name], linked)
    _link_calls(module, linked)
    _prepare(module, linked)
    for callee in linked.values():
        for function in callee.functions:
            function.detach()
            module.body.block.add_op(function)


@record
class _Linked:
    """A callee's functions by their new names, and those of them that are called from outside."""

    functions: tuple[func.FuncOp, ...]
    main: func.FuncOp
    setup: func.FuncOp | None

    @classmethod
    def of(cls, name: str, program: ModuleOp, linked: Mapping[str, _Linked]) -> _Linked:
        functions = [op for op in program.body.block.ops if isinstance(op, func.FuncOp)]
        named = {function.sym_name.data: function for function in functions}
        if _MAIN not in named or ENTRY not in named[_MAIN].attributes:
            raise invalid(program, f"program @{name} has no entry @{_MAIN}")
        for argument in arguments_of(named[_MAIN]):
            if argument.kind in _REFUSED:
                raise unsupported(
                    named[_MAIN],
                    f"@{name} stays a function, and {_REFUSED[argument.kind]}",
                    "the function without no_inline",
                )
        for entry in (named[_MAIN], named.get(_SETUP)):
            if entry is not None:
                _rename_prepared(entry, name)
        _link_calls(program, linked)
        for op in program.walk():
            if isinstance(op, func.CallOp) and op.callee.root_reference.data in named:
                op.properties["callee"] = SymbolRefAttr(f"{name}.{op.callee.root_reference.data}")
        for own, function in named.items():
            function.properties["sym_name"] = StringAttr(f"{name}.{own}")
            function.properties["sym_visibility"] = StringAttr("private")
            if function.attributes.pop(ENTRY, None) is not None:
                function.attributes[CALLEE] = UnitAttr()
        return cls(tuple(functions), named[_MAIN], named.get(_SETUP))


def _rename_prepared(entry: func.FuncOp, name: str) -> None:
    entries: list[DictionaryAttr] = []
    for argument in arguments_of(entry):
        if argument.kind == "prepared":
            argument.entries["lamina.name"] = StringAttr(f"{name}.{argument.name}")
        entries.append(DictionaryAttr(argument.entries))
    entry.properties["arg_attrs"] = ArrayAttr(entries)


def _link_calls(program: ModuleOp, linked: Mapping[str, _Linked]) -> None:
    """Calls functions in the place of extern kernels, in each entry of a program."""
    for entry in program.body.block.ops:
        if not isinstance(entry, func.FuncOp) or ENTRY not in entry.attributes:
            continue
        calls = list(calls_of_callees(entry))
        if not calls:
            continue
        caller = _Caller(entry)
        for name, call in calls:
            assert isinstance(call, ExternOp)
            if name not in linked:
                raise invalid(call, f"no program is called @{name}")
            caller.replace(call, linked[name].main)
        caller.finish()


def _prepare(module: ModuleOp, linked: Mapping[str, _Linked]) -> None:
    """Has `@setup` make what callees prepare, those first that others call."""
    setups = [callee.setup for callee in linked.values() if callee.setup is not None]
    if not setups:
        return
    found = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
    setup = next((op for op in found if op.sym_name.data == _SETUP), None)
    if setup is None:
        setup = _empty_setup()
        module.body.block.insert_op_before(setup, found[0])
    caller = _Caller(setup)
    first = setup.body.block.first_op
    assert first is not None
    for callee in setups:
        caller.call(callee, (), (), first)
    caller.finish()


def _empty_setup() -> func.FuncOp:
    arena = MemRefType(i8, [0])
    block = Block([func.ReturnOp()], arg_types=[arena])
    block.args[0].name_hint = "arena"
    made = func.FuncOp(_SETUP, ([arena], []), Region(block))
    made.attributes[ENTRY] = UnitAttr()
    made.properties["arg_attrs"] = ArrayAttr([DictionaryAttr({"lamina.kind": StringAttr("arena")})])
    return made


class _Caller:
    """An entry whose calls are linked, and what it takes to hand on."""

    def __init__(self, entry: func.FuncOp) -> None:
        self._entry, self._block = entry, entry.body.block
        self._declared = arguments_of(entry)
        self._values: list[BlockArgument] = list(self._block.args)
        arena = next((n for n, one in enumerate(self._declared) if one.kind == "arena"), None)
        if arena is None:
            raise invalid(entry, "has no arena, which plan-memory makes")
        self._arena = self._values[arena]
        self._end = -(-byte_size(_memory(self._arena)) // ALIGNMENT) * ALIGNMENT
        self._views: list[tuple[Operation, int]] = []

    def replace(self, call: ExternOp, function: func.FuncOp) -> None:
        """A call of the function in the place of one of an extern kernel."""
        made = self.call(function, call.inputs, call.outs, call)
        made.attributes.update(call.attributes)
        made.location = call.location
        Rewriter.erase_op(call)

    def call(
        self,
        function: func.FuncOp,
        inputs: Sequence[SSAValue],
        outs: Sequence[SSAValue],
        before: Operation,
    ) -> func.CallOp:
        """A call of a callee's function, in front of an op. Raises InputError if it does not take
        those inputs and outs."""
        given = {"input": list(inputs), "output": list(outs)}
        operands: list[SSAValue] = []
        for argument in arguments_of(function):
            if argument.kind in given:
                operand = given[argument.kind].pop(0) if given[argument.kind] else None
                if operand is None or operand.type != argument.type:
                    raise invalid(before, f"does not fit {function.function_type}")
                operands.append(operand)
            elif argument.kind == "arena":
                operands.append(self._scratch(argument, before))
            else:
                operands.append(self._handed(argument))
        if any(given.values()):
            raise invalid(before, f"does not fit {function.function_type}")
        made = func.CallOp(function.sym_name.data, operands, [])
        self._block_of(before).insert_op_before(made, before)
        return made

    def finish(self) -> None:
        """Lengthens the arena, and drops the code of kernels that are no longer called."""
        longest = max((size for _, size in self._views), default=0)
        if longest:
            Rewriter.replace_value_with_new_type(self._arena, MemRefType(i8, [self._end + longest]))
        kept: list[DictionaryAttr] = []
        for argument, value in zip(self._declared, list(self._values), strict=True):
            if argument.kind == "extern" and not value.uses and _stands_for_callee(argument):
                self._block.erase_arg(value)
            else:
                kept.append(DictionaryAttr(argument.entries))
        self._entry.properties["arg_attrs"] = ArrayAttr(kept)
        self._entry.update_function_type()

    def _scratch(self, arena: Declared, before: Operation) -> SSAValue:
        """Memory behind the caller's own, which callees take in turn."""
        assert isinstance(arena.type, MemRefType)
        offset = arith.ConstantOp(IntegerAttr(self._end, IndexType()))
        view = memref.ViewOp.create(
            operands=[self._arena, offset.result], result_types=[arena.type]
        )
        self._block_of(before).insert_ops_before([offset, view], before)
        self._views.append((view, byte_size(arena.type)))
        return view.results[0]

    def _handed(self, wanted: Declared) -> SSAValue:
        """The caller's argument that is handed on; if it has none, a new one before the arena."""
        for argument, value in zip(self._declared, self._values, strict=True):
            if argument.kind == wanted.kind and _same(argument, wanted):
                return value
        place = self._arena.index
        value = self._block.insert_arg(wanted.type, place)
        value.name_hint = wanted.function.body.block.args[wanted.number].name_hint
        self._declared.insert(place, wanted)
        self._values.insert(place, value)
        return value

    @staticmethod
    def _block_of(op: Operation) -> Block:
        assert op.parent is not None
        return op.parent


def _memory(value: SSAValue) -> MemRefType:
    assert isinstance(value.type, MemRefType)
    return value.type


def _same(one: Declared, other: Declared) -> bool:
    """Whether two arguments of a kind are the same memory or code."""
    if one.kind == "poll":
        return True
    if one.kind == "extern":
        return one.entries.get("lamina.signature") == other.entries.get("lamina.signature")
    return one.name == other.name


def _stands_for_callee(argument: Declared) -> bool:
    signature = argument.entries.get("lamina.signature")
    assert isinstance(signature, StringAttr)
    return callee_named(json.loads(signature.data)["kernel"]) is not None
