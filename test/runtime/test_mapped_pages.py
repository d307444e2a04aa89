"""Memory that calls use in part is mapped: loads without lanes are slow where no page is."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys

import pytest

from lamina.runtime.buffers import AlignedMemory, map_to_be_read

PAGE = 4096

pytestmark = pytest.mark.skipif(
    platform.system() != "Linux"
    or tuple(int(n) for n in platform.release().split("-")[0].split(".")[:2]) < (5, 14),
    reason="systems before Linux 5.14 map no pages when they are asked",
)

PADDED = """
import ctypes
import numpy as np
import lamina

ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # no huge pages
compiled = lamina.compile('''
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<a>, #lamina.size<b>]})
    -> (tensor<?x?xf32> {lamina.dims = [#lamina.size<a>, #lamina.size<b>]}) {
  %0 = aten.cumsum.default(%x, 1) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}''', versions="padded")
x = np.ones((4100, 10), np.float32)
for _ in range(2):  # the first call is Python's
    assert (compiled(x) == np.arange(1, 11)).all()
rows, columns = compiled.sizes[-1].compiled.inputs[0].shape
wanted = rows * columns * 4 // 4096
assert wanted > 4100 * columns * 4 // 4096 + 1000  # more than what the call writes
most = 0
with open("/proc/self/maps") as regions, open("/proc/self/pagemap", "rb") as table:
    for line in regions:
        ends, _, _, _, inode, *_ = line.split()
        first, end = (int(at, 16) // 4096 for at in ends.split("-"))
        if inode == "0" and end - first >= wanted:
            table.seek(8 * first)
            there = np.frombuffer(table.read(8 * (end - first)), np.uint64) >> np.uint64(63)
            most = max(most, int(there.sum()))
print(most, wanted)
"""


def mapped(memory: AlignedMemory) -> int:
    """How many whole pages of a block are there, by the system's own table."""
    first = -(-memory.address // PAGE)
    pages = (memory.address + memory.size) // PAGE - first
    with open("/proc/self/pagemap", "rb") as table:
        table.seek(8 * first)
        entries = (ctypes.c_uint64 * pages).from_buffer_copy(table.read(8 * pages))
    return sum(entry >> 63 for entry in entries)


def test_all_pages_of_a_block_are_there() -> None:
    memory = AlignedMemory(1 << 26)  # malloc takes more than 32 MB from the system each time
    pages = (memory.size // PAGE) - 1
    assert mapped(memory) < pages  # what nobody has touched yet
    map_to_be_read(memory)
    assert mapped(memory) >= pages


def test_a_padded_copy_is_mapped_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PADDED], capture_output=True, text=True, check=True, timeout=280
    )
    most, wanted = map(int, done.stdout.split())
    assert most >= wanted
