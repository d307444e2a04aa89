"""`vector` ops and `loop.gather`, 1-D static vectors only."""

from math import nan

from xdsl.dialects import vector
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from lamina.codegen.llvm_emitter import memory, types
from lamina.codegen.llvm_emitter.arith import fastmath
from lamina.codegen.llvm_emitter.gather import gather, masked_load
from lamina.codegen.llvm_emitter.writer import Emitter, FunctionWriter, unsupported
from lamina.dialects.loop.compress import CompressOp
from lamina.dialects.loop.scheduled import GatherOp
from lamina.dialects.op_accessors import first_result, operands_of

#: vector.kind -> (LLVM reduction, instruction or intrinsic that joins the accumulator).
_REDUCTIONS = {
    "add": ("add", "add"),
    "mul": ("mul", "mul"),
    "and": ("and", "and"),
    "or": ("or", "or"),
    "xor": ("xor", "xor"),
    "minsi": ("smin", "smin"),
    "maxsi": ("smax", "smax"),
    "minui": ("umin", "umin"),
    "maxui": ("umax", "umax"),
    "minnumf": ("fmin", "minnum"),
    "maxnumf": ("fmax", "maxnum"),
    "minimumf": ("fminimum", "minimum"),
    "maximumf": ("fmaximum", "maximum"),
}
_EXTREMES = {"fmaximum": "fmax", "fminimum": "fmin"}
"""Reductions that keep NaN, and those of numbers."""
_INSTRUCTIONS = ("add", "mul", "and", "or", "xor")
_FLOAT_SCALARS = ("half", "float", "double")
_DYNAMIC = -(1 << 63)


def _load(w: FunctionWriter, op: vector.LoadOp) -> None:
    base, *indices = operands_of(op)
    kind, result = base.type, first_result(op)
    assert isinstance(kind, MemRefType)
    pointer = memory.address(w, base, indices)
    w.bind(result, memory.load(w, pointer, kind, types.lanes(result.type)))


def _store(w: FunctionWriter, op: vector.StoreOp) -> None:
    vector_, base, *indices = operands_of(op)
    type_, operand = memory.stored(w, vector_)
    pointer = memory.address(w, base, indices)
    size = types.memory_bytes(types.element_of(vector_.type))
    plain = f"store {type_} {operand}, ptr {pointer}, align {size}"
    total = types.lanes(vector_.type) * size
    if op.nontemporal is None or not op.nontemporal.value.data or total & (total - 1):
        w.line(plain)
    else:
        _stream(w, type_, operand, pointer, total, plain)


def _stream(
    w: FunctionWriter, type_: str, operand: str, pointer: str, total: int, plain: str
) -> None:
    """Stores past the caches where the address allows it (the instruction faults otherwise)."""
    address = w.emit(f"ptrtoint ptr {pointer} to i64")
    low = w.emit(f"and i64 {address}, {total - 1}")
    aligned = w.emit(f"icmp eq i64 {low}, 0")
    past, through, after = w.label("stream"), w.label("store"), w.label("stored")
    w.branch(aligned, past, through)
    w.start_block(past)
    w.line(f"store {type_} {operand}, ptr {pointer}, align {total}, !nontemporal !0")
    w.jump(after)
    w.start_block(through)
    w.line(plain)
    w.jump(after)
    w.start_block(after)
    w.streams = True


def _masked_load(w: FunctionWriter, op: vector.MaskedLoadOp) -> None:
    element, count = types.element_of(op.result.type), types.lanes(op.result.type)
    pointer = memory.address(w, op.base, op.indices)
    bits = types.scalar_type(element) == "i1"
    start = memory.bits_to_bytes(w, w.value(op.pass_thru), count) if bits else w.value(op.pass_thru)
    value = masked_load(w, pointer, op.result.type, w.value(op.mask), start)
    w.bind(op.result, memory.bytes_to_bits(w, value, count) if bits else value)


