"""`lamina-opt --verify-semantics` names the pass that changes results; units in the last place."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from lamina.tools.lamina_opt import main
from lamina.tools.semantics import difference, units_apart

PROGRAM = """
func.func @main(%x: tensor<33x7xf32>, %y: tensor<33x7xf32>) -> (tensor<33x7xf32>, tensor<33xf32>) {
  %0 = aten.sub.Tensor(%x, %y) : (tensor<33x7xf32>, tensor<33x7xf32>) -> tensor<33x7xf32>
  %1 = aten.sum.dim_IntList(%x, dim = [1]) : (tensor<33x7xf32>) -> tensor<33xf32>
  func.return %0, %1 : tensor<33x7xf32>, tensor<33xf32>
}
"""

EXTENSION = """
from dataclasses import dataclass
from xdsl.passes import ModulePass
import lamina


@dataclass(frozen=True)
class SwapOperands(ModulePass):
    name = "swap-operands"

    def apply(self, ctx, op):
        for inner in op.walk():
            if inner.name == "prims.sub":
                inner.operands = list(reversed(inner.operands))


mine = lamina.extend("mine", passes=[SwapOperands])
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(EXTENSION)
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return str(path)


def test_the_first_wrong_pass_is_named(program: str, capfd: pytest.CaptureFixture[str]) -> None:
    load = ["--load", str(Path(program).with_name("mine.py"))]
    edits = ["--before", "convert-prims-to-loop", "swap-operands"]
    assert main([program, "--to", "loop", "--verify-semantics", *load, *edits]) == 1
    said = capfd.readouterr().err
    assert "pass 'swap-operands' changes what the program means: out0 [" in said
    assert "the input's is" in said


def test_the_compiler_keeps_what_a_program_means(
    program: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Other orders of sums may move results by units in the last place, which is no failure."""
    assert main([program, "--to", "scheduled", "--verify-semantics"]) == 0
    said = capfd.readouterr().err
    assert "what the program means" not in said and "cannot be run" not in said
    assert all("units in the last place" in line for line in said.splitlines())


def test_a_program_without_main(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM.replace("@main", "@other"))
    assert main([str(path), "--to", "loop", "--verify-semantics"]) == 1
    assert "there is no function @main to run" in capfd.readouterr().err


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_units_in_the_last_place(dtype: type) -> None:
    one = np.array([1.0, -1.0, 0.0, np.nan, np.nan, np.inf], dtype)
    near = np.nextafter(one, np.array(2.0, dtype))
    other = np.array([near[0], -1.0, -0.0, np.nan, 1.0, np.inf], dtype)
    assert units_apart(one, other).tolist() == [1, 0, 0, 0, np.inf, 0]
    tiny = np.array([np.nextafter(dtype(0), dtype(1))], dtype)
    assert units_apart(tiny, -tiny).tolist() == [2]


def test_units_of_what_has_no_dimensions() -> None:
    one, two = np.array(1.0, np.float32), np.array(1.5, np.float32)
    assert units_apart(one, two).shape == () and difference(one, one) is None
    assert (
        difference(one, two)
        == "[] by 4194304 units in the last place (1.0 to 1.5), and 1 of 1 elements"
    )


def test_units_of_integers_and_complex_numbers() -> None:
    assert units_apart(np.array([3, -4]), np.array([5, -4])).tolist() == [2, 0]
    z = np.array([1 + 2j], np.complex64)
    moved = np.array([1 + np.nextafter(np.float32(2), np.float32(3)) * 1j], np.complex64)
    assert units_apart(z, moved).tolist() == [1]
