"""Taking ops out of a program that goes on to be tried: stand-ins, and what cannot have any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from lamina.dialects import aten
from lamina.dialects.control import RegionOp
from lamina.dialects.errors import LaminaError, UnsupportedError
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.program import missing
from lamina.lowering.bound_dynamic_shapes.table import bounding_of
from lamina.lowering.bound_dynamic_shapes.values import is_dynamic
from lamina.passes.functionalize.functional_forms import written_arguments

Stops = Callable[[Operation], UnsupportedError | None]
"""What is wrong with an op that reads a value which the program does not have any more."""

_WITH_EMPTY = ("aten", "control", "func")
"""Dialects of the layer whose programs may hold `aten.empty`."""


@dataclass(frozen=True)
class Removal:
    """Removes ops from `module`; tells what else is found to be wrong on the way."""

    module: ModuleOp
    refuse: Callable[[Operation, LaminaError], None]
    check_body: Callable[[Block], None]
    """Looks for what stops the body of a branch or loop that goes away."""

    def remove(self, op: Operation) -> bool:
        """Take an op out, with new tensors for its results; whether that can be.

        What reads a result of unknown sizes goes too. @main only loses its attributes.
        """
        if op.parent is None or isinstance(op, ModuleOp):
            return False
        if isinstance(op, FuncOp):
            if op.sym_name.data == "main":
                return _without_attributes(op)
            self._remove_calls(op)
        elif op is op.parent.last_op:
            return False
        if isinstance(op, RegionOp):
            for block in op.blocks:
                self.check_body(block)
        self._replace_results(op)
        op.detach()
        op.erase()
        return True

    def remove_argument(self, value: BlockArgument, stops: Stops) -> None:
        """Take an argument of @main out, and what is computed from it."""
        self._drop_uses(value, stops)
        function = value.block.parent_op()
        assert isinstance(function, FuncOp)
        if function.arg_attrs is not None:
            entries = list(function.arg_attrs.data)
            del entries[value.index]
            function.properties["arg_attrs"] = ArrayAttr(entries)
        value.block.erase_arg(value)
        function.update_function_type()

    def _remove_calls(self, function: FuncOp) -> None:
        for op in list(self.module.walk()):
            callee: Any = op.properties.get("callee")
            if op.parent is not None and getattr(callee, "root_reference", 0) == function.sym_name:
                self.remove(op)

    def _replace_results(self, op: Operation) -> None:
        written = _written(op)
        for result in op.results:
            same = next((value for value in written if value.type == result.type), None)
            if same is not None:
                result.replace_all_uses_with(same)
            elif (made := _stand_in(op, result)) is not None:
                result.replace_all_uses_with(made)
            else:
                self._drop_uses(result, _unbounded)

    def _drop_uses(self, value: SSAValue, stops: Stops) -> None:
        for use in list(value.uses):
            op = use.operation
            if op.parent is None:
                continue
            if op is op.parent.last_op:
                self._drop_result(op, value)
                continue
            error = stops(op)
            if error is not None:
                self.refuse(op, error)
            self.remove(op)

    def _drop_result(self, end: Operation, value: SSAValue) -> None:
        """A function has fewer results; a branch or loop goes as a whole."""
        function = end.parent_op()
        if not isinstance(end, ReturnOp) or not isinstance(function, FuncOp):
            if function is not None:
                self.remove(function)
            return
        kept = [number for number, operand in enumerate(end.operands) if operand is not value]
        if function.res_attrs is not None:
            entries = [function.res_attrs.data[number] for number in kept]
            function.properties["res_attrs"] = ArrayAttr(entries)
        end.operands = [end.operands[number] for number in kept]
        function.update_function_type()


def _without_attributes(main: FuncOp) -> bool:
    """Take away what says how arguments and results are bound; whether there was any."""
    names = [name for name in ("arg_attrs", "res_attrs") if name in main.properties]
    for name in names:
        del main.properties[name]
    return bool(names)


def _written(op: Operation) -> list[SSAValue]:
    if not isinstance(op, SchemaOp):
        return []
    values = [op.arg(name) for name in written_arguments(op)]
    return [value for value in values if isinstance(value, SSAValue)]


def _stand_in(op: Operation, result: SSAValue) -> SSAValue | None:
    """A new tensor of the type of a result; None where its sizes are not known."""
    kind = result.type
    block = op.parent
    if block is None or not isinstance(kind, TensorType) or is_dynamic(kind):
        return None
    if op.name.partition(".")[0] in _WITH_EMPTY:
        empty: Any = aten.op("empty.memory_format")
        made = empty(list(kind.get_shape()), dtype=kind.element_type)
        made.location = op.location
        block.insert_op_before(made, op)
        return made.results[0]
    function = block.parent_op()
    if not isinstance(function, FuncOp):
        return None
    value = block.insert_arg(kind, len(block.args))
    if function.arg_attrs is not None:
        entries = [*function.arg_attrs.data, DictionaryAttr({})]
        function.properties["arg_attrs"] = ArrayAttr(entries)
    function.update_function_type()
    return value


def _unbounded(op: Operation) -> UnsupportedError | None:
    """What stops an op that reads a tensor of unknown sizes, were they bounded."""
    if not isinstance(op, SchemaOp) or bounding_of(op) is not None:
        return None
    return missing(op)
