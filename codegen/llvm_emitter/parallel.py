"""Teams of threads: `loop.team` through `GOMP_parallel`, barriers, and loops that are shared out.

The body of a team is outlined; what it uses from outside travels in a struct on the caller's stack,
behind the counter of its barriers, and with the address of the entry's arguments. Kernels that a
team calls take the thread's number, the number of threads and that counter; `scf.parallel` in them
is shared out (`shared_loops.py`). Outside of teams, or without an OpenMP runtime, all of this is
what one thread does.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from lamina.codegen.llvm_emitter.shared_loops import (
    LINE,
    chunked_loops,
    emit_numbers,
    emit_parallel,
)
from lamina.codegen.llvm_emitter.writer import ALONE, Emitter, FunctionWriter
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.team import BarrierOp, NumThreadsOp, SingleOp, TeamOp, ThreadOp
from lamina.dialects.op_list import ops_of

#: C's `void GOMP_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags)` and
#: the questions that are asked; libgomp, libomp and libiomp5 all have the four.
OPENMP_SYMBOLS = (
    "GOMP_parallel",
    "omp_get_max_threads",
    "omp_get_num_threads",
    "omp_get_thread_num",
)

#: What is asked outside of teams: how many threads one would have.
TEAM_SIZE = "omp_get_max_threads"

#: The barrier's counter has cache lines of its own: waiting threads read nothing that others write.
#: In the second of them stands where the numbers of loops are (`shared_loops.py`).
COUNTER = f"i64, [{LINE - 8} x i8]"

STATUS, ARGUMENTS = -2, -1
"""Where the addresses of the status and of the entry's arguments stand: before captured values."""

SPINS = 2000
"""Looks at a barrier's counter before a waiting thread offers its core to others: some 30 us, more
than threads usually arrive apart, less than a thread that has lost its core is away."""

PAUSES = {
    "x86_64": ("llvm.x86.sse2.pause", "", ""),
    "aarch64": ("llvm.aarch64.hint", "i32", "i32 1"),
}
"""Per architecture, the intrinsic that eases a waiting loop: name, parameters, arguments."""

SHARED_OPS = (scf.ParallelOp, SingleOp, BarrierOp, ThreadOp, NumThreadsOp)
"""What a kernel does together with the other threads of a team, or apart from them."""


def team_kernels(module: ModuleOp, callers: Iterable[func.FuncOp]) -> dict[str, int]:
    """The kernels that some team of these functions calls and that need to know their thread:
    names, and how many of their loops are taken in chunks."""
    functions = {
        f.sym_name.data: f for f in block_ops(module.body.block) if isinstance(f, func.FuncOp)
    }
    found: set[str] = set()
    for caller in callers:
        for team in ops_of(caller, TeamOp):
            for call in ops_of(team, func.CallOp):
                if not isinstance(call.parent_op(), SingleOp):
                    found.add(call.callee.root_reference.data)
    return {
        name: chunked_loops(functions[name])
        for name in found & functions.keys()
        if any(type(op) in SHARED_OPS for op in block_ops(functions[name].body.block))
    }


def _team(w: FunctionWriter, op: TeamOp) -> None:
    if not w.module.options.openmp or w.team != ALONE:
        w.run(op.body.block)
        return
    after = ""
    if op.live is not None and op.least_rows is not None:
        several, alone, after = w.label("several"), w.label("alone"), w.label("after")
        enough = w.emit(f"icmp sge i64 {_live_rows(w, op)}, {op.least_rows.value.data}")
        w.branch(enough, several, alone)
        w.start_block(alone)
        with _alone(w):
            w.run(op.body.block)
        w.jump(after)
        w.start_block(several)
    captured = _captured(w, op)
    fields = "".join(f", {w.type(v)}" for v in captured)
    name = f"{w.name}.team{w.count_team()}"
    layout = f"%{name}.context"
    w.module.types.append(f"{layout} = type {{ {COUNTER}, ptr, ptr{fields} }}")
    context = w.fresh("context")
    w.allocas.append(f"  {context} = alloca {layout}, align {LINE}")
    w.line(f"store i64 0, ptr {context}")
    w.line(f"store ptr {w.status}, ptr {_field(w, layout, context, STATUS)}")
    w.line(f"store ptr {w.arguments}, ptr {_field(w, layout, context, ARGUMENTS)}")
    for number, value in enumerate(captured):
        w.line(f"store {w.typed(value)}, ptr {_field(w, layout, context, number)}")
    loops = _thread_function(w, name, op, layout, captured)
    w.module.declare("GOMP_parallel", "void", "ptr, ptr, i32, i32")
    threads, stack = "0", ""
    if loops:
        w.module.declare("llvm.stacksave.p0", "ptr", "")
        stack = w.call("llvm.stacksave.p0", "ptr", "")
        threads = emit_numbers(w, context, loops)
    elif op.max_threads is not None:
        w.module.declare("omp_get_max_threads", "i32", "")
        threads = w.call("omp_get_max_threads", "i32", "")
    if op.max_threads is not None:
        threads = w.intrinsic("smin", "i32", [threads, str(op.max_threads.value.data)])
    w.line(f"call void @GOMP_parallel(ptr @{name}, ptr {context}, i32 {threads}, i32 0)")
    if loops:
        w.module.declare("llvm.stackrestore.p0", "void", "ptr")
        w.line(f"call void @llvm.stackrestore.p0(ptr {stack})")
    if after:
        w.jump(after)
        w.start_block(after)


