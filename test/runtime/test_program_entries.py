"""Programs of several functions: calls are inlined, public functions are entries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.runtime.interpreters import run_module
from lamina.tools.lamina_compile import main as lamina_compile
from lamina.tools.lamina_run import main as lamina_run

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @sum(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @sum(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = LAYER.add(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
ATEN = TEXT.replace("LAYER.add", "aten.add.Tensor")
X = np.arange(4, dtype=np.float32)


@pytest.mark.parametrize(
    "text",
    [ATEN, TEXT.replace("LAYER.add", "core_aten.add.Tensor"), TEXT.replace("LAYER", "prims")],
    ids=["aten", "core_aten", "prims"],
)
def test_each_public_function_is_an_entry(text: str) -> None:
    module = lamina.parse(text)
    before = str(module)
    compiled = lamina.compile(module)
    assert str(module) == before
    assert list(compiled.entries) == ["main", "twice"]
    np.testing.assert_array_equal(compiled(X), 4 * X)
    np.testing.assert_array_equal(compiled.entries["twice"](X), 2 * X)
    np.testing.assert_array_equal(run_module(module, [X])[0], 4 * X)
    np.testing.assert_array_equal(run_module(module, [X], "twice")[0], 2 * X)
    assert len(compiled.kernels) == 1
    assert "@twice" not in compiled.ir("loop")


def test_nests_call_functions() -> None:
    nested = lamina.compile(TEXT.replace("LAYER", "prims")).ir("prims")
    loops = lamina.compile(nested).ir("loop")
    text = (
        loops.replace("@main", "@negated", 1).rstrip().removesuffix("}")
        + """
      func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0 = func.call @negated(%x) : (tensor<4xf32>) -> tensor<4xf32>
        func.return %0 : tensor<4xf32>
      }
    }"""
    )
    compiled = lamina.compile(text)
    np.testing.assert_array_equal(compiled(X), 4 * X)
    np.testing.assert_array_equal(compiled.entries["negated"](X), 4 * X)


def test_a_function_writes_the_arguments_of_its_caller() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = aten.clone.default(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = func.call @negate(%0) : (tensor<4xf32>) -> tensor<4xf32>
      %2 = aten.add.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %2 : tensor<4xf32>
    }
    func.func private @negate(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = aten.neg_.default(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }"""
    np.testing.assert_array_equal(lamina.compile(text)(X), -2 * X)
    np.testing.assert_array_equal(run_module(lamina.parse(text), [X])[0], -2 * X)


