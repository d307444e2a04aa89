"""Matrix tiles: the `loop.tile_...` ops as AMX instructions of x86-64.

LLVM chooses the tile registers, and configures them where a function begins to use them.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.ir import Operation, SSAValue

from lamina.codegen.llvm_emitter import memory, types
from lamina.codegen.llvm_emitter.writer import Emitter, FunctionWriter, unsupported
from lamina.codegen.target import TILE_REQUEST, Target
from lamina.dialects.loop.tiles import TileDotOp, TileLoadOp, TileStoreOp, TileZeroOp
from lamina.dialects.op_list import ops_of


def are_used(module: ModuleOp, target: Target) -> bool:
    """Whether a scheduled module multiplies in matrix tiles."""
    return target.multiplies_tiles and bool(ops_of(module, TileDotOp))


def ask(w: FunctionWriter) -> None:
    """Asks the system for tile registers, and ends the entry with a message where it has none."""
    denied, given = w.label("denied"), w.label("given")
    operands = ", ".join(f"i64 {number}" for number in TILE_REQUEST)
    w.module.declare("syscall", "i64", "i64, ...")
    answer = w.emit(f"call i64 (i64, ...) @syscall({operands})")
    w.branch(w.emit(f"icmp eq i64 {answer}, 0"), given, denied)
    w.start_block(denied)
    message = "the system does not let this process use the matrix tiles that it was compiled for"
    w.line(f"ret i32 {w.module.message_id(message)}")
    w.start_block(given)


def _shape(tile: SSAValue) -> tuple[int, int]:
    """Rows, and bytes of a row."""
    assert isinstance(tile.type, VectorType)
    rows, columns = tile.type.get_shape()
    return rows, columns * types.memory_bytes(tile.type.element_type)


def _call(
    w: FunctionWriter,
    op: Operation,
    stem: str,
    result: str,
    arguments: Sequence[tuple[str, object]],
) -> str:
    if not w.module.target.multiplies_tiles:
        raise unsupported(op, f"the target {w.module.target.name} has no matrix tiles")
    name = w.module.declare(f"llvm.x86.{stem}.internal", result, ", ".join(t for t, _ in arguments))
    operands = ", ".join(f"{kind} {operand}" for kind, operand in arguments)
    if result != "void":
        return w.call(name, result, operands)
    w.line(f"call void @{name}({operands})")
    return ""


def _place(
    w: FunctionWriter, tile: SSAValue, ref: SSAValue, at: SSAValue, stride: SSAValue
) -> list[tuple[str, object]]:
    rows, row_bytes = _shape(tile)
    size = types.memory_bytes(types.element_of(tile.type))
    pointer = memory.address(w, ref, [at])
    step = w.value(stride)
    step = w.emit(f"mul i64 {step}, {size}") if step.startswith("%") else str(int(step) * size)
    return [("i16", rows), ("i16", row_bytes), ("ptr", pointer), ("i64", step)]


def _zero(w: FunctionWriter, op: TileZeroOp) -> None:
    rows, row_bytes = _shape(op.result)
    made = _call(w, op, "tilezero", types.TILE, [("i16", rows), ("i16", row_bytes)])
    w.bind(op.result, made)


def _load(w: FunctionWriter, op: TileLoadOp) -> None:
    place = _place(w, op.result, op.ref, op.at, op.stride)
    w.bind(op.result, _call(w, op, "tileloadd64", types.TILE, place))


def _store(w: FunctionWriter, op: TileStoreOp) -> None:
    place = _place(w, op.tile, op.ref, op.at, op.stride)
    _call(w, op, "tilestored64", "void", [*place, (types.TILE, w.value(op.tile))])


def _dot(w: FunctionWriter, op: TileDotOp) -> None:
    rows, row_bytes = _shape(op.total)
    sizes: list[tuple[str, object]] = [
        ("i16", rows),
        ("i16", row_bytes),
        ("i16", _shape(op.left)[1]),
    ]
    tiles = [(types.TILE, w.value(tile)) for tile in (op.total, op.left, op.right)]
    w.bind(op.result, _call(w, op, "tdpbf16ps", types.TILE, [*sizes, *tiles]))


EMITTERS: dict[type[Operation], Emitter] = {
    TileZeroOp: _zero,
    TileLoadOp: _load,
    TileStoreOp: _store,
    TileDotOp: _dot,
}