def _live_rows(w: FunctionWriter, op: TeamOp) -> str:
    """How many rows count, by the sizes of the call."""
    assert op.live is not None
    rows = "1"
    for digit in op.live.data.digits:
        end = str(digit.extent)
        if digit.count is not None:
            given = w.emit(f"load i64, ptr {w.value(op.counts[digit.count])}")
            count = w.intrinsic("smax", "i64", [given, "1"])
            if digit.panel > 1:
                count = w.emit(f"add i64 {count}, {digit.panel - 1}")
                count = w.emit(f"udiv i64 {count}, {digit.panel}")
                count = w.emit(f"mul i64 {count}, {digit.factor}")
            end = w.intrinsic("smin", "i64", [count, end])
        rows = w.emit(f"mul i64 {rows}, {end}")
    return rows


def _field(w: FunctionWriter, layout: str, context: str, number: int) -> str:
    """Address of a captured value; counter, padding, status and arguments come before them."""
    return w.emit(f"getelementptr inbounds {layout}, ptr {context}, i32 0, i32 {number + 4}")


def _captured(w: FunctionWriter, op: TeamOp) -> list[SSAValue]:
    """Registers of the enclosing function that the body reads, in order of first use."""
    found: dict[SSAValue, None] = {}
    for inner in op.body.block.walk():
        for operand in inner.operands:
            if w.values.get(operand, "").startswith("%"):
                found[operand] = None
    return list(found)


def _thread_function(
    w: FunctionWriter, name: str, op: TeamOp, layout: str, captured: list[SSAValue]
) -> int:
    """Writes what each thread of the team runs: the body. Gives how many of its loops are taken in
    chunks."""
    t = FunctionWriter(w.module, name, w.emitters)
    for value, operand in w.values.items():
        if not operand.startswith("%"):
            t.bind(value, operand)
    t.places.update(w.places)
    t.status = t.emit(f"load ptr, ptr {_field(t, layout, '%context', STATUS)}")
    t.arguments = t.emit(f"load ptr, ptr {_field(t, layout, '%context', ARGUMENTS)}")
    for number, value in enumerate(captured):
        t.assign(value, f"load {w.type(value)}, ptr {_field(t, layout, '%context', number)}")
    t.team = (_asked(t, "omp_get_thread_num"), _asked(t, "omp_get_num_threads"), "%context")
    t.run(op.body.block)
    w.module.functions.append(t.text(f"define internal void @{name}(ptr %context)"))
    return t.team_loops


def _asked(w: FunctionWriter, question: str) -> str:
    w.module.declare(question, "i32", "")
    return w.emit(f"zext i32 {w.call(question, 'i32', '')} to i64")


def _single(w: FunctionWriter, op: SingleOp) -> None:
    if w.team == ALONE:
        w.run(op.body.block)
        return
    first, after = w.label("first"), w.label("others")
    w.branch(w.emit(f"icmp eq i64 {w.team[0]}, 0"), first, after)
    w.start_block(first)
    with _alone(w):
        w.run(op.body.block)
    w.jump(after)
    w.start_block(after)


@contextmanager
def _alone(w: FunctionWriter) -> Iterator[None]:
    """What is written meanwhile is run by one thread, and only where it stands."""
    team, pointers = w.team, dict(w.pointers)
    w.team = ALONE
    yield
    w.team, w.pointers = team, pointers


def _barrier(w: FunctionWriter, op: BarrierOp) -> None:
    if w.team == ALONE:
        return
    w.fence_streams()
    _, threads, counter = w.team
    if "barrier" not in w.module.helpers:
        w.module.helpers["barrier"] = _barrier_function(w)
    w.line(f"call void @lamina.barrier(ptr {counter}, i64 {threads})")


def _barrier_function(w: FunctionWriter) -> str:
    """Threads count themselves in; a barrier is open once all of its round have come."""
    w.module.declare("sched_yield", "i32", "")
    pause = ""
    if found := PAUSES.get(w.module.target.architecture):
        name, parameters, arguments = found
        w.module.declare(name, "void", parameters)
        pause = f"  call void @{name}({arguments})\n"
    return f"""define internal void @lamina.barrier(ptr %arrived, i64 %threads) #0 {{
entry:
  %alone = icmp ule i64 %threads, 1
  br i1 %alone, label %open, label %arrive
arrive:
  %before = atomicrmw add ptr %arrived, i64 1 acq_rel
  %round = udiv i64 %before, %threads
  %next_round = add i64 %round, 1
  %all = mul i64 %next_round, %threads
  br label %look
look:
  %looks = phi i64 [ 0, %arrive ], [ %more, %pause ], [ %more, %yield ]
  %now = load atomic i64, ptr %arrived acquire, align 8
  %complete = icmp uge i64 %now, %all
  br i1 %complete, label %open, label %wait
wait:
  %more = add i64 %looks, 1
  %soon = icmp ult i64 %looks, {SPINS}
  br i1 %soon, label %pause, label %yield
pause:
{pause}  br label %look
yield:
  %ignored = call i32 @sched_yield()
  br label %look
open:
  ret void
}}"""


def _thread(w: FunctionWriter, op: ThreadOp) -> None:
    w.bind(op.result, w.team[0])


def _num_threads(w: FunctionWriter, op: NumThreadsOp) -> None:
    w.bind(op.result, w.team[1])


EMITTERS: dict[type[Operation], Emitter] = {
    ThreadOp: _thread,
    NumThreadsOp: _num_threads,
    scf.ParallelOp: emit_parallel,
    TeamOp: _team,
    SingleOp: _single,
    BarrierOp: _barrier,
}
