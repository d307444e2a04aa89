"""Memory of outputs, arenas and scratch: aligned, recycled, bounded, counted."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import lamina
from lamina.runtime.buffers import (
    ALIGNMENT,
    BLOCKS_PER_SIZE,
    HEADER_BYTES,
    SLOTS,
    AlignedMemory,
    block_layout,
    live_bytes,
    side_by_side,
)
from lamina.runtime.compiled import Compiled
from lamina.runtime.dispatch.native import output_memory

LARGE = 256 * 1024


@pytest.fixture(scope="module", autouse=True)
def nothing_of_other_tests() -> None:
    """What they left is not looked through by each collection here, which took 1 s each."""
    gc.collect()
    gc.freeze()


def negate(*shape: int, dtype: str = "f32") -> Compiled:
    kind = "tensor<" + "x".join([*map(str, shape), dtype]) + ">"
    text = f"""func.func @main(%x: {kind}) -> {kind} {{
  %y = prims.neg(%x) : ({kind}) -> {kind}
  func.return %y : {kind}
}}"""
    return lamina.compile(text)


def address(array: Any) -> int:
    return array.data_ptr() if isinstance(array, torch.Tensor) else array.ctypes.data


MAKERS: dict[str, Callable[..., Any]] = {"numpy": np.ones, "torch": torch.ones}


@pytest.fixture(params=sorted(MAKERS))
def array(request: pytest.FixtureRequest) -> Any:
    kind = np.float32 if request.param == "numpy" else torch.float32
    return MAKERS[request.param]((LARGE,), dtype=kind)


def test_blocks_are_aligned_whole_lines_and_little_larger_than_asked_for() -> None:
    for size in (1, 63, 64, 4097, 65536, 10**6, 10**8):
        total, alignment, count, lead = block_layout(size)
        assert total % alignment == 0 and alignment % ALIGNMENT == 0 and 0 < count <= SLOTS
        assert size + lead + HEADER_BYTES <= total <= size * 1.07 + max(256, 2 * alignment)
        memory = AlignedMemory(size)
        assert memory.address % ALIGNMENT == 0 and memory.size >= size


def test_aligned_memory_is_counted_while_it_lives() -> None:
    before = live_bytes()
    memory = AlignedMemory(1000)
    assert live_bytes() == before + 1024
    del memory
    assert live_bytes() == before


def test_memory_side_by_side_lives_as_long_as_one_of_its_parts() -> None:
    sizes, before = [3 << 20, 100, 1, 2 << 20], live_bytes()
    parts = side_by_side(sizes)
    ends = [part.address + size for part, size in zip(parts, sizes, strict=True)]
    assert all(part.address % ALIGNMENT == 0 for part in parts)
    assert all(end <= part.address for end, part in zip(ends, parts[1:], strict=False))
    assert parts[0].address % (1 << 21) == 0 and parts[3].address % 4096 == 0
    held = live_bytes() - before
    assert sum(sizes) <= held <= sum(sizes) + 4 * 4096
    last = parts.pop()
    del parts
    assert live_bytes() - before == held and last.size == sizes[3]
    del last
    assert live_bytes() == before


def test_small_memory_side_by_side_is_apart() -> None:
    before = live_bytes()
    one, other = side_by_side([1000, 2000])
    del one
    assert live_bytes() == before + 2048 and other.size == 2048


def test_outputs_are_aligned_and_recycled(array: Any) -> None:
    program = negate(LARGE)
    result = program(array)
    where = address(result)
    assert where % 4096 == 0
    del result
    assert address(program(array)) == where


VIEWS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda a: a[1:],
    "other shape": lambda a: a.reshape(2, -1)[:, ::2],
    "memoryview": lambda a: memoryview(a.numpy() if isinstance(a, torch.Tensor) else a),
    "tensor": lambda a: torch.as_tensor(a)[3:],
    "array": lambda a: np.asarray(a)[3:],
    "dlpack": lambda a: torch.from_dlpack(a),
}


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_memory_that_a_view_still_has_is_not_given_out(array: Any, view: str) -> None:
    program = negate(LARGE)
    result = program(array)
    where = address(result)
    kept = VIEWS[view](result)
    del result
    gc.collect()
    others = [program(array) for _ in range(3)]
    assert where not in {address(other) for other in others}
    assert float(np.asarray(kept).min()) == -1.0
    del kept
    assert where in {address(other) for other in [*others, program(array), program(array)]}


def test_few_unused_blocks_are_kept(array: Any) -> None:
    program = negate(LARGE + 64 * 1024)
    wide = array[:1].repeat(LARGE + 64 * 1024)
    before = output_memory()
    results = [program(wide) for _ in range(BLOCKS_PER_SIZE + 5)]
    assert len({address(result) for result in results}) == len(results)
    block = (output_memory().block_bytes - before.block_bytes) // len(results)
    results.clear()
    after = output_memory()
    assert after.kept_bytes - before.kept_bytes <= BLOCKS_PER_SIZE * block
    assert after.block_bytes - before.block_bytes <= BLOCKS_PER_SIZE * block


def test_outputs_may_die_on_other_threads(array: Any) -> None:
    program = negate(LARGE)
    wrong: list[float] = []

    def work() -> None:
        for _ in range(50):
            results = [program(array) for _ in range(3)]
            wrong.extend(float(r[0]) for r in results if float(r.min()) != -1.0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_steady_calls_allocate_no_memory(array: Any) -> None:
    program = softmax_of_two_products()
    x = array[: 64 * 128].reshape(64, 128)
    for _ in range(3):
        result = program(x)
    before, own = output_memory(), live_bytes()
    tracemalloc.start()
    for _ in range(100):
        result = program(x)
    traced = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert output_memory() == before and live_bytes() == own
    assert traced < 4096, "Python objects of one call at most"
    del result


def softmax_of_two_products() -> Compiled:
    """Two products and a softmax, with results of a size that NumPy does not recycle itself."""
    return lamina.compile(
        """func.func @main(%x: tensor<64x128xf32>,
    %w: tensor<128x512xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<64x512xf32> {
  %y = aten.mm.default(%x, %w) : (tensor<64x128xf32>, tensor<128x512xf32>) -> tensor<64x512xf32>
  %t = aten.t.default(%w) : (tensor<128x512xf32>) -> tensor<512x128xf32>
  %z = aten.mm.default(%y, %t) : (tensor<64x512xf32>, tensor<512x128xf32>) -> tensor<64x128xf32>
  %v = aten.mm.default(%z, %w) : (tensor<64x128xf32>, tensor<128x512xf32>) -> tensor<64x512xf32>
  %s = aten._softmax.default(%v, 1, false) : (tensor<64x512xf32>) -> tensor<64x512xf32>
  func.return %s : tensor<64x512xf32>
}""",
        constants={"w": np.ones((128, 512), np.float32)},
    )


def test_peak_memory_is_what_is_measured() -> None:
    """Two outputs, one from the other by way of the arena, with a bound weight."""
    text = """func.func @main(%x: tensor<128x512xf32>, %w: tensor<512x512xf32> {lamina.kind = "parameter", lamina.name = "w"})
    -> (tensor<128x512xf32>, tensor<512xf32>) {
  %y = aten.mm.default(%x, %w) : (tensor<128x512xf32>, tensor<512x512xf32>) -> tensor<128x512xf32>
  %c = aten.cumsum.default(%y, 0) : (tensor<128x512xf32>) -> tensor<128x512xf32>
  %s = aten.sum.dim_IntList(%c, [0]) : (tensor<128x512xf32>) -> tensor<512xf32>
  %e = aten.exp.default(%c) : (tensor<128x512xf32>) -> tensor<128x512xf32>
  func.return %e, %s : tensor<128x512xf32>, tensor<512xf32>
}"""  # noqa: E501
    weight, x = torch.ones(512, 512), torch.ones(128, 512)
    gc.collect()
    own, outputs = live_bytes(), output_memory()
    program = lamina.compile(text, constants={"w": weight})
    results = program(x)
    use = program.memory
    assert live_bytes() - own == use.own
    taken = output_memory()
    in_use = (taken.block_bytes - taken.kept_bytes) - (outputs.block_bytes - outputs.kept_bytes)
    assert 0 <= in_use - use.outputs <= 0.07 * use.outputs + 256 * len(results)
    assert program.peak_bytes == use.own + use.outputs + use.held
    assert use.held in (0, weight.nbytes), "a packed weight replaces the caller's"
    assert str(use).startswith(f"peak memory {use.peak} bytes: arena {use.arena}, outputs ")


def test_memory_goes_with_the_program() -> None:
    gc.collect()
    gc.disable()  # by reference counts alone
    try:
        before = live_bytes()
        program = softmax_of_two_products()
        assert live_bytes() > before
        del program
        assert live_bytes() == before
    finally:
        gc.enable()
