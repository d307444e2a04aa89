"""Programs whose arguments leave sizes open run with those of each call, which are checked."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch

import lamina
from lamina.dialects.errors import ArgumentError, ExecutionError, InputError
from lamina.passes.contracts.symbolic_shapes import UNKNOWN, infer_shapes
from lamina.runtime.interpreters import run_module

ATEN = """
func.func @main(%x: tensor<?x8xf32> {lamina.name = "x",
                                     lamina.dims = [#lamina.size<batch in [0, 64]>]},
                %y: tensor<?x8xf32> {lamina.name = "y", lamina.dims = [#lamina.size<2 * batch>]},
                %w: tensor<8x3xf32> {lamina.name = "w"})
    -> (tensor<?x3xf32> {lamina.dims = [#lamina.size<3 * batch>]}, tensor<?xf32>) {
  %c = aten.cat.default([%x, %y]) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %m = aten.mm.default(%c, %w) : (tensor<?x8xf32>, tensor<8x3xf32>) -> tensor<?x3xf32>
  %n = aten.sym_size.int(%x, 0) : (tensor<?x8xf32>) -> i64
  %v = aten.view.default(%m, [%n, 9]) : (tensor<?x3xf32>, i64) -> tensor<?x9xf32>
  %s = aten.sum.dim_IntList(%v, dim = [1]) : (tensor<?x9xf32>) -> tensor<?xf32>
  func.return %m, %s : tensor<?x3xf32>, tensor<?xf32>
}
"""

CORE_ATEN = """
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch>, #lamina.size<length>]},
                %b: tensor<?xf32> {lamina.dims = [#lamina.size<length>]}) -> tensor<?x?xf32> {
  %0 = core_aten.add.Tensor(%x, %b) : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  %1 = core_aten._softmax.default(%0, 1, false) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %1 : tensor<?x?xf32>
}
"""

PRIMS = """
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch>]},
                %y: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch>]}) -> tensor<?xf32> {
  %0 = prims.mul(%x, %y) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = prims.sum(%0, [1]) : (tensor<?x8xf32>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}
"""

WEIGHTS = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("batch", [0, 1, 7, 64])
def test_aten_runs_with_the_sizes_of_a_call(batch: int) -> None:
    x, y = random(batch, 8), random(2 * batch, 8)
    product, sums = run_module(lamina.parse(ATEN), [x, y, WEIGHTS])
    expected = torch.cat([torch.from_numpy(x), torch.from_numpy(y)]) @ torch.from_numpy(WEIGHTS)
    np.testing.assert_allclose(product, expected.numpy(), rtol=1e-5, atol=1e-5)
    wanted = expected.view(batch, 9).sum(1).numpy()
    np.testing.assert_allclose(sums, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("batch", "length"), [(0, 3), (1, 1), (5, 17), (64, 128)])
def test_core_aten_and_prims_run_with_the_sizes_of_a_call(batch: int, length: int) -> None:
    x, bias = random(batch, length), random(length)
    (found,) = run_module(lamina.parse(CORE_ATEN), [x, bias])
    wanted = torch.softmax(torch.from_numpy(x + bias), 1).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    x, y = random(batch, 8), random(batch, 8)
    (found,) = run_module(lamina.parse(PRIMS), {"arg0": x, "arg1": y})
    np.testing.assert_allclose(found, (x * y).sum(1), rtol=1e-5, atol=1e-5)


def test_arguments_may_be_strided() -> None:
    wide = random(10, 16)
    x, y = wide[::2, ::2], wide.T[:10, :8]
    found, _ = run_module(lamina.parse(ATEN), [x, y, WEIGHTS])
    np.testing.assert_allclose(found, np.concatenate([x, y]) @ WEIGHTS, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ((65, 8), (130, 8), r"dimension 0 of argument 'x' is 65: 'batch' is in \[0, 64\]"),
        ((3, 8), (7, 8), r"dimension 0 of argument 'y' is 7: no integer makes it 2 \* batch"),
        ((3, 8), (8, 8), r"'y' is 8; it is 2 \* batch, which is 6, .* 'x' makes 'batch' 3"),
        ((3, 9), (6, 8), r"argument 0 of @main: .* shape \[3, 9\], declared tensor<\?x8xf32>"),
    ],
)
def test_calls_that_do_not_fit(x: tuple[int, ...], y: tuple[int, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        run_module(lamina.parse(ATEN), [random(*x), random(*y), WEIGHTS])


def test_equal_names_are_equal_sizes() -> None:
    said = "'arg1' is 4; it is 'batch', and dimension 0 of argument 'arg0' makes 'batch' 3"
    with pytest.raises(ArgumentError, match=said):
        run_module(lamina.parse(PRIMS), [random(3, 8), random(4, 8)])


def test_a_step_is_part_of_a_range() -> None:
    module = lamina.parse(PRIMS.replace("<batch>", "<batch in [4, ?] step 4>"))
    assert run_module(module, [random(8, 8), random(8, 8)])[0].shape == (8,)
    with pytest.raises(ArgumentError, match=r"is 6: 'batch' is in \[4, \?\] step 4"):
        run_module(module, [random(6, 8), random(6, 8)])


def test_results_have_the_sizes_that_are_said() -> None:
    module = lamina.parse("""
    func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch>]})
        -> (tensor<?x1xi64> {lamina.dims = [#lamina.size<batch>]}) {
      %0 = aten.nonzero.default(%x) : (tensor<?xf32>) -> tensor<?x1xi64>
      func.return %0 : tensor<?x1xi64>
    }""")
    assert run_module(module, [np.ones(3, np.float32)])[0].shape == (3, 1)
    with pytest.raises(ExecutionError, match="dimension 0 of result 'out0' is 0; it is batch, wh"):
        run_module(module, [np.zeros(3, np.float32)])


@pytest.mark.parametrize("batch", [0, 1, 13])
def test_native_code_for_a_number(batch: int) -> None:
    x, y = random(batch, 8), random(2 * batch, 8)
    compiled = lamina.compile(ATEN, sizes={"batch": batch})
    assert compiled.inputs[1].shape == (2 * batch, 8)
    expected = run_module(lamina.parse(ATEN), [x, y, WEIGHTS])
    for found, wanted in zip(compiled(x, y, WEIGHTS), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_sizes_that_cannot_be_bound() -> None:
    with pytest.raises(InputError, match=r"size 'batch' is in \[0, 64\], and cannot be 65"):
        lamina.compile(ATEN, sizes={"batch": 65})
    with pytest.raises(InputError, match="has a size 'bach'; nearest: batch"):
        lamina.compile(ATEN, sizes={"bach": 1})


OPS: Sequence[tuple[str, int, Mapping[str, str]]] = [
    ("addmm.default(%b, %x, %w)", 2, {"b": "5", "x": "nx4", "w": "4x5"}),
    ("bmm.default(%x, %y)", 3, {"x": "nxmx4", "y": "nx4xm"}),
    ("matmul.default(%x, %y)", 3, {"x": "2xnxm", "y": "mx3"}),
    ("linear.default(%x, %w)", 3, {"x": "nxmx4", "w": "5x4"}),
    ("permute.default(%x, [2, 0, 1])", 3, {"x": "nx3xm"}),
    ("unsqueeze.default(%x, 1)", 3, {"x": "nxm"}),
    ("flatten.using_ints(%x, 0, 1)", 2, {"x": "nxmx3"}),
    ("view.default(%x, [-1, 12])", 2, {"x": "nx3x4"}),
    ("cat.default([%x, %y], 1)", 2, {"x": "nx3", "y": "nxm"}),
    ("stack.default([%x, %y])", 3, {"x": "nxm", "y": "nxm"}),
    ("mean.dim(%x, [0, 2], true)", 3, {"x": "nx3xm"}),
    ("cumsum.default(%x, 0)", 2, {"x": "nxm"}),
    ("softmax.int(%x, 0)", 2, {"x": "nxm"}),
    ("where.self(%c, %x, %y)", 2, {"c": "nx1", "x": "nxm", "y": "m"}),
    ("constant_pad_nd.default(%x, [1, 2])", 2, {"x": "nxm"}),
    ("embedding.default(%w, %i)", 3, {"w": "9x4", "i": "nxm"}),
    ("layer_norm.default(%x, [4])", 3, {"x": "nxmx4"}),
    ("select.int(%x, 1, 0)", 2, {"x": "nx3xm"}),
    ("slice.Tensor(%x, 1, 1, 3)", 3, {"x": "nx4xm"}),
    ("expand.default(%x, [-1, 7])", 2, {"x": "nx1"}),
    (
        "convolution.default(%x, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)",
        4,
        {"x": "nx3xmxm", "w": "5x3x3x3"},
    ),
    (
        "scaled_dot_product_attention.default(%x, %y, %y)",
        4,
        {"x": "nx2xmx8", "y": "nx2x5x8"},
    ),
]
"""Ops, the ranks of their results, and the shapes of their operands in sizes n and m."""

_ELEMENTS = {"c": "i1", "i": "i64"}
_DTYPES = {"c": np.bool_, "i": np.int64}


@pytest.mark.parametrize(("op", "rank", "shapes"), OPS, ids=[row[0].split("(")[0] for row in OPS])
def test_shapes_in_sizes_are_those_of_arrays(op: str, rank: int, shapes: Mapping[str, str]) -> None:
    types: dict[str, str] = {}
    arguments: list[str] = []
    for name, shape in shapes.items():
        open_dims = [f"#lamina.size<{e} in [1, 99]>" for e in shape.split("x") if not e.isdecimal()]
        extents = [e if e.isdecimal() else "?" for e in shape.split("x")]
        types[name] = f"tensor<{'x'.join([*extents, _ELEMENTS.get(name, 'f32')])}>"
        arguments.append(f"%{name}: {types[name]} {{lamina.dims = [{', '.join(open_dims)}]}}")
    taken = ", ".join(types[name] for name in re.findall(r"%(\w)", op))
    result = f"tensor<{'?x' * rank}f32>"
    module = lamina.parse(f"""
    func.func @main({", ".join(arguments)}) -> {result} {{
      %0 = aten.{op} : ({taken}) -> {result}
      func.return %0 : {result}
    }}""")
    function: Any = module.body.block.first_op
    found = infer_shapes(function).shape(function.body.block.last_op.operands[0])
    assert UNKNOWN not in found
    for n, m in ((1, 1), (1, 3), (2, 5), (6, 4)):
        at = {"n": n, "m": m}
        arrays = {
            name: [at.get(e) or int(e) for e in shape.split("x")] for name, shape in shapes.items()
        }
        values = [np.zeros(shape, _DTYPES.get(name, np.float32)) for name, shape in arrays.items()]
        (made,) = run_module(module, values)
        assert tuple(_number(extent, at) for extent in found) == made.shape


def _number(extent: Any, at: Mapping[str, int]) -> int:
    return extent if isinstance(extent, int) else extent.at({s: at[s.text] for s in extent.names})
