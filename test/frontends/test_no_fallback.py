"""A function that is compiled computes nothing in torch, and what is not compiled is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.exc import BackendCompilerFailed, SkipFrame, exceptions_allowed_to_be_fallback
from torch.profiler import ProfilerActivity, profile

from lamina.frontends import dynamo

pytestmark = pytest.mark.usefixtures("inference")

READING = {
    "aten::_local_scalar_dense",
    "aten::item",
    "aten::as_strided",
    "aten::slice",
    "aten::clone",
    "aten::copy_",
    "aten::empty_strided",
    "aten::permute",
}
"""What cuts results to their size, copies the cut, in the order of dimensions that eager mode's has
in memory, and reads numbers of it."""


def positions_after_a_write(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    y.mul_(2)
    return torch.nonzero(y > 0)


def write_to_what_is_kept(x: torch.Tensor) -> torch.Tensor:
    y = x[x > 0]
    y.add_(1).mul_(y)
    return y


def write_beside(x: torch.Tensor) -> torch.Tensor:
    z = torch.zeros(3)
    z.add_(1)
    return x[x > 0].sum() + z


def write_to_an_argument(x: torch.Tensor) -> torch.Tensor:
    x.mul_(2)
    return torch.nonzero(x)


def masked_write(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y[y > 0] = 1
    y[:, 1:] += 1
    return y


def masked_select(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = torch.masked_select(x, x < 0)
    y.abs_()
    return y, torch.argwhere(x > 0).add_(1)


def unique(x: torch.Tensor) -> torch.Tensor:
    y = torch.unique(x.round())
    y += 1
    return y


@pytest.mark.parametrize(
    "function",
    [
        *(positions_after_a_write, write_to_what_is_kept, write_beside, write_to_an_argument),
        *(masked_write, masked_select, unique),
    ],
)
def test_sizes_that_depend_on_data_beside_writes(function: Callable[..., Any]) -> None:
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        optimized = torch.compile(function, backend="lamina", fullgraph=True)
        for seed in range(3):
            x = torch.randn(4, 5, generator=torch.Generator().manual_seed(seed))
            expected = function(x.clone())
            with profile(activities=[ProfilerActivity.CPU]) as events:
                actual = optimized(x)
            torch.testing.assert_close(actual, expected)
            ran = {event.name for event in events.events() or () if event.name[:6] == "aten::"}
            assert seed == 0 or ran <= READING, ran  # the first call compiles


@pytest.mark.parametrize("error", [*exceptions_allowed_to_be_fallback, SkipFrame])
def test_no_error_asks_for_eager_mode(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dynamo runs a frame in eager mode if a backend raises one of these."""

    def fail(*_: object) -> None:
        raise error(torch.ops.aten.nonzero.default)

    monkeypatch.setattr(dynamo, "refuse_overlaps", fail)
    with pytest.raises(BackendCompilerFailed, match=error.__name__):
        torch.compile(lambda x: x + 1, backend="lamina")(torch.ones(3))


def test_writes_between_views_sized_by_data_are_refused() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x[x > 0]
        y[1:].add_(y[:-1])
        return y

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        optimized = torch.compile(function, backend="lamina", fullgraph=True)
        with pytest.raises(BackendCompilerFailed, match=r"test_no_fallback\.py:\d+"):
            optimized(torch.ones(5))
