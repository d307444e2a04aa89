"""Modules of torch's database under `torch.autocast` on the CPU, exported and by `torch.compile`.

Autocast rounds on the way to results of any dtype, so that the tolerance is that of the half float.
Where roundings on the way add up to more, the rule is torch's own for compiled programs under
autocast: the root of the mean square error, against double precision, is at most twice eager's; or,
over many arrangements of the arguments, at most eager's on average.
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
from torch._dynamo.exc import Unsupported, UserError
from torch._dynamo.utils import rmse
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.testing._comparison import default_tolerances
from torch.utils import _pytree as pytree

import lamina

DRAWS = 100
"""Of few elements the error is chance: so many arrangements of the arguments tell on average."""

NOT_CAPTURED = (Unsupported, UserError, GuardOnDataDependentSymNode)
"""Torch's errors for what it does not capture whole: a branch on data, a sample that warns."""

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
    """Compares one sample with eager mode; what torch itself refuses is not compared."""
    module = Autocast(sample.program, kind)
    exact = copy.deepcopy(sample.program).double()
    with torch.no_grad():
        try:
            module(*copy.deepcopy(sample.tensors))
        except (RuntimeError, NotImplementedError, ValueError):
            return
        try:
            call = WAYS[way](module, sample.tensors)
            call(*copy.deepcopy(sample.tensors))
        except NOT_CAPTURED:
            with pytest.raises(NOT_CAPTURED):
                _captured(module, sample.tensors, way)
            return
        eager: Callable[..., Any] = module
        if way == "compile" and name in SHAPES_OF_META:
            eager = torch.compile(module, backend="aot_eager")
        if not _is_near(call, eager, exact, sample.tensors, kind):
            draws = [_shuffled(sample.tensors, seed) for seed in range(DRAWS)]
            errors = [_errors(call, eager, exact, tensors) for tensors in draws]
            ours, theirs = (sum(error) / DRAWS for error in zip(*errors, strict=True))
            assert ours <= theirs, f"root mean square error {ours}, eager mode's {theirs}"


def _captured(module: Autocast, tensors: list[torch.Tensor], way: str) -> None:
    """Torch's own part of the way."""
    if way == "export":
        torch.export.export(module, tuple(tensors), strict=False)
        return
    torch._dynamo.reset()
    torch.compile(module, backend="eager", fullgraph=True)(*copy.deepcopy(tensors))


def _leaves(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _is_near(
    call: Callable[..., Any],
    eager: Callable[..., Any],
    exact: Callable[..., Any],
    tensors: list[torch.Tensor],
    kind: torch.dtype,
) -> bool:
    """Within the tolerance of `kind`, or at most twice as far from the truth as eager mode."""
    wanted, given = (_leaves(f(*copy.deepcopy(tensors))) for f in (eager, call))
    assert [(w.dtype, w.shape) for w in wanted] == [(g.dtype, g.shape) for g in given]
    rtol, atol = default_tolerances(kind)
    try:
        for one, other in zip(given, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError:
        truths = _leaves(exact(*widened(copy.deepcopy(tensors))))
        return all(
            bool(rmse(truth, one.double()) <= 2 * rmse(truth, other.double()))
            for one, other, truth in zip(given, wanted, truths, strict=True)
        )
    return True


def _errors(
    call: Callable[..., Any],
    eager: Callable[..., Any],
    exact: Callable[..., Any],
    tensors: list[torch.Tensor],
) -> tuple[float, float]:
    """The root mean square errors, ours and eager mode's, of all results together."""
    truths = _leaves(exact(*widened(copy.deepcopy(tensors))))
    ours, theirs = (
        sum(
            rmse(truth, made.double()).item()
            for truth, made in zip(truths, _leaves(f(*copy.deepcopy(tensors))), strict=True)
        )
        for f in (call, eager)
    )
    return ours, theirs


def _shuffled(tensors: list[torch.Tensor], seed: int) -> list[torch.Tensor]:
    """The tensors, the elements of those of floats in another order."""
    order = torch.Generator().manual_seed(seed)

    def shuffled(value: torch.Tensor) -> torch.Tensor:
        if not value.is_floating_point():
            return value
        places = torch.randperm(value.numel(), generator=order)
        return value.reshape(-1)[places].reshape(value.shape)

    return [shuffled(value) for value in tensors]


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
