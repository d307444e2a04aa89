"""Lowerings as rewrite patterns."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.utils.exceptions import DiagnosticException

import lamina
from lamina.dialects import aten
from lamina.dialects.errors import InputError
from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS
from lamina.lowering.core_aten_to_prims.table import LOWERINGS
from lamina.lowering.prims_to_loop.table import LOWERINGS as TO_LOOP

PROGRAM = """func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = aten.silu.default(%x) {mine = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = aten.relu.default(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = aten.layer_norm.default(%1, [4]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %2 : tensor<2x4xf32>
}"""


def names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if "." in op.name and "aten" in op.name]


def test_named_ops_are_lowered_and_others_stay() -> None:
    module = lamina.parse(PROGRAM)
    pattern = DECOMPOSITIONS.pattern("layer_norm", "aten.silu.default")
    assert PatternRewriteWalker(pattern).rewrite_module(module)
    made = names(module)
    assert made[:3] == ["core_aten.sigmoid.default", "core_aten.mul.Tensor", "aten.relu.default"]
    assert made[3:] == ["core_aten.native_layer_norm.default"]
    assert not PatternRewriteWalker(pattern).rewrite_module(module)


def test_all_patterns_together_are_the_conversions() -> None:
    patterns = [table.pattern() for table in (DECOMPOSITIONS, LOWERINGS, TO_LOOP)]
    module = lamina.parse(PROGRAM)
    PatternRewriteWalker(GreedyRewritePatternApplier([*patterns])).rewrite_module(module)
    one_by_one = lamina.parse(PROGRAM)
    for table in (DECOMPOSITIONS, LOWERINGS, TO_LOOP):
        table.convert(one_by_one)
    assert str(module) == str(one_by_one)
    module.verify()
    x = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(lamina.compile(module)(x), lamina.compile(one_by_one)(x))


class ReluToSilu(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """What a lowering of another's pattern has made goes down, too."""
        if op.name == "aten.relu.default":
            rewriter.replace(op, aten.op("silu.default")(op.operands[0]))


def test_patterns_of_others_are_mixed_in() -> None:
    module = lamina.parse(PROGRAM)
    patterns = GreedyRewritePatternApplier([DECOMPOSITIONS.pattern("silu"), ReluToSilu()])
    PatternRewriteWalker(patterns).rewrite_module(module)
    assert names(module)[:4] == ["core_aten.sigmoid.default", "core_aten.mul.Tensor"] * 2


def test_the_rewriter_is_told() -> None:
    inserted: list[str] = []
    removed: list[str] = []
    replaced: list[str] = []
    listener = PatternRewriterListener(
        operation_insertion_handler=[lambda op: inserted.append(op.name)],
        operation_removal_handler=[lambda op: removed.append(op.name)],
        operation_replacement_handler=[lambda op, _: replaced.append(op.name)],
    )
    module = lamina.parse(PROGRAM)
    PatternRewriteWalker(DECOMPOSITIONS.pattern("silu"), listener=listener).rewrite_module(module)
    assert inserted == ["core_aten.sigmoid.default", "core_aten.mul.Tensor"]
    assert removed == replaced == ["aten.silu.default"]
    product = next(op for op in module.walk() if op.name == "core_aten.mul.Tensor")
    assert "mine" in product.attributes


def test_a_name_without_a_lowering() -> None:
    with pytest.raises(InputError, match=r"no lowering from aten is called 'layernorm'; nearest:"):
        DECOMPOSITIONS.pattern("layernorm")


def test_what_cannot_go_down_says_so() -> None:
    kind = "tensor<3xi1>"
    module = lamina.parse(
        f"""func.func @main(%x: {kind}) -> {kind} {{
          %0 = aten.frac.default(%x) : ({kind}) -> {kind}
          func.return %0 : {kind}
        }}"""
    )
    with pytest.raises(DiagnosticException, match="does not take operands of these types"):
        PatternRewriteWalker(DECOMPOSITIONS.pattern()).rewrite_module(module)


@pytest.mark.parametrize("layer", ["aten", "core_aten", "prims", "stablehlo", "linalg"])
def test_every_layer_has_a_table(layer: str) -> None:
    table = lamina.lowerings(layer)
    assert isinstance(table, lamina.Conversion)
    assert table.source == layer


def test_other_layers_have_none() -> None:
    with pytest.raises(InputError, match=r"no layer 'core-aten' has lowerings.*nearest: core_aten"):
        lamina.lowerings("core-aten")
