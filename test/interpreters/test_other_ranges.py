"""Shapes in sizes of other ranges, from those that are known for some."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import lamina
from lamina.dialects.sizes import Range
from lamina.passes.contracts.argument_sizes import size_names
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.other_ranges import holds
from lamina.passes.contracts.symbolic_shapes import infer_shapes
from lamina.passes.sizes.limit_sizes import state_ranges


def function_of(op: str, shape: str = "?x4", made: str = "?x4", least: int = 2) -> Any:
    module = lamina.parse(f"""
    func.func @main(%x: tensor<{shape}xf32> {{lamina.dims = [#lamina.size<n in [{least}, 9]>]}})
        -> tensor<{made}xf32> {{
      %0 = aten.relu.default(%x) : (tensor<{shape}xf32>) -> tensor<{shape}xf32>
      %1 = aten.relu.default(%0) : (tensor<{shape}xf32>) -> tensor<{shape}xf32>
      %2 = aten.{op} : (tensor<{shape}xf32>) -> tensor<{made}xf32>
      func.return %2 : tensor<{made}xf32>
    }}""")
    function: Any = module.body.block.first_op
    function.module = module
    return function


def state(function: Any, least: int) -> None:
    names = size_names(arguments_of(function))
    ranges = {name: replace(size.range, least=least) for name, size in names.items()}
    assert ranges == {"n": Range(least, 9)}
    state_ranges(function, ranges)


@pytest.mark.parametrize("least", [0, 1, 3])
def test_ops_that_mean_the_same_are_not_asked_again(least: int) -> None:
    function = function_of("mul.Scalar(%1, 2)")
    known = infer_shapes(function)
    assert len(known.told) == 2
    state(function, least)
    assert holds(function, known) is known
    assert holds(function, None) is not None


def test_an_op_that_refuses_other_sizes_is_found() -> None:
    function = function_of("amax.default(%1, [0], true)", made="1x4")
    known = holds(function, None)
    assert known is not None
    state(function, 0)
    assert holds(function, None) is None
    assert holds(function, known) is None


@pytest.mark.parametrize("op", ["slice.Tensor(%1, 0, 2, 99)", "slice.Tensor(%1, 0, 0, 3)"])
def test_an_op_that_makes_something_else_is_asked(op: str) -> None:
    function = function_of(op, least=3)
    known = holds(function, None)
    assert known is not None
    end = function.body.block.last_op
    before = known.shape(end.operands[0])
    state(function, 0)
    found, anew = holds(function, known), infer_shapes(function)
    assert found is not None
    assert found is not known
    assert found.shape(end.operands[0]) == anew.shape(end.operands[0]) != before
