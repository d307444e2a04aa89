"""`hoist-constants`: what depends only on constants moves into a `setup` function, run once.

The results become arguments of the main function of kind `prepared`: packed weights, position
tables and the like. Arguments that only the setup function needs leave the main function. What is
made of nothing, such as positions, is no less constant: what costs much to compute from it, such as
a window's cosines, is prepared; what is cheap is computed where it is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops, erase_arguments
from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.entry_attributes import CONSTANT_KINDS, constants_of
from lamina.passes.cost.fusion_cost import MATH_COST, body_cost
from lamina.passes.cost.fusion_limits import EXPANSION_LIMIT, PREPARED_ELEMENTS
from lamina.passes.defined_functions import defined_functions
from lamina.passes.loop.loop_rewriting import erase_if_dead


class HoistConstantsPass(ModulePass):
    """Split constant computations of `@main` off into `@setup`."""

    name = "hoist-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            if function.sym_name.data == "main":
                _split(op, function)


def _split(module: ModuleOp, main: func.FuncOp) -> None:
    hoisted, constants = constant_ops(main)
    entry = main.body.block
    _clone_free_reshapes(hoisted, main)
    cheap = _makers(hoisted)
    prepared = [
        result
        for op in hoisted
        for result in op.results
        if any(use.operation not in hoisted for use in result.uses)
        and not isinstance(op, ReshapeOp)
    ]
    if not prepared:
        return
    attributes = _attributes(main)
    used = [a for a in entry.args if a in constants and _feeds(a, hoisted)]
    setup_block = Block(arg_types=[a.type for a in used])
    names = [f"prepared{i}" for i in range(len(prepared))]
    for value, name in zip(prepared, names, strict=True):
        argument = entry.insert_arg(value.type, len(entry.args))
        argument.name_hint = name
        value.replace_uses_with_if(argument, lambda use: use.operation not in hoisted)
    _move(entry, setup_block, hoisted, cheap, dict(zip(used, setup_block.args, strict=True)))
    setup_block.add_op(func.ReturnOp(*prepared))
    setup = func.FuncOp(
        "setup",
        FunctionType.from_lists([a.type for a in used], [v.type for v in prepared]),
        Region(setup_block),
        arg_attrs=ArrayAttr([attributes[a.index] for a in used]),
        res_attrs=ArrayAttr([_named("prepared", n) for n in names]),
    )
    module.body.block.insert_op_before(setup, main)
    for op in reversed(list(cheap)):
        erase_if_dead(op)
    attributes += [_named("prepared", n) for n in names]
    _drop_unused_constants(main, constants, attributes)


def _move(
    entry: Block,
    setup: Block,
    hoisted: dict[Operation, None],
    cheap: dict[Operation, None],
    mapping: dict[SSAValue, SSAValue],
) -> None:
    """Moves what is hoisted to the end of `setup`, with copies of the `cheap` ops that it needs.

    `mapping` says what stands there for arguments of the entry.
    """
    for op in list(entry.ops):
        if op in cheap:
            setup.add_op(op.clone(mapping))
        elif op in hoisted:
            op.detach()
            setup.add_op(op)
            for number, operand in enumerate(op.operands):
                if operand in mapping:
                    op.operands[number] = mapping[operand]


def constant_ops(main: func.FuncOp) -> tuple[dict[Operation, None], set[SSAValue]]:
    """The ops to hoist, in order, and every value that is known before the first call."""
    entry = main.body.block
    known = set(constants_of(main))
    kept = set(known)  # what a program holds; the rest of what is known is computed anywhere
    hoisted: dict[Operation, None] = {}
    for op in entry.ops:
        if not isinstance(op, GenericOp | ReshapeOp) or any(o not in known for o in op.operands):
            continue
        if any(o in kept for o in op.operands):
            is_hoisted = not _expands(op)
            if not is_hoisted:
                continue
        else:
            is_hoisted = _is_costly(op)
        known.update(op.results)
        if is_hoisted:
            hoisted[op] = None
            kept.update(op.results)
    return hoisted, known


def _is_costly(op: Operation) -> bool:
    """Whether a nest takes longer to compute than to read, and is small enough to be held."""
    made = sum(_elements(r) for r in op.results)
    return (
        isinstance(op, GenericOp) and body_cost(op) >= MATH_COST and 0 < made <= PREPARED_ELEMENTS
    )


def _makers(hoisted: Iterable[Operation]) -> dict[Operation, None]:
    """What is not hoisted itself, and made of nothing, but needed for what is; in order."""
    needed: set[Operation] = set()
    waiting = list(hoisted)
    while waiting:
        for operand in waiting.pop().operands:
            maker = operand.owner
            if isinstance(maker, Operation) and maker not in hoisted and maker not in needed:
                needed.add(maker)
                waiting.append(maker)
    block = next(iter(needed)).parent_block() if needed else None
    return {} if block is None else {op: None for op in block_ops(block) if op in needed}


def _expands(op: Operation) -> bool:
    made = sum(_elements(r) for r in op.results)
    return made > EXPANSION_LIMIT * sum(_elements(o) for o in op.operands) + 1024


def _elements(value: SSAValue) -> int:
    assert isinstance(value.type, TensorType)
    return prod(value.type.get_shape())


def _clone_free_reshapes(hoisted: dict[Operation, None], main: func.FuncOp) -> None:
    """Reshapes cost nothing: the main function keeps its own copy of those it reads."""
    for op in reversed(list(hoisted)):  # a copy may read another reshape
        if not isinstance(op, ReshapeOp):
            continue
        outside = [use for use in op.result.uses if use.operation not in hoisted]
        if outside:
            copy = op.clone()
            main.body.block.insert_op_after(copy, op)
            for use in outside:
                use.operation.operands[use.index] = copy.result


def _feeds(value: SSAValue, hoisted: dict[Operation, None]) -> bool:
    return any(use.operation in hoisted for use in value.uses)


def _attributes(function: func.FuncOp) -> list[DictionaryAttr]:
    """The attributes of each argument; constants get the names that they have by their number,
    since some are about to go."""
    return [
        DictionaryAttr({**a.entries, "lamina.name": StringAttr(a.name)})
        if a.kind in CONSTANT_KINDS
        else DictionaryAttr(a.entries)
        for a in arguments_of(function)
    ]


def _named(kind: str, name: str) -> DictionaryAttr:
    return DictionaryAttr({"lamina.kind": StringAttr(kind), "lamina.name": StringAttr(name)})


def _drop_unused_constants(
    main: func.FuncOp, constants: set[SSAValue], attributes: list[DictionaryAttr]
) -> None:
    entry = main.body.block
    unused = {v: None for v in entry.args if v in constants and v.first_use is None}
    pairs = zip(entry.args, attributes, strict=True)
    kept = [attribute for argument, attribute in pairs if argument not in unused]
    erase_arguments(entry, unused)
    main.properties["arg_attrs"] = ArrayAttr(kept)
    main.update_function_type()
