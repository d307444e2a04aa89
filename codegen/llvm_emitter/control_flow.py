"""Loops, branches, calls, assertions: `scf.for`, `.while`, `.if`, `func.call`, `cf.assert`."""

from collections.abc import Sequence

from xdsl.dialects import cf, func, scf
from xdsl.ir import Block, Operation, SSAValue

from lamina.codegen.llvm_emitter.symbols import function_symbol
from lamina.codegen.llvm_emitter.writer import (
    LIKELY,
    Emitter,
    FunctionWriter,
    Lines,
    unsupported,
)
from lamina.dialects.loop.extern import ExternOp
from lamina.dialects.loop.poll import PollOp
from lamina.dialects.op_accessors import operands_of
from lamina.dialects.places import place_of

POLL_CYCLES = 1 << 28
"""Cycles from one question whether to stop to the next: some tenth of a second."""

POLL_ROUNDS = 1 << 12
"""Rounds of a loop from one question to the next, where cycles cannot be read."""

EXTERN_FAILED = "extern kernel failed:"
"""The message of an extern kernel's failure, behind the call's place; the name follows."""


def _is_literal(*operands: str) -> bool:
    return not any(operand.startswith("%") for operand in operands)


def emit_loop(
    w: FunctionWriter,
    bounds: tuple[str, str, str],
    block: Block,
    starts: Sequence[SSAValue],
    results: Sequence[SSAValue],
    index_type: str = "i64",
    ends: str | None = None,
) -> None:
    """A counted loop over `block` (iteration index first) with values carried round.

    If `ends` is given, the sum of the first and the last index, it runs from the last to the first.

    The test stands at the end, with a guard before unless the bounds are known constants; a loop
    known to run once is no loop.
    """
    lower, upper, step = bounds
    known = _is_literal(lower, upper, step)
    if known and int(lower) >= int(upper):
        for result, start in zip(results, starts, strict=True):
            w.alias(result, start)
        return
    if known and int(lower) + int(step) >= int(upper):  # ends or not: there is one index
        _once(w, lower, block, starts, results)
        return
    types = [w.type(v) for v in starts]
    initial = [w.value(v) for v in starts]
    guard = w.block
    body, exit_ = w.label("loop"), w.label("done")
    before: Lines = []
    if not known:
        enter = w.label("enter")
        w.branch(w.emit(f"icmp slt {index_type} {lower}, {upper}"), enter, exit_)
        w.start_block(enter)
    w.lines.append(before)
    entry = w.block
    w.jump(body)

    saved = dict(w.pointers)
    w.before_loop.append(before)
    w.start_block(body)
    phis: Lines = []
    w.lines.append(phis)
    index, *carried = block.args
    counter = w.fresh("i")
    w.bind(index, counter if ends is None else w.emit(f"sub nsw {index_type} {ends}, {counter}"))
    for argument in carried:
        w.bind(argument, w.fresh("c"))
    yielded = _body(w, block)
    following = w.emit(f"add nsw {index_type} {counter}, {step}")
    latch = w.block
    phis.append(f"  {counter} = phi {index_type} [ {lower}, %{entry} ], [ {following}, %{latch} ]")
    for argument, type_, start, last in zip(carried, types, initial, yielded, strict=True):
        name = w.value(argument)
        phis.append(f"  {name} = phi {type_} [ {start}, %{entry} ], [ {last}, %{latch} ]")
    w.branch(w.emit(f"icmp slt {index_type} {following}, {upper}"), body, exit_, ", !llvm.loop !2")
    w.before_loop.pop()
    w.pointers = saved

    w.start_block(exit_)
    for result, type_, start, last in zip(results, types, initial, yielded, strict=True):
        if known:
            w.bind(result, last)
        else:
            w.assign(result, f"phi {type_} [ {start}, %{guard} ], [ {last}, %{latch} ]")


def _once(
    w: FunctionWriter,
    lower: str,
    block: Block,
    starts: Sequence[SSAValue],
    results: Sequence[SSAValue],
) -> None:
    index, *carried = block.args
    w.bind(index, lower)
    for argument, start in zip(carried, starts, strict=True):
        w.alias(argument, start)
    w.run(block)
    terminator = block.last_op
    assert terminator is not None
    for result, last in zip(results, terminator.operands, strict=True):
        w.alias(result, last)


def _body(w: FunctionWriter, block: Block) -> list[str]:
    """Emits a block's ops; gives the operands of what its terminator yields."""
    w.run(block)
    terminator = block.last_op
    assert terminator is not None
    return [w.value(v) for v in operands_of(terminator)]


def _for(w: FunctionWriter, op: scf.ForOp) -> None:
    lower, upper, step, *starts = operands_of(op)
    bounds = w.value(lower), w.value(upper), w.value(step)
    emit_loop(w, bounds, op.regions[0].block, starts, op.results, w.type(lower))


def _while(w: FunctionWriter, op: scf.WhileOp) -> None:
    """A loop that hands on what it carries in memory only; it ends when a check has failed."""
    if op.arguments or op.results:
        raise unsupported(op, "loops by a condition carry no values", "buffers")
    test, body, exit_ = w.label("test"), w.label("body"), w.label("done")
    before: Lines = []
    w.lines.append(before)
    w.jump(test)
    saved = dict(w.pointers)
    w.before_loop.append(before)
    w.start_block(test)
    (verdict,) = _body(w, op.before_region.block)
    status = w.emit(f"load i32, ptr {w.status}")
    good = w.emit(f"icmp eq i32 {status}, 0")
    w.branch(w.emit(f"and i1 {verdict}, {good}"), body, exit_)
    w.start_block(body)
    _body(w, op.after_region.block)
    w.jump(test)
    w.before_loop.pop()
    w.pointers = saved
    w.start_block(exit_)


