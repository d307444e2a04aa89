"""A number of one bit is 0 or -1: what rounds its quotient asks for a sign that it has not."""

import pytest

import lamina
from lamina.dialects.errors import UnsupportedError

PROGRAM = """
func.func private @kernel_0(%x: memref<i1>, %y: memref<i1>) attributes {lamina.kernel} {
  %a = memref.load %x[] : memref<i1>
  %f = arith.OP %a, %a : i1
  memref.store %f, %y[] : memref<i1>
  func.return
}
func.func @main(%x: memref<i1>, %y: memref<i1> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @kernel_0(%x, %y) : (memref<i1>, memref<i1>) -> ()
  func.return
}
"""


@pytest.mark.parametrize("op", ["floordivsi", "ceildivsi"])
def test_rounded_quotients_are_refused(op: str) -> None:
    said = rf"arith\.{op}: a quotient of one bit is not rounded(.|\n)*supported: arith\.divsi"
    with pytest.raises(UnsupportedError, match=said):
        lamina.compile(PROGRAM.replace("OP", op), cache=False)


@pytest.mark.parametrize("op", ["divsi", "divui", "andi"])
def test_others_are_taken(op: str) -> None:
    compiled = lamina.compile(PROGRAM.replace("OP", op), cache=False)
    assert compiled(True)
