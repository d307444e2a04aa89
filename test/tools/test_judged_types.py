"""`lamina-run --check`: by which type results are judged, and where half floats are rounded."""

from pathlib import Path

import pytest

from lamina.runtime.entry import function_named, result_slots
from lamina.runtime.layers import parse
from lamina.tools.judged_types import judged_slots
from lamina.tools.lamina_run import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def fail(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 1
    return capsys.readouterr().err


MIXED = """
func.func @main(%x: tensor<64x33xbf16>, %y: tensor<64x33xf32>)
    -> (tensor<64x33xf32>, tensor<64x33xf32>) {
  %0 = aten.mul.Tensor(%x, %x) : (tensor<64x33xbf16>, tensor<64x33xbf16>) -> tensor<64x33xbf16>
  %1 = aten._to_copy.default(%0, dtype = f32) : (tensor<64x33xbf16>) -> tensor<64x33xf32>
  %2 = aten.exp.default(%1) : (tensor<64x33xf32>) -> tensor<64x33xf32>
  %3 = aten._to_copy.default(%x, dtype = f32) : (tensor<64x33xbf16>) -> tensor<64x33xf32>
  %4 = aten.mul.Tensor(%3, %y) : (tensor<64x33xf32>, tensor<64x33xf32>) -> tensor<64x33xf32>
  func.return %2, %4 : tensor<64x33xf32>, tensor<64x33xf32>
}
"""


def test_results_that_half_floats_went_into_are_checked_where_they_are_rounded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mixed.mlir"
    path.write_text(MIXED)
    for seed in range(3):  # the exponential of 9 differs by 2 % where its argument is rounded
        said = run(capsys, str(path), "--check", "--seed", str(seed)).splitlines()[-1]
        assert "equal to the fused interpreter, and to the aten interpreter where every op" in said


CANCELLING = """
func.func @main(%x: tensor<64x400xf16>, %w: tensor<400xf16>) -> tensor<64xf16> {
  %0 = aten.mul.Tensor(%x, %w) : (tensor<64x400xf16>, tensor<400xf16>) -> tensor<64x400xf16>
  %1 = aten.sum.dim_IntList(%0, [1]) : (tensor<64x400xf16>) -> tensor<64xf16>
  func.return %1 : tensor<64xf16>
}
"""


def lowered_wrongly(folder: Path, name: str, result: str) -> str:
    """A file of extensions in which an op of core_aten becomes something else."""
    path = folder / "own.py"
    path.write_text(
        "import lamina\n"
        "own = lamina.extend('own')\n"
        f"@own.lowers('core_aten.{name}', override=True)\n"
        "def lower(op, b):\n"
        f"    return {result}\n"
    )
    return str(path)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_sums_of_half_floats_that_cancel_are_checked_where_they_are_rounded(
    element: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cancelling.mlir"
    path.write_text(CANCELLING.replace("f16", element))
    said = [run(capsys, str(path), "--check", "--seed", str(n)).splitlines()[-1] for n in (1, 2)]
    assert all("to the aten interpreter where every op rounds" in line for line in said)


def test_a_sum_of_half_floats_that_is_wrong_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cancelling.mlir"
    path.write_text(CANCELLING)
    own = lowered_wrongly(
        tmp_path, "sum.dim_IntList", "b.with_number('mul', b('sum', op.operands[0], [1]), 1.05)"
    )
    message = fail(capsys, str(path), "--check", "--seed", "1", "--load", own)
    assert "check failed: out0" in message


def test_results_are_judged_by_the_coarsest_type_that_is_computed_for_them() -> None:
    module = parse(MIXED)
    main = function_named(module, "main")
    assert main is not None
    judged = judged_slots(module, result_slots(main))
    assert [slot.dtype for slot in judged] == ["bf16", "f32"]  # arguments of bf16 are exact
    written = parse(
        """func.func @main(%x: tensor<4xf32>, %h: tensor<4xf16>) -> tensor<4xf32> {
          %0 = aten.clone.default(%x) : (tensor<4xf32>) -> tensor<4xf32>
          %1 = func.call @half(%h) : (tensor<4xf16>) -> tensor<4xf16>
          %2 = aten.copy_.default(%0, %1) : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
          func.return %0 : tensor<4xf32>
        }
        func.func private @half(%h: tensor<4xf16>) -> tensor<4xf16> {
          %0 = aten.exp.default(%h) : (tensor<4xf16>) -> tensor<4xf16>
          func.return %0 : tensor<4xf16>
        }"""
    )
    main = function_named(written, "main")
    assert main is not None
    assert [slot.dtype for slot in judged_slots(written, result_slots(main))] == ["f16"]


def test_results_of_f64_that_are_computed_in_f32_are_judged_by_f32(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "narrowed.mlir"
    path.write_text(
        """func.func @main(%x: tensor<8x400xf64>, %y: tensor<400xf64>) -> tensor<8xf64> {
          %0 = aten._to_copy.default(%x, dtype = f32) : (tensor<8x400xf64>) -> tensor<8x400xf32>
          %1 = aten._to_copy.default(%y, dtype = f32) : (tensor<400xf64>) -> tensor<400xf32>
          %2 = aten.mv.default(%0, %1) : (tensor<8x400xf32>, tensor<400xf32>) -> tensor<8xf32>
          %3 = aten._to_copy.default(%2, dtype = f64) : (tensor<8xf32>) -> tensor<8xf64>
          func.return %3 : tensor<8xf64>
        }"""
    )
    assert "check: equal to the aten interpreter" in run(capsys, str(path), "--check")


def test_a_wrong_lowering_is_found_behind_half_floats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mixed.mlir"
    path.write_text(MIXED)
    own = lowered_wrongly(tmp_path, "exp", "b.with_number('mul', b('exp', op.operands[0]), 1.1)")
    message = fail(capsys, str(path), "--check", "--load", own)
    assert "check failed: out0" in message
