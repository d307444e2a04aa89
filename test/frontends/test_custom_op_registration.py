"""Custom ops and what torch, and another process, has registered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import lamina
from lamina.dialects.errors import UnsupportedError
from lamina.frontends.custom_ops import TORCH_NAMESPACES


def test_ops_of_torch_are_not_custom() -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.quantized.embedding_bag_byte_prepack(x)

    program = torch.export.export(Module(), (torch.randn(3, 4),))
    with pytest.raises(UnsupportedError, match="an op of torch's that is not in ATen"):
        lamina.compile(program)
    script = (
        "import torch, torch._dynamo, torch._inductor, torch.export\n"
        "print(*{n.split('::')[0] for n in torch._C._dispatch_get_all_op_names()})"
    )
    listed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert set(listed.stdout.split()) <= TORCH_NAMESPACES


_OTHER_PROCESS = """
import sys, torch, lamina
if sys.argv[1] != "unregistered":
    @torch.library.custom_op("lamina_custom_process::f", mutates_args=())
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + float(sys.argv[1])
    f.register_fake(torch.empty_like)
text = '''
func.func @main(%x: tensor<3xf32> {lamina.name = "x", lamina.kind = "input"}) -> (tensor<3xf32> {lamina.kind = "output"}) {
  %y = prims.extern([%x], kernel = "torch.lamina_custom_process.f.default", options = "{\\\\"x\\\\": 0}") : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}'''
try:
    print(lamina.compile(text)(torch.zeros(3)).tolist())
except lamina.LaminaError as error:
    print(error)
"""  # noqa: E501 - IR on one line


def test_machine_code_of_the_cache_calls_what_the_process_has(tmp_path: Path) -> None:
    def run(argument: str) -> str:
        environment = {**os.environ, "LAMINA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", _OTHER_PROCESS, argument]
        return subprocess.run(command, capture_output=True, text=True, env=environment).stdout

    assert run("1") == "[1.0, 1.0, 1.0]\n"
    assert run("2") == "[2.0, 2.0, 2.0]\n"
    assert "lamina_custom_process::f.default is not registered in this process" in run(
        "unregistered"
    )
