"""The machine's peak of fused multiply-adds, and how near a register-tiled product comes to it.

Both through Lamina's own code generator: `python -m bench.fma_peak`.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np

from lamina.codegen.target import Target
from lamina.tools.machine_programs import FMA_ROUNDS, compile_text, fma_chains, peak_text


def tile_shape(target: Target) -> tuple[int, int]:
    """(rows, columns) of a product's register tile: 12 x 2 vectors of 32 registers, 6 x 2 of 16."""
    return (12 if target.vector_registers >= 32 else 6), 2 * target.lanes(32)


def microkernel_text(target: Target, depth: int, rounds: int = 1) -> str:
    """C += A B for a register tile; A packed as depth x rows, B as depth x columns."""
    rows, columns = tile_shape(target)
    lanes = target.lanes(32)
    kind = f"vector<{lanes}xf32>"
    tile = [(i, j) for i in range(rows) for j in range(2)]
    a, b, c = (
        f"memref<{n}x{m}xf32>" for n, m in ((depth, rows), (depth, columns), (rows, columns))
    )
    numbers = "\n".join(
        f"  %n{i} = arith.constant {i} : index" for i in sorted({*range(rows), 0, lanes})
    )
    loads = "\n".join(
        f"    %l{i}_{j} = vector.load %c[%n{i}, %n{j * lanes}] : {c}, {kind}" for i, j in tile
    )
    carried = ", ".join(f"%x{i}_{j} = %l{i}_{j}" for i, j in tile)
    types = ", ".join([kind] * len(tile))
    steps: list[str] = [
        f"      %b{j} = vector.load %b[%p, %n{j * lanes}] : {b}, {kind}" for j in range(2)
    ]
    for i in range(rows):
        steps.append(f"      %s{i} = memref.load %a[%p, %n{i}] : {a}")
        steps.append(f"      %a{i} = vector.broadcast %s{i} : f32 to {kind}")
        steps += [
            f"      %y{i}_{j} = vector.fma %a{i}, %b{j}, %x{i}_{j} : {kind}" for j in range(2)
        ]
    body = "\n".join(steps)
    stores = "\n".join(
        f"    vector.store %r#{k}, %c[%n{i}, %n{j * lanes}] : {c}, {kind}"
        for k, (i, j) in enumerate(tile)
    )
    return f"""
func.func private @tile(%a: {a} {{llvm.noalias}}, %b: {b} {{llvm.noalias}},
    %c: {c} {{llvm.noalias}}) attributes {{lamina.kernel}} {{
  %one = arith.constant 1 : index
  %depth = arith.constant {depth} : index
  %rounds = arith.constant {rounds} : index
{numbers}
  scf.for %t = %n0 to %rounds step %one {{
{loads}
    %r:{len(tile)} = scf.for %p = %n0 to %depth step %one iter_args({carried}) -> ({types}) {{
{body}
      scf.yield {", ".join(f"%y{i}_{j}" for i, j in tile)} : {types}
    }}
{stores}
  }}
  func.return
}}
func.func @main(%a: {a}, %b: {b}, %c: {c}) attributes {{lamina.entry}} {{
  func.call @tile(%a, %b, %c) : ({a}, {b}, {c}) -> ()
  func.return
}}
"""


def fma_peak(threads: int, target: Target | None = None) -> float:
    """Measured peak in f32 GF/s on `threads` threads (1: without OpenMP)."""
    target = target or Target.host()
    program = compile_text(peak_text(target, threads), 2, target, openmp=threads > 1)
    lanes = target.lanes(32)
    factors, out = np.full((2, lanes), 0.5, np.float32), np.zeros((threads, lanes), np.float32)
    best = _best(lambda: program.call("main", [factors.ctypes.data, out.ctypes.data]))
    return 2 * lanes * fma_chains(target) * FMA_ROUNDS * threads / best / 1e9


def microkernel_rate(target: Target | None = None, depth: int = 256) -> float:
    """GF/s of the register-tiled product on one thread, operands in the first cache."""
    target = target or Target.host()
    rounds = 400
    program = compile_text(microkernel_text(target, depth, rounds), 3, target, openmp=False)
    rows, columns = tile_shape(target)
    a, b, c = (
        np.full(shape, 1e-3, np.float32)
        for shape in ((depth, rows), (depth, columns), (rows, columns))
    )
    best = _best(lambda: program.call("main", [a.ctypes.data, b.ctypes.data, c.ctypes.data]))
    return 2 * rows * columns * depth * rounds / best / 1e9


def _best(call: object, samples: int = 15) -> float:
    assert callable(call)
    best = float("inf")
    for _ in range(samples):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    """Prints the peaks of every target that runs here."""
    for name in Target.names():
        target = Target.parse(name)
        if not target.runs_here():
            continue
        one, two = fma_peak(1, target), fma_peak(2, target)
        tile = microkernel_rate(target)
        rows, columns = tile_shape(target)
        print(
            f"{name:10} peak {one:6.1f} GF/s on one thread, {two:6.1f} on two; "
            f"{rows}x{columns} tile {tile:6.1f} GF/s = {100 * tile / one:.0f} %"
        )


if __name__ == "__main__":
    main()
