"""Programs that leave sizes of their arguments open, called with many of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import (
    ArgumentError,
    ExecutionError,
    InputError,
    LaminaError,
    UnsupportedError,
)
from lamina.passes.cost.version_sizes import MOST_ELEMENTS
from lamina.runtime.interpreters import run_module

PROGRAM = """
func.func @main(%x: tensor<?x8xf32> {lamina.name = "x",
                                     lamina.dims = [#lamina.size<batch in [0, 40]>]},
                %y: tensor<?x8xf32> {lamina.dims = [#lamina.size<2 * batch>], lamina.name = "y"},
                %w: tensor<8x3xf32> {lamina.name = "w", lamina.kind = "parameter"})
    -> (tensor<?x9xf32> {lamina.dims = [#lamina.size<batch>]}, tensor<?xf32>) {
  %c = aten.cat.default([%x, %y]) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %m = aten.mm.default(%c, %w) : (tensor<?x8xf32>, tensor<8x3xf32>) -> tensor<?x3xf32>
  %n = aten.sym_size.int(%x, 0) : (tensor<?x8xf32>) -> i64
  %v = aten.view.default(%m, [%n, 9]) : (tensor<?x3xf32>, i64) -> tensor<?x9xf32>
  %s = aten.softmax.int(%v, 1) : (tensor<?x9xf32>) -> tensor<?x9xf32>
  %r = aten.sum.dim_IntList(%m, dim = [1]) : (tensor<?x3xf32>) -> tensor<?xf32>
  func.return %s, %r : tensor<?x9xf32>, tensor<?xf32>
}
"""

WEIGHTS = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def check(compiled: Any, batch: int) -> None:
    x, y = random(batch, 8), random(2 * batch, 8)
    for found, wanted in zip(
        compiled(x, y), run_module(lamina.parse(PROGRAM), [x, y, WEIGHTS]), strict=True
    ):
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["auto", "exact", "padded"])
def test_any_size_of_the_range(policy: str) -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": WEIGHTS}, versions=policy)
    for batch in (5, 1, 0, 7, 8, 40, 33, 5, 2):
        check(compiled, batch)
    kinds = {version.is_exact for version in compiled.sizes}
    assert kinds == {"auto": {True, False}, "exact": {True}, "padded": {False}}[policy]
    assert sum(version.calls for version in compiled.sizes) == 9


def test_versions_are_for_powers_of_four() -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": WEIGHTS})
    before = lamina.compile_count()
    for batch in (5, 6, 7, 8, 5, 33):
        check(compiled, batch)
    assert lamina.compile_count() == before + 2
    said = str(compiled.sizes)
    assert said.splitlines() == [
        "batch in [0, 40]",
        "  batch = 5: 2 calls",
        "  batch <= 40: 4 calls",
    ]
    assert "<lamina.Compiled (x: tensor<?x8xf32>" in repr(compiled)
    assert compiled.inputs[0].shape == (-1, 8)
    assert [slot.name for slot in compiled.inputs] == ["x", "y"]


def test_room_for_results_of_many_sizes_is_limited() -> None:
    """A result has three sizes that arguments have apart: room for 1,024 of each were 16 GB."""
    program = """
func.func @main(%a: tensor<?x?xcomplex<f64>> {lamina.dims = [#lamina.size<n>, #lamina.size<m>]},
                %i: tensor<?x?xi64> {lamina.dims = [#lamina.size<p>, #lamina.size<q>]})
    -> tensor<?x?x?xcomplex<f64>> {
  %0 = aten.index.Tensor(%a, [none, %i])
      : (tensor<?x?xcomplex<f64>>, tensor<?x?xi64>) -> tensor<?x?x?xcomplex<f64>>
  func.return %0 : tensor<?x?x?xcomplex<f64>>
}"""
    compiled = lamina.compile(program, versions="padded")
    a, i = random(33, 13).astype(np.complex128), np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(compiled(a, i), a[:, i])
    sizes = compiled.sizes[0].sizes
    assert sizes["n"] * sizes["p"] * sizes["q"] <= MOST_ELEMENTS


def test_arguments_may_be_strided_or_named() -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": WEIGHTS}, versions="padded")
    wide = random(10, 32)
    x, y = wide[:3, ::4], np.ascontiguousarray(random(8, 6).T)
    expected = run_module(lamina.parse(PROGRAM), [x, y, WEIGHTS])
    for found, wanted in zip(compiled(y=y, x=x), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ((41, 8), (82, 8), r"dimension 0 of argument 'x' is 41: 'batch' is in \[0, 40\]"),
        ((3, 8), (7, 8), r"dimension 0 of argument 'y' is 7: no integer makes it 2 \* batch"),
        ((3, 8), (8, 8), r"'y' is 8; it is 2 \* batch, which is 6, .* 'x' makes 'batch' 3"),
        ((3, 9), (6, 8), r"argument 0 \('x'\): expected shape \?x8, got 3x9 \(dimension 1 is 9"),
        ((3,), (6, 8), r"argument 0 \('x'\): expected rank 2 \(\?x8\), got rank 1"),
    ],
)
@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_calls_that_do_not_fit(
    x: tuple[int, ...], y: tuple[int, ...], message: str, policy: str
) -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": WEIGHTS}, versions=policy)
    with pytest.raises(ArgumentError, match=message):
        compiled(random(*x), random(*y))
    assert len(compiled.sizes) == 0


def test_arguments_of_other_kinds() -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": WEIGHTS}, versions="padded")
    with pytest.raises(ArgumentError, match="expected dtype float32, got float64"):
        compiled(random(3, 8).astype(np.float64), random(6, 8))
    with pytest.raises(ArgumentError, match=r"expected tensor<\?x8xf32> as a NumPy array or"):
        compiled([1.0], random(6, 8))
    with pytest.raises(ArgumentError, match="expected 2 arguments, got 1"):
        compiled(random(3, 8))


@pytest.mark.parametrize("policy", ["auto", "exact", "padded"])
@pytest.mark.parametrize("batch", [3, 40])
def test_shapes_that_came_before(policy: str, batch: int) -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": WEIGHTS}, versions=policy)
    for count in (batch, 1, batch, batch):
        check(compiled, count)
    with pytest.raises(ArgumentError, match="expected dtype float32, got float64"):
        compiled(random(batch, 8), random(2 * batch, 8).astype(np.float64))
    x, y = random(8, batch).T, random(2 * batch, 16)[:, ::2]
    expected = run_module(lamina.parse(PROGRAM), [x, y, WEIGHTS])
    for found, wanted in zip(compiled(x, y), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    torch: Any = pytest.importorskip("torch")
    for found, wanted in zip(
        compiled(torch.from_numpy(x.copy()), torch.from_numpy(y.copy())), expected, strict=True
    ):
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert sum(version.calls for version in compiled.sizes) == 7


def test_one_version_is_a_program_of_its_own(tmp_path: Path) -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": WEIGHTS})
    for member in ("native", "explain_schedules", "memory", "kernels", "program"):
        with pytest.raises(UnsupportedError, match=rf"compiled.version\(batch=...\).{member}"):
            getattr(compiled, member)()
    version = compiled.version(batch=4)
    assert version.inputs[1].shape == (8, 8) and len(version.sizes) == 0
    version.save(tmp_path / "four.lamina")
    check(lamina.load(tmp_path / "four.lamina"), 4)
    assert compiled.version(batch=4) is version
    assert compiled.kernels is version.kernels
    with pytest.raises(InputError, match="has a size 'bach'; nearest: batch"):
        compiled.version(bach=4)
    with pytest.raises(InputError, match=r"the size 'batch' is missing, in \[0, 40\]"):
        compiled.version()
    with pytest.raises(InputError, match=r"'batch' is in \[0, 40\], and cannot be 41"):
        compiled.version(batch=41)


def test_code_for_another_machine_does_not_run() -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": WEIGHTS}, target="aarch64")
    assert not compiled.runs_here
    with pytest.raises(ExecutionError, match="compiled for another machine"):
        compiled(random(3, 8), random(6, 8))
    assert lamina.compile(PROGRAM, constants={"w": WEIGHTS}).runs_here


def test_an_op_that_cannot_be_padded_has_a_version_for_each_size() -> None:
    compiled = lamina.compile("""
    func.func @main(%x: tensor<?x9xf32> {lamina.dims = [#lamina.size<n in [0, 50]>]})
        -> tensor<?x9xf32> {
      %r = aten.renorm.default(%x, 2, 0, 1) : (tensor<?x9xf32>) -> tensor<?x9xf32>
      func.return %r : tensor<?x9xf32>
    }""")
    for rows in (4, 5, 6, 4):
        x = random(rows, 9)
        norms = np.linalg.norm(x, axis=1, keepdims=True)
        np.testing.assert_allclose(compiled(x), x / np.maximum(norms, 1), rtol=1e-5)
    assert [version.is_exact for version in compiled.sizes] == [True] * 3
    assert "each set of sizes is compiled: aten.renorm.default" in str(compiled.sizes)


def test_layers_below_aten_have_versions_for_ranges() -> None:
    compiled = lamina.compile("""
    func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<n in [1, 50]>]})
        -> tensor<?xf32> {
      %0 = prims.mul(%x, %x) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
      %1 = prims.sum(%0, [1]) : (tensor<?x8xf32>) -> tensor<?xf32>
      func.return %1 : tensor<?xf32>
    }""")
    for rows in (3, 4):
        x = random(rows, 8)
        np.testing.assert_allclose(compiled(x), (x * x).sum(1), rtol=1e-5)
    assert [str(version.of) for version in compiled.sizes] == ["n = 3", "n <= 50"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "%0 = aten.add.Tensor(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>",
            r"shapes \[n\] and \[m\] do not broadcast together",
        ),
        (
            "%0 = aten.amax.default(%x, [0], true) : (tensor<?xf32>) -> tensor<?xf32>",
            "where n is 0: ",
        ),
    ],
)
def test_what_can_be_known_is_said_when_compiling(text: str, message: str) -> None:
    program = f"""
    func.func @main(%x: tensor<?xf32> {{lamina.dims = [#lamina.size<n>]}},
                    %y: tensor<?xf32> {{lamina.dims = [#lamina.size<m>]}}) -> tensor<?xf32> {{
      {text}
      func.return %0 : tensor<?xf32>
    }}"""
    with pytest.raises(LaminaError, match=message):
        lamina.compile(program)


def test_constants_have_sizes() -> None:
    with pytest.raises(UnsupportedError, match=r"constant of type tensor<\?xf32> has sizes"):
        lamina.compile(
            """func.func @main(%w: tensor<?xf32> {lamina.kind = "parameter", lamina.name = "w"})
              -> tensor<?xf32> { func.return %w : tensor<?xf32> }""",
            constants={"w": random(3)},
        )
    with pytest.raises(InputError, match="versions = 'all': one of auto, exact, padded"):
        lamina.compile(PROGRAM, versions="all")


RANDOM = """
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [1, 64]>]}) -> tensor<?xf32> {
  %0 = aten.rand_like.default(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
"""


@pytest.mark.parametrize("policy", ["auto", "padded"])
def test_versions_draw_from_one_sequence(policy: str) -> None:
    compiled = lamina.compile(RANDOM, versions=policy)
    drawn: list[list[np.ndarray]] = []
    for _ in range(2):
        compiled.seed(7)
        drawn.append([compiled(np.zeros(size, np.float32)) for size in (5, 9, 5, 33)])
    for one, other in zip(*drawn, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(drawn[0][0], drawn[0][2])


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_results_have_the_sizes_that_are_said(policy: str) -> None:
    """What data decide is checked when the program runs."""
    compiled = lamina.compile(
        """
    func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [1, 9]>]})
        -> (tensor<?x1xi64> {lamina.dims = [#lamina.size<n>]}) {
      %0 = aten.nonzero.default(%x) : (tensor<?xf32>) -> tensor<?x1xi64>
      func.return %0 : tensor<?x1xi64>
    }""",
        versions=policy,
    )
    assert compiled(np.ones(3, np.float32)).shape == (3, 1)
    with pytest.raises(ExecutionError, match="dimension 0 of result 'out0' is 2; it is n, which"):
        compiled(np.array([1, 0, 2], np.float32))


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_checks_of_sizes_that_data_decide(policy: str) -> None:
    compiled = lamina.compile(
        """
    func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [1, 9]>]})
        -> (tensor<?x1xi64>, i64) {
      %0 = aten.nonzero.default(%x) : (tensor<?xf32>) -> tensor<?x1xi64>
      %k = aten.sym_size.int(%0, 0) : (tensor<?x1xi64>) -> i64
      %two = arith.constant 2 : i64
      %c = arith.cmpi sge, %k, %two : i64
      aten._assert_scalar.default(%c, "two at least") : (i1) -> ()
      func.return %0, %k : tensor<?x1xi64>, i64
    }""",
        versions=policy,
    )
    places, count = compiled(np.array([1, 0, 2], np.float32))
    assert places.tolist() == [[0], [2]] and count == 2
    with pytest.raises(ExecutionError, match="two at least"):
        compiled(np.array([1, 0, 0], np.float32))


SIZES = """
func.func @main(%x: tensor<?x8xf32> {lamina.name = "x", lamina.dims = [#lamina.size<m in [0, 40]>]},
                %n: i64 {lamina.dims = [#lamina.size<n in [0, 100]>], lamina.name = "n"})
    -> (tensor<?x8xf32>, tensor<?xf32>, i64) {
  %z = aten.zeros.default([%n, 8]) : (i64) -> tensor<?x8xf32>
  %c = aten.cat.default([%x, %z]) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %s = aten.sum.dim_IntList(%c, dim = [1]) : (tensor<?x8xf32>) -> tensor<?xf32>
  %one = arith.constant 1 : i64
  %k = arith.addi %n, %one : i64
  func.return %c, %s, %k : tensor<?x8xf32>, tensor<?xf32>, i64
}
"""


@pytest.mark.parametrize("policy", ["auto", "exact", "padded"])
def test_numbers_that_are_sizes(policy: str) -> None:
    compiled = lamina.compile(SIZES, versions=policy)
    for rows, n in ((3, 4), (0, 0), (1, 1), (5, np.int64(17)), (5, np.array(16)), (40, 100)):
        x = random(rows, 8)
        wanted = run_module(lamina.parse(SIZES), [x, n])
        for found, each in zip(compiled(x, n), wanted, strict=True):
            assert np.shape(found) == np.shape(each)
            np.testing.assert_allclose(found, each, rtol=1e-5, atol=1e-5)
    assert compiled.version(m=2, n=3)(random(2, 8), 3)[0].shape == (5, 8)
    for given, message in (
        (-1, r"argument 'n' is -1: 'n' is in \[0, 100\]"),
        (101, r"argument 'n' is 101: 'n' is in \[0, 100\]"),
        (2.5, r"argument 1 \('n'\): expected a size, got 2.5"),
        (True, r"argument 1 \('n'\): expected a size, got True"),
        (random(1), r"argument 1 \('n'\): expected a size, got a ndarray"),
    ):
        with pytest.raises(ArgumentError, match=message):
            compiled(random(2, 8), given)


def test_threads_share_versions() -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": WEIGHTS})
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda batch: check(compiled, batch), [3, 9, 4, 3, 17, 9, 3, 40] * 3))
    assert [version.sizes["batch"] for version in compiled.sizes if not version.is_exact]
    assert len(compiled.sizes) <= 6


def test_other_functions_have_sizes_too() -> None:
    program = (
        PROGRAM
        + """
    func.func @twice(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [0, 9]>]})
        -> tensor<?xf32> {
      %0 = aten.add.Tensor(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      func.return %0 : tensor<?xf32>
    }"""
    )
    compiled = lamina.compile(program, constants={"w": WEIGHTS})
    check(compiled, 3)
    for size in (2, 3, 0):
        assert (compiled.entries["twice"](random(size)) == 2 * random(size)).all()


@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize(
    "rows", ["tensor<9x4xf32>", "tensor<?x4xf32> {lamina.dims = [#lamina.size<r>]}"]
)
@pytest.mark.parametrize(
    "op",
    [
        "aten.embedding.default(%t, %i) : (T, tensor<?xi64>) -> tensor<?x4xf32>",
        "aten.index_select.default(%t, 0, %i) : (T, tensor<?xi64>) -> tensor<?x4xf32>",
    ],
)
def test_negative_places_are_refused_as_in_torch(op: str, rows: str, policy: str) -> None:
    """They do not count from the end, as those of `aten.index.Tensor` do."""
    compiled = lamina.compile(
        f"""func.func @main(%i: tensor<?xi64> {{lamina.dims = [#lamina.size<n in [1, 8]>]}},
                            %t: {rows}) -> tensor<?x4xf32> {{
          %r = {op.replace("T", rows.split(" ")[0])}
          func.return %r : tensor<?x4xf32>
        }}""",
        versions=policy,
    )
    table = random(9, 4)
    for places in ([0, 8], [3], [8, 7, 6, 5, 4]):
        np.testing.assert_array_equal(compiled(np.array(places), table), table[places])
    for places in ([0, -1, 2], [9], [-9]):
        with pytest.raises(ExecutionError, match="index out of range"):
            compiled(np.array(places), table)
