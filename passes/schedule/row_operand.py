"""The row operand of a product, copied into scratch where its own layout would be slow to read.

Rows a power of two apart fall into the same few sets of the first-level cache, and summed
dimensions that are not contiguous touch a cache line per element; a copy per block of rows costs
one pass over the block and is read once for every panel.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import SSAValue

from lamina.dialects.loop.linear import Linear
from lamina.passes.schedule.body import load
from lamina.passes.schedule.combine import store
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.stages import LOCAL_ROW, Access, Stage

ROW_PADDING_BYTES = 64
"""What is left free between rows of a copy, so that they share no sets of the nearest cache."""


def copy_rows(
    emit: Emitter,
    stage: Stage,
    access: Access,
    memory: Memory,
    env: Env,
    row_dim: int,
    summed: tuple[int, ...],
    rows: tuple[Index, Index],
    block: int,
    lanes: int,
) -> Access:
    """Copy rows `[low, high)` of the operand into scratch, `lanes` elements at a time.

    Returns the access to the copy.
    """
    extents = [stage.extents[d] for d in summed]
    bits = access.element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]
    length = prod(extents)
    pitch = length + ROW_PADDING_BYTES * 8 // bits
    scratch = emit.add(memref.AllocaOp.get(access.element, 64, [block * pitch]))
    offset: dict[int, int] = {LOCAL_ROW: pitch}
    step = 1
    for dim, extent in zip(reversed(summed), reversed(extents), strict=True):
        offset[dim] = step
        step *= extent
    form = Linear.of(offset)
    source = memory.flat[access.memory]
    lanes = min(lanes, max(1, extents[-1]))
    while lanes & (lanes - 1):
        lanes &= lanes - 1

    def row(inner: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
        position = {**env, row_dim: at, LOCAL_ROW: inner.minus(at, rows[0])}
        _copy(inner, position, list(summed))
        return values

    def _copy(inner: Emitter, position: Env, dims: list[int]) -> None:
        dim, *rest = dims

        def outer(deeper: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            _copy(deeper, {**position, dim: at}, rest)
            return values

        def whole(deeper: Emitter, at: Index, values: list[SSAValue]) -> list[SSAValue]:
            _move(deeper, {**position, dim: at}, dim, None)
            return values

        extent = stage.extents[dim]
        if rest:
            inner.loop(0, extent, 1, [], outer)
            return
        inner.loop(0, extent - extent % lanes, lanes, [], whole)
        if extent % lanes:
            left = inner.value(extent % lanes)
            mask = inner.add(
                vector.CreateMaskOp.create(operands=[left], result_types=[VectorType(i1, [lanes])])
            )
            _move(inner, {**position, dim: extent - extent % lanes}, dim, mask)

    def _move(inner: Emitter, position: Env, dim: int, mask: SSAValue | None) -> None:
        at = inner.linear(access.offset, position)
        stride = access.stride(dim)
        value = load(inner, source, access.element, at, stride, lanes, mask).value
        if lanes == 1:
            place = inner.value(inner.linear(form, position))
            inner.run(memref.StoreOp.get(value, scratch, [place]))
        else:
            store(inner, value, scratch, inner.linear(form, position), 1, lanes, mask)

    emit.loop(*rows, 1, [], row)
    copied = Access(scratch, form, access.element)
    memory.flat[scratch] = scratch
    return copied
