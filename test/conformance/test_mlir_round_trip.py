"""Random programs as `linalg` text of MLIR, compiled again: the same results.

What linalg has no form for is refused by name; enough of the others must be there.
"""

from __future__ import annotations

import io

import pytest
import torch
from fuzzing.drawing import draw

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.frontends.exported_program import import_exported_program
from lamina.runtime.layers import lower
from lamina.tools.targets import LinalgTarget

SEEDS = range(60)
AT_LEAST = 15


def signless(value: torch.Tensor) -> torch.Tensor:
    """Bytes as MLIR has them."""
    return value.view(torch.int8) if value.dtype == torch.uint8 else value


def round_trip(seed: int) -> bool:
    """Whether the program of a seed has a text, whose results are then compared."""
    program = draw(seed)
    try:
        with torch.no_grad():
            exported = torch.export.export(program.module(), tuple(program.tensors()), strict=False)
        imported = import_exported_program(exported)
    except Exception:
        return False
    if imported.constants or not all(isinstance(v, torch.Tensor) for v in program.tensors()):
        return False
    written = io.StringIO()
    try:
        lower(imported.module, "aten", "fused" if seed % 2 else "loop", Target.host())
        LinalgTarget().emit(Context(), imported.module, written)
    except lamina.UnsupportedError:
        return False
    wanted = lamina.compile(exported, cache=False)(*program.tensors())
    again = lamina.compile(written.getvalue(), cache=False)
    given = [signless(value).contiguous() for value in program.tensors()]
    try:
        made = again(*given)
    except lamina.ArgumentError:  # arguments of the program that share memory, or are lists
        return False
    # Roundings to half floats that the compiler may leave out stand in the text.
    halves = any(v.dtype in (torch.float16, torch.bfloat16) for v in program.tensors())
    tolerance = 3e-2 if halves or "float16" in program.source() else 1e-4
    made = list(made) if isinstance(made, list | tuple) else [made]
    for got, expected in zip(made, wanted, strict=False):  # what is written to comes behind
        largest = expected.double().abs().nan_to_num(0, 0, 0)
        scale = max(1.0, largest.max().item() if expected.numel() else 0.0)
        torch.testing.assert_close(
            got.double(),
            signless(expected).double(),
            rtol=tolerance,
            atol=tolerance * scale * 0.1,
            equal_nan=True,
            msg=lambda said: f"seed {seed}: {said}",
        )
    return True


@pytest.mark.filterwarnings("ignore")
def test_random_programs() -> None:
    assert sum(round_trip(seed) for seed in SEEDS) >= AT_LEAST
