"""Custom ops and what torch, and another process, has registered."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

import lamina
from lamina.dialects.errors import UnsupportedError
from lamina.frontends.custom_ops import TORCH_NAMESPACES

# Imports take most of the time: what belongs in a process of its own are forks of one.
_OTHER_PROCESSES = """
import os, sys, torch, torch._dynamo, torch._inductor, torch.export, lamina
print(*{name.split('::')[0] for name in torch._C._dispatch_get_all_op_names()}, flush=True)
text = '''
func.func @main(%x: tensor<3xf32> {lamina.name = "x", lamina.kind = "input"}) -> (tensor<3xf32> {lamina.kind = "output"}) {
  %y = prims.extern([%x], kernel = "torch.lamina_custom_process.f.default", options = "{\\\\"x\\\\": 0}") : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}'''
def run(summand):
    if summand is not None:
        @torch.library.custom_op("lamina_custom_process::f", mutates_args=())
        def f(x: torch.Tensor) -> torch.Tensor:
            return x + summand
        f.register_fake(torch.empty_like)
    try:
        print(lamina.compile(text)(torch.zeros(3)).tolist(), flush=True)
    except lamina.LaminaError as error:
        print(error, flush=True)
for summand in 1.0, 2.0, None:
    if not (child := os.fork()):
        run(summand)
        os._exit(0)
    os.waitpid(child, 0)
"""  # noqa: E501 - IR on one line


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Namespaces of torch's ops, and what three processes that share a disk cache printed."""
    environment = {**os.environ, "LAMINA_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    command = [sys.executable, "-c", _OTHER_PROCESSES]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    return ended.stdout.splitlines()


def test_ops_of_torch_are_not_custom(said: list[str]) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.quantized.embedding_bag_byte_prepack(x)

    program = torch.export.export(Module(), (torch.randn(3, 4),))
    with pytest.raises(UnsupportedError, match="an op of torch's that is not in ATen"):
        lamina.compile(program)
    assert set(said[0].split()) <= TORCH_NAMESPACES


def test_machine_code_of_the_cache_calls_what_the_process_has(said: list[str]) -> None:
    assert said[1:3] == ["[1.0, 1.0, 1.0]", "[2.0, 2.0, 2.0]"]
    assert "lamina_custom_process::f.default is not registered in this process" in said[3]
