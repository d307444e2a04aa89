"""Arguments that a program writes to where they are."""

import ctypes

import numpy as np
import pytest
import torch

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
