"""Parallel loops that the threads of a team share out: `scf.parallel` at the top of a kernel.

Each thread has a share of the iterations: as many as the others, within one. Without
`lamina.chunk` it runs its share at once. With it, a thread takes so many iterations at a time from
its own share, and then what others have not begun of theirs: a core that is slow, or was away,
makes the others wait for one chunk, not for half a kernel.

What has been taken of a share is a number in memory. A team of `n` such loops has `n` numbers for
each thread, those of one thread in cache lines of their own, all zero at its start; a loop of a
kernel runs once in a team, so that none is used again. Where a kernel stands in a loop of the team
each thread has its share and no more, as where one thread runs the kernel.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr

from lamina.codegen.llvm_emitter.control_flow import emit_loop
from lamina.codegen.llvm_emitter.writer import ALONE, FunctionWriter, Lines, unsupported
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.team import BACKWARD, CHUNK

LINE = 128
"""Bytes that threads write apart from one another: two cache lines of 64, which come in pairs."""

NUMBER = 8
"""Bytes of a number that says what has been taken."""

STRIDE_OFFSET, NUMBERS_OFFSET = 64, 72
"""Where a team's record has the bytes from one thread's numbers to the next one's, and their
address: behind the counter of barriers, in a cache line that nobody writes."""

MOST_NEIGHBOURS = 8
"""Shares that a thread looks into, its own among them: a look fetches a line of another core. Not
measured: two cores have two."""

MOST_THREADS = 256
"""Threads that a team with such loops has at most: their numbers stand on the stack."""


def emit_parallel(w: FunctionWriter, op: scf.ParallelOp) -> None:
    """`scf.parallel`: shared out at the top of a kernel of teams, a plain loop elsewhere."""
    if len(op.lowerBound) != 1 or op.initVals:
        raise unsupported(op, "one dimension and no reductions", "scf.for inside scf.parallel")
    lower, upper, step = (w.value(v[0]) for v in (op.lowerBound, op.upperBound, op.step))
    bounds = (lower, upper, step)
    if (w.team == ALONE or w.before_loop) and BACKWARD not in op.attributes:
        emit_loop(w, bounds, op.body.block, (), ())
        return
    count = _iterations(w, lower, upper, step)
    if w.team == ALONE or w.before_loop:
        _run(w, op, bounds, "0", count)
        return
    chunk = op.attributes.get(CHUNK)
    if isinstance(chunk, IntegerAttr):
        if chunk.value.data < 1:
            raise unsupported(op, f"{CHUNK} of {chunk.value.data} iterations", "one of 1 or more")
        _emit_chunks(w, op, bounds, count, chunk.value.data)
        return
    begin, end = _share(w, count, w.team[0])
    _run(w, op, bounds, begin, end)


def _run(
    w: FunctionWriter, op: scf.ParallelOp, bounds: tuple[str, str, str], begin: str, end: str
) -> None:
    """Iterations `[begin, end)`, in the order of the loop."""
    step, ends = bounds[2], None
    first, last = _places(w, bounds, begin, end)
    if BACKWARD in op.attributes:
        behind, _ = _places(w, bounds, end, end)
        ends = w.emit(f"sub i64 {w.emit(f'add i64 {first}, {behind}')}, {step}")
    emit_loop(w, (first, last, step), op.body.block, (), (), ends=ends)


def _emit_chunks(
    w: FunctionWriter, op: scf.ParallelOp, bounds: tuple[str, str, str], count: str, chunk: int
) -> None:
    me, threads, _ = w.team
    numbers, stride, shares = _numbers(w)
    before: Lines = []
    w.lines.append(before)
    entry = w.block
    look, take, run, next_, done = (
        w.label(stem) for stem in ("look", "take", "chunk", "neighbour", "shared")
    )
    w.jump(look)
    saved = dict(w.pointers)
    w.before_loop.append(before)

    w.start_block(look)
    away, further = w.fresh("away"), w.fresh("further")
    w.line(f"{away} = phi i64 [ 0, %{entry} ], [ {further}, %{next_} ]")
    thread = w.emit(f"urem i64 {w.emit(f'add i64 {me}, {away}')}, {threads}")
    begin, end = _share(w, count, thread)
    size = w.emit(f"sub i64 {end}, {begin}")
    offset = w.emit(f"mul i64 {thread}, {stride}")
    number = w.emit(f"getelementptr i8, ptr {numbers}, i64 {offset}")
    w.jump(take)

    w.start_block(take)
    # A look first: to add would take the line from the thread whose share it is.
    seen = w.emit(f"load atomic i64, ptr {number} monotonic, align {NUMBER}")
    left = w.label("left")
    w.branch(w.emit(f"icmp ult i64 {seen}, {size}"), left, next_)
    w.start_block(left)
    taken = w.emit(f"atomicrmw add ptr {number}, i64 {chunk} monotonic")
    w.branch(w.emit(f"icmp ult i64 {taken}, {size}"), run, next_)

    w.start_block(run)
    if BACKWARD in op.attributes:
        to = w.emit(f"sub i64 {end}, {taken}")
        from_ = w.intrinsic("smax", "i64", [w.emit(f"sub i64 {to}, {chunk}"), begin])
    else:
        from_ = w.emit(f"add i64 {begin}, {taken}")
        to = w.intrinsic("umin", "i64", [w.emit(f"add i64 {from_}, {chunk}"), end])
    _run(w, op, bounds, from_, to)
    w.jump(take)

    w.start_block(next_)
    w.line(f"{further} = add i64 {away}, 1")
    w.branch(w.emit(f"icmp ult i64 {further}, {shares}"), look, done)
    w.before_loop.pop()
    w.pointers = saved
    w.start_block(done)


def _numbers(w: FunctionWriter) -> tuple[str, str, str]:
    """Where the first thread's number of the loop is, bytes to the next thread's, and how many
    threads' shares to look into: a number of this thread's own where the team has none."""
    _, threads, record = w.team
    number = w.shared_loops
    w.shared_loops += 1
    alone = w.fresh("own")
    w.allocas.append(f"  {alone} = alloca i64")
    w.line(f"store i64 0, ptr {alone}")
    several = w.emit(f"icmp ugt i64 {threads}, 1")
    has_numbers = w.emit(f"icmp sge i64 {w.first_loop}, 0")
    entry, of_team, ready = w.block, w.label("numbers"), w.label("ready")
    w.branch(w.emit(f"and i1 {several}, {has_numbers}"), of_team, ready)
    w.start_block(of_team)
    place = w.emit(f"getelementptr i8, ptr {record}, i64 {STRIDE_OFFSET}")
    stride = w.emit(f"load i64, ptr {place}")
    place = w.emit(f"getelementptr i8, ptr {record}, i64 {NUMBERS_OFFSET}")
    numbers = w.emit(f"load ptr, ptr {place}")
    loop = w.emit(f"add i64 {w.first_loop}, {number}")
    numbers = w.emit(f"getelementptr i64, ptr {numbers}, i64 {loop}")
    shares = w.intrinsic("umin", "i64", [threads, str(MOST_NEIGHBOURS)])
    w.jump(ready)
    w.start_block(ready)
    return (
        w.emit(f"phi ptr [ {alone}, %{entry} ], [ {numbers}, %{of_team} ]"),
        w.emit(f"phi i64 [ 0, %{entry} ], [ {stride}, %{of_team} ]"),
        w.emit(f"phi i64 [ 1, %{entry} ], [ {shares}, %{of_team} ]"),
    )


def emit_numbers(w: FunctionWriter, record: str, loops: int) -> str:
    """Numbers for so many loops of a team that is about to start, all zero, noted in its record.

    Gives the number of threads that they are for, an i32.
    """
    stride = -(-loops * NUMBER // LINE) * LINE
    w.module.declare("omp_get_max_threads", "i32", "")
    threads = w.call("omp_get_max_threads", "i32", "")
    threads = w.intrinsic("umin", "i32", [threads, str(MOST_THREADS)])
    size = w.emit(f"mul i32 {threads}, {stride}")
    numbers = w.emit(f"alloca i8, i32 {size}, align {LINE}")
    w.module.declare("llvm.memset.p0.i32", "void", "ptr, i8, i32, i1")
    w.line(f"call void @llvm.memset.p0.i32(ptr align {LINE} {numbers}, i8 0, i32 {size}, i1 false)")
    for offset, text in ((STRIDE_OFFSET, f"i64 {stride}"), (NUMBERS_OFFSET, f"ptr {numbers}")):
        place = w.emit(f"getelementptr i8, ptr {record}, i64 {offset}")
        w.line(f"store {text}, ptr {place}")
    return threads


def chunked_loops(kernel: func.FuncOp) -> int:
    """How many loops of a kernel are taken in chunks."""
    return sum(
        CHUNK in op.attributes and isinstance(op, scf.ParallelOp)
        for op in block_ops(kernel.body.block)
    )


def _iterations(w: FunctionWriter, lower: str, upper: str, step: str) -> str:
    span = w.emit(f"sub nsw i64 {upper}, {lower}")
    span = w.intrinsic("smax", "i64", [span, "0"])
    rounded = w.emit(f"add i64 {span}, {step}")
    rounded = w.emit(f"sub i64 {rounded}, 1")
    return w.emit(f"udiv i64 {rounded}, {step}")


def _share(w: FunctionWriter, count: str, thread: str) -> tuple[str, str]:
    """A thread's [begin, end) of so many iterations: shares differ by at most one."""
    _, threads, _ = w.team
    each = w.emit(f"udiv i64 {count}, {threads}")
    rest = w.emit(f"urem i64 {count}, {threads}")
    before = w.emit(f"mul i64 {thread}, {each}")
    extra = w.intrinsic("umin", "i64", [thread, rest])
    begin = w.emit(f"add i64 {before}, {extra}")
    more = w.emit(f"zext i1 {w.emit(f'icmp ult i64 {thread}, {rest}')} to i64")
    return begin, w.emit(f"add i64 {begin}, {w.emit(f'add i64 {each}, {more}')}")


def _places(
    w: FunctionWriter, bounds: tuple[str, str, str], begin: str, end: str
) -> tuple[str, str]:
    """Where the index is at iteration `begin`, and behind iteration `end` - 1."""
    lower, upper, step = bounds
    first = w.emit(f"add i64 {lower}, {w.emit(f'mul i64 {begin}, {step}')}")
    last = w.emit(f"add i64 {lower}, {w.emit(f'mul i64 {end}, {step}')}")
    return first, w.intrinsic("smin", "i64", [last, upper])
