"""`materialize-random-state`: random primitives become functions of a state argument.

Above this pass an op says only which numbers it wants; each is another draw. Here the program gets
one more argument of kind `seed`, a `tensor<2xi64>` that holds a seed and a counter, and gives it
back with the counter moved by the number of draws. The draws are numbered in program order, and
each becomes a `prims.philox` of the state and its number. Programs without draws stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects import prims
from lamina.dialects.schema.op import SchemaOp
from lamina.passes.refusal import unsupported

SEED_KIND = "seed"
"""Kind of the argument that holds the state."""

STATE_NAME = "random_state"
"""Name of that argument."""

DRAWS = ("prims.uniform", "prims.normal")
"""Primitives that draw."""


@dataclass(frozen=True)
class MaterializeRandomStatePass(ModulePass):
    """Give `@main` a random state, and make every draw a function of it."""

    name = "materialize-random-state"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        draws = [inner for inner in op.walk() if inner.name in DRAWS]
        for main in op.body.block.ops:
            if isinstance(main, FuncOp) and main.sym_name.data == "main" and main.body.blocks:
                _materialize(main, [draw for draw in draws if draw.parent is main.body.block])
                draws = [draw for draw in draws if draw.parent is not None]
        if draws:
            raise unsupported(
                draws[0],
                "draws random numbers outside the straight line of @main",
                "numbers drawn before, and passed in",
            )


def _materialize(main: FuncOp, draws: list[Operation]) -> None:
    if not draws:
        return
    block = main.body.block
    state = block.insert_arg(TensorType(i64, [2]), len(block.args))
    state.name_hint = STATE_NAME
    for number, draw in enumerate(draws):
        assert isinstance(draw, SchemaOp)
        value = _drawn(draw, state, number)
        draw.results[0].replace_all_uses_with(value)
        draw.detach()
        draw.erase()
    end = block.last_op
    assert isinstance(end, ReturnOp)
    step = _insert(
        end, "iota", 2, start=0, step=len(draws), dtype=i64, device="cpu", requires_grad=False
    )
    end.operands = (*end.operands, _insert(end, "add", state, step))
    arguments = [*_attributes(main.arg_attrs, len(block.args) - 1), _kind(SEED_KIND, "name")]
    results = [*_attributes(main.res_attrs, len(end.operands) - 1), _kind("mutation", "target")]
    main.properties["arg_attrs"] = ArrayAttr(arguments)
    main.properties["res_attrs"] = ArrayAttr(results)
    main.update_function_type()


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
