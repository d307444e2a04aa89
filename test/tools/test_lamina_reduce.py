"""`lamina-reduce`: what stays of a program, and bad commands."""

from pathlib import Path

import pytest

import lamina
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