def _masked_store(w: FunctionWriter, op: vector.MaskedStoreOp) -> None:
    """Under a mask with one lane on, a scalar is stored, but LLVM must not know for AVX-512.

    LLVM 22.1 makes that scalar itself there, of the element before `trunc`: it writes too many
    bytes, at the wrong place. Nor may it be asked for: the one lane of `zext` of a comparison of
    shuffled f64 is taken from the wrong place. So it must not meet such a mask, nor find one by
    folding.
    """
    type_, operand = memory.stored(w, op.value_to_store)
    element, count = types.element_of(op.value_to_store.type), types.lanes(op.mask.type)
    pointer, align = memory.address(w, op.base, op.indices), types.memory_bytes(element)
    mask = w.value(op.mask)
    on = _lanes_on(mask, count)
    is_single = on is not None and len(on) == 1
    has_mask_registers = w.module.target.has("avx512bw") and 1 < count <= 64
    if is_single and not has_mask_registers:
        assert on is not None
        scalar = types.memory_scalar(element)
        lane = w.emit(f"extractelement {type_} {operand}, i64 {on[0]}")
        place = w.emit(f"getelementptr {scalar}, ptr {pointer}, i64 {on[0]}") if on[0] else pointer
        w.line(f"store {scalar} {lane}, ptr {place}, align {align}")
        return
    if is_single or (on is None and not isinstance(op.mask.owner, vector.CreateMaskOp)):
        mask = _opaque_mask(w, mask, count)
    name = f"llvm.masked.store.{types.mangled(type_)}.p0"
    w.module.declare(name, "void", f"{type_}, ptr, {w.type(op.mask)}")
    where = f"ptr align {align} {pointer}"
    w.line(f"call void @{name}({type_} {operand}, {where}, {w.type(op.mask)} {mask})")


def _lanes_on(mask: str, count: int) -> list[int] | None:
    """Which lanes a constant mask has on; None if the operand is no constant."""
    if mask.startswith("%"):
        return None
    lanes = [mask] * count if mask.startswith("splat") else mask.split(",")
    return [i for i, lane in enumerate(lanes) if "true" in lane]


def _opaque(w: FunctionWriter, operand: str) -> str:
    """The same i64, of which LLVM knows nothing; no instruction."""
    return w.emit(f'call i64 asm "", "=r,0"(i64 {operand})')


def _opaque_mask(w: FunctionWriter, mask: str, count: int) -> str:
    """The same mask, of which LLVM knows nothing. Wider masks fit no register, and are safe."""
    bits, type_ = f"i{count}", types.vector_of("i1", count)
    if count > 64:
        return mask
    word = w.emit(f"bitcast {type_} {mask} to {bits}")
    if count < 64:
        word = w.emit(f"zext {bits} {word} to i64")
    word = _opaque(w, word)
    if count < 64:
        word = w.emit(f"trunc i64 {word} to {bits}")
    return w.emit(f"bitcast {bits} {word} to {type_}")


def _compress(w: FunctionWriter, op: CompressOp) -> None:
    """LLVM 22.1 ends the process where the target has no such instruction for the elements, or
    where there is one; code for vectors of several registers crashes."""
    target, bits = w.module.target, types.element_bits(types.element_of(op.value.type))
    if not target.compresses_vectors or bits not in (32, 64):
        raise unsupported(op, f"the target {target.name} does not compress vectors of {bits} bits")
    if (lanes := types.lanes(op.value.type)) * bits > target.vector_bits:
        most = target.lanes(bits)
        raise unsupported(op, f"the target {target.name} compresses {most} lanes of {bits} bits")
    type_ = w.type(op.value)
    if lanes == 1:
        choice = f"{w.typed(op.mask)}, {w.typed(op.value)}, {type_} zeroinitializer"
        w.bind(op.result, w.emit(f"select {choice}"))
        return
    name = f"llvm.experimental.vector.compress.{types.mangled(type_)}"
    w.module.declare(name, type_, f"{type_}, {w.type(op.mask)}, {type_}")
    arguments = f"{w.typed(op.value)}, {w.typed(op.mask)}, {type_} zeroinitializer"
    w.bind(op.result, w.call(name, type_, arguments))


