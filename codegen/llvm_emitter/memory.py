"""Addresses, loads, stores and buffers: `memref`, `loop.reshape`, `loop.prefetch`.

Memrefs are row-major and contiguous, so an address is base + sum of index * stride. Index
arithmetic (`addi`, `subi`, `muli` by a constant) is taken apart into terms; each term is added to
the pointer before the innermost loop it varies in, and the constant part comes last, where the
CPU's addressing mode takes it for nothing.
"""

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Operation, SSAValue

from lamina.codegen.llvm_emitter import types
from lamina.codegen.llvm_emitter.writer import Emitter, FunctionWriter, unsupported
from lamina.codegen.target import STACK_BYTES
from lamina.dialects.loop.kernel import ReshapeOp
from lamina.dialects.loop.row import RowOp
from lamina.dialects.loop.scheduled import PrefetchOp
from lamina.dialects.op_accessors import first_result, operands_of

Linear = tuple[dict[SSAValue, int], int]

_LINEAR = frozenset({arith.AddiOp, arith.SubiOp, arith.MuliOp})
"""What linear forms are followed through. Classes are compared, as there are many addresses."""


def linear_form(w: FunctionWriter, value: SSAValue) -> Linear:
    """`value` as a sum of coefficient * value plus a constant."""
    found = w.linear.get(value)
    if found is None:
        found = w.linear[value] = _linear(w, value)
    return found  # pyright: ignore[reportReturnType]


def _linear(w: FunctionWriter, value: SSAValue) -> Linear:
    owner = value.owner
    operand = w.values[value]
    if not operand.startswith("%"):
        return {}, int(operand)
    if type(owner) in _LINEAR and isinstance(value.type, IndexType):
        left, right = [linear_form(w, operand) for operand in operands_of(owner)]  # pyright: ignore
        if type(owner) is not arith.MuliOp:
            return _add(left, right, 1 if type(owner) is arith.AddiOp else -1)
        if not right[0]:
            return _add(({}, 0), left, right[1])
        if not left[0]:
            return _add(({}, 0), right, left[1])
    return {value: 1}, 0


def _add(left: Linear, right: Linear, factor: int) -> Linear:
    terms = dict(left[0])
    for value, coefficient in right[0].items():
        total = terms.get(value, 0) + coefficient * factor
        if total:
            terms[value] = total
        else:
            terms.pop(value, None)
    return terms, left[1] + right[1] * factor


def element_offset(w: FunctionWriter, shape: Sequence[int], indices: Sequence[SSAValue]) -> Linear:
    """Row-major element offset of `indices` in `shape`."""
    total: Linear = ({}, 0)
    stride = 1
    for extent, index in zip(reversed(shape), reversed(indices), strict=True):
        total = _add(total, linear_form(w, index), stride)
        stride *= extent
    return total


def address(w: FunctionWriter, base: SSAValue, indices: Sequence[SSAValue]) -> str:
    """Pointer to the element of `base` at `indices`."""
    kind = base.type
    assert isinstance(kind, MemRefType)
    terms, constant = element_offset(w, kind.get_shape(), indices)
    element = types.memory_scalar(kind.element_type)
    pointer, depth = w.value(base), w.depths[base]
    for value in sorted(terms, key=w.depths.__getitem__):
        depth = max(depth, w.depths[value])
        pointer = _step(w, pointer, element, value, terms[value], depth)
    if constant:
        pointer = _remembered(w, pointer, element, str(constant), len(w.before_loop))
    return pointer


def _step(
    w: FunctionWriter, pointer: str, element: str, value: SSAValue, coefficient: int, depth: int
) -> str:
    index = w.value(value)
    if coefficient == 1:
        return _remembered(w, pointer, element, index, depth)
    if coefficient > 1:
        return _remembered(w, pointer, f"[{coefficient} x {element}]", index, depth)
    key = ("mul", index, str(coefficient))
    if key not in w.pointers:
        w.pointers[key] = (w.emit_at(depth, f"mul i64 {index}, {coefficient}"), depth)
    return _remembered(w, pointer, element, w.pointers[key][0], depth)


def _remembered(w: FunctionWriter, pointer: str, element: str, index: str, depth: int) -> str:
    key = (pointer, element, index)
    found = w.pointers.get(key)
    if found is None:
        text = f"getelementptr {element}, ptr {pointer}, i64 {index}"
        found = w.pointers[key] = (w.emit_at(depth, text), depth)
    return found[0]


def load(w: FunctionWriter, pointer: str, element_memref: MemRefType, count: int) -> str:
    """Loads a scalar (count 0) or `count` lanes; bytes become i1 where elements are i1."""
    element = element_memref.element_type
    memory = types.vector_of(types.memory_scalar(element), count)
    value = w.emit(f"load {memory}, ptr {pointer}, align {types.memory_bytes(element)}")
    return bytes_to_bits(w, value, count) if types.scalar_type(element) == "i1" else value


