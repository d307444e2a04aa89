"""Sizes that depend on data and have no bound, of programs of torch's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import lamina
from lamina.dialects.errors import ExecutionError

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.one_in(2)
T: Any = torch.tensor

Call = tuple[Any, ...]


class Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        generator = torch.Generator().manual_seed(0)
        self.w = torch.nn.Parameter(torch.randn(8, 3, generator=generator))

    def forward(self, *args: Any) -> Any:
        return self.function(self, *args)


def size(n: Any) -> Any:
    number = n.item()
    torch._check(number >= 0)
    return number


def zeros(self: Any, n: Any) -> Any:
    return torch.zeros(size(n), 8) @ self.w + 1


def arange(self: Any, n: Any, x: Any) -> Any:
    k = size(n)
    return torch.arange(k).float().sum() + x, torch.arange(k), torch.zeros(2 * k + 1)


def expand(self: Any, n: Any, x: Any) -> Any:
    return x[:1].expand(size(n), 8) @ self.w


def repeat(self: Any, n: Any, x: Any) -> Any:
    return x.repeat(size(n), 2) @ torch.cat([self.w, self.w])


def repeats(self: Any, r: Any, x: Any) -> Any:
    rows = torch.repeat_interleave(x, r, dim=0)
    return torch.softmax(rows @ self.w, -1), rows.sum(0), torch.repeat_interleave(r)


def one_repeat(self: Any, r: Any, x: Any) -> Any:
    return torch.repeat_interleave(x, r, dim=1)


def several(self: Any, n: Any, m: Any) -> Any:
    first, second = torch.ones(size(n), 8), torch.ones(size(m), 8) * 2
    return torch.cat([first, second]) @ self.w


def counts(self: Any, i: Any, x: Any) -> Any:
    return torch.bincount(i), torch.bincount(i, x, minlength=5)


def counts_of_some(self: Any, i: Any) -> Any:
    return torch.bincount(i[i > 1])


def after_a_mask(self: Any, x: Any) -> Any:
    rows = x[x.sum(1) > 0]
    return torch.repeat_interleave(rows, (rows[:, 0] > 0).long() + 1, dim=0) @ self.w


def most(self: Any, n: Any, x: Any) -> Any:
    k = size(n)
    torch._check(k <= x.shape[1])
    return torch.topk(x, k, dim=1, largest=False)


def windows(self: Any, x: Any) -> Any:
    return torch.nonzero(x > 0).unfold(0, 2, 1)


WIDE = torch.randn(3, 16, generator=torch.Generator().manual_seed(1))[:, ::2]
PROGRAMS: dict[str, tuple[Callable[..., Any], list[Call]]] = {
    "zeros": (zeros, [(T(n),) for n in (3, 0, 1, 70)]),
    "arange": (arange, [(T(n), torch.ones(2)) for n in (3, 0, 1, 100)]),
    "expand": (expand, [(T(n), WIDE) for n in (3, 0, 1, 65)]),
    "repeat": (repeat, [(T(n), WIDE) for n in (3, 0, 1, 30)]),
    "repeats": (repeats, [(T(r), WIDE) for r in ([1, 2, 3], [0, 0, 0], [50, 0, 30])]),
    "one repeat": (one_repeat, [(T([n]), WIDE) for n in (2, 0, 1)]),
    "several": (several, [(T(n), T(m)) for n, m in ((3, 2), (0, 0), (1, 70), (64, 1))]),
    "counts": (
        counts,
        [(T(i), WIDE[0, :3]) for i in ([1, 2, 70_000], [0, 0, 0], [3, 1, 3])],
    ),
    "counts of some": (counts_of_some, [(T(i),) for i in ([1, 2, 9], [0, 0, 0], [2, 2, 5])]),
    "after a mask": (after_a_mask, [(WIDE,), (-WIDE,), (torch.zeros(3, 8),)]),
    "most": (most, [(T(k), WIDE) for k in (3, 0, 8, 1)]),
    "windows": (windows, [(T([1, 2, 0, 3]),), (T([1, 2, 4, 3]),), (T([0, 0, 1, 3]),)]),
}


def check(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_exported_programs(name: str) -> None:
    function, calls = PROGRAMS[name]
    module = Module(function).eval()
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(module, calls[0]))
        for call in calls:
            check(compiled(*call), module(*call))


@pytest.fixture
def captured() -> Iterator[None]:
    """Dynamo's graphs have such ops, and numbers that are read off tensors."""
    config: Any = torch._dynamo.config
    torch._dynamo.reset()
    with config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        yield
    torch._dynamo.reset()


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_torch_compile(name: str, dynamic: bool | None, captured: None) -> None:
    function, calls = PROGRAMS[name]
    module = Module(function).eval()
    compiled = torch.compile(module, backend="lamina", dynamic=dynamic, fullgraph=True)
    with torch.no_grad():
        for call in calls:
            check(compiled(*call), module(*call))


