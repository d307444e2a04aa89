"""Where code is loaded, and what stays of programs that are dropped: nothing, however many."""

import subprocess
import sys

import pytest

SCRIPT = """
import gc, sys
import numpy as np
import lamina
from lamina.runtime.arguments import FlatStructure
from lamina.runtime.buffers import live_bytes
from lamina.runtime.compile import as_target, native_program
from lamina.runtime.compiled import Compiled
from lamina.runtime.layers import parse

TEXT = '''func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<64x64xf32> {
  %0 = aten.mm.default(%x, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = aten.softmax.int(%0, dim = 0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %1 : tensor<64x64xf32>
}'''
SIZED = TEXT.replace(
    "%x: tensor<64x64xf32>", "%x: tensor<?x64xf32> {lamina.dims = [#lamina.size<b in [1, 512]>]}"
).replace("(tensor<64x64xf32>, ", "(tensor<?x64xf32>, ").replace(
    "-> tensor<64x64xf32>", "-> tensor<?x64xf32>"
).replace(": (tensor<64x64xf32>) ", ": (tensor<?x64xf32>) ").replace(
    "return %1 : tensor<64x", "return %1 : tensor<?x"
).replace("dim = 0", "dim = 1")
x = np.ones((64, 64), np.float32)
machine = as_target(None)
module = parse(TEXT)

def resident():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("Rss:"))

def once(how):
    if how == "compile":
        lamina.compile(TEXT, constants={"w": x})(x)
    elif how == "sized":
        compiled = lamina.compile(SIZED, constants={"w": x})
        for batch in (3, 9, 17):
            compiled(x[:batch])
        assert len(compiled.sizes) == 2
    else:
        program = native_program(module, machine, cache=True)
        Compiled(program, {"w": x}, FlatStructure(["x"]), str)(x)

how, loads = sys.argv[1], int(sys.argv[2])
for _ in range(min(loads, 100) // (3 if how == "sized" else 1)):
    once(how)
gc.collect()
before, memory = resident(), live_bytes()
for _ in range(loads):
    once(how)
gc.collect()
print(resident() - before, live_bytes() - memory)
"""  # noqa: E501 - an argument on one line


def growth(how: str, loads: int) -> tuple[int, int]:
    """Bytes that a process grows by in so many loads, and those of arenas and constants."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, how, str(loads)],
        capture_output=True,
        text=True,
        timeout=1800,
        check=True,
    )
    resident, memory = map(int, done.stdout.split())
    return resident, memory


def test_dropped_programs_leave_nothing() -> None:
    resident, memory = growth("load", 200)
    assert memory == 0
    assert resident < 1 << 20  # at 9 KB a program it was 1.8 MB


def test_dropped_versions_leave_nothing() -> None:
    resident, memory = growth("sized", 50)
    assert memory == 0
    assert resident < 4 << 20  # of 100 versions


@pytest.mark.long
@pytest.mark.parametrize("how", ["load", "compile"])
def test_ten_thousand_dropped_programs_leave_nothing(how: str) -> None:
    resident, memory = growth(how, 10000)
    assert memory == 0
    assert resident < 5_000_000


IN_PIECES = """
import ctypes, mmap
import numpy as np
import lamina

TEXT = '''func.func @main(%x: tensor<8x300xf32>) -> tensor<8x300xf32> {
  %0 = aten.softmax.int(%x, dim = 1) : (tensor<8x300xf32>) -> tensor<8x300xf32>
  %1 = aten.erf.default(%0) : (tensor<8x300xf32>) -> tensor<8x300xf32>
  func.return %1 : tensor<8x300xf32>
}'''
x = np.ones((8, 300), np.float32)
wanted = lamina.compile(TEXT)(x)

library = ctypes.CDLL(None)
library.mmap.restype = ctypes.c_void_p
library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
NOBODYS = 0x4022  # private, anonymous, without reserve

def taken(size, at=None):
    return library.mmap(at, size, 0, NOBODYS | (0x10 if at else 0), -1, 0)

SPAN = 8 << 30
base = taken(SPAN)
for pages in (1 << k for k in range(14, -1, -1)):  # nothing is free above
    while (place := taken(pages * mmap.PAGESIZE)) > base:
        pass
    library.munmap(place, pages * mmap.PAGESIZE)
hole = base + SPAN - (2 << 20)
for pages in range(1, 24):
    library.munmap(hole, pages * mmap.PAGESIZE)
    assert np.array_equal(lamina.compile(TEXT)(x), wanted)
    taken(pages * mmap.PAGESIZE, hole)
print("loaded")
"""


def test_code_loads_where_little_room_is_left_between_what_is_mapped() -> None:
    """A hole for one section, and memory for another 8 GB below: LLVM ended the process."""
    done = subprocess.run(
        [sys.executable, "-c", IN_PIECES], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stdout.strip() == "loaded", (done.returncode, done.stderr[-600:])
