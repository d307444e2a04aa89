"""Each layer's contract accepts its own programs and names what breaks it."""

from __future__ import annotations

import re

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, Region
from xdsl.parser import Parser

import lamina
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError, UnsupportedError
from lamina.passes.contracts.dominance import verify_dominance
from lamina.passes.registry import load_pass


def _verify(layer: str, body: str) -> None:
    text = f"""func.func @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {{
{body}
  func.return %0 : tensor<2x3xf32>
}}"""
    context = Context()
    load_pass(f"verify-{layer}")().apply(context, Parser(context, text).parse_module())


ADD = "  %0 = {}.add.Tensor(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>"
IN_PLACE = "  %0 = aten.relu_.default(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>"
PRIM = "  %0 = prims.add(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"


@pytest.mark.parametrize(
    ("layer", "body"),
    [
        ("aten", ADD.format("aten")),
        ("aten", IN_PLACE),
        ("functional", ADD.format("aten")),
        ("core-aten", ADD.format("core_aten")),
        ("prims", PRIM),
    ],
)
def test_accepted(layer: str, body: str) -> None:
    _verify(layer, body)


@pytest.mark.parametrize(
    ("layer", "body", "message"),
    [
        ("aten", ADD.format("core_aten"), "core_aten.add.Tensor: not allowed at the aten layer"),
        ("functional", IN_PLACE, "aten.relu_.default: mutates its argument self"),
        ("core-aten", ADD.format("aten"), "aten.add.Tensor: not allowed at the core-aten layer"),
        ("core-aten", PRIM, "prims.add: not allowed at the core-aten layer, only: core_aten"),
        ("prims", ADD.format("core_aten"), "core_aten.add.Tensor: not allowed at the prims layer"),
    ],
)
def test_refused(layer: str, body: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        _verify(layer, body)


def _module(*blocks: Block) -> ModuleOp:
    return ModuleOp([test.TestOp(regions=[Region(list(blocks))])])


def test_use_before_definition() -> None:
    made = test.TestOp(result_types=[i32])
    user = test.TestOp(operands=[made.results[0]])
    with pytest.raises(InputError, match=r"operand 0 is used before test\.op defines it"):
        verify_dominance(_module(Block([user, made])))
    user.detach()
    made.parent_block().add_op(user)  # pyright: ignore[reportOptionalMemberAccess]


def test_value_of_a_sibling_region() -> None:
    made = test.TestOp(result_types=[i32])
    inner = test.TestOp(regions=[Region(Block([made]))])
    user = test.TestOp(operands=[made.results[0]])
    with pytest.raises(InputError, match="defined where this op cannot see it"):
        verify_dominance(_module(Block([inner, user])))


def test_blocks_of_a_graph() -> None:
    made = test.TestOp(result_types=[i32])
    left, right, end = Block([made]), Block(), Block()
    entry = Block([test.TestTermOp(successors=[left, right])])
    left.add_op(test.TestTermOp(successors=[end]))
    right.add_op(test.TestTermOp(successors=[end]))
    user = test.TestOp(operands=[made.results[0]])
    end.add_op(user)
    module = _module(entry, left, right, end)
    with pytest.raises(InputError, match="cannot see it"):
        verify_dominance(module)
    user.detach()
    left.insert_op_after(user, made)
    verify_dominance(module)


def test_a_function_that_is_only_declared_is_named_where_it_is_called() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32>
    """
    with pytest.raises(UnsupportedError, match=r"calls @f, which has no body"):
        lamina.compile(text)
