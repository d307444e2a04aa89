"""Programs of scheduled IR that show what a machine can do: its clock, FMA peak, copies, teams.

They go through Lamina's own code generator, so that what they reach is within its reach.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, memref, scf, vector
from xdsl.parser import Parser

from lamina.codegen import jit
from lamina.codegen.llvm_emitter import EmitOptions, emit_module
from lamina.codegen.target import Target
from lamina.dialects.loop import Loop
from lamina.runtime.executable import Executable, ProgramMetadata

FMA_ROUNDS = 200_000
"""How often `peak_text` runs through its chains."""

CYCLE_ROUNDS, CHAIN_PAIRS = 20_000, 32
"""How often `chain_text` runs through its pairs of steps, and how many there are."""

CHAIN_CYCLES = 2 * CHAIN_PAIRS * CYCLE_ROUNDS
"""Cycles of a call of `chain_text`."""

COPY_UNROLL = 4
"""Vectors that `copy_text` moves in a turn of its loop."""

TEAM_ROUNDS, TEAM_LANES = 200, 64
"""Pairs of exchanges in a call of `team_text`, and f32 of each thread: four cache lines, which the
other thread reads after a barrier."""

_TYPES = f"(memref<2x{TEAM_LANES}xf32>, memref<2x{TEAM_LANES}xf32>) -> ()"
_THERE = f"func.call @exchange(%a, %b) : {_TYPES}\n"
_BACK = f"func.call @exchange(%b, %a) : {_TYPES}\n"

TEAM_BODIES = {
    "no team": (_THERE + _BACK) * TEAM_ROUNDS,
    "fork": f"loop.team {{ {_THERE} }} loop.team {{ {_BACK} }}" * TEAM_ROUNDS,
    "barrier": f"loop.team {{ {f'{_THERE} loop.barrier {_BACK} loop.barrier ' * TEAM_ROUNDS} }}",
}
"""What an entry does with two buffers, by what it measures."""


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


def fma_chains(target: Target) -> int:
    """Independent chains of `peak_text`: as many as there are registers to spare."""
    return target.vector_registers - 4


def peak_text(target: Target, threads: int) -> str:
    """`FMA_ROUNDS` times x = x * a + b for each of `fma_chains` vectors in registers."""
    lanes = target.lanes(32)
    chains = fma_chains(target)
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
  %rounds = arith.constant {FMA_ROUNDS} : index
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


def chain_text() -> str:
    """`CHAIN_CYCLES` integer steps, of a cycle each, that wait for one another.

    Exclusive-ors and additions take turns: nobody can turn two of them into one.
    """
    steps = "\n".join(
        f"    %y{i} = arith.xori %x{i}, %a : i64\n    %x{i + 1} = arith.addi %y{i}, %b : i64"
        for i in range(CHAIN_PAIRS)
    )
    return f"""
func.func private @chain(%ab: memref<2xi64>, %o: memref<1xi64>) attributes {{lamina.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rounds = arith.constant {CYCLE_ROUNDS} : index
  %a = memref.load %ab[%c0] : memref<2xi64>
  %b = memref.load %ab[%c1] : memref<2xi64>
  %first = memref.load %o[%c0] : memref<1xi64>
  %last = scf.for %i = %c0 to %rounds step %c1 iter_args(%x0 = %first) -> (i64) {{
{steps}
    scf.yield %x{CHAIN_PAIRS} : i64
  }}
  memref.store %last, %o[%c0] : memref<1xi64>
  func.return
}}
func.func @main(%ab: memref<2xi64>, %o: memref<1xi64>) attributes {{lamina.entry}} {{
  func.call @chain(%ab, %o) : (memref<2xi64>, memref<1xi64>) -> ()
  func.return
}}
"""


def copy_text(target: Target, count: int, rounds: int) -> str:
    """`rounds` copies of `count` f32, a multiple of `COPY_UNROLL` vectors, to another place."""
    lanes = target.lanes(32)
    kind, memory = f"vector<{lanes}xf32>", f"memref<{count}xf32>"
    moves = "\n".join(
        f"""      %n{i} = arith.constant {i * lanes} : index
      %p{i} = arith.addi %p, %n{i} : index
      %v{i} = vector.load %a[%p{i}] : {memory}, {kind}
      vector.store %v{i}, %b[%p{i}] : {memory}, {kind}"""
        for i in range(COPY_UNROLL)
    )
    return f"""
func.func private @copy(%a: {memory}, %b: {memory}) attributes {{lamina.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %step = arith.constant {COPY_UNROLL * lanes} : index
  %count = arith.constant {count} : index
  %rounds = arith.constant {rounds} : index
  scf.for %i = %c0 to %rounds step %c1 {{
    scf.for %p = %c0 to %count step %step {{
{moves}
    }}
  }}
  func.return
}}
func.func @main(%a: {memory}, %b: {memory}) attributes {{lamina.entry}} {{
  func.call @copy(%a, %b) : ({memory}, {memory}) -> ()
  func.return
}}
"""


def team_text(body: str) -> str:
    """A program whose threads write a part of one buffer each from the other's part of another.

    `body` is one of `TEAM_BODIES`.
    """
    lanes = TEAM_LANES
    return f"""
func.func private @exchange(%a: memref<2x{lanes}xf32>, %b: memref<2x{lanes}xf32>)
    attributes {{lamina.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %lanes = arith.constant {lanes} : index
  "scf.parallel"(%c0, %c2, %c1) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> ({{
  ^bb0(%t: index):
    %other = arith.subi %c1, %t : index
    scf.for %i = %c0 to %lanes step %c1 {{
      %x = memref.load %a[%other, %i] : memref<2x{lanes}xf32>
      memref.store %x, %b[%t, %i] : memref<2x{lanes}xf32>
    }}
    scf.reduce
  }}) : (index, index, index) -> ()
  func.return
}}
func.func @main(%a: memref<2x{lanes}xf32>, %b: memref<2x{lanes}xf32>) attributes {{lamina.entry}} {{
  {body}
  func.return
}}
"""