def _poll(w: FunctionWriter, op: PollOp) -> None:
    """Asks when enough cycles have passed; where no counter is sure to be readable, rounds."""
    w.module.helpers["lamina.polled"] = "@lamina.polled = internal global i64 0"
    last = w.emit("load i64, ptr @lamina.polled")
    if w.module.target.architecture == "x86_64":
        w.module.declare("llvm.readcyclecounter", "i64", "")
        now = w.emit("call i64 @llvm.readcyclecounter()")
        late = w.emit(f"icmp ugt i64 {w.emit(f'sub i64 {now}, {last}')}, {POLL_CYCLES}")
    else:
        now = w.emit(f"add i64 {last}, 1")
        w.line(f"store i64 {now}, ptr @lamina.polled")
        late = w.emit(f"icmp eq i64 {w.emit(f'and i64 {now}, {POLL_ROUNDS - 1}')}, 0")
    ask, go_on = w.label("ask"), w.label("on")
    w.branch(late, ask, go_on)
    w.start_block(ask)
    w.line(f"store i64 {now}, ptr @lamina.polled")
    _record(w, w.emit(f"call i32 {w.value(op.callee)}()"), "interrupted")
    w.jump(go_on)
    w.start_block(go_on)


def _record(w: FunctionWriter, status: str, message: str) -> None:
    """Makes `message` the program's failure, if it is the first, where `status` is not 0."""
    number = w.module.message_id(message)
    failed = w.emit(f"icmp ne i32 {status}, 0")
    value = w.emit(f"select i1 {failed}, i32 {number}, i32 0")
    w.emit(f"cmpxchg ptr {w.status}, i32 0, i32 {value} monotonic monotonic")


def _if(w: FunctionWriter, op: scf.IfOp) -> None:
    then, after = w.label("then"), w.label("endif")
    has_else = bool(op.false_region.blocks)
    other = w.label("else") if has_else else after
    w.branch(w.value(op.cond), then, other)
    arms: list[tuple[list[str], str]] = []
    for label, region in ((then, op.true_region), (other, op.false_region)):
        if not region.blocks:
            continue
        saved = dict(w.pointers)
        w.start_block(label)
        arms.append((_body(w, region.block), w.block))
        w.jump(after)
        w.pointers = saved
    w.start_block(after)
    for position, result in enumerate(op.output):
        incoming = ", ".join(f"[ {values[position]}, %{block} ]" for values, block in arms)
        w.assign(result, f"phi {w.type(result)} {incoming}")


def _assert(w: FunctionWriter, op: cf.AssertOp) -> None:
    """Records the first failed message of the call; execution goes on."""
    condition = w.value(op.arg)
    if condition == "true":
        return
    fail, go_on = w.label("failed"), w.label("holds")
    w.branch(condition, go_on, fail, LIKELY)
    w.start_block(fail)
    number = w.module.message_id(op.msg.data)
    w.emit(f"cmpxchg ptr {w.status}, i32 0, i32 {number} monotonic monotonic")
    w.jump(go_on)
    w.start_block(go_on)


def _call(w: FunctionWriter, op: func.CallOp) -> None:
    if op.results:
        raise unsupported(op, "kernels have no results", "a memref argument that is written")
    callee = op.callee.root_reference.data
    arguments = [*(w.typed(v) for v in op.operands), f"ptr {w.status}"]
    if (loops := w.module.team_kernels.get(callee)) is not None:
        thread, threads, counter = w.team
        arguments += [f"i64 {thread}", f"i64 {threads}", f"ptr {counter}"]
        arguments += [f"i64 {w.loop_numbers(loops)}"] if loops else []
    symbol = function_symbol(callee)
    if symbol in w.module.elsewhere:
        kinds = ", ".join(argument.partition(" ")[0] for argument in arguments)
        w.module.declare(symbol, "hidden void", kinds)
    w.line(f"call void @{symbol}({', '.join(arguments)})")


def _extern(w: FunctionWriter, op: ExternOp) -> None:
    """Calls a kernel from elsewhere, `i32 (ptr to the operands' addresses)`; 0 means done.

    None is called any more once something has failed: an exception may be on its way.
    """
    if op.callee is None:
        raise unsupported(op, "it has no callee", "what bufferize makes of it")
    operands = [w.value(v) for v in (*op.inputs, *op.outs)]
    array = w.fresh("operands")
    w.allocas.append(f"  {array} = alloca [{len(operands)} x ptr]")
    for number, operand in enumerate(operands):
        place = w.emit(f"getelementptr inbounds ptr, ptr {array}, i64 {number}")
        w.line(f"store ptr {operand}, ptr {place}")
    good, after = w.label("good"), w.label("after")
    so_far = w.emit(f"load i32, ptr {w.status}")
    w.branch(w.emit(f"icmp eq i32 {so_far}, 0"), good, after)
    w.start_block(good)
    status = w.emit(f"call i32 {w.value(op.callee)}(ptr {array})")
    place = place_of(op)
    failed = f"{EXTERN_FAILED} {op.kernel.data}"
    _record(w, status, f"{place}: {failed}" if place else failed)
    w.jump(after)
    w.start_block(after)


def _nothing(w: FunctionWriter, op: Operation) -> None:
    """Terminators: whoever emits the region reads their operands."""


EMITTERS: dict[type[Operation], Emitter] = {
    scf.ForOp: _for,
    scf.WhileOp: _while,
    scf.ConditionOp: _nothing,
    scf.IfOp: _if,
    scf.YieldOp: _nothing,
    scf.ReduceOp: _nothing,
    func.CallOp: _call,
    ExternOp: _extern,
    PollOp: _poll,
    func.ReturnOp: _nothing,
    cf.AssertOp: _assert,
}