def bytes_to_bits(w: FunctionWriter, value: str, count: int) -> str:
    """Any byte but 0 is true."""
    zero = "zeroinitializer" if count else "0"
    return w.emit(f"icmp ne {types.vector_of('i8', count)} {value}, {zero}")


def bits_to_bytes(w: FunctionWriter, value: str, count: int) -> str:
    """1 for true, 0 for false."""
    bits, bytes_ = types.vector_of("i1", count), types.vector_of("i8", count)
    return w.emit(f"zext {bits} {value} to {bytes_}")


def stored(w: FunctionWriter, value: SSAValue) -> tuple[str, str]:
    """(memory type, operand) for storing `value`."""
    element, count = types.element_of(value.type), types.count_of(value.type)
    operand = w.value(value)
    if types.scalar_type(element) == "i1":
        operand = bits_to_bytes(w, operand, count)
    return types.vector_of(types.memory_scalar(element), count), operand


def _load(w: FunctionWriter, op: memref.LoadOp) -> None:
    base, *indices = operands_of(op)
    assert isinstance(base.type, MemRefType)
    pointer = address(w, base, indices)
    w.bind(first_result(op), load(w, pointer, base.type, 0))


def _store(w: FunctionWriter, op: memref.StoreOp) -> None:
    value, base, *indices = operands_of(op)
    type_, operand = stored(w, value)
    pointer = address(w, base, indices)
    w.line(f"store {type_} {operand}, ptr {pointer}, align {_alignment(value)}")


def _alignment(value: SSAValue) -> int:
    return types.memory_bytes(types.element_of(value.type))


def _view(w: FunctionWriter, op: memref.ViewOp) -> None:
    offset = w.value(op.byte_shift)
    place = w.places.get(op.source)
    if offset == "0":
        w.alias(op.result, op.source)
    elif place is not None and place[1] == "0" and not offset.startswith("%"):
        w.places[op.result] = place[0], offset
    else:
        w.assign(op.result, f"getelementptr inbounds i8, ptr {w.value(op.source)}, i64 {offset}")


def _reshape(w: FunctionWriter, op: ReshapeOp) -> None:
    w.alias(op.result, op.source)


def _row(w: FunctionWriter, op: RowOp) -> None:
    kind = op.result.type
    assert isinstance(kind, MemRefType)
    element = types.memory_scalar(kind.element_type)
    row = f"[{prod(kind.get_shape())} x {element}]"
    pointer, index = w.value(op.source), w.value(op.index)
    w.assign(op.result, f"getelementptr {row}, ptr {pointer}, i64 {index}")


def _copy(w: FunctionWriter, op: memref.CopyOp) -> None:
    kind = op.source.type
    assert isinstance(kind, MemRefType)
    size = prod(kind.get_shape()) * types.memory_bytes(kind.element_type)
    w.module.declare("llvm.memcpy.p0.p0.i64", "void", "ptr, ptr, i64, i1")
    target, source = w.value(op.destination), w.value(op.source)
    w.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")


def _cast(w: FunctionWriter, op: memref.CastOp) -> None:
    w.alias(op.dest, op.source)


def _alloca(w: FunctionWriter, op: memref.AllocaOp) -> None:
    type_ = op.memref.type
    assert isinstance(type_, MemRefType)
    count, element = prod(type_.get_shape()), type_.element_type
    w.alloca_bytes += count * types.memory_bytes(element)
    if count < 0 or w.alloca_bytes > STACK_BYTES:
        nearest = "scratch in the arena, as plan-scratch makes it"
        raise unsupported(op, f"a function's stack is limited to {STACK_BYTES} bytes", nearest)
    name = w.fresh("stack")
    array = f"[{count} x {types.memory_scalar(element)}]"
    w.allocas.append(f"  {name} = alloca {array}, align 64")
    w.values[op.memref] = name
    w.depths[op.memref] = 0


def _prefetch(w: FunctionWriter, op: PrefetchOp) -> None:
    pointer = address(w, op.ref, op.indices)
    w.module.declare("llvm.prefetch.p0", "void", "ptr, i32, i32, i32")
    locality = 3 if op.locality is None else op.locality.value.data
    w.line(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 {locality}, i32 1)")


EMITTERS: dict[type[Operation], Emitter] = {
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.ViewOp: _view,
    memref.CastOp: _cast,
    memref.AllocaOp: _alloca,
    memref.CopyOp: _copy,
    ReshapeOp: _reshape,
    RowOp: _row,
    PrefetchOp: _prefetch,
}