BUFFER = """
func.func @main(%n: tensor<4xf32> {lamina.name = "n", lamina.kind = "buffer"},
                %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.add_.Tensor(%n, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @reset(%n: tensor<4xf32> {lamina.name = "n", lamina.kind = "buffer"}) -> tensor<4xf32> {
  %0 = aten.zero_.default(%n) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @scaled(%w: tensor<4xf32> {lamina.name = "w", lamina.kind = "parameter"},
                  %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.mul.Tensor(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""


def test_entries_share_what_is_bound() -> None:
    n, w = np.zeros(4, np.float32), np.full(4, 3, np.float32)
    compiled = lamina.compile(BUFFER, constants={"n": n, "w": w})
    compiled(X)
    np.testing.assert_array_equal(compiled(X), 2 * X)
    compiled.entries["reset"]()
    np.testing.assert_array_equal(compiled(X), X)
    np.testing.assert_array_equal(compiled.entries["scaled"](X), 3 * X)
    with pytest.raises(lamina.ArgumentError, match="constant 'v'"):
        lamina.compile(BUFFER, constants={"v": n})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("@sum(%x, %x)", "@twice(%x, %x)", "incorrect number of operands for callee"),
        (
            "call @sum(%x, %x) : (tensor<4xf32>, tensor<4xf32>)",
            "call @main(%x) : (tensor<4xf32>)",
            "@main calls @twice calls @main: recursion is not compiled",
        ),
        ("@sum(%x, %x)", "@none(%x, %x)", "@none"),
        (
            "@sum(%x, %x) : (tensor<4xf32>, tensor<4xf32>)",
            "@sum(%x) : (tensor<4xf32>)",
            "incorrect number of operands for callee",
        ),
    ],
)
def test_calls_that_cannot_be(old: str, new: str, said: str) -> None:
    with pytest.raises(lamina.LaminaError, match=said):
        lamina.compile(ATEN.replace(old, new))


def test_lamina_run_runs_an_entry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(ATEN)
    assert lamina_run([str(file), "--entry", "twice", "--check"]) == 0
    assert "equal to the aten interpreter" in capsys.readouterr().out
    assert lamina_run([str(file), "--entry", "sum"]) == 1
    assert capsys.readouterr().err == "no public function is called @sum; there are main, twice\n"


def test_what_prepares_constants_is_no_entry() -> None:
    text = """
    func.func @setup(%w: tensor<4xf32> {lamina.name = "w", lamina.kind = "parameter",
                                        lamina.value = dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>})
        -> (tensor<4xf32> {lamina.name = "p", lamina.kind = "prepared"}) {
      %0 = loop.generic (d0) in [4] reads(%w[d0] : tensor<4xf32>)
        writes([d0] store : tensor<4xf32>) {
      ^bb0(%a: f32):
        %1 = arith.addf %a, %a : f32
        loop.yield %1 : f32
      }
      func.return %0 : tensor<4xf32>
    }
    func.func @main(%p: tensor<4xf32> {lamina.name = "p", lamina.kind = "prepared"},
                    %x: tensor<4xf32> {lamina.name = "x", lamina.kind = "input"})
        -> tensor<4xf32> {
      %0 = loop.generic (d0) in [4] reads(%p[d0] : tensor<4xf32>, %x[d0] : tensor<4xf32>)
        writes([d0] store : tensor<4xf32>) {
      ^bb0(%a: f32, %b: f32):
        %1 = arith.addf %a, %b : f32
        loop.yield %1 : f32
      }
      func.return %0 : tensor<4xf32>
    }"""
    compiled = lamina.compile(text)
    assert list(compiled.entries) == ["main"]
    np.testing.assert_array_equal(compiled(X), 3 * X)


WEIGHTS = """
func.func @main(%x: tensor<16x300xf32>,
                %w: tensor<300x300xf32> {lamina.name = "w", lamina.kind = "parameter"})
    -> tensor<16x300xf32> {
  %0 = aten.mm.default(%x, %w) : (tensor<16x300xf32>, tensor<300x300xf32>) -> tensor<16x300xf32>
  func.return %0 : tensor<16x300xf32>
}
func.func @negated(%w: tensor<300x300xf32> {lamina.name = "w", lamina.kind = "parameter"},
                   %x: tensor<16x300xf32>) -> tensor<16x300xf32> {
  %0 = aten.neg.default(%x) : (tensor<16x300xf32>) -> tensor<16x300xf32>
  %1 = aten.mm.default(%0, %w) : (tensor<16x300xf32>, tensor<300x300xf32>) -> tensor<16x300xf32>
  func.return %1 : tensor<16x300xf32>
}
func.func @other(%x: tensor<16x300xf32>,
                 %w: tensor<300x300xf32> {lamina.name = "v", lamina.kind = "parameter"})
    -> tensor<16x300xf32> {
  %0 = aten.mm.default(%x, %w) : (tensor<16x300xf32>, tensor<300x300xf32>) -> tensor<16x300xf32>
  func.return %0 : tensor<16x300xf32>
}
"""


@pytest.mark.parametrize("strided", [False, True])
def test_entries_share_packed_weights(tmp_path: Path, strided: bool) -> None:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((16, 300), np.float32)
    w, v = (generator.standard_normal((300, 300), np.float32) for _ in "wv")
    w = w[::-1] if strided else w
    for _ in range(2):  # the second time from the disk cache
        compiled = lamina.compile(WEIGHTS, constants={"w": w, "v": v})
        packed = [_prepared(entry) for entry in compiled.entries.values()]
        assert packed[0] == packed[1] != packed[2]
        for name, expected in (("main", x @ w), ("negated", -x @ w), ("other", x @ v)):
            np.testing.assert_allclose(compiled.entries[name](x), expected, rtol=1e-4, atol=1e-4)
    compiled.save(tmp_path / "three")
    assert (tmp_path / "three").stat().st_size < 3 * w.nbytes
    loaded = lamina.load(tmp_path / "three")
    np.testing.assert_array_equal(loaded.entries["negated"](x), compiled.entries["negated"](x))


def _prepared(compiled: lamina.Compiled) -> list[int]:
    bound = compiled.bound
    return [
        bound.pointers[number] for number, slot in enumerate(bound.slots) if slot.kind == "prepared"
    ]


def test_equal_weights_under_two_names_are_read_once_if_they_are_one_array() -> None:
    w = np.eye(300, dtype=np.float32)
    compiled = lamina.compile(WEIGHTS, constants={"w": w, "v": w})
    assert len({tuple(_prepared(entry)) for entry in compiled.entries.values()}) == 1
    compiled = lamina.compile(WEIGHTS, constants={"w": w, "v": w.copy()})
    assert len({tuple(_prepared(entry)) for entry in compiled.entries.values()}) == 2


FOLDED = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = aten.exp.default(%c) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = aten.mul.Tensor(%x, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
"""


def test_literals_of_one_name_are_told_apart_by_what_they_hold() -> None:
    same, other = (FOLDED.replace("@main", f"@{name}") for name in ("same", "other"))
    logarithm = FOLDED.replace("@main", "@logarithm").replace("exp", "log")
    compiled = lamina.compile(FOLDED + same + other.replace("[1.0,", "[3.0,") + logarithm)
    packed = {name: _prepared(entry) for name, entry in compiled.entries.items()}
    assert all(packed.values())
    assert packed["main"] == packed["same"]
    assert len({packed[name][0] for name in ("main", "other", "logarithm")}) == 3
    expected = {"main": (1, 2), "same": (1, 2), "other": (3, 2)}
    for name, numbers in expected.items():
        found = compiled.entries[name](np.ones(2, np.float32))
        np.testing.assert_allclose(found, np.exp(np.array(numbers, np.float32)), rtol=1e-6)
    found = compiled.entries["logarithm"](np.ones(2, np.float32))
    np.testing.assert_allclose(found, np.log([1, 2]), rtol=1e-6)


@pytest.mark.parametrize("layer", ["aten", "loop"])
def test_the_only_public_function_may_have_any_name(layer: str, tmp_path: Path) -> None:
    text = """
    func.func private @half(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = aten.mul.Scalar(%x, 0.5) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = func.call @half(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }"""
    if layer == "loop":
        module = lamina.parse(text)
        lamina.Pipeline().run(module, stop="loop")
        text = str(module)
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(lamina.compile(text)(x), x / 2)
    (tmp_path / "program.mlir").write_text(text)
    assert lamina_run([str(tmp_path / "program.mlir"), "--check"]) == 0
    assert lamina_compile([str(tmp_path / "program.mlir"), "-o", str(tmp_path / "made")]) == 0
    assert "int32_t program(" in (tmp_path / "made" / "program.h").read_text()
