"""Arguments that a program writes to where they are."""

import ctypes

import numpy as np
import pytest
import torch
from torch.export import Dim

import lamina
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import parse

COUNTING = """func.func @main(%n: tensor<4xf32> {lamina.name = "n"}) -> () {
  %0 = aten.add_.Scalar(%n, 1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}"""


class Cached(torch.nn.Module):
    """Writes rows to a cache, counts, and gives what a buffer was."""

    cache: torch.Tensor
    count: torch.Tensor
    read: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, 3, 16, 8))
        self.register_buffer("count", torch.zeros(4))
        self.register_buffer("read", torch.arange(4.0))

    def forward(self, x: torch.Tensor, place: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.cache.index_copy_(2, place, x)
        self.count.add_(1)
        before = self.read.flip(0) * 3
        self.read.mul_(2).add_(place)
        return self.cache.sum(-1), before


def _example(place: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.full((1, 3, 1, 8), place + 0.5), torch.tensor([place])


def test_caches_and_counters_are_written_in_place_and_hold_what_eager_mode_has() -> None:
    eager = Cached()
    program = torch.export.export(Cached(), _example(0))
    compiled = lamina.compile(program)
    for place in (3, 7, 3):
        torch.testing.assert_close(compiled(*_example(place)), eager(*_example(place)))
        for name, value in eager.named_buffers():
            torch.testing.assert_close(program.state_dict[name], value)
    in_place = {s.target for s in compiled.native.slots if s.kind == "mutation" and s.in_place}
    assert {"cache", "count"} <= in_place
    assert compiled.memory.mutations <= 64  # room for the third at most


def test_interpreters_give_the_new_value_and_leave_the_given_array() -> None:
    n = np.arange(4, dtype=np.float32)
    compiled = lamina.compile(COUNTING)
    for layer in ("bufferized", "scheduled"):
        assert "lamina.in_place" in compiled.ir(layer)
        (made,) = run_module(parse(compiled.ir(layer)), [n])
        np.testing.assert_array_equal(made, n + 1)
    np.testing.assert_array_equal(n, np.arange(4))
    compiled(n)
    np.testing.assert_array_equal(n, np.arange(4) + 1)


def test_arrays_that_are_not_row_major_are_written_back() -> None:
    text = """func.func @main(%n: tensor<4x3xf32> {lamina.name = "n"}) -> () {
      %0 = aten.add_.Scalar(%n, 1) : (tensor<4x3xf32>) -> tensor<4x3xf32>
      func.return
    }"""
    compiled = lamina.compile(text)
    wide = np.zeros((3, 4), np.float32)
    compiled(wide.T)
    np.testing.assert_array_equal(wide, np.ones((3, 4)))
    fixed = np.zeros((4, 3), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(lamina.ArgumentError, match="read-only"):
        compiled(fixed)


def test_native_callers_find_the_new_value_in_the_argument() -> None:
    n = np.arange(4, dtype=np.float32)
    entry = lamina.compile(COUNTING).native
    table = entry.pointers()
    for number, slot in enumerate(entry.slots):
        if slot.kind == "input":
            table[number] = n.ctypes.data
        elif slot.kind == "mutation":
            assert slot.in_place and slot.size == 0
            assert not ctypes.cast(table[number], ctypes.c_void_p).value
    assert entry.function(table) == 0
    np.testing.assert_array_equal(n, np.arange(4) + 1)


class Biased(torch.nn.Module):
    """Adds to scores, and puts rows into a cache, whose new values are read as well."""

    def forward(
        self,
        x: torch.Tensor,
        bias: torch.Tensor,
        cache: torch.Tensor,
        new: torch.Tensor,
        place: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(batch, length, 17) scores and bias, (batch, length, 5) cache, two new rows of it."""
        x += bias
        cache.index_copy_(1, place, new)
        return x.softmax(-1), cache.sum(1)


def _scores(batch: int, length: int) -> tuple[torch.Tensor, ...]:
    x, bias, cache = (torch.randn(batch, length, n) for n in (17, 17, 5))
    return x, bias, cache, torch.randn(batch, 2, 5), torch.randperm(length)[:2]


def test_arguments_of_open_sizes_hold_what_eager_mode_has() -> None:
    torch.manual_seed(0)
    dims = {0: Dim("batch", min=1, max=64), 1: Dim("length", min=2, max=64)}
    of_all = (dims, dims, dims, {0: dims[0]}, None)
    program = torch.export.export(Biased(), _scores(3, 7), dynamic_shapes=of_all)
    compiled = lamina.compile(program, versions="padded")
    unlike = [torch.full_like(tensor, float("nan")) for tensor in _scores(64, 64)[:4]]
    compiled(*unlike, torch.tensor([1, 0]))  # what padding holds from now on
    for batch, length in ((3, 7), (1, 2), (64, 5), (7, 64), (2, 33)):
        given = _scores(batch, length)
        own = [tensor.clone() for tensor in given]
        torch.testing.assert_close(compiled(*own), Biased()(*given))
        torch.testing.assert_close(own, list(given))
    (version,) = compiled.sizes
    in_place = {s.target for s in version.compiled.native.slots if s.in_place}
    assert in_place == {"x", "cache"}
    assert not version.compiled.memory.mutations


def test_a_mean_of_what_has_been_written_is_of_the_new_value() -> None:
    def written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2).add_(y)
        return x.mean(1) + x.amax(0)

    compiled = torch.compile(written, backend="lamina", dynamic=False)
    x, y = torch.randn(37, 37), torch.randn(37, 37)
    own = x.clone()
    torch.testing.assert_close(compiled(own, y), written(x, y))
    torch.testing.assert_close(own, x)
