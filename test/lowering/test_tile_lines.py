"""Convolutions in matrix tiles whose tasks walk the lines of images by blocks of the sum:
interpreted, and run where these tiles are."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.frontends.exported_program import import_exported_program
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.passes.schedule.schedule_texts import give_schedules
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(3)

TARGET = "sapphirerapids"
LINES, PIXELS, COLUMNS = 3, 5, 40


def network(
    channels: int, window: int, images: int
) -> tuple[torch.export.ExportedProgram, torch.Tensor]:
    """A convolution to 40 columns between two others, and its images; all sums are exact."""
    torch.manual_seed(0)
    convolutions = (
        torch.nn.Conv2d(2, channels, 3, padding=1),
        torch.nn.Conv2d(channels, COLUMNS, window, padding=window // 2),
        torch.nn.Conv2d(COLUMNS, 2, 3),
    )
    for layer in convolutions:
        assert layer.bias is not None
        layer.weight.data = torch.randint(-1, 2, layer.weight.shape).float()
        layer.bias.data = torch.randint(-1, 2, layer.bias.shape).float()
    first, middle, last = convolutions
    model = torch.nn.Sequential(first, middle, torch.nn.ReLU(), last).to(torch.bfloat16).eval()
    x = torch.randint(-1, 2, (images, 2, LINES, PIXELS)).to(torch.bfloat16)
    with torch.no_grad():
        return torch.export.export(model, (x,)), x


def interpreted(
    program: torch.export.ExportedProgram, x: torch.Tensor, tasks: str, nest: str
) -> tuple[np.ndarray, str, str]:
    """What the program gives with such a schedule of its middle product, whose kernel is the second
    result, and the schedule the third."""
    imported = import_exported_program(program)
    module = imported.module
    run_pipeline(module, pipeline(start="aten", stop="bufferized", target=TARGET), Context())
    products = re.findall(r"func private @(\w+)\(([^{]*)\) attributes", str(module))
    kernel = next(name for name, types in products if re.search(r"x16x2xbf16>.*x40xf32>", types))
    around = f"compute_at = panel, block = {PIXELS}, {tasks}"
    schedule = f"[#loop.products<{around}>, #loop.schedule<{nest}>, #loop.schedule<>]"
    give_schedules(module, {kernel: schedule}, Context())
    rest = pipeline(start="bufferized", target=TARGET, enters=False)
    run_pipeline(module, rest, Context())
    given: dict[str, Any] = {"input": x, **imported.constants}
    arrays = {k: v.detach().float().numpy().astype(ml_dtypes.bfloat16) for k, v in given.items()}
    return np.asarray(run_module(module, arrays)[0], np.float32), kernel, schedule


@pytest.mark.parametrize(
    ("channels", "window", "images", "tasks", "nest"),
    [
        (64, 3, 1, "inner_rows = 1, columns = 2", ""),
        (64, 3, 1, "inner_rows = 1, columns = 2", "terms = 32"),
        (64, 3, 1, "inner_rows = 1, columns = 1", "terms = 64"),
        (64, 3, 1, "inner_rows = 1", "terms = 192"),
        (40, 3, 1, "inner_rows = 1, columns = 2", "terms = 40"),
        (136, 3, 1, "inner_rows = 1", "terms = 136"),
        (64, 3, 2, "inner_rows = 2, columns = 2", "terms = 192"),
    ],
)
def test_every_term_of_each_line_once(
    channels: int, window: int, images: int, tasks: str, nest: str
) -> None:
    program, x = network(channels, window, images)
    chosen = lamina.compile(program, target="x86-64-v3", cache=False)(x).float().numpy()
    found, kernel, schedule = interpreted(program, x, tasks, nest)
    np.testing.assert_array_equal(found, chosen)
    if Target.parse(TARGET).runs_here():
        given = {kernel: schedule}
        made = lamina.compile(program, target=TARGET, schedules=given, cache=False)
        np.testing.assert_array_equal(made(x).float().numpy(), chosen)


@pytest.mark.parametrize("terms", [16, 48, 100])
def test_blocks_are_whole_tiles(terms: int) -> None:
    program, x = network(64, 3, 1)
    message = f"terms = {terms}: .* whole tiles of 32 of a sum over 3 x 3 x 64"
    with pytest.raises(InputError, match=message):
        interpreted(program, x, "inner_rows = 1, columns = 2", f"terms = {terms}")
