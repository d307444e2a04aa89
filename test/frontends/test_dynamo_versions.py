"""Calls of graphs with symbolic sizes: which version each runs, and by which way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from lamina.frontends import dynamo, dynamo_sizes
from lamina.runtime import size_versions

SIZES = (0, 1, 5, 7, 64, 1500, 5, 1500, 7, 0)
"""Of which those above 1,024 have a version of their own."""


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls of graphs that the test compiles."""
    calls: list[Any] = []
    kind = dynamo.SizedDynamoCall

    def collected(*args: Any) -> Any:
        calls.append(kind(*args))
        return calls[-1]

    monkeypatch.setattr(dynamo, "SizedDynamoCall", collected)
    return calls


def _graph(x: Any) -> Any:
    return x.exp() + x.sum(-1, keepdim=True)


def _compiled(function: Any, *first: Any, **options: Any) -> Any:
    compiled = torch.compile(function, backend="lamina", dynamic=True, options=options)
    with torch.no_grad():
        compiled(*first)
    return compiled


@pytest.mark.parametrize("function", [_graph, torch.nn.Linear(8, 8)], ids=["graph", "weights"])
def test_each_call_runs_a_version_for_its_sizes(made: list[Any], function: Any) -> None:
    compiled = _compiled(function, torch.randn(3, 8))
    assert len(made) == 1
    with torch.no_grad():
        for size in SIZES:
            # Memory goes on behind the argument, with what would be seen in any result.
            x = torch.full((size + 1, 8), torch.nan)[:size].copy_(torch.randn(size, 8))
            torch.testing.assert_close(compiled(x), function(x))
    # Torch has graphs of its own for 0 and 1.
    assert [v.calls for v in made[0].sizes] == [1 + 4 + 1, 2]


def test_calls_with_symbols_that_came_before_ask_nobody(
    made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    kind = dynamo_sizes.SizedDynamoCall
    look = kind._called

    def counted(self: Any, args: list[Any]) -> list[Any]:
        asked.append(len(args[-1]))
        return look(self, args)

    monkeypatch.setattr(kind, "_called", counted)
    compiled = _compiled(_graph, torch.randn(5, 8))
    with torch.no_grad():
        for size in (7, 7, 5, 9, 7):
            x = torch.randn(size, 8)
            torch.testing.assert_close(compiled(x), _graph(x))
    assert asked == [5, 7, 9]
    assert [version.calls for version in made[0].sizes] == [6]


def test_a_version_that_is_not_for_the_arguments_is_not_counted(made: list[Any]) -> None:
    compiled = _compiled(_graph, torch.randn(5, 8))
    (call,), x = made, torch.randn(5, 8)
    (symbols,) = call._runs
    _, counter = call._runs[symbols]
    before = counter.value

    def unfit(args: list[Any]) -> list[Any]:
        raise dynamo_sizes.OtherSizesError

    call._runs[symbols] = (unfit, counter)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), _graph(x))
        assert counter.value == before + 1
        assert call._runs[symbols][0] is not unfit


def test_versions_that_are_let_go_are_not_kept_for_calls(
    made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size_versions, "MOST_EXACT", 2)
    compiled = _compiled(_graph, torch.randn(3, 8), versions="exact")
    with torch.no_grad():
        for size in (4, 5, 6, 4, 3, 6):
            x = torch.randn(size, 8)
            torch.testing.assert_close(compiled(x), _graph(x))
    (call,) = made
    assert len(call.sizes) == 2
    kept = [version.native_calls for version in call.sizes]
    assert all(any(counter is one for one in kept) for _, counter in call._runs.values())


def test_threads_call_versions_side_by_side(made: list[Any]) -> None:
    compiled = _compiled(_graph, torch.randn(3, 8))
    inputs = [torch.randn(size, 8) for size in (5, 1500, 64, 2000)]

    def run(x: Any) -> Any:
        with torch.no_grad():
            return [compiled(x) for _ in range(50)]

    with ThreadPoolExecutor(2) as pool:
        for x, results in zip(inputs, pool.map(run, inputs), strict=True):
            for result in results:
                torch.testing.assert_close(result, _graph(x))


def _windows(x: Any) -> Any:
    height, width = x.shape
    x = x.view(height // 8, 8, width // 8, 8).transpose(1, 2)
    return x.softmax(-1).reshape(-1, 64).sum(1)


def test_a_version_has_room_for_what_its_graph_is_for(made: list[Any]) -> None:
    """Torch finds that an image has one line of windows, and keeps a guard of that: there is no
    room for more, nor for fewer."""
    compiled = _compiled(_windows, torch.randn(8, 24))
    for size in ((8, 24), (8, 32), (16, 32), (8, 16), (24, 48)):
        x = torch.randn(size)
        torch.testing.assert_close(compiled(x), _windows(x))
    ranges = [[n.range for n in call._versions.names.values()] for call in made]
    assert [(ranges[0][0].least, ranges[0][0].most), ranges[0][1].most] == [(8, 15), None]
    assert any(all(r.most is None for r in own) for own in ranges[1:])
