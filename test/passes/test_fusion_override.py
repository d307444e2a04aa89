"""`lamina.fuse`: it follows an op down the layers, and other values than the two are refused."""

import pytest

from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.layers import parse

PROGRAM = """
func.func @main(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = aten.tanh.default(%x) {lamina.fuse = "MARK"} : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = aten.mul.Tensor(%0, %x) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  func.return %1 : tensor<64x128xf32>
}
"""


@pytest.mark.parametrize(("mark", "kernels"), [("never", 2), ("always", 1)])
def test_mark_on_an_aten_op_decides_how_many_kernels_there_are(mark: str, kernels: int) -> None:
    module = parse(PROGRAM.replace("MARK", mark).encode(), name="program")
    run_pipeline(module, pipeline(stop="fused"), Context())
    assert str(module).count("func.func private @kernel_") == kernels


def test_other_marks_are_refused_with_what_there_is() -> None:
    module = parse(PROGRAM.replace("MARK", "often").encode(), name="program")
    message = r'^program:3:3: error: .*: lamina.fuse = "often": it is "always" or "never"'
    with pytest.raises(InputError, match=message):
        run_pipeline(module, pipeline(stop="fused"), Context())
