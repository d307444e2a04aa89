"""Numbers as arguments of a program's functions."""

from __future__ import annotations

import re
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


MADE_OF_OTHERS = {
    "add.Tensor": "%x, %y, alpha = %a",
    "sub.Tensor": "%x, %y, alpha = %a",
    "rsub.Tensor": "%x, %y, alpha = %a",
    "add.Scalar": "%x, %a, alpha = %a",
    "addcmul.default": "%x, %y, %y, value = %a",
    "addcdiv.default": "%x, %y, %y, value = %a",
    "addmm.default": "%x, %q, %y, beta = %a, alpha = %a",
    "clamp.default": "%x, %a, 1.25",
    "clamp_min.default": "%x, %a",
    "clamp_max.default": "%x, %a",
    "hardtanh.default": "%x, -1.0, %a",
    "leaky_relu.default": "%x, %a",
    "threshold.default": "%x, %a, %a",
    "elu.default": "%x, %a, %a, 0.5",
    "celu.default": "%x, %a",
    "softplus.default": "%x, %a, 1.0",
    "softshrink.default": "%x, %a",
    "hardshrink.default": "%x, %a",
    "masked_fill.Scalar": "%x, %m, %a",
    "full_like.default": "%x, %a",
    "new_full.default": "%x, [2, 3], %a",
    "pow.Scalar": "%a, %x",
    "xlogy.Scalar_Other": "%x, %a",
}
"""Ops with numbers in other places than behind a tensor, and their arguments."""
TYPES = {"x": "2x3xf32", "y": "2x3xf32", "q": "2x2xf32", "m": "2x3xi1"}


@pytest.mark.parametrize("number", [0.75, -0.5, np.nan])
@pytest.mark.parametrize("op", MADE_OF_OTHERS)
def test_numbers_in_any_place(op: str, number: float) -> None:
    torch = pytest.importorskip("torch")
    number = 0.25 if op == "softshrink.default" else number  # torch takes none below 0
    arguments = MADE_OF_OTHERS[op]
    types = {f"%{name}": f"tensor<{kind}>" for name, kind in TYPES.items()} | {"%a": "f32"}
    read = ", ".join(types[name] for name in re.findall(r"%\w", arguments))
    taken = ", ".join(f"{name}: {kind}" for name, kind in types.items())
    program = f"""
    func.func @main({taken}) -> tensor<2x3xf32> {{
      %0 = aten.{op}({arguments}) : ({read}) -> tensor<2x3xf32>
      func.return %0 : tensor<2x3xf32>
    }}"""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 2, 3)).astype(np.float32)
    x[0, 0], q, m = np.inf, np.eye(2, dtype=np.float32), x > 0
    given = {"x": x, "y": y + 3, "q": q, "m": m, "a": np.float32(number)}
    packet, _, overload = op.partition(".")
    function = getattr(getattr(torch.ops.aten, packet), overload)
    values = {name: torch.from_numpy(v) for name, v in given.items() if name != "a"}
    values["a"] = number
    wanted = eval(f"f({arguments.replace('%', '')})", {"f": function, **values})
    made = lamina.compile(program)(*given.values())
    np.testing.assert_allclose(made, wanted.numpy(), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("kind", ["f32", "f16", "i64", "i8"])
def test_numbers_of_core_aten(kind: str) -> None:
    module = lamina.parse(text(kind).replace("aten.", "core_aten."))
    np.testing.assert_array_equal(lamina.compile(module)(X, 3, X), X * 4)
    np.testing.assert_array_equal(run_module(module, [X, 3, X])[0], X * 4)


@pytest.mark.parametrize("kind", ["f32", "i32"])
@pytest.mark.parametrize(
    "op",
    [
        'full([4], %a, dtype = f32, device = "cpu", requires_grad = false) : (KIND)',
        'full_like(%x, %a, dtype = f32, device = "cpu", requires_grad = false) '
        ": (tensor<4xf32>, KIND)",
        "fill(%x, %a) : (tensor<4xf32>, KIND)",
    ],
)
def test_numbers_of_prims(op: str, kind: str) -> None:
    program = f"""
    func.func @main(%x: tensor<4xf32>, %a: {kind}) -> tensor<4xf32> {{
      %0 = prims.{op.replace("KIND", kind)} -> tensor<4xf32>
      %1 = prims.add(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }}"""
    np.testing.assert_array_equal(lamina.compile(program)(X, 3), X + 3)


def test_a_number_beside_nests() -> None:
    program = """
    func.func @main(%x: tensor<4xf32>, %a: f32) -> tensor<4xf32> {
      %s = prims.scalar_tensor(%a, dtype = f32) : (f32) -> tensor<f32>
      %0 = loop.generic (i) in [4] reads(%x[i] : tensor<4xf32>, %s[] : tensor<f32>)
          writes([i] store : tensor<4xf32>) {
      ^bb0(%b: f32, %c: f32):
        %v = arith.mulf %b, %c : f32
        loop.yield %v : f32
      }
      func.return %0 : tensor<4xf32>
    }"""
    np.testing.assert_array_equal(lamina.compile(program)(X, 0.5), X * 0.5)


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
        (
            """func.func @main(%x: tensor<4xf32>, %a: f32) -> tensor<8xf32> {
              %0 = prims.pad(%x, %a, [2], [2]) : (tensor<4xf32>, f32) -> tensor<8xf32>
              func.return %0 : tensor<8xf32>
            }""",
            r"<text>:2:20|prims\.pad: reads a number",
        ),
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
