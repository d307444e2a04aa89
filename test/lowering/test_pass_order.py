"""Passes that follow each other are asked once whether a program is for them."""

from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.dialects.errors import InputError
from lamina.lowering.pass_order import PassOrder
from lamina.lowering.pass_specs import pass_of
from lamina.lowering.pipeline import STAGES, pipeline, run_pipeline
from lamina.runtime.layers import parse

PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = prims.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@dataclass(frozen=True)
class Foreign(ModulePass):
    """A pass of somebody else, of the name of one of Lamina's."""

    name = "fold-layout"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


def test_neighbours_that_take_the_same_states_tell() -> None:
    order = PassOrder(["fold-layout", "split-products", "bufferize", "elide-copies"])
    first, second = pass_of("fold-layout"), pass_of("split-products")
    assert order.tells(first, second)
    assert not order.tells(None, first)
    assert not order.tells(second, first), "the other way round"
    assert not order.tells(first, pass_of("bufferize")), "no neighbours"
    assert not order.tells(second, pass_of("bufferize")), "which takes kernels"
    assert not order.tells(pass_of("bufferize"), pass_of("elide-copies")), "which takes buffers"
    assert not order.tells(Foreign(), second)


def test_programs_are_looked_at_where_another_state_is_asked_for(states_asked: list[str]) -> None:
    run_pipeline(parse(PROGRAM), pipeline(start="prims"), Context())
    names = [name for stage in STAGES for name in stage.passes]
    assert {"choose-layouts", "outline-kernels", "elide-copies", "share-kernels"} <= {*states_asked}
    assert len(states_asked) < len(names) / 2


def test_a_pass_out_of_order_is_refused() -> None:
    module = parse(PROGRAM)
    run_pipeline(module, pipeline(start="prims", stop="bufferized"), Context())
    with pytest.raises(InputError, match="split-products: the program is kernels on buffers"):
        run_pipeline(module, ["elide-copies", "mutate-in-place", "split-products"], Context())
