"""Smaller programs: one without some ops, results, arguments, functions or attributes.

Each function gives a new module, or None where nothing comes of it; whether that verifies is for
the caller to see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator


def removable_ops(module: ModuleOp) -> list[Operation]:
    """What may go one by one: all but modules, what ends a block, and functions with a body."""
    return [
        op
        for op in module.walk()
        if not isinstance(op, ModuleOp)
        and not op.has_trait(IsTerminator, value_if_unregistered=False)
        and not (isinstance(op, FuncOp) and op.sym_name.data == "main")
    ]


def without_ops(module: ModuleOp, places: Collection[int]) -> ModuleOp | None:
    """Without the ops at these places of `removable_ops`.

    In place of a result comes an operand of its type, or a new argument of @main.
    """
    module = module.clone()
    ops = removable_ops(module)
    gone = [ops[place] for place in sorted(places, reverse=True) if place < len(ops)]
    changed = False
    for op in gone:
        if op.parent is not None and _is_replaced(op):
            op.detach()
            op.erase(safe_erase=False)
            changed = True
    return module if changed else None


def _is_replaced(op: Operation) -> bool:
    """Gives each use of an op's results another value; False, and nothing done, if there is none.

    A function has no results: its calls, if any, do not verify without it.
    """
    made: list[SSAValue | None] = []
    function = _main_around(op)
    for result in op.results:
        if not result.uses:
            made.append(None)
            continue
        same = next((value for value in op.operands if value.type == result.type), None)
        if same is None and (function is None or not isinstance(result.type, TensorType)):
            return False
        made.append(same)
    for result, value in zip(op.results, made, strict=True):
        if result.uses:
            if value is None:
                assert function is not None
                value = _new_argument(function, result)
            result.replace_all_uses_with(value)
    return True


def _main_around(op: Operation) -> FuncOp | None:
    """@main, if the op stands in its body and not deeper: bodies of nests read nothing outside."""
    around = op.parent_op()
    return around if isinstance(around, FuncOp) and around.sym_name.data == "main" else None


def _new_argument(function: FuncOp, result: SSAValue) -> SSAValue:
    block = function.body.block
    value = block.insert_arg(result.type, len(block.args))
    if function.arg_attrs is not None:
        entries = [*function.arg_attrs.data, DictionaryAttr({})]
        function.properties["arg_attrs"] = ArrayAttr(entries)
    function.update_function_type()
    return value


def with_fewer_results(module: ModuleOp) -> Iterator[ModuleOp]:
    """Each with one result of @main less; one stays."""
    count = len(_main_return(module).operands) if _main_block(module) is not None else 0
    for place in reversed(range(count)) if count > 1 else ():
        smaller = module.clone()
        end = _main_return(smaller)
        end.operands = [value for number, value in enumerate(end.operands) if number != place]
        _update(end.parent_op(), "res_attrs", place)
        yield smaller


def with_fewer_arguments(module: ModuleOp) -> Iterator[ModuleOp]:
    """Each without one argument of a function that nothing reads, nor what its calls give."""
    functions = [op.sym_name for op in module.ops if isinstance(op, FuncOp)]
    for name in functions:
        block = _block_of(module, name)
        for place in reversed(range(len(block.args))) if block is not None else ():
            if block is not None and not block.args[place].uses:
                smaller = module.clone()
                _drop_argument(smaller, name, place)
                yield smaller


def _drop_argument(module: ModuleOp, name: StringAttr, place: int) -> None:
    body = _block_of(module, name)
    assert body is not None
    body.erase_arg(body.args[place])
    _update(body.parent_op(), "arg_attrs", place)
    for op in module.walk():
        if isinstance(op, CallOp) and op.callee.root_reference == name:
            op.operands = [value for number, value in enumerate(op.operands) if number != place]


def with_fewer_attributes(module: ModuleOp) -> Iterator[ModuleOp]:
    """Each without one attribute that no op's definition asks for."""
    for number, op in enumerate(module.walk()):
        for name in op.attributes:
            smaller = module.clone()
            del list(smaller.walk())[number].attributes[name]
            yield smaller


def _update(function: Operation | None, attributes: str, place: int) -> None:
    assert isinstance(function, FuncOp)
    held = function.properties.get(attributes)
    if isinstance(held, ArrayAttr):
        entries = [entry for number, entry in enumerate(held.data) if number != place]
        function.properties[attributes] = ArrayAttr(entries)
    function.update_function_type()


def _main_block(module: ModuleOp) -> Block | None:
    return _block_of(module, StringAttr("main"))


def _block_of(module: ModuleOp, name: StringAttr) -> Block | None:
    """The one block of a function."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name == name and len(op.body.blocks) == 1:
            return op.body.block
    return None


def _main_return(module: ModuleOp) -> ReturnOp:
    block = _main_block(module)
    assert block is not None
    end = block.last_op
    assert isinstance(end, ReturnOp)
    return end
