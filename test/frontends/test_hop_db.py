"""Torch's own database of higher-order ops: control flow equals eager, the rest is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import lamina
from lamina.dialects.errors import UnsupportedError
from lamina.frontends.control_flow import IMPORTERS

hop_db: list[Any] = pytest.importorskip("torch.testing._internal.hop_db").hop_db

CASES = {f"{info.name}-{info.variant_test_name}": info for info in hop_db}
RUN = [
    "cond-simple",
    "invoke_quant_packed-simple",
    "invoke_subgraph-simple",
    "map-nested",
    "map-simple",
    "map-triple_nested",
    "scan-simple",
    "while_loop-simple",
]


def exported(info: Any, sample: Any) -> tuple[torch.export.ExportedProgram, tuple[Any, ...], Any]:
    """A sample as a program, its arguments, and what eager torch makes of it."""

    class Module(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return info.op(*args)

    args = (sample.input, *sample.args)
    return torch.export.export(Module(), args, strict=False), args, info.op(*args)


@pytest.mark.parametrize("name", RUN)
def test_samples_equal_eager(name: str) -> None:
    info = CASES[name]
    for sample in info.sample_inputs("cpu", torch.float32, requires_grad=False):
        program, args, wanted = exported(info, sample)
        torch.testing.assert_close(lamina.compile(program)(*args), wanted)


def test_loops_that_stack_as_many_values_as_rounds_are_refused() -> None:
    info = CASES["while_loop_stack_output-simple"]
    (sample,) = info.sample_inputs("cpu", torch.float32, requires_grad=False)
    program, _, _ = exported(info, sample)
    with pytest.raises(UnsupportedError, match="this higher-order op cannot be imported"):
        lamina.compile(program)


def test_every_importer_is_of_an_op_that_torch_has() -> None:
    for name in IMPORTERS:
        assert hasattr(torch.ops.higher_order, name), name