def test_graphs_with_both_kinds_of_sizes(captured: None) -> None:
    def function(x: Any, r: Any) -> Any:
        return torch.repeat_interleave(x, r, dim=0) @ weight, torch.nonzero(x[:, 0])

    weight = torch.randn(8, 3)
    compiled = torch.compile(function, backend="lamina", dynamic=True, fullgraph=True)
    before = lamina.compile_count()
    with torch.no_grad():
        for rows in (3, 4, 9, 5, 17):
            x, r = torch.randn(rows, 8), torch.arange(rows) % 3
            check(compiled(x, r), function(x, r))
    assert lamina.compile_count() <= before + 6


def test_numbers_that_are_sizes_are_one_compilation(captured: None) -> None:
    def function(n: int, x: Any) -> Any:
        return torch.zeros(n, 8) @ weight + x

    weight, x = torch.randn(8, 3), torch.ones(3)
    compiled = torch.compile(function, backend="lamina", dynamic=True, fullgraph=True)
    with torch.no_grad():
        check(compiled(5, x), function(5, x))
        before = lamina.compile_count()
        for n in (7, 9, 30, 2, 64):
            check(compiled(n, x), function(n, x))
        assert lamina.compile_count() <= before + 1


def test_arguments_are_written(captured: None) -> None:
    def function(x: Any, n: Any) -> Any:
        x.add_(torch.ones(n.item(), 2).sum())
        return x * 2

    compiled = torch.compile(function, backend="lamina", fullgraph=True)
    with torch.no_grad():
        for n in (3, 2):
            x = torch.zeros(2, 4).T[1:3]
            check(compiled(x, T([n])), torch.full((2, 2), 4.0 * n))
            check(x, torch.full((2, 2), 2.0 * n))


def test_open_sizes_beside_those_of_data() -> None:
    def function(self: Any, x: Any, n: Any) -> Any:
        return torch.cat([x, torch.zeros(size(n), 8)]) @ self.w

    module = Module(function).eval()
    shapes: Any = {"args": ({0: torch.export.Dim.DYNAMIC}, None)}
    with torch.no_grad():
        program = torch.export.export(module, (torch.randn(2, 8), T(3)), dynamic_shapes=shapes)
        compiled = lamina.compile(program)
        for rows, n in ((2, 3), (5, 0), (50, 100), (3, 1)):
            x = torch.randn(rows, 8)
            check(compiled(x, T(n)), module(x, T(n)))
    assert len(compiled.sizes) == 1


def test_what_data_must_not_say() -> None:
    module = Module(repeats).eval()
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(module, (T([1, 2, 3]), WIDE)))
        with pytest.raises(ExecutionError, match="a number of repeats is negative"):
            compiled(T([1, -2, 3]), WIDE)
        with pytest.raises(ExecutionError, match=r"item.default .* is -1: 'u0' is in \[0, \?\]"):
            compiled(T([1, -2, 0]), WIDE)
