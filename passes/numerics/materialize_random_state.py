"""`materialize-random-state`: random primitives become functions of a state argument.

Above this pass an op says only which numbers it wants; each is another draw. Here the program gets
one more argument of kind `seed`, a `tensor<2xi64>` that holds a seed and a counter, and gives it
back with the counter moved by the number of draws. The draws are numbered in program order, and
each becomes a `prims.philox` of the state and its number. Programs without draws stay as they are.

Branches and loops that draw get the state as one more operand and give it back, moved by the draws
that were done: each round of a loop draws other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects import prims
from lamina.dialects.control import CondOp, RegionOp, WhileOp
from lamina.dialects.ir_links import block_ops
from lamina.dialects.op_list import list_ops
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.refusal import unsupported

SEED_KIND = "seed"
"""Kind of the argument that holds the state."""

STATE_NAME = "random_state"
"""Name of that argument."""

STATE_TYPE = TensorType(i64, [2])

DRAWS = ("prims.uniform", "prims.normal")
"""Primitives that draw."""


class MaterializeRandomStatePass(ModulePass):
    """Give `@main` a random state, and make every draw a function of it."""

    name = "materialize-random-state"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        draws = [inner for inner in list_ops(op) if inner.name in DRAWS]
        for main in op.body.block.ops:
            if isinstance(main, FuncOp) and main.sym_name.data == "main" and main.body.blocks:
                _materialize(main)
                draws = [draw for draw in draws if draw.parent is not None]
        if draws:
            raise unsupported(
                draws[0],
                "draws random numbers outside of @main, or in the test of a loop",
                "numbers drawn before, and passed in",
            )


def _materialize(main: FuncOp) -> None:
    block = main.body.block
    if not _draws(main):
        return
    state = block.insert_arg(STATE_TYPE, len(block.args))
    state.name_hint = STATE_NAME
    after = _thread(block, state)
    end = block.last_op
    assert isinstance(end, ReturnOp)
    end.operands = (*end.operands, after)
    arguments = [*_attributes(main.arg_attrs, len(block.args) - 1), _kind(SEED_KIND, "name")]
    results = [*_attributes(main.res_attrs, len(end.operands) - 1), _kind("mutation", "target")]
    main.properties["arg_attrs"] = ArrayAttr(arguments)
    main.properties["res_attrs"] = ArrayAttr(results)
    main.update_function_type()


def _draws(op: Operation) -> bool:
    """Whether an op holds draws that a state can reach: not those in the test of a loop."""
    blocks = [block for region in op.regions for block in region.blocks]
    if isinstance(op, WhileOp):
        blocks = blocks[1:]
    return any(
        inner.name in DRAWS or (isinstance(inner, RegionOp) and _draws(inner))
        for block in blocks
        for inner in block.ops
    )


def _thread(block: Block, state: SSAValue) -> SSAValue:
    """Let a block's draws be functions of the state; the state after them."""
    number = 0
    for op in block_ops(block):
        if op.name in DRAWS:
            assert isinstance(op, SchemaOp)
            op.results[0].replace_all_uses_with(_drawn(op, state, number))
            op.detach()
            op.erase()
            number += 1
        elif isinstance(op, RegionOp) and _draws(op):
            state = _through(op, _moved(op, state, number))
            number = 0
    end = block.last_op
    assert end is not None
    return _moved(end, state, number)


def _moved(anchor: Operation, state: SSAValue, draws: int) -> SSAValue:
    """The state after a number of draws."""
    if not draws:
        return state
    step = _insert(
        anchor, "iota", 2, start=0, step=draws, dtype=i64, device="cpu", requires_grad=False
    )
    return _insert(anchor, "add", state, step)


def _through(op: RegionOp, state: SSAValue) -> SSAValue:
    """Hand the state through a control op, which is made anew; the state that it gives."""
    groups = [list(group) for group in op.groups]
    # A branch takes it as an operand and gives it last; a loop carries it.
    carries = not isinstance(op, CondOp)
    group = 0 if carries else -1
    place = len(groups[group])
    groups[group].append(state)
    given = place if carries else len(op.results)
    for number, block in enumerate(op.blocks):
        argument = block.insert_arg(STATE_TYPE, place)
        argument.name_hint = STATE_NAME
        if isinstance(op, WhileOp) and number == 0:
            continue
        after = _thread(block, argument)
        end = block.last_op
        assert end is not None
        end.operands = [*end.operands[:given], after, *end.operands[given:]]
    types = [result.type for result in op.results]
    regions = [op.detach_region(region) for region in list(op.regions)]
    new = op.build_from(groups, [*types[:given], STATE_TYPE, *types[given:]], regions)
    new.attributes.update(op.attributes)
    new.location = op.location
    for result, old in zip(_without(new.results, given), op.results, strict=True):
        result.name_hint = old.name_hint
    Rewriter.replace_op(op, new, _without(new.results, given))
    return new.results[given]


def _without(results: Sequence[SSAValue], place: int) -> list[SSAValue]:
    return [result for number, result in enumerate(results) if number != place]


def _drawn(draw: SchemaOp, state: SSAValue, number: int) -> SSAValue:
    """The draw as numbers of the standard distribution, moved to where it wants them."""
    is_uniform = draw.name == "prims.uniform"
    shape, dtype = draw.arg("shape"), draw.arg("dtype")
    distribution = "uniform" if is_uniform else "normal"
    value = _insert(draw, "philox", state, shape, distribution, number, dtype)
    if is_uniform:
        start, scale = draw.arg("low"), draw.arg("high") - draw.arg("low")
    else:
        start, scale = draw.arg("mean"), draw.arg("std")
    for name, constant, neutral in (("mul", scale, 1), ("add", start, 0)):
        if constant != neutral:
            value = _insert(draw, name, value, _full(draw, shape, float(constant), dtype))
    return value


def _full(draw: Operation, shape: object, value: float, dtype: Attribute) -> SSAValue:
    return _insert(draw, "full", shape, value, dtype=dtype, device="cpu", requires_grad=False)


def _insert(anchor: Operation, name: str, *args: Any, **kwargs: Any) -> SSAValue:
    made = prims.op(name)(*args, **kwargs)
    made.location = anchor.location
    block = anchor.parent
    assert block is not None
    block.insert_op_before(made, anchor)
    return made.results[0]


def _attributes(given: ArrayAttr[DictionaryAttr] | None, count: int) -> list[DictionaryAttr]:
    return list(given.data) if given is not None else [DictionaryAttr({}) for _ in range(count)]


def _kind(kind: str, key: str) -> DictionaryAttr:
    return DictionaryAttr(
        {"lamina.kind": StringAttr(kind), f"lamina.{key}": StringAttr(STATE_NAME)}
    )
