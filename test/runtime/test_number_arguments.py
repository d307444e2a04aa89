"""Numbers as arguments of a program's functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.runtime.interpreters import run_module
from lamina.tools.lamina_run import main as lamina_run

TEXT = """
func.func @main(%x: tensor<4xELEMENT>, %a: KIND, %p: tensor<4xELEMENT>) -> tensor<4xELEMENT> {
  %0 = aten.mul.Scalar(%x, %a) : (tensor<4xELEMENT>, KIND) -> tensor<4xELEMENT>
  %1 = aten.add.Tensor(%0, %p) : (tensor<4xELEMENT>, tensor<4xELEMENT>) -> tensor<4xELEMENT>
  func.return %1 : tensor<4xELEMENT>
}
"""
X = np.arange(4, dtype=np.float32)


def text(kind: str, element: str = "f32") -> str:
    return TEXT.replace("KIND", kind).replace("ELEMENT", element)


@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16", "i64", "i32", "i8"])
def test_a_number_of_each_type(kind: str) -> None:
    module = lamina.parse(text(kind))
    compiled = lamina.compile(module)
    assert [slot.dtype for slot in compiled.inputs] == ["f32", kind, "f32"]
    for number in (3, 3.0) if "f" in kind else (3,):
        np.testing.assert_array_equal(compiled(X, number, X), X * 4)
    np.testing.assert_array_equal(run_module(module, [X, 3, X])[0], X * 4)


def test_integers_stay_integers() -> None:
    x = X.astype(np.int32)
    np.testing.assert_array_equal(lamina.compile(text("i32", "i32"))(x, -2, x), -x)


def test_functions_hand_numbers_on() -> None:
    program = (
        text("f32")
        .replace("@main", "private @scaled")
        .replace("func.func private", "func.func private")
        + """
    func.func @main(%x: tensor<4xf32>, %a: f32) -> tensor<4xf32> {
      %0 = func.call @scaled(%x, %a, %x) : (tensor<4xf32>, f32, tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }"""
    )
    np.testing.assert_array_equal(lamina.compile(program)(X, 0.5), X * 1.5)


def test_a_number_that_nothing_reads_and_one_of_truth() -> None:
    program = """
    func.func @main(%x: tensor<4xf32>, %a: f64, %b: i1) -> tensor<4xf32> {
      %0 = aten.add.Scalar(%x, %b) : (tensor<4xf32>, i1) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }"""
    np.testing.assert_array_equal(lamina.compile(program)(X, 1.0, True), X + 1)


def test_a_number_that_is_returned() -> None:
    program = """
    func.func @main(%x: tensor<4xf32>, %a: i64) -> (tensor<4xf32>, i64) {
      %0 = aten.add.Scalar(%x, %a) : (tensor<4xf32>, i64) -> tensor<4xf32>
      func.return %0, %a : tensor<4xf32>, i64
    }"""
    made, number = lamina.compile(program)(X, 7)
    np.testing.assert_array_equal(made, X + 7)
    assert number == 7


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("func.func @main(%a: f32) -> f32 {\n func.return %a : f32\n}", "reads a number of f32"),
        (text("f32").replace("aten.", "core_aten."), "tensors, not f32|core_aten layer"),
        (text("vector<4xf32>"), "must be a number"),
        (
            """func.func @main(%x: tensor<4xf32>, %n: i32) -> tensor<?xf32> {
              %0 = aten.slice.Tensor(%x, 0, 0, %n) : (tensor<4xf32>, i32) -> tensor<?xf32>
              func.return %0 : tensor<?xf32>
            }""",
            "",
        ),
    ],
)
def test_what_is_refused(program: str, said: str) -> None:
    if said:
        with pytest.raises(lamina.LaminaError, match=said):
            lamina.compile(program)
        return
    np.testing.assert_array_equal(lamina.compile(program)(X, 2), X[:2])


def test_lamina_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(text("f32"))
    assert lamina_run([str(file), "--check"]) == 0, capsys.readouterr().err
