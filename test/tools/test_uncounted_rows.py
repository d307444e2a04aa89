"""`--check` of kernels that leave out rows which do not count: only those may differ."""

import numpy as np
import pytest

from lamina.dialects.errors import InputError
from lamina.runtime.layers import parse
from lamina.tools.undefined_results import refuse_uncounted

TEXT = """
func.func @main(%x: memref<64x32xf32>, %n: memref<i64> {lamina.name = "n"},
    %y: memref<64x32xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @kernel(%n, %x, %y) : (memref<i64>, memref<64x32xf32>, memref<64x32xf32>) -> ()
  func.return
}
func.func private @kernel(%n: memref<i64>, %x: memref<64x32xf32>, %y: memref<64x32xf32>)
    attributes {lamina.kernel} {
  loop.generic (i, j) in [64, 32] reads(%x[i, j] : memref<64x32xf32>)
      writes([i, j] store into %y : memref<64x32xf32>)
      attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg0 of 64, 32]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
"""
DIFFERENCE = InputError("out0 [9, 0] is 0.0, the interpreter's is 1.0")


def arguments(count: int) -> dict[str, np.ndarray]:
    return {"arg0": np.zeros((64, 32), np.float32), "n": np.array(count)}


def test_rows_that_do_not_count_may_differ() -> None:
    asked: list[int] = []
    with pytest.raises(InputError, match=r"live of #loop.nest.*where all of them count") as found:
        given = arguments(5)
        refuse_uncounted(
            parse(TEXT), given, lambda counting: asked.append(int(counting["n"])), DIFFERENCE
        )
    assert asked == [64]
    assert found.value.__cause__ is DIFFERENCE


def test_what_differs_where_all_rows_count_is_wrong() -> None:
    def differs(counting: dict[str, np.ndarray]) -> None:
        raise InputError(f"wrong with {int(counting['n'])}")

    refuse_uncounted(parse(TEXT), arguments(5), differs, DIFFERENCE)  # says nothing


def test_where_all_rows_count_nothing_is_asked() -> None:
    def never(counting: dict[str, np.ndarray]) -> None:
        raise AssertionError

    refuse_uncounted(parse(TEXT), arguments(64), never, DIFFERENCE)