def _create_mask(w: FunctionWriter, op: vector.CreateMaskOp) -> None:
    """Lane i is on where i < n; compared in integers as wide as a full register's lanes.

    A number that is not known here stays unknown to LLVM (see `_masked_store`).
    """
    type_ = op.mask_vector.type
    count = types.lanes(type_)
    size = w.value(op.mask_dim_sizes[0])
    if not size.startswith("%"):
        lanes = ("true" if i < int(size) else "false" for i in range(count))
        w.bind(op.mask_vector, "<" + ", ".join(f"i1 {lane}" for lane in lanes) + ">")
        return
    width = min(64, max(8, w.module.target.vector_bits // count, count.bit_length() + 1))
    scalar = f"i{1 << (width - 1).bit_length()}"
    low = w.intrinsic("smax", "i64", [_opaque(w, size), "0"])
    limit = w.intrinsic("smin", "i64", [low, str(count)])
    if scalar != "i64":
        limit = w.emit(f"trunc i64 {limit} to {scalar}")
    wide = types.vector_of(scalar, count)
    limits = broadcast(w, scalar, limit, count)
    numbers = ", ".join(f"{scalar} {i}" for i in range(count))
    w.assign(op.mask_vector, f"icmp ugt {wide} {limits}, <{numbers}>")


def broadcast(w: FunctionWriter, scalar: str, operand: str, count: int) -> str:
    """`operand` in every one of `count` lanes."""
    if not operand.startswith("%"):
        return types.splat(scalar, operand)
    type_ = types.vector_of(scalar, count)
    one = w.emit(f"insertelement {type_} poison, {scalar} {operand}, i64 0")
    return w.emit(f"shufflevector {type_} {one}, {type_} poison, <{count} x i32> zeroinitializer")


def _broadcast(w: FunctionWriter, op: vector.BroadcastOp) -> None:
    (source,), result = operands_of(op), first_result(op)
    count = types.lanes(result.type)
    if types.count_of(source.type):
        if types.lanes(source.type) == count:
            w.alias(result, source)
            return
        raise unsupported(op, "broadcasts a scalar only")
    scalar = types.scalar_type(source.type)
    w.bind(result, broadcast(w, scalar, w.value(source), count))


def _fma(w: FunctionWriter, op: vector.FMAOp) -> None:
    operands, result = [w.value(v) for v in operands_of(op)], first_result(op)
    w.bind(result, fused_multiply_add(w, w.type(result), operands))


def fused_multiply_add(w: FunctionWriter, type_: str, operands: list[str]) -> str:
    """a * b + c: rounded once where the target can, else multiplied and added."""
    if w.module.target.has_fma:
        return w.intrinsic("fma", type_, operands)
    product = w.emit(f"fmul {type_} {operands[0]}, {operands[1]}")
    return w.emit(f"fadd {type_} {product}, {operands[2]}")


def _reduction(w: FunctionWriter, op: vector.ReductionOp) -> None:
    """Lanes are joined in a tree: a reduction over lanes has no order of its own."""
    type_ = w.type(op.vector)
    scalar = types.scalar_type(types.element_of(op.vector.type))
    stem, joiner = _REDUCTIONS[op.kind.data.value]
    floats = scalar in _FLOAT_SCALARS
    acc = w.value(op.acc) if op.acc is not None else None
    flags = fastmath(op)
    if floats and stem in ("add", "mul"):
        if "reassoc" not in flags:
            flags = "reassoc " + flags
        start = acc or types.float_literal(-0.0 if stem == "add" else 1.0, scalar)
        name = f"llvm.vector.reduce.f{stem}.{types.mangled(type_)}"
        w.module.declare(name, scalar, f"{scalar}, {type_}")
        result = w.call(name, scalar, f"{scalar} {start}, {w.typed(op.vector)}", flags)
        w.bind(op.dest, result)
        return
    if floats and "nsz" not in flags:
        flags = "nsz " + flags
    if stem in _EXTREMES and scalar != "half" and w.module.target.architecture == "x86_64":
        result = _extreme(w, op, _EXTREMES[stem], flags)
    else:
        name = f"llvm.vector.reduce.{stem}.{types.mangled(type_)}"
        w.module.declare(name, scalar, type_)
        result = w.call(name, scalar, w.typed(op.vector), flags if floats else "")
    if acc is not None:
        if joiner in _INSTRUCTIONS:
            result = w.emit(f"{joiner} {scalar} {result}, {acc}")
        else:
            result = w.intrinsic(joiner, scalar, [result, acc], flags if floats else "")
    w.bind(op.dest, result)


def _extreme(w: FunctionWriter, op: vector.ReductionOp, stem: str, flags: str) -> str:
    """The largest or least lane, or NaN where one is: lanes are asked once, side by side, as the
    processor's own maximum forgets NaN at each step of the tree: maxima of rows of 128 take 0.85 of
    the time so, softmaxes of rows of 64 0.89 (a thread of a Sapphire Rapids)."""
    type_, lanes = w.type(op.vector), types.lanes(op.vector.type)
    scalar, value = types.scalar_type(types.element_of(op.vector.type)), w.value(op.vector)
    best, any_of = f"llvm.vector.reduce.{stem}", f"llvm.vector.reduce.or.v{lanes}i1"
    name = w.module.declare(f"{best}.{types.mangled(type_)}", scalar, type_)
    number = w.call(name, scalar, f"{type_} {value}", f"nnan {flags}")
    apart = w.emit(f"fcmp uno {type_} {value}, {value}")
    some = w.call(
        w.module.declare(any_of, "i1", f"<{lanes} x i1>"), "i1", f"<{lanes} x i1> {apart}"
    )
    missing = types.float_literal(nan, scalar)
    return w.emit(f"select i1 {some}, {scalar} {missing}, {scalar} {number}")


def _shuffle(w: FunctionWriter, op: vector.ShuffleOp) -> None:
    if types.lanes(op.v1.type) != types.lanes(op.v2.type):
        raise unsupported(op, "both operands must have as many lanes")
    mask = ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in op.mask.get_values())
    count = types.lanes(op.result.type)
    w.assign(
        op.result, f"shufflevector {w.typed(op.v1)}, {w.typed(op.v2)}, <{count} x i32> <{mask}>"
    )


def _position(w: FunctionWriter, op: vector.ExtractOp | vector.InsertOp) -> str:
    static = op.static_position.get_values()
    if len(static) != 1:
        raise unsupported(op, "takes one position of a 1-D vector")
    return str(static[0]) if static[0] != _DYNAMIC else w.value(op.dynamic_position[0])


def _extract(w: FunctionWriter, op: vector.ExtractOp) -> None:
    w.assign(op.result, f"extractelement {w.typed(op.vector)}, i64 {_position(w, op)}")


def _insert(w: FunctionWriter, op: vector.InsertOp) -> None:
    where = _position(w, op)
    w.assign(op.result, f"insertelement {w.typed(op.dest)}, {w.typed(op.source)}, i64 {where}")


def _bitcast(w: FunctionWriter, op: vector.BitcastOp) -> None:
    source: SSAValue = op.source
    if w.type(source) == w.type(op.result):
        w.alias(op.result, source)
    else:
        w.assign(op.result, f"bitcast {w.typed(source)} to {w.type(op.result)}")


EMITTERS: dict[type[Operation], Emitter] = {
    vector.LoadOp: _load,
    vector.StoreOp: _store,
    vector.MaskedLoadOp: _masked_load,
    vector.MaskedStoreOp: _masked_store,
    vector.CreateMaskOp: _create_mask,
    vector.BroadcastOp: _broadcast,
    vector.FMAOp: _fma,
    vector.ReductionOp: _reduction,
    vector.ShuffleOp: _shuffle,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
    vector.BitcastOp: _bitcast,
    GatherOp: gather,
    CompressOp: _compress,
}
