"""Programs of loops have versions for ranges of sizes: `bound-nests` pads what they leave open."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from open_programs import PASSES, PROGRAMS, SIZES, arguments, expected, imported, lowered
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.lowering.pipeline import run_pipeline
from lamina.passes.contracts.argument_sizes import shape_of, size_names
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.sizes.limit_sizes import limit_sizes
from lamina.runtime.entry import function_named
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(2)

REFUSED = {
    "solved": "loop.extern: sizes of arguments are not bounded through it",
    "steps": "control.scan: it hands values on over",
}
"""Programs that are compiled for each set of sizes, and why."""

BOUND = 9
GARBAGE = {"f": np.nan, "i": 10**9, "b": True}
"""What stands in padding: nothing that a result could hide, nor a place that there is."""


def _padded(module: ModuleOp, given: Sequence[np.ndarray], sizes: Mapping[str, int]) -> list:
    """The arguments of a bounded program: arrays with garbage behind, and sizes."""
    main, arrays = function_named(module, "main"), iter(given)
    made: list[np.ndarray] = []
    for one in arguments_of(main):
        if one.name.startswith("size("):
            made.append(np.array(sizes[one.name[5:-1]]))
        elif one.kind == "input":
            array = next(arrays)
            full = np.full(one.type.get_shape(), GARBAGE[array.dtype.kind], array.dtype)
            full[tuple(slice(extent) for extent in array.shape)] = array
            made.append(full)
    return made


def _sizes(module: ModuleOp, given: Sequence[np.ndarray]) -> dict[str, int]:
    declared = arguments_of(function_named(module, "main"))
    names, arrays = size_names(declared), iter(given)
    found: dict[str, int] = {}
    for one in declared:
        if one.kind == "input":
            extents = zip(shape_of(one, names), next(arrays).shape, strict=True)
            found.update((str(size), n) for size, n in extents if not isinstance(size, int))
    return found


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in REFUSED])
@pytest.mark.filterwarnings("ignore")
def test_bounded_loops_mean_what_torch_says(name: str) -> None:
    least, _, shapes = PROGRAMS[name]
    module = lowered(name)
    bounded = lowered(name)
    limit_sizes(bounded, dict.fromkeys(_names(module), BOUND))
    run_pipeline(bounded, ("bound-nests", "verify-loop"), Context())
    assert "tensor<?" not in str(bounded)
    bounded = lamina.parse(str(bounded))
    for n, m in (*SIZES, (BOUND, BOUND)):
        if min(n, m) < least or max(n, m) > BOUND:
            continue
        given = [tensor.numpy() for tensor in arguments(shapes, n, m)]
        found = run_module(bounded, _padded(bounded, given, _sizes(module, given)))
        for one, other in zip(found, expected(name, n, m), strict=True):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-4)


def _names(module: ModuleOp) -> list[str]:
    return list(size_names(arguments_of(function_named(module, "main"))))


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_what_is_not_bounded_says_so(name: str) -> None:
    module = lowered(name)
    limit_sizes(module, dict.fromkeys(_names(module), BOUND))
    with pytest.raises(lamina.UnsupportedError, match=REFUSED[name].replace("(", "\\(")):
        run_pipeline(module, ("bound-nests",), Context())


@pytest.mark.parametrize("layer", ["loop", "prims", "core_aten"])
@pytest.mark.parametrize(
    "name", ["softmax", "heads", "added rows", "looked up", "bags", "branches", "steps"]
)
@pytest.mark.filterwarnings("ignore")
def test_versions_for_ranges(name: str, layer: str) -> None:
    least, _, shapes = PROGRAMS[name]
    compiled = lamina.compile(str(lowered(name, {"core_aten": 2, "prims": 3, "loop": 5}[layer])))
    before = lamina.compile_count()
    for n, m in ((6, 5), (8, 5), (1, 1), (13, 11), (0, 3), (5, 0), (33, 18)):
        if min(n, m) < least:
            continue
        found = compiled(*[tensor.numpy() for tensor in arguments(shapes, n, m)])
        found = found if isinstance(found, tuple | list) else (found,)
        for one, other in zip(found, expected(name, n, m), strict=True):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)
    if name in REFUSED:
        assert REFUSED[name] in str(compiled.sizes)
    else:
        assert compiled.sizes.reason is None
        assert lamina.compile_count() - before == 1


LAYER = """
func.func @main(%x: tensor<?x16xf32> {lamina.dims = [#lamina.size<n in [0, 64]>]},
                %w: tensor<16x?xf32> {lamina.dims = [#lamina.size<m in [1, 32]>]},
                %b: tensor<?xf32> {lamina.dims = [#lamina.size<m>]})
    -> (tensor<?x?xf32>, tensor<?xf32>, tensor<?x?xf32>) {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x16xf32>
  %m = tensor.dim %b, %zero : tensor<?xf32>
  %p = loop.generic (d0, d1, d2)[s0 = %n, s1 = %m] in [s0, s1, 16]
      reads(%x[d0, d2] : tensor<?x16xf32>, %w[d2, d1] : tensor<16x?xf32>)
      writes([d0, d1] add : tensor<?x?xf32>) {
  ^bb0(%l: f32, %r: f32):
    %v = arith.mulf %l, %r : f32
    loop.yield %v : f32
  }
  %y = loop.generic (d0, d1)[s0 = %n, s1 = %m] in [s0, s1]
      reads(%p[d0, d1] : tensor<?x?xf32>, %b[d1] : tensor<?xf32>)
      writes([d0, d1] store : tensor<?x?xf32>) {
  ^bb0(%l: f32, %r: f32):
    %v = arith.addf %l, %r : f32
    loop.yield %v : f32
  }
  %top = loop.generic (d0, d1)[s0 = %n, s1 = %m] in [s0, s1] reads(%y[d0, d1] : tensor<?x?xf32>)
      writes([d0] max : tensor<?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  %e = loop.generic (d0, d1)[s0 = %n, s1 = %m] in [s0, s1]
      reads(%y[d0, d1] : tensor<?x?xf32>, %top[d0] : tensor<?xf32>)
      writes([d0, d1] store : tensor<?x?xf32>) {
  ^bb0(%l: f32, %r: f32):
    %d = arith.subf %l, %r : f32
    %v = math.exp %d : f32
    loop.yield %v : f32
  }
  %sum = loop.generic (d0, d1)[s0 = %n, s1 = %m] in [s0, s1] reads(%e[d0, d1] : tensor<?x?xf32>)
      writes([d0] add : tensor<?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  %s = loop.generic (d0, d1)[s0 = %n, s1 = %m] in [s0, s1]
      reads(%e[d0, d1] : tensor<?x?xf32>, %sum[d0] : tensor<?xf32>)
      writes([d0, d1] store : tensor<?x?xf32>) {
  ^bb0(%l: f32, %r: f32):
    %v = arith.divf %l, %r : f32
    loop.yield %v : f32
  }
  %c = loop.generic (d0, d1)[s0 = %n, s1 = %m] in [s0, s1] reads(%y[d0, d1] : tensor<?x?xf32>)
      writes([d1] add : tensor<?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  %t = loop.generic (d0, d1)[s0 = %m, s1 = %n] in [s0, s1] reads(%y[d1, d0] : tensor<?x?xf32>)
      writes([d0, d1] store : tensor<?x?xf32>) {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %s, %c, %t : tensor<?x?xf32>, tensor<?xf32>, tensor<?x?xf32>
}
"""

CALLS = [(n, 1 + 7 * n % 32) for n in (0, 1, 2, 3, 5, 7, 8, 11, 16, 17, 20, 23, 31, 32, 33, 40)]
CALLS += [(64, 32), (63, 31), (64, 1), (0, 32)]


def _layer(n: int, m: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    torch.manual_seed(n * 100 + m)
    x, w, b = torch.randn(n, 16), torch.randn(16, m), torch.randn(m)
    y = x @ w + b
    return [x, w, b], [y.softmax(-1), y.sum(0), y.T]


def test_twenty_sizes_are_two_compilations() -> None:
    before = lamina.compile_count()
    compiled = lamina.compile(LAYER)
    for n, m in CALLS:
        given, wanted = _layer(n, m)
        for one, other in zip(compiled(*given), wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    assert lamina.compile_count() - before <= 3
    assert compiled.sizes.reason is None


def test_a_version_for_all_sizes_ends_loops_at_those_of_a_call() -> None:
    compiled = lamina.compile(LAYER, versions="padded")
    given, _ = _layer(3, 5)
    compiled(*given)
    (version,) = compiled.sizes
    text = version.compiled.ir("bufferized")
    assert "live = [" in text and "lamina.ends" in text and "lamina.limits" in text


def test_a_saved_program_of_loops_has_its_versions(tmp_path: Path) -> None:
    compiled = lamina.compile(LAYER, versions="padded")
    compiled.save(tmp_path / "layer.lamina", sizes=[{"n": 5, "m": 4}])
    loaded = lamina.load(tmp_path / "layer.lamina")
    for n, m in ((5, 4), (17, 9)):
        given, wanted = _layer(n, m)
        for one, other in zip(loaded(*given), wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


TABLE = """
func.func @main(%t: tensor<?x4xf32> {lamina.dims = [#lamina.size<rows in [1, 100]>]},
                %i: tensor<?xi64> {lamina.dims = [#lamina.size<n in [0, 64]>]})
    -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %zero = arith.constant 0 : index
  %n = tensor.dim %i, %zero : tensor<?xi64>
  %r = loop.generic (d0, d1)[s0 = %n] in [s0, 4] reads(%i[d0] : tensor<?xi64>)
      sources(%t : tensor<?x4xf32>) writes([d0, d1] store : tensor<?x4xf32>) {
  ^bb0(%v: i64, %source: tensor<?x4xf32>):
    %p = arith.index_cast %v : i64 to index
    %j = loop.index 1 : index
    %e = loop.read %source[%p, %j] : tensor<?x4xf32>
    loop.yield %e : f32
  }
  %s = loop.scatter (d0, d1)[s0 = %n] in [s0, 4] reads(%i[d0] : tensor<?xi64>)
      into(%t : tensor<?x4xf32>) {
  ^bb0(%v: i64, %old: f32):
    %p = arith.index_cast %v : i64 to index
    %j = loop.index 1 : index
    %one = arith.constant 1.0 : f32
    %e = arith.addf %old, %one : f32
    loop.yield %p, %j, %e : index, index, f32
  }
  func.return %r, %s : tensor<?x4xf32>, tensor<?x4xf32>
}
"""


def test_places_behind_the_rows_of_a_call_are_errors() -> None:
    """As in code for these sizes alone, though a version has room there."""
    compiled = lamina.compile(TABLE, versions="padded")
    table = np.arange(40, dtype=np.float32).reshape(10, 4)
    places = np.array([0, 9, 9, 3])
    looked_up, counted = compiled(table, places)
    np.testing.assert_array_equal(looked_up, table[places])
    np.testing.assert_array_equal(counted[9], table[9] + 2)
    for place in (10, 99, -1):
        with pytest.raises(lamina.LaminaError, match="index out of range"):
            compiled(table, np.array([0, place]))
    assert len(compiled.sizes) == 1


def test_a_size_without_a_bound_has_versions_up_to_powers_of_four() -> None:
    compiled = lamina.compile(LAYER.replace(" in [0, 64]", "").replace(" in [1, 32]", ""))
    for n, m in ((3, 4), (5, 6), (300, 70)):
        given, wanted = _layer(n, m)
        for one, other in zip(compiled(*given), wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    assert len(compiled.sizes) <= 3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["attention", "softmax", "log of sums"])
def test_weights_of_padding_are_none_whatever_scores_are(name: str) -> None:
    """Rows without a number as their maximum are what code for their sizes alone makes of them."""
    function = {
        "attention": torch.nn.functional.scaled_dot_product_attention,
        "softmax": lambda q, k, v: torch.softmax(q @ k.transpose(2, 3), -1) @ v,
        "log of sums": lambda q, k, v: torch.logsumexp(q @ k.transpose(2, 3), -1) + v[..., 0],
    }[name]
    shapes = PROGRAMS["attention"][2]
    module = imported(1, function, shapes)
    run_pipeline(module, [one for passes in PASSES for one in passes], Context())
    compiled = lamina.compile(str(module), versions="padded")
    exact = lamina.compile(str(module), versions="exact")
    for n, m in ((2, 5), (3, 40), (1, 1)):
        q, k, v = arguments(shapes, n, m)
        for place, number in enumerate((np.inf, -np.inf, np.nan)):
            q[0, 0, place % m], k[0, 1, place % m, 0] = number, number
        found, wanted = compiled(q, k, v), exact(q, k, v)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4, equal_nan=True)
    assert len(compiled.sizes) == 1


@pytest.mark.filterwarnings("ignore")
def test_random_numbers_are_those_of_code_for_single_sizes() -> None:
    text = """
    func.func @main(%x: tensor<?x3xf32> {lamina.dims = [#lamina.size<n in [0, 50]>]})
        -> tensor<?x3xf32> {
      %n = aten.sym_size.int(%x, 0) : (tensor<?x3xf32>) -> i64
      %0 = aten.rand.default([%n, 3]) : (i64) -> tensor<?x3xf32>
      %1 = aten.add.Tensor(%0, %x) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
      func.return %1 : tensor<?x3xf32>
    }"""
    module = lamina.parse(text)
    run_pipeline(module, [one for passes in PASSES[:3] for one in passes], Context())
    made: list[list[np.ndarray]] = []
    for versions in ("padded", "exact"):
        lamina.manual_seed(5)
        compiled = lamina.compile(str(module), versions=versions)
        made.append([compiled(np.zeros((n, 3), np.float32)) for n in (4, 7, 0, 50)])
    for one, other in zip(*made, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_padding_does_not_go_through_is_compiled_for_each_size() -> None:
    text = """
func.func @main(%x: tensor<?x4x4xf32> {lamina.dims = [#lamina.size<n in [0, 64]>]})
    -> tensor<?xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x4x4xf32>
  %r = loop.extern "linalg.det" {} (%x : tensor<?x4x4xf32>) sizes[%n] : tensor<?xf32>
  func.return %r : tensor<?xf32>
}
"""
    compiled = lamina.compile(text)
    for n in (3, 5):
        x = np.random.default_rng(n).standard_normal((n, 4, 4)).astype(np.float32)
        np.testing.assert_allclose(compiled(x), np.linalg.det(x), rtol=1e-4)
    assert "loop.extern: sizes of arguments are not bounded through it" in str(compiled.sizes)
    assert len(compiled.sizes) == 2
    with pytest.raises(lamina.UnsupportedError, match="sizes of arguments are not bounded"):
        lamina.compile(text, versions="padded")(np.zeros((3, 4, 4), np.float32))
