"""Loops of which the threads of a team take some iterations at a time (`lamina.chunk`)."""

import os
from collections.abc import Callable

import numpy as np
import pytest

from lamina.codegen import jit
from lamina.codegen.llvm_emitter import EmitOptions
from lamina.codegen.target import Target
from lamina.dialects.errors import UnsupportedError

Program = Callable[..., None]

SLOW = """
func.func private @slow(%by: memref<64xi64>, %rounds: memref<64xi64>) attributes {lamina.kernel} {
  %me = loop.thread : index
  %thread = arith.index_cast %me : index to i64
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %31 = arith.constant 31 : index
  %64 = arith.constant 64 : index
  %none = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %most = arith.constant 10000000000 : i64
  "scf.parallel"(%0, %64, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %thread, %by[%i] : memref<64xi64>
    %is_first = arith.cmpi eq, %i, %0 : index
    %end = arith.select %is_first, %most, %one : i64
    "scf.while"() ({
      %last = memref.load %by[%31] : memref<64xi64>
      %nobody = arith.cmpi slt, %last, %none : i64
      %waited = memref.load %rounds[%i] : memref<64xi64>
      %is_left = arith.cmpi slt, %waited, %end : i64
      %waits = arith.andi %nobody, %is_left : i1
      scf.condition(%waits)
    }, {
      %n = memref.load %rounds[%i] : memref<64xi64>
      %next = arith.addi %n, %one : i64
      memref.store %next, %rounds[%i] : memref<64xi64>
      scf.yield
    }) : () -> ()
    scf.reduce
  }) {lamina.chunk = 1 : i64} : (index, index, index) -> ()
  func.return
}
func.func @main(%by: memref<64xi64>, %rounds: memref<64xi64>) attributes {lamina.entry} {
  loop.team {
    func.call @slow(%by, %rounds) : (memref<64xi64>, memref<64xi64>) -> ()
  }
  func.return
}
"""


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 63, 64])
def test_chunks_cover_each_iteration_once(build: Callable[[str], Program], limit: int) -> None:
    count, by, other = (np.zeros(64, np.int64) for _ in range(3))
    build("chunked_loops")("main", np.array([limit]), count, by, other)
    expected = np.zeros(64, np.int64)
    expected[1:limit:2] = 9  # a loop of the program runs three times what calls the kernel thrice
    np.testing.assert_array_equal(count, expected)
    # Each run multiplies by ten and adds its thread, which is one of two: digits are runs.
    assert (by < 10**3).all() and (other < 10**6).all()


def test_a_thread_takes_what_another_has_not_begun(
    compile_scheduled: Callable[[str, Target, EmitOptions], Program],
) -> None:
    """The first iteration waits for the last of its thread's share, or for seconds: all between are
    taken by others."""
    threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    if not jit.default_options().openmp or threads < 2:
        pytest.skip("one thread takes everything")
    by, rounds = np.full(64, -1), np.zeros(64, np.int64)
    compile_scheduled(SLOW, Target.parse("host"), EmitOptions(openmp=True))("main", by, rounds)
    assert (by[1:32] != by[0]).all(), by


def test_a_chunk_has_iterations(
    compile_scheduled: Callable[[str, Target, EmitOptions], Program],
) -> None:
    """Text that goes to code generation without `verify-scheduled`."""
    text = SLOW.replace("lamina.chunk = 1", "lamina.chunk = 0")
    with pytest.raises(UnsupportedError, match=r"lamina\.chunk of 0 iterations"):
        compile_scheduled(text, Target.parse("host"), EmitOptions(openmp=True))
