"""The machine's peak of fused multiply-adds, and how near a register-tiled product comes to it.

Both through Lamina's own code generator: `python -m bench.fma_peak`.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, memref, scf, vector
from xdsl.parser import Parser

from lamina.codegen import jit
from lamina.codegen.llvm_emitter import EmitOptions, emit_module
from lamina.codegen.target import Target
from lamina.dialects.loop import Loop
from lamina.runtime.executable import Executable, ProgramMetadata

ROUNDS = 200_000


def compile_text(text: str, arguments: int, target: Target, *, openmp: bool) -> Executable:
    """An executable of scheduled IR text with one entry, `@main`."""
    context = Context()
    for dialect in (
        arith.Arith,
        builtin.Builtin,
        func.Func,
        memref.MemRef,
        scf.Scf,
        vector.Vector,
        Loop,
    ):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    emitted = emit_module(module, target, EmitOptions(openmp=openmp))
    code = jit.compile_object(emitted.text, target)
    metadata = ProgramMetadata(
        arguments={"main": [str(i) for i in range(arguments)]}, needs_openmp=emitted.needs_openmp
    )
    return Executable(code, metadata, target)


def peak_text(target: Target, threads: int) -> str:
    """Independent chains x = x * a + b in registers, as many as there are registers to spare."""
    lanes = target.lanes(32)
    chains = target.vector_registers - 4
    kind, memory = f"vector<{lanes}xf32>", f"memref<{threads}x{lanes}xf32>"
    carried = ", ".join(f"%x{i} = %zero" for i in range(chains))
    steps = "\n".join(f"      %y{i} = vector.fma %x{i}, %a, %b : {kind}" for i in range(chains))
    results = ", ".join(f"%y{i}" for i in range(chains))
    types = ", ".join([kind] * chains)
    sums = "\n".join(
        f"    %s{i} = arith.addf {f'%s{i - 1}' if i > 1 else '%r#0'}, %r#{i} : {kind}"
        for i in range(1, chains)
    )
    return f"""
func.func private @peak(%ab: memref<2x{lanes}xf32>, %o: {memory}) attributes {{lamina.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %threads = arith.constant {threads} : index
  %rounds = arith.constant {ROUNDS} : index
  "scf.parallel"(%c0, %threads, %c1) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> ({{
  ^bb0(%t: index):
    %a = vector.load %ab[%c0, %c0] : memref<2x{lanes}xf32>, {kind}
    %b = vector.load %ab[%c1, %c0] : memref<2x{lanes}xf32>, {kind}
    %zero = vector.load %o[%t, %c0] : {memory}, {kind}
    %r:{chains} = scf.for %i = %c0 to %rounds step %c1 iter_args({carried}) -> ({types}) {{
{steps}
      scf.yield {results} : {types}
    }}
{sums}
    vector.store %s{chains - 1}, %o[%t, %c0] : {memory}, {kind}
    scf.reduce
  }}) : (index, index, index) -> ()
  func.return
}}
func.func @main(%ab: memref<2x{lanes}xf32>, %o: {memory}) attributes {{lamina.entry}} {{
  loop.team {{
    func.call @peak(%ab, %o) : (memref<2x{lanes}xf32>, {memory}) -> ()
  }}
  func.return
}}
"""


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
    return 2 * lanes * (target.vector_registers - 4) * ROUNDS * threads / best / 1e9


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
