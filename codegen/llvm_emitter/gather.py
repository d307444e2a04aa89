"""`loop.gather`: an element for each lane, and runs of elements that lie side by side."""

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from lamina.codegen.llvm_emitter import memory, types
from lamina.codegen.llvm_emitter.writer import FunctionWriter
from lamina.dialects.loop.scheduled import GatherOp

MOST_LANES = 64
"""Of what is compared at once: a mask of them is a number."""


def gather(w: FunctionWriter, op: GatherOp) -> None:
    """Loads the lanes one by one, or all at once where `runs` are expected and this is one."""
    element, count = types.element_of(op.result.type), types.lanes(op.result.type)
    pointer = memory.address(w, op.ref, op.indices)
    bits = types.scalar_type(element) == "i1"
    start = w.value(op.pass_thru)
    if bits:
        start = memory.bits_to_bytes(w, start, count)
    if op.runs is not None and 1 < count <= MOST_LANES:
        value = _run_or_lanes(w, op, pointer, start)
    else:
        value = _lanes(w, op, pointer, start)
    w.bind(op.result, memory.bytes_to_bits(w, value, count) if bits else value)


def masked_load(w: FunctionWriter, pointer: str, kind: Attribute, mask: str, start: str) -> str:
    """The lanes of a vector type that a mask has on, as they are in memory, and those of `start`.

    With AVX-512 what is loaded must not become an operand in memory of a masked multiply-add.
    LLVM 22.1 takes the load out of that again where a register is to be kept (`unfoldMemoryOperand`
    of two-address instructions), without its mask: it reads whole vectors, beyond an argument.
    """
    element, count = types.element_of(kind), types.lanes(kind)
    type_, size = types.vector_of(types.memory_scalar(element), count), types.memory_bytes(element)
    masks = types.vector_of("i1", count)
    name = f"llvm.masked.load.{types.mangled(type_)}.p0"
    w.module.declare(name, type_, f"ptr, {masks}, {type_}")
    where = f"ptr align {size} {pointer}"
    value = w.call(name, type_, f"{where}, {masks} {mask}, {type_} {start}")
    if (
        element in (f32, f64)
        and 8 * count * size in (128, 256, 512)
        and w.module.target.has("avx512vl")
    ):
        value = w.emit(f'call {type_} asm "", "=v,0"({type_} {value})')
    return value


def _memory_type(op: GatherOp) -> tuple[str, str, int]:
    """The types in memory of an element and of all lanes, and how many bytes the former has."""
    element, count = types.element_of(op.result.type), types.lanes(op.result.type)
    scalar = types.memory_scalar(element)
    return scalar, types.vector_of(scalar, count), types.memory_bytes(element)


def _lanes(w: FunctionWriter, op: GatherOp, pointer: str, start: str) -> str:
    scalar, type_, size = _memory_type(op)
    count = types.lanes(op.result.type)
    pointers = w.emit(f"getelementptr {scalar}, ptr {pointer}, {w.typed(op.offsets)}")
    name = f"llvm.masked.gather.{types.mangled(type_)}.v{count}p0"
    w.module.declare(name, type_, f"<{count} x ptr>, <{count} x i1>, {type_}")
    where = f"<{count} x ptr> align {size} {pointers}"
    return w.call(name, type_, f"{where}, {w.typed(op.mask)}, {type_} {start}")


def _run_or_lanes(w: FunctionWriter, op: GatherOp, pointer: str, start: str) -> str:
    """Sixteen lanes side by side take a load for some 40 cycles; to compare their offsets, four (a
    Zen 4)."""
    _, type_, _ = _memory_type(op)
    count = types.lanes(op.result.type)
    offsets, given = types.vector_of("i64", count), w.value(op.offsets)
    if w.type(op.offsets) != offsets:  # steps of narrower ones might wrap around
        given = w.emit(f"sext {w.typed(op.offsets)} to {offsets}")
    first = w.emit(f"extractelement {offsets} {given}, i64 0")
    one = w.emit(f"insertelement {offsets} poison, i64 {first}, i64 0")
    zeros = f"<{count} x i32> zeroinitializer"
    firsts = w.emit(f"shufflevector {offsets} {one}, {offsets} poison, {zeros}")
    steps = w.emit(f"sub {offsets} {given}, {firsts}")
    forth, turned, lanes = w.label("run"), w.label("turned"), w.label("lanes")
    other, done = w.label("norun"), w.label("gathered")
    w.branch(_steps_are(w, steps, 1, op), forth, other)
    w.start_block(forth)
    ahead, from_forth = _run(w, op, pointer, first, start, backward=False), w.block
    w.jump(done)
    w.start_block(other)
    w.branch(_steps_are(w, steps, -1, op), turned, lanes)
    w.start_block(turned)
    back, from_turned = _run(w, op, pointer, first, start, backward=True), w.block
    w.jump(done)
    w.start_block(lanes)
    single, from_lanes = _lanes(w, op, pointer, start), w.block
    w.jump(done)
    w.start_block(done)
    incoming = ((ahead, from_forth), (back, from_turned), (single, from_lanes))
    return w.emit(f"phi {type_} " + ", ".join(f"[ {v}, %{b} ]" for v, b in incoming))


def _steps_are(w: FunctionWriter, steps: str, step: int, op: GatherOp) -> str:
    """Whether each lane that is on is a step behind the one before."""
    count = types.lanes(op.result.type)
    offsets, mask = types.vector_of("i64", count), types.vector_of("i1", count)
    wanted = ", ".join(f"i64 {step * lane}" for lane in range(count))
    differ = w.emit(f"icmp ne {offsets} {steps}, <{wanted}>")
    if (given := w.value(op.mask)).startswith("%"):
        differ = w.emit(f"and {mask} {differ}, {given}")
    bits = w.emit(f"bitcast {mask} {differ} to i{count}")
    return w.emit(f"icmp eq i{count} {bits}, 0")


def _run(
    w: FunctionWriter, op: GatherOp, pointer: str, first: str, start: str, *, backward: bool
) -> str:
    """Elements side by side from the first lane's on, or back to the last lane's."""
    scalar, type_, size = _memory_type(op)
    count = types.lanes(op.result.type)
    least = w.emit(f"sub i64 {first}, {count - 1}") if backward else first
    where = w.emit(f"getelementptr {scalar}, ptr {pointer}, i64 {least}")
    mask = w.value(op.mask)
    if not mask.startswith("%") and "false" not in mask and "zero" not in mask:
        value = w.emit(f"load {type_}, ptr {where}, align {size}")
        return _reversed(w, value, type_, count) if backward else value
    masks = types.vector_of("i1", count)
    if backward:
        mask = _reversed(w, mask, masks, count)
        start = _reversed(w, start, type_, count)
    value = masked_load(w, where, op.result.type, mask, start)
    return _reversed(w, value, type_, count) if backward else value


def _reversed(w: FunctionWriter, value: str, type_: str, count: int) -> str:
    order = ", ".join(f"i32 {lane}" for lane in reversed(range(count)))
    return w.emit(f"shufflevector {type_} {value}, {type_} poison, <{count} x i32> <{order}>")
