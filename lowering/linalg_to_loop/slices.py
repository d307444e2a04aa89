"""Slices, padding and concatenation of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from lamina.lowering import scalar
from lamina.lowering.linalg_to_loop.bodies import BodyCopy, captured_by
from lamina.lowering.linalg_to_loop.linalg_number_arguments import tensor_behind
from lamina.lowering.linalg_to_loop.table import (
    LinalgBuilder,
    constant_of,
    lowers,
)
from lamina.lowering.prims_to_loop.ordered import scatter
from lamina.lowering.prims_to_loop.table import Body, Map, d
from lamina.lowering.scalar import number
from lamina.lowering.tensor_types import element_of, shape_of


def _mixed(
    b: LinalgBuilder, static: Sequence[int], dynamic: Sequence[SSAValue]
) -> list[int | SSAValue]:
    """Numbers, those that are constant among the values too."""
    rest = iter(dynamic)
    found: list[int | SSAValue] = []
    for entry in static:
        if entry != DYNAMIC_INDEX:
            found.append(entry)
            continue
        value = next(rest)
        known = b.number_of(value)
        found.append(value if known is None else known)
    return found


def _static(b: LinalgBuilder, what: str, given: Sequence[int | SSAValue]) -> list[int]:
    if not all(isinstance(entry, int) for entry in given):
        raise b.refuse(f"{what} that are not known when compiling", f"constant {what}")
    return [entry for entry in given if isinstance(entry, int)]


def _kept_dims(sizes: Sequence[int], shape: Sequence[int]) -> list[int] | None:
    """The dimensions of a slice that a tensor of that shape, which may lack those of 1, has."""
    kept: list[int] = []
    for dim, size in enumerate(sizes):
        rest = len(sizes) - dim
        wanted = len(shape) - len(kept)
        if (
            wanted
            and shape[len(kept)] == size
            and (size != 1 or wanted == rest or _fits(sizes[dim + 1 :], shape[len(kept) + 1 :]))
        ):
            kept.append(dim)
        elif size != 1:
            return None
    return kept if len(kept) == len(shape) else None


def _fits(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    return _kept_dims(sizes, shape) is not None


@lowers("tensor.extract_slice")
def _extract_slice(op: tensor.ExtractSliceOp, b: LinalgBuilder) -> SSAValue:
    source, shape = op.source, shape_of(op.result)
    offsets = _mixed(b, op.static_offsets.get_values(), op.offsets)
    sizes = _static(b, "sizes", _mixed(b, op.static_sizes.get_values(), op.sizes))
    strides = _static(b, "strides", _mixed(b, op.static_strides.get_values(), op.strides))
    kept = _kept_dims(sizes, shape)
    if kept is None:
        raise b.refuse(f"sizes {sizes} for {op.result.type}")
    _check_range(b, offsets, sizes, strides, shape_of(source))
    if any(isinstance(offset, SSAValue) for offset in offsets):
        return _moving_slice(b, source, offsets, strides, kept, shape)
    exprs: list[AffineExpr | int] = []
    for dim, offset in enumerate(offsets):
        assert isinstance(offset, int)
        if dim in kept:
            exprs.append(d(kept.index(dim)) * strides[dim] + offset)
        else:
            exprs.append(offset)
    return b.copy(source, [e if isinstance(e, int) else _plain(e) for e in exprs], shape)


def _plain(expr: AffineExpr) -> AffineExpr:
    """Without `* 1` and `+ 0`."""
    return expr.simplify(16, 0) if not isinstance(expr, AffineConstantExpr) else expr


def _check_range(
    b: LinalgBuilder,
    offsets: Sequence[int | SSAValue],
    sizes: Sequence[int],
    strides: Sequence[int],
    shape: Sequence[int],
) -> None:
    for offset, size, stride, extent in zip(offsets, sizes, strides, shape, strict=True):
        first = offset if isinstance(offset, int) else 0
        last = first + (size - 1) * stride
        if stride < 1 or first < 0 or (size and last >= extent):
            raise b.refuse(f"elements {first} to {last} of a dimension of {extent}")


def _moving_slice(
    b: LinalgBuilder,
    source: SSAValue,
    offsets: Sequence[int | SSAValue],
    strides: Sequence[int],
    kept: Sequence[int],
    shape: list[int],
) -> SSAValue:
    """A slice that begins where the data say; checked at run time."""
    reads, slots = _offset_reads(b, offsets)

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        places = _places(inner, args, offsets, slots, strides, kept)
        return [inner.read(args[-1], places)]

    write = (None, "store", shape, element_of(source))
    return b.generic(shape, reads, [write], body, sources=[source]).res[0]


def _offset_reads(
    b: LinalgBuilder, offsets: Sequence[int | SSAValue]
) -> tuple[list[tuple[SSAValue, Map]], list[int]]:
    """Reads of the offsets that are values, and the read of each; -1 for numbers."""
    reads: list[tuple[SSAValue, Map]] = []
    slots: list[int] = []
    for offset in offsets:
        if isinstance(offset, int):
            slots.append(-1)
            continue
        held = tensor_behind(offset)
        if held is None:
            raise b.refuse("an offset that no op here makes")
        slots.append(len(reads))
        reads.append((held, []))
    return reads, slots


@lowers("tensor.insert_slice", "tensor.parallel_insert_slice")
def _insert_slice(op: tensor.InsertSliceOp, b: LinalgBuilder) -> SSAValue:
    """The destination, and the source inside the slice: read with a pad, and selected."""
    source, dest, shape = op.source, op.dest, shape_of(op.dest)
    offsets = _mixed(b, op.static_offsets.get_values(), op.offsets)
    sizes = _static(b, "sizes", _mixed(b, op.static_sizes.get_values(), op.sizes))
    strides = _static(b, "strides", _mixed(b, op.static_strides.get_values(), op.strides))
    kept = _kept_dims(sizes, shape_of(source))
    if kept is None:
        raise b.refuse(f"sizes {sizes} for {source.type}")
    _check_range(b, offsets, sizes, strides, shape)
    if 0 in sizes:
        return dest
    if sizes == shape:
        return b.reshape(source, shape)
    fixed = [offset for offset in offsets if isinstance(offset, int)]
    if len(fixed) < len(offsets) or max(strides, default=1) > 1:
        return _scattered(b, source, dest, offsets, strides, kept)
    element = element_of(dest)
    exprs: list[AffineExpr] = [d(dim) - fixed[dim] if fixed[dim] else d(dim) for dim in kept]

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        chosen = args[0]
        for dim in range(len(shape)):
            inside = _inside(inner, dim, fixed[dim], sizes[dim], shape[dim])
            for test in inside:
                chosen = scalar.select(inner, test, chosen, args[1])
        return [chosen]

    reads: list[tuple[SSAValue, Map]] = [(source, exprs), (dest, None)]
    write = (None, "store", shape, element)
    return b.generic(shape, reads, [write], body, pads=[number(0, element), None]).res[0]


def _inside(inner: Body, dim: int, offset: int, size: int, extent: int) -> list[SSAValue]:
    """What must hold at a place that a slice covers."""
    tests: list[SSAValue] = []
    place = inner.index(dim) if size != extent else None
    if place is not None and offset > 0:
        first = inner.constant(offset, IndexType())
        tests.append(scalar.compare(inner, "ge", place, first))
    if place is not None and offset + size < extent:
        last = inner.constant(offset + size - 1, IndexType())
        tests.append(scalar.compare(inner, "le", place, last))
    return tests


def _scattered(
    b: LinalgBuilder,
    source: SSAValue,
    dest: SSAValue,
    offsets: Sequence[int | SSAValue],
    strides: Sequence[int],
    kept: Sequence[int],
) -> SSAValue:
    """A slice with strides, or one that begins where the data say: element by element."""
    moving, slots = _offset_reads(b, offsets)

    def body(
        inner: Body, args: list[SSAValue], old: SSAValue
    ) -> tuple[Sequence[SSAValue], SSAValue]:
        return _places(inner, args[1:], offsets, slots, strides, kept), args[0]

    return scatter(b, shape_of(source), [(source, None), *moving], dest, body)


def _places(
    inner: Body,
    held: Sequence[SSAValue],
    offsets: Sequence[int | SSAValue],
    slots: Sequence[int],
    strides: Sequence[int],
    kept: Sequence[int],
) -> list[SSAValue]:
    """The place in the whole tensor of a place in a slice."""
    places: list[SSAValue] = []
    for dim, (slot, offset) in enumerate(zip(slots, offsets, strict=True)):
        if isinstance(offset, int):
            place = inner.constant(offset, IndexType())
        else:
            place = inner.as_index(held[slot])
        if dim in kept:
            step = inner.constant(strides[dim], IndexType())
            moved = inner.add(arith.MuliOp(inner.index(kept.index(dim)), step))
            place = inner.add(arith.AddiOp(place, moved))
        places.append(place)
    return places


@lowers("tensor.concat")
def _concat(op: tensor.ConcatOp, b: LinalgBuilder) -> SSAValue:
    """Every piece read with a pad outside its range, and the piece at hand selected."""
    shape, element = shape_of(op.result), element_of(op.result)
    dim = op.dim.value.data
    pieces = [piece for piece in op.inputs if shape_of(piece)[dim]]
    if not pieces:
        return b.pointwise([], element, lambda i, _: i.constant(0, element), shape)
    if len(pieces) == 1:
        return pieces[0]
    starts = [sum(shape_of(p)[dim] for p in pieces[:n]) for n in range(len(pieces))]
    reads: list[tuple[SSAValue, Map]] = []
    for piece, start in zip(pieces, starts, strict=True):
        exprs: list[AffineExpr | int] = [d(axis) for axis in range(len(shape))]
        exprs[dim] = d(dim) - start if start else d(dim)
        reads.append((piece, exprs))

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        chosen, at = args[-1], inner.index(dim)
        for value, start in zip(reversed(args[:-1]), reversed(starts[1:]), strict=True):
            before = scalar.compare(inner, "lt", at, inner.constant(start, IndexType()))
            chosen = scalar.select(inner, before, value, chosen)
        return [chosen]

    write = (None, "store", shape, element)
    pads = [number(0, element)] * len(reads)
    return b.generic(shape, reads, [write], body, pads=pads).res[0]


@lowers("tensor.pad")
def _pad(op: tensor.PadOp, b: LinalgBuilder) -> SSAValue:
    """A constant is read outside of the source; any other value is selected there."""
    source, shape = op.source, shape_of(op.result)
    low = _static(b, "amounts", _mixed(b, op.static_low.get_values(), op.low))
    high = _static(b, "amounts", _mixed(b, op.static_high.get_values(), op.high))
    given = shape_of(source)
    padded = [e + a + z for e, a, z in zip(given, low, high, strict=True)]
    if padded != shape:
        raise b.refuse(f"low {low} and high {high} give {padded}, not {op.result.type}")
    exprs: list[AffineExpr | int] = [
        d(dim) - amount if amount else d(dim) for dim, amount in enumerate(low)
    ]
    block = op.region.block
    end = block.last_op
    assert end is not None
    value = end.operands[0]
    fixed = constant_of(value)
    if not any((*low, *high)):
        return source
    if fixed is not None:
        return b.copy(source, exprs, shape, fixed if any(v > 0 for v in (*low, *high)) else None)
    captured = captured_by(b, block)
    held: list[tuple[SSAValue, Map]] = [(h, []) for h in captured.numbers.values()]
    if (
        value not in captured.numbers
        and value.owner is not block
        and tensor_behind(value) is not None
    ):
        captured.numbers[value] = tensor_behind(value)  # pyright: ignore
        held.append((captured.numbers[value], []))

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        values: dict[SSAValue, SSAValue] = {
            argument: inner.index(dim) for dim, argument in enumerate(block.args)
        }
        for meant, got in zip(captured.numbers, args[1:], strict=False):
            is_index = isinstance(meant.type, IndexType)
            values[meant] = inner.as_index(got) if is_index else got
        values.update(zip(captured.tensors, args[1 + len(held) :], strict=True))
        copy = BodyCopy(b, inner, values)
        copy.copy([inside for inside in block.ops if inside is not end])
        chosen, outside = args[0], copy(value)
        for dim in range(len(shape)):
            for test in _inside(inner, dim, low[dim], given[dim], shape[dim]):
                chosen = scalar.select(inner, test, chosen, outside)
        return [chosen]

    element = element_of(source)
    write = (None, "store", shape, element)
    return b.generic(
        shape,
        [(source, exprs), *held],
        [write],
        body,
        sources=captured.tensors,
        pads=[number(0, element), *([None] * len(held))],
    ).res[0]
