"""What a team of two threads costs: starting one and waiting for its end, and a barrier within it.

`passes/cost/team_cost.py` has such figures, `FORK` and `BARRIER`. `python -m bench.team_cost` on a
quiet machine measures them anew, through Lamina's own code generator.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np

from bench.fma_peak import compile_text
from bench.timing import format_seconds, interleave
from lamina.codegen.target import Target

ROUNDS = 200
LANES = 64
"""Four cache lines of f32 for each thread, which the other thread reads after a barrier."""

_TYPES = "(memref<2x64xf32>, memref<2x64xf32>) -> ()"
_THERE = f"func.call @exchange(%a, %b) : {_TYPES}\n"
_BACK = f"func.call @exchange(%b, %a) : {_TYPES}\n"

BODIES = {
    "no team": (_THERE + _BACK) * ROUNDS,
    "fork": f"loop.team {{ {_THERE} }} loop.team {{ {_BACK} }}" * ROUNDS,
    "barrier": f"loop.team {{ {f'{_THERE} loop.barrier {_BACK} loop.barrier ' * ROUNDS} }}",
}
"""What an entry does with the two buffers, by what it measures."""


def text(body: str) -> str:
    """A program whose threads write a part of one buffer each from the other's part of another."""
    return f"""
func.func private @exchange(%a: memref<2x{LANES}xf32>, %b: memref<2x{LANES}xf32>)
    attributes {{lamina.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %lanes = arith.constant {LANES} : index
  "scf.parallel"(%c0, %c2, %c1) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> ({{
  ^bb0(%t: index):
    %other = arith.subi %c1, %t : index
    scf.for %i = %c0 to %lanes step %c1 {{
      %x = memref.load %a[%other, %i] : memref<2x{LANES}xf32>
      memref.store %x, %b[%t, %i] : memref<2x{LANES}xf32>
    }}
    scf.reduce
  }}) : (index, index, index) -> ()
  func.return
}}
func.func @main(%a: memref<2x{LANES}xf32>, %b: memref<2x{LANES}xf32>) attributes {{lamina.entry}} {{
  {body}
  func.return
}}
"""


def main() -> None:
    """Prints the seconds that a fork and a barrier take above the work itself."""
    a, b = (np.zeros((2, LANES), np.float32) for _ in range(2))
    target = Target.host()
    programs = {
        name: compile_text(text(body), 2, target, openmp=True) for name, body in BODIES.items()
    }
    timings = interleave(
        {
            name: lambda p=p: p.call("main", [a.ctypes.data, b.ctypes.data])
            for name, p in programs.items()
        }
    )
    alone = timings["no team"]
    for name in ("fork", "barrier"):
        best, median = (
            (getattr(timings[name], which) - getattr(alone, which)) / (2 * ROUNDS)
            for which in ("best", "median")
        )
        print(f"{name:8} {format_seconds(best)} / {format_seconds(median)}")


if __name__ == "__main__":
    main()
