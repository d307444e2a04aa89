"""`torch.compile(backend="lamina")`: arguments that share memory, of which some are written."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch._dynamo.exc import BackendCompilerFailed

pytestmark = [pytest.mark.usefixtures("inference"), pytest.mark.one_in(2)]

Pair = Callable[[Tensor], tuple[Tensor, Tensor]]

PAIRS: dict[str, Pair] = {
    "one tensor": lambda b: (b, b),
    "transposed": lambda b: (b[:6], b[:6].t()),
    "some rows": lambda b: (b[:5], b[2:7]),
    "every second element": lambda b: (b.view(-1)[::2], b.view(-1)[1::2]),
    "a row": lambda b: (b, b[3]),
    "other sizes": lambda b: (b.unflatten(0, (2, 4)), b.view(-1)[::2]),
    "apart": lambda b: (b[:4], b[4:]),
}


def written(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    """Not views made here of either: torch replays their own ops on the base, and fails."""
    return x.add_(1), y.mul_(2), x * 1, y * 1


def first_written(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    x.add_(1)
    return x.sum(), y


def check(function: Callable[..., tuple[Tensor, ...]], pair: Pair, optimized: Callable) -> None:
    whole = torch.arange(48.0).view(8, 6)
    other = whole.clone()
    expected, actual = function(*pair(whole)), optimized(*pair(other))
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(other, whole)
    for one, another in zip(expected, actual, strict=True):
        is_view = one.untyped_storage().data_ptr() == whole.data_ptr()
        assert (another.untyped_storage().data_ptr() == other.data_ptr()) == is_view


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("function", [written, first_written])
def test_results_are_views_of_shared_arguments(
    function: Callable[..., tuple[Tensor, ...]], name: str, dynamic: bool
) -> None:
    torch._dynamo.reset()
    optimized = torch.compile(function, backend="lamina", dynamic=dynamic)
    for _ in range(2):
        check(function, PAIRS[name], optimized)


def test_arguments_that_share_memory_in_later_calls() -> None:
    """The graph for other overlaps has symbolic sizes, the base's among them."""
    torch._dynamo.reset()
    optimized = torch.compile(written, backend="lamina")
    for name in ("apart", "some rows", "one tensor", "some rows"):
        check(written, PAIRS[name], optimized)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x[:2].mul_(2),
        lambda x: x.index_add_(0, torch.tensor([0, 1]), torch.ones(2, 6)),
        lambda x: torch.relu_(x.t()),
    ],
)
def test_writes_to_overlapping_elements_are_refused(write: Callable[[Tensor], Tensor]) -> None:
    windows = torch.arange(48.0).as_strided((4, 6), (3, 1))
    torch._dynamo.reset()
    with pytest.raises(BackendCompilerFailed, match="elements share memory"):
        torch.compile(lambda x: (write(x), x.sum())[1], backend="lamina")(windows)


def test_writes_to_interleaved_elements() -> None:
    """Strides of which one begins where another has not ended, and no two elements at one place."""

    def function(x: Tensor) -> Tensor:
        return x.add_(1).sum()

    torch._dynamo.reset()
    whole, other = torch.arange(8.0), torch.arange(8.0)
    expected = function(whole.as_strided((2, 3), (3, 2)))  # 0, 2, 4 and 3, 5, 7
    actual = torch.compile(function, backend="lamina")(other.as_strided((2, 3), (3, 2)))
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(other, whole)
