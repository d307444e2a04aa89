"""`lamina-reduce`: what stays of a program, and bad commands."""

import re
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import lamina
from lamina.passes.contracts.verify_program import verify_program
from lamina.tools.lamina_opt import main as lamina_opt
from lamina.tools.lamina_reduce import main, reduced
from lamina.tools.reductions import removable_ops

PROGRAM = """
func.func @main(%x: tensor<8x4xf32> {lamina.name = "x"},
    %w: tensor<4x4xf32> {lamina.name = "w", lamina.kind = "parameter"})
    -> (tensor<8x4xf32>, tensor<8xf32>) {
  %0 = aten.mm.default(%x, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = aten.relu.default(%0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = aten.sinh.default(%1) {mine = 1 : i64} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = aten.add.Tensor(%2, %0) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = aten.exp.default(%3) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %5 = aten.sum.dim_IntList(%4, dim = [1], keepdim = false) : (tensor<8x4xf32>) -> tensor<8xf32>
  func.return %4, %5 : tensor<8x4xf32>, tensor<8xf32>
}
"""


def _is_valid(module: ModuleOp) -> bool:
    try:
        verify_program(module)
    except lamina.InputError:
        return False
    return True


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def test_what_is_looked_for_stays(program: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.mlir"
    assert main([str(program), "--test", "grep -q sinh", "-o", str(small)]) == 0
    assert [op.name for op in removable_ops(lamina.parse(small.read_bytes()))] == [
        "aten.sinh.default"
    ]
    assert "mine" not in small.read_text() and "%w" not in small.read_text()


def test_two_ops_that_need_each_other() -> None:
    """An op between them goes; its operand takes its place."""
    module = reduced(
        lamina.parse(PROGRAM),
        lambda m: "aten.exp" in str(m) and "aten.mm" in str(m),
        lambda: False,
    )
    names = sorted(op.name for op in removable_ops(module))
    assert names == ["aten.exp.default", "aten.mm.default"]
    lamina.compile(module)


@pytest.mark.parametrize("layer", ["core_aten", "prims", "loop", "fused", "scheduled"])
def test_programs_of_any_layer(layer: str, program: Path, tmp_path: Path) -> None:
    lowered, small = tmp_path / "lowered.mlir", tmp_path / "small.mlir"
    assert lamina_opt([str(program), "--to", layer, "-o", str(lowered)]) == 0
    assert main([str(lowered), "--test", "grep -q sinh", "-o", str(small)]) == 0
    ops = removable_ops(lamina.parse(small.read_bytes()))
    assert sum("sinh" in str(op) for op in ops) == 1 and len(ops) <= 2  # a nest, in a kernel


SIZES = """
func.func @main(%x: tensor<64x512xf32>, %w: tensor<512x96xf32>) -> tensor<64x96xf32> {
  %0 = aten.view.default(%x, [64, 8, 64]) : (tensor<64x512xf32>) -> tensor<64x8x64xf32>
  %1 = aten.sinh.default(%0) : (tensor<64x8x64xf32>) -> tensor<64x8x64xf32>
  %2 = aten.view.default(%1, [64, 512]) : (tensor<64x8x64xf32>) -> tensor<64x512xf32>
  %3 = aten.mm.default(%2, %w) : (tensor<64x512xf32>, tensor<512x96xf32>) -> tensor<64x96xf32>
  func.return %3 : tensor<64x96xf32>
}
"""


def test_sizes_are_halved_where_all_of_it_still_fits() -> None:
    def is_interesting(module: ModuleOp) -> bool:
        text = str(module)
        return (
            _is_valid(module)
            and all(name in text for name in ("sinh", "mm", "view"))
            and "x96xf32" in text
        )

    text = str(reduced(lamina.parse(SIZES), is_interesting, lambda: False))
    shapes = re.findall(r"tensor<([\dx]+)xf32>", text)
    assert {extent for shape in shapes for extent in shape.split("x")} == {"8", "64", "96"}
    lamina.compile(text)


def test_arguments_of_kernels_go_with_those_of_their_calls() -> None:
    text = """
    func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %0 = func.call @kernel_0(%y, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      func.return %0 : tensor<8xf32>
    }
    func.func private @kernel_0(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32>
        attributes {lamina.kernel, lamina.ops = ["sinh"]} {
      %0 = loop.generic (d0) in [8] reads(%b[d0] : tensor<8xf32>)
          writes([d0] store : tensor<8xf32>) {
      ^bb0(%c: f32):
        %1 = math.sinh %c : f32
        loop.yield %1 : f32
      }
      func.return %0 : tensor<8xf32>
    }
    """
    small = reduced(
        lamina.parse(text),
        lambda m: _is_valid(m) and "call @kernel_0" in str(m) and "math.sinh" in str(m),
        lambda: False,
    )
    functions = [op for op in small.walk() if isinstance(op, FuncOp)]
    assert [len(function.function_type.inputs) for function in functions] == [1, 1]
    assert "tensor<1xf32>" in str(small) and "(d0) in [1]" in str(small)
    lamina.compile(small)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--test", "false"], "'false' does not exit with 0 for "),
        (["--test", "sleep 9;", "--timeout", "0.1"], "does not exit with 0"),
        (["--test", "true", "--limit", "0"], "seconds, more than 0"),
        ([], "--test"),
    ],
)
def test_bad_commands(
    options: list[str], said: str, program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([str(program), *options]) == 1
    assert said in capfd.readouterr().err


def test_a_bad_program(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM.replace("sinh", "sinhh"))
    assert main([str(path), "--test", "true"]) == 1
    assert "program.mlir:7:" in capfd.readouterr().err
