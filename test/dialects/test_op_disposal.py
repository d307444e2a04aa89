"""Ops that are taken apart go at once, with all that stands in them."""

from __future__ import annotations

import gc
import weakref

import pytest
from xdsl.dialects import arith

from lamina.dialects.op_disposal import dispose, erase, replace
from lamina.dialects.op_list import list_ops
from lamina.runtime.layers import parse

TEXT = """func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %t = loop.generic (i, j) in [4, 8] reads(%x[i, j] : tensor<4x8xf32>) writes([i, j] store : tensor<4x8xf32>) {
  ^bb0(%p: f32):
    %v = arith.addf %p, %p : f32
    %w = arith.mulf %v, %v : f32
    loop.yield %w : f32
  }
  func.return %t : tensor<4x8xf32>
}"""  # noqa: E501 - IR on one line


def test_nothing_is_left_to_the_cycle_collector() -> None:
    module = parse(TEXT)
    ops = list_ops(module)
    alive = [weakref.ref(op) for op in ops]
    alive += [weakref.ref(result) for op in ops for result in op.results]  # pyright: ignore
    gc.disable()
    try:
        del ops
        dispose(module)
        del module
        assert [found for made in alive if (found := made()) is not None] == []
    finally:
        gc.enable()


def test_what_stands_elsewhere_is_left_alone() -> None:
    module = parse(TEXT)
    copy = module.clone()
    before = str(copy)
    dispose(module)
    assert str(copy) == before
    copy.verify()


def test_erased_ops_leave_no_uses_and_go_at_once() -> None:
    module = parse(TEXT)
    nest = next(op for op in list_ops(module) if op.name == "loop.generic")
    function = nest.parent_block()
    assert function is not None
    argument, end = function.args[0], function.last_op
    assert end is not None
    with pytest.raises(ValueError, match=r"a result of 'loop\.generic' that is erased has uses"):
        erase(nest)
    end.operands = [argument]
    inner = weakref.ref(list_ops(nest)[-1])
    gc.disable()
    try:
        erase(nest)
        assert inner() is None
        assert nest.parent is None
    finally:
        gc.enable()
    assert [use.operation for use in argument.uses] == [end]
    module.verify()


def test_what_replaces_an_op_takes_its_name_and_place() -> None:
    module = parse(TEXT)
    product = next(op for op in list_ops(module) if op.name == "arith.mulf")
    (x, y), user = product.operands, product.next_op
    new = arith.AddfOp(x, y)
    replace(product, new)
    assert new.result.name_hint == "w"
    assert new.next_op is user
    assert user is not None
    assert list(user.operands) == [new.result]
    module.verify()
