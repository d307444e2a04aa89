"""`torch.compile(backend="lamina")` and memory: shared results, as_strided, results that grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.exc import BackendCompilerFailed

from lamina.dialects.errors import ArgumentError
from lamina.frontends.dynamo_call import DynamoCall

pytestmark = pytest.mark.usefixtures("inference")


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(function, backend="lamina")


def check(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> None:
    """Results and arguments are eager mode's, in a first and in a second call."""
    optimized = compiled(function)
    for _ in range(2):
        expected_args, args = make(), make()
        for expected, arg in zip(expected_args, args, strict=True):
            arg.copy_(expected)
        expected, actual = function(*expected_args), optimized(*args)
        torch.testing.assert_close(actual, expected)
        torch.testing.assert_close(args, expected_args)


def storages(results: Any) -> list[int]:
    """The number of each result's storage, in order of appearance."""
    pointers = [result.untyped_storage().data_ptr() for result in results]
    return [list(dict.fromkeys(pointers)).index(pointer) for pointer in pointers]


def steps(x: torch.Tensor) -> list[int]:
    """Strides, but those of one element, which lead nowhere."""
    return [step for step, extent in zip(x.stride(), x.shape, strict=True) if extent != 1]


def views(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x + 1
    return y.t(), y, y[0], x * 2, y.detach(), y.unbind(1)[2], y.diagonal(), y[1:].flatten()


def views_of_no_result(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = (x.t() * 2).expand(2, 4, 3)
    return y[0, 1:], x.exp(), y, y[1].t()


def views_after_a_write(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x + 1
    z = y.t()
    z.mul_(3)
    y[0].add_(1)
    return z, y


def views_with_other_numbers(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    z = torch.complex(x, x + 1)
    bits = x * 2
    pairs = torch.stack([x, x], -1)
    return (
        *(z, z.conj(), torch.view_as_real(z), z.imag, z.conj().imag),
        *(bits, bits.view(torch.int32), bits.view(torch.uint8)),
        *(pairs, torch.view_as_complex(pairs)),
    )


def views_in_channels_last(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.view(1, 3, 2, 2).to(memory_format=torch.channels_last) + 1
    return y, y[:, :, 0], y.permute(0, 2, 3, 1).view(-1)


@pytest.mark.parametrize(
    "function",
    [
        views,
        views_of_no_result,
        views_after_a_write,
        views_with_other_numbers,
        views_in_channels_last,
    ],
)
def test_results_that_are_views_of_each_other(function: Callable[..., Any]) -> None:
    x = torch.randn(3, 4)
    optimized = compiled(function)
    for _ in range(2):
        expected, actual = function(x), optimized(x)
        torch.testing.assert_close(actual, expected)
        assert storages(actual) == storages(expected)
        groups = storages(expected)
        for group, *layouts in zip(groups, actual, expected, strict=True):
            if groups.count(group) > 1:
                first, second = ((t.stride(), t.storage_offset()) for t in layouts)
                assert first == second
        for result in (*expected, *actual):
            if not result.is_inference() and 0 not in result.stride():
                result.mul_(2)
        torch.testing.assert_close(actual, expected)


def test_views_of_arguments_are_left_to_torch() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x.mul_(2)
        return x.t(), x, x[1:], x + 1

    x = torch.randn(3, 4)
    expected = x.clone()
    first, second, third, fourth = compiled(function)(x)
    torch.testing.assert_close((first, second, third, fourth), function(expected))
    first.zero_()
    assert second is x and not x.any() and not third.any()


def test_writes_through_views_after_a_graph_break() -> None:
    def transposed(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        z = y.t()
        torch._dynamo.graph_break()
        z.add_(10)
        return y

    def chosen(x: torch.Tensor) -> torch.Tensor:
        y = x * 1
        row = y[0]
        if row.sum() > -100:
            row.zero_()
        return y

    def out(x: torch.Tensor) -> torch.Tensor:
        result = torch.empty(3, 3)
        torch.add(x, x, out=result.t())
        return result

    for function in (transposed, chosen, out):
        check(function, lambda: (torch.randn(3, 3),))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.t() + 1,
        lambda x: (x + 1).view(1, 3, 2, 2).to(memory_format=torch.channels_last) * 2,
        lambda x: (x + 1)[:, ::2],
        lambda x: (x + 1)[1:, 1:].t(),
        lambda x: (x[0] + 1).expand(3, 4),
        lambda x: (x + 1).unfold(1, 3, 1),
        lambda x: torch.complex(x, x).t().conj(),
        lambda x: torch.complex(x, x).imag,
    ],
)
def test_results_have_the_strides_of_eager_mode(function: Callable[..., Any]) -> None:
    x = torch.randn(3, 4)
    optimized = compiled(function)
    for _ in range(2):
        actual, expected = optimized(x), function(x)
        torch.testing.assert_close(actual, expected)
        assert actual.stride() == expected.stride()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.transpose(0, 2) + 1,
        lambda x: x.unsqueeze(1).contiguous(memory_format=torch.channels_last) * 2,
        lambda x: (x + 1).view(-1)[::2],
        lambda x: torch.complex(x, x).permute(1, 2, 0).conj(),
        lambda x: x[:, None].permute(3, 1, 0, 2).exp(),
        lambda x: (x + 1).view(x.shape[0], 2, -1, x.shape[2]).transpose(1, 2),
    ],
)
def test_results_of_open_sizes_have_the_strides_of_eager_mode(
    function: Callable[..., Any],
) -> None:
    torch._dynamo.reset()
    optimized = torch.compile(function, backend="lamina", dynamic=True, fullgraph=True)
    for shape in ((3, 4, 5), (6, 2, 7), (4, 4, 4), (5, 10, 3)):
        x = torch.randn(shape)
        actual, expected = optimized(x), function(x)
        torch.testing.assert_close(actual, expected)
        assert steps(actual) == steps(expected)


def test_what_reshape_copies_of_open_sizes_after_a_graph_break() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = (x + 1).t()
        torch._dynamo.graph_break()
        y.reshape(-1).zero_()
        return y

    torch._dynamo.reset()
    optimized = torch.compile(function, backend="lamina", dynamic=True)
    for shape in ((3, 4), (6, 2)):
        x = torch.randn(shape)
        torch.testing.assert_close(optimized(x), function(x))


def test_what_reshape_copies_after_a_graph_break() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = (x + 1).t()
        torch._dynamo.graph_break()
        y.reshape(-1).zero_()
        return y

    def resized(x: torch.Tensor) -> torch.Tensor:
        y = (x + 1).t()
        y.resize_(2, 2)
        return y

    check(function, lambda: (torch.randn(3, 4),))
    check(resized, lambda: (torch.randn(3, 4),))


def test_shared_results_whose_size_depends_on_data() -> None:
    def same(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        kept = x[x > 0]
        return kept.detach(), kept, kept.unsqueeze(0)

    def another(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        kept = x[x > 0]
        return kept, kept.unsqueeze(1).expand(kept.shape[0], 2)

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        x = torch.randn(20)
        actual, expected = compiled(same)(x), same(x)
        torch.testing.assert_close(actual, expected)
        actual[0].zero_()
        assert not actual[1].any() and not actual[2].any()
        with pytest.raises(BackendCompilerFailed, match="results share memory, and how depends"):
            compiled(another)(x)


def test_results_apart_take_the_native_path() -> None:
    calls: list[Any] = []

    def record(graph: Any, inputs: Any) -> Any:
        from torch._dynamo.backends.registry import lookup_backend

        return lookup_backend("lamina")(graph, inputs)

    function = torch.compile(lambda x: (x + 1, x.sum(0) * 2), backend=record)
    x = torch.randn(3, 4)
    original = DynamoCall.__call__

    def counted(self: DynamoCall, args: list[Any]) -> list[Any]:
        calls.append(self)
        return original(self, args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DynamoCall, "__call__", counted)
        for _ in range(3):
            function(x)
    assert len(calls) == 1  # the first one binds


PERMUTED = torch.arange(24.0).view(2, 3, 4).permute(2, 0, 1)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: (x + 1).as_strided((24,), (1,)), PERMUTED),
        (lambda x: (x * 1).as_strided((4, 2, 3), (1, 12, 4)), PERMUTED),
        (lambda x: x.as_strided((5,), (3,), 2), PERMUTED),
        (lambda x: (x + 1)[1:, :, 1].as_strided((3, 2), (4, 1)), PERMUTED),
        (lambda x: (x + 1)[1:, :, 1].as_strided((3, 2), (4, 1), 6), PERMUTED),
        (lambda x: (x + 1).expand(3, 12).as_strided((4, 3), (2, 2)), torch.arange(12.0)),
        (lambda x: x.as_strided((2,), (1,), 3), torch.arange(12.0)[2:8]),
        (lambda x: x.as_strided((3,), (2,), 3) + 1, torch.arange(12.0)[2:8]),
        (lambda x: x.as_strided((3,), (2,)), torch.arange(12.0)[2:8]),
        (lambda x: x.clone().as_strided_scatter(torch.ones(5), (5,), (2,)), PERMUTED),
    ],
)
def test_as_strided_reads_memory_in_its_order(
    function: Callable[..., Any], x: torch.Tensor
) -> None:
    torch.testing.assert_close(compiled(function)(x), function(x))


def test_writes_through_as_strided() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x.as_strided((3,), (4,), 1).mul_(10)
        y = x + 1
        y.as_strided((2, 3), (12, 1), 3).zero_()
        return y, y.as_strided((24,), (1,))

    check(function, lambda: (torch.randn(2, 3, 4).permute(2, 0, 1),))


def test_as_strided_beyond_the_tensor_is_refused() -> None:
    whole = torch.arange(12.0)
    with pytest.raises(BackendCompilerFailed, match="reaches beyond the tensor"):
        compiled(lambda x: x.as_strided((2,), (1,), 0) + 1)(whole[2:8])
    with pytest.raises(BackendCompilerFailed, match="not just the elements of a tensor"):
        compiled(lambda x: x.as_strided((2,), (1,)) + 1)(whole[::2])
    with pytest.raises(BackendCompilerFailed, match="as other numbers than were written"):
        compiled(lambda x: x.view(torch.int32).as_strided((2,), (1,)) + 1)(whole)


def test_a_start_that_was_compiled_is_checked() -> None:
    function = compiled(lambda x: x.as_strided((2,), (1,), 3) + 1)
    whole = torch.arange(12.0)
    assert function(whole[2:8]).tolist() == [4.0, 5.0]
    with pytest.raises(ArgumentError, match="begins at element 1 of its memory, and at 2 when"):
        function(whole[1:7])


def test_arguments_that_share_memory() -> None:
    def transposed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        y.mul_(2)
        return x + y

    def row(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x[2] = y * 2
        y += 1
        return x

    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x.add_(1)
        y.mul_(2)
        return x.sum(), y.sum()

    for function, split in (
        (transposed, lambda t: (t, t.t())),
        (row, lambda t: (t, t[2])),
        (both, lambda t: (t[:3], t[2:])),
    ):
        torch._dynamo.reset()
        whole = torch.randn(4, 4)
        expected = whole.clone()
        actual = compiled(function)(*split(whole))
        torch.testing.assert_close(actual, function(*split(expected)))
        torch.testing.assert_close(whole, expected)


def test_results_without_elements_may_grow() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        result = torch.empty(0)
        torch.mul(x, 2, out=result)
        return result

    check(function, lambda: (torch.ones(3),))
    result, other = compiled(lambda x: (x[:0] + 1, x + 1))(torch.ones(3))
    assert result.resize_(5).shape == (5,) and other.tolist() == [2.0] * 3


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.expand(2, 4).fill_(3),
        lambda x: x.expand(2, 4).masked_fill_(x.expand(2, 4) > 0, 1),
        lambda x: x.expand(2, 4).__setitem__((slice(None), torch.tensor([1])), 5.0),
        lambda x: x[None].broadcast_to(3, 4)[1:].zero_(),
    ],
)
def test_writes_through_expanded_views_are_refused(write: Callable[..., Any]) -> None:
    """AOTAutograd adds up what is written to the places of one element."""

    def program(x: Any) -> Any:
        write(x)
        return x + 0

    torch._dynamo.reset()
    with pytest.raises(Exception, match="whose elements share memory"):
        torch.compile(program, backend="lamina")(torch.arange(4.0))


def writes_through_expands(x: torch.Tensor) -> torch.Tensor:
    first = x.expand(1, *x.shape)
    torch.add(first, 1, out=first)
    second = torch.Tensor.expand_as(x[None], first[None])
    second.mul_(2)
    return first.select(0, 0) + 1


def test_writes_through_expands_that_repeat_nothing() -> None:
    """AOTAutograd would make NaN of the infinities: it adds what a write changed."""
    special = [float("inf"), -float("inf"), 1.0, 1e38, 5.0, -0.0]
    check(writes_through_expands, lambda: (torch.tensor(special).view(2, 3),))
    check(writes_through_expands, lambda: (torch.tensor(special).view(3, 2).t(),))
