"""Modules of torch's database under `torch.autocast` on the CPU, exported and by `torch.compile`.

Autocast rounds on the way to results of any dtype, so that the tolerance is that of the half float.
Where roundings on the way add up to more, the rule is torch's own for compiled programs under
autocast: the root of the mean square error, against double precision, is at most twice eager's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
import torch
from cases import Program, Sample, entries, samples
from judge import widened
from torch._dynamo.utils import rmse
from torch.testing._comparison import default_tolerances
from torch.utils import _pytree as pytree

import lamina

KINDS = {"bf16": torch.bfloat16, "f16": torch.float16}

SHORT = (
    ("module.nn.BatchNorm2d", "bf16", "export"),
    ("module.nn.GroupNorm", "f16", "compile"),
    ("module.nn.LayerNorm", "bf16", "compile"),
    ("module.nn.RMSNorm", "bf16", "export"),
    ("module.nn.LSTM", "bf16", "export"),
    ("module.nn.TransformerEncoderLayer", "f16", "compile"),
)
"""What `make test` runs, one sample each."""

UNTRACEABLE = frozenset({"module.nn.CTCLoss", "module.nn.GaussianNLLLoss"})
"""What torch itself neither exports nor captures whole: branches and sizes depend on data."""

SHAPES_OF_META = frozenset({"module.nn.MultiLabelMarginLoss"})
"""Modules whose results torch.compile itself gives another shape, with any back end: the kernel of
their op for meta tensors says [1] where the one for the CPU says []."""

MODULES = {
    entry.name: entry
    for entry in entries(["module.*"])
    if "f32" in entry.dtypes() and entry.name not in UNTRACEABLE
}


class Autocast(torch.nn.Module):
    """Calls `program` under autocast to `kind`."""

    def __init__(self, program: Program, kind: torch.dtype) -> None:
        super().__init__()
        self.program, self.kind = program, kind

    def forward(self, *tensors: torch.Tensor) -> Any:
        with torch.autocast("cpu", dtype=self.kind):
            return self.program(*tensors)


def _exported(module: Autocast, tensors: list[torch.Tensor]) -> Callable[..., Any]:
    return lamina.compile(torch.export.export(module, tuple(tensors), strict=False))


def _compiled(module: Autocast, tensors: list[torch.Tensor]) -> Callable[..., Any]:
    torch._dynamo.reset()
    compiled: Any = torch.compile(module, backend="lamina", fullgraph=True)

    def call(*given: torch.Tensor) -> Any:
        with torch._dynamo.config.patch(allow_rnn=True):
            return compiled(*given)

    return call


WAYS = {"export": _exported, "compile": _compiled}


def _check(name: str, sample: Sample, kind: torch.dtype, way: str) -> None:
    """Compares one sample with eager mode; what eager mode refuses is not compared."""
    module = Autocast(sample.program, kind)
    with torch.no_grad():
        try:
            expected = module(*copy.deepcopy(sample.tensors))
        except (RuntimeError, NotImplementedError, ValueError):
            return
        exact = copy.deepcopy(sample.program).double()(*widened(copy.deepcopy(sample.tensors)))
        actual = WAYS[way](module, sample.tensors)(*copy.deepcopy(sample.tensors))
        if way == "compile" and name in SHAPES_OF_META:
            expected = torch.compile(module, backend="aot_eager")(*copy.deepcopy(sample.tensors))
    _compare(expected, actual, exact, kind)


def _compare(expected: Any, actual: Any, exact: Any, kind: torch.dtype) -> None:
    wanted, given = (
        [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
        for value in (expected, actual)
    )
    assert [(w.dtype, w.shape) for w in wanted] == [(g.dtype, g.shape) for g in given]
    rtol, atol = default_tolerances(kind)
    try:
        for one, other in zip(given, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError:
        truths = [leaf for leaf in pytree.tree_leaves(exact) if isinstance(leaf, torch.Tensor)]
        for one, other, truth in zip(given, wanted, truths, strict=True):
            assert rmse(truth, one.double()) <= 2 * rmse(truth, other.double())


@pytest.mark.parametrize(("name", "kind", "way"), SHORT)
def test_common_modules(name: str, kind: str, way: str) -> None:
    for sample in islice(samples(MODULES[name], "f32"), 1):
        _check(name, sample, KINDS[kind], way)


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODULES)
def test_every_module(name: str, kind: str, way: str) -> None:
    for sample in samples(MODULES[name], "f32"):
        _check(name, sample, KINDS[kind], way)
