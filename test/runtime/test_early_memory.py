"""Memory for prepared constants, whose pages are found while the compiler works."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime import bind, early_memory
from lamina.runtime.buffers import AlignedMemory, live_bytes, touch
from lamina.runtime.early_memory import EarlyMemory

PROGRAM = """
func.func @main(
  %x: tensor<4x1024xf32>,
  %w: tensor<1024x1100xf32> {lamina.kind = "parameter", lamina.name = "w"}
) -> tensor<4x1100xf32> {
  %0 = aten.mm.default(%x, %w) : (tensor<4x1024xf32>, tensor<1024x1100xf32>) -> tensor<4x1100xf32>
  return %0 : tensor<4x1100xf32>
}
"""


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, list[int]]]:
    """What programs were given to put parts into, and where these are."""
    found: list[tuple[Any, list[int]]] = []
    side_by_side = bind.side_by_side

    def noted(sizes: list[int], what: str, room: AlignedMemory | None) -> Any:
        parts = side_by_side(sizes, what, room)
        found.append((room, [part.address for part in parts]))
        return parts

    monkeypatch.setattr(bind, "side_by_side", noted)
    return found


def arrays() -> tuple[np.ndarray, np.ndarray]:
    numbers = np.random.default_rng(0)
    x = numbers.standard_normal((4, 1024), np.float32)
    return x, numbers.standard_normal((1024, 1100), np.float32)


def fused() -> ModuleOp:
    module = lamina.parse(PROGRAM)
    run_pipeline(module, pipeline(stop="fused"), lamina.Context())
    return module


def test_packed_weights_are_put_there(
    rooms: list[tuple[Any, list[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early_memory, "LEAST_BYTES", 1 << 22)
    x, w = arrays()
    gc.collect()  # programs of other tests
    before = live_bytes()
    compiled = lamina.compile(PROGRAM, constants={"w": w}, cache=False)
    wanted = x.astype(np.float64) @ w
    np.testing.assert_allclose(compiled(x), wanted, rtol=1e-6, atol=1e-4)
    ((room, addresses),) = rooms
    assert addresses[0] == room.address and room.size >= w.nbytes
    assert compiled.program.early is not None and compiled.program.early.take() is None
    assert live_bytes() - before < 2 * w.nbytes
    room = None
    rooms.clear()
    del compiled
    gc.collect()
    assert live_bytes() == before


def test_small_programs_begin_no_thread(rooms: list[tuple[Any, list[int]]]) -> None:
    _, w = arrays()
    assert w.nbytes < early_memory.LEAST_BYTES
    lamina.compile(PROGRAM, constants={"w": w}, cache=False)
    assert [room for room, _ in rooms] == [None]


def test_what_others_have_made_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early_memory, "LEAST_BYTES", 1 << 22)
    module = fused()
    with EarlyMemory(lambda recipe: False) as early:
        early.begin(module, {})
    assert early.take() is None
    with EarlyMemory(lambda recipe: True) as early:
        early.begin(module, {})
    assert early.take() is not None


def test_memory_of_a_compilation_that_fails_is_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(early_memory, "LEAST_BYTES", 1 << 22)
    module = fused()
    gc.collect()
    before = live_bytes()
    with pytest.raises(RuntimeError, match="late"), EarlyMemory(lambda recipe: True) as early:
        early.begin(module, {})
        assert live_bytes() > before
        raise RuntimeError("late")
    del early
    assert live_bytes() == before


def test_pages_are_zeros_once_they_are_touched_up_to_the_end_of_the_block() -> None:
    memory = AlignedMemory(3 << 20)
    ctypes.memset(memory.address, 7, memory.size)
    touch(memory, 2 << 20, 1 << 30)
    assert ctypes.string_at(memory.address, memory.size) == b"\7" * (2 << 20) + bytes(1 << 20)
    touch(memory, 4 << 20, 1 << 20)  # nothing is behind it
    assert ctypes.string_at(memory.address, 1) == b"\7"
