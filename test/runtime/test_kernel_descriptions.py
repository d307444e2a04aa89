"""What `Compiled.kernels` says of kernels is worked out once for each."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp

import lamina
from lamina.runtime import kernels

PROGRAM = """
func.func @main(%x: tensor<64x64xf32> {lamina.name = "x"}) -> tensor<64xf32> {
  %a = core_aten.mm.default(%x, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = core_aten.mm.default(%a, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = core_aten.sum.dim_IntList(%b, [0]) : (tensor<64x64xf32>) -> tensor<64xf32>
  func.return %s : tensor<64xf32>
}"""


def test_kernels_on_buffers_are_described_as_they_were_on_tensors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    described: list[str] = []
    cost = kernels.kernel_cost

    def noted(function: FuncOp) -> object:
        described.append(function.sym_name.data)
        return cost(function)

    monkeypatch.setattr(kernels, "kernel_cost", noted)
    compiled = lamina.compile(PROGRAM, cache=False)
    names = [kernel.name for kernel in compiled.kernels]
    assert len(names) > 1
    assert sorted(described) == sorted(names)
    assert all("tensor<" in kernel.types and kernel.calls for kernel in compiled.kernels)
