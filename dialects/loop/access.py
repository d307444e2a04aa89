"""Composition of index maps: what a read of a rearranged tensor reads in the original one."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.loop.body_ops import YieldOp
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.linear import Linear, linear
from lamina.dialects.loop.packing import in_matrix_tiles, is_packed
from lamina.dialects.loop.segments import SEGMENTS, left_out_by, used_dims_of, words_of
from lamina.dialects.op_accessors import operands_of
from lamina.dialects.type_shapes import shape_of_type

Forms = tuple[Linear, ...]


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The static shape of a tensor or memref value."""
    return shape_of_type(value.type)


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Element strides of a contiguous row-major array."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def forms_of(index_map: AffineMap, extents: Sequence[int]) -> Forms | None:
    """Linear forms of every result of a map over a domain, or None if one has none."""
    extents = tuple(extents)
    known = _forms_by_extents(index_map)
    if extents not in known:
        known[extents] = _forms(index_map, extents)
    return known[extents]


@once_an_object
def _forms_by_extents(index_map: AffineMap) -> dict[tuple[int, ...], Forms | None]:
    """What is known of the forms of a map."""
    return {}


@lru_cache(maxsize=4096)
def _forms(index_map: AffineMap, extents: tuple[int, ...]) -> Forms | None:
    forms = [linear(e, extents) for e in index_map.results]
    return None if any(f is None for f in forms) else tuple(f for f in forms if f is not None)


def map_of(forms: Sequence[Linear], num_dims: int) -> AffineMap:
    """The affine map of linear forms over a domain of `num_dims` dimensions.

    Equal ones are one object, by which much else is known of it again (see `identity_cache`).
    """
    return _map_of(tuple(forms), num_dims)


@lru_cache(maxsize=4096)
def _map_of(forms: Forms, num_dims: int) -> AffineMap:
    return AffineMap(num_dims, 0, tuple([f.to_expr() for f in forms]))


def flatten(forms: Sequence[Linear], shape: Sequence[int]) -> Linear:
    """Row-major element offset of an access."""
    offset = Linear(())
    for form, stride in zip(forms, row_major_strides(shape), strict=True):
        offset = offset.add(form.scale(stride))
    return offset


def through_reshape(
    forms: Sequence[Linear], outer: Sequence[int], inner: Sequence[int], extents: Sequence[int]
) -> Forms | None:
    """Indices into shape `inner` of what `forms` index in the reshaped shape `outer`."""
    rest = flatten(forms, outer)
    result: list[Linear] = []
    for stride in row_major_strides(inner):
        parts = rest.divide(stride, extents) if stride else None
        if parts is None:
            return None
        quotient, rest = parts
        result.append(quotient)
    for form, extent in zip(result, inner, strict=True):
        low, high = form.range(extents)
        if low < 0 or high >= extent:
            return None
    return tuple(result)


def substitute(form: Linear, values: Sequence[Linear]) -> Linear:
    """A linear form over the dims for which `values` gives forms over other dims."""
    result = Linear((), form.constant)
    for dim, coefficient in form.terms:
        result = result.add(values[dim].scale(coefficient))
    return result


def producer_dims(producer: GenericOp, forms: Sequence[Linear], result: int = 0) -> Forms | None:
    """The producer's domain position that wrote the element which `forms` read.

    None if some dimension of the producer does not stand alone in its write map.
    """
    position: list[Linear | None] = [
        Linear(()) if extent == 1 else None for extent in producer.extents
    ]
    written = forms_of(producer.write_maps[result], producer.extents)
    if written is None:
        return None
    for form, read in zip(written, forms, strict=True):
        if len(form.terms) == 1 and form.constant == 0 and form.terms[0][1] == 1:
            position[form.terms[0][0]] = read
        elif form.terms or form.constant:
            return None
    return None if any(p is None for p in position) else tuple(p for p in position if p is not None)


def is_copy(op: object) -> bool:
    """Whether a generic only rearranges one tensor: its body yields its one read."""
    if not isinstance(op, GenericOp) or len(op.inputs) != 1 or len(op.res) != 1:
        return False
    if op.sources or not op.is_pointwise:
        return False
    terminator = op.block.first_op
    return isinstance(terminator, YieldOp) and terminator.values[0] is op.block.args[0]


def is_contraction(op: object) -> bool:
    """Whether a generic is a sum of products of two reads that share the reduced dims.

    In matrix tiles the reads are half floats, and widened in the body; so may one be that is packed
    (see `packing`).
    """
    if not isinstance(op, GenericOp):
        return False
    held = op.properties
    if not _sums_of_two(held["combiners"], held["input_maps"], held["output_maps"], held[SEGMENTS]):
        return False
    block = op.block
    last = block.last_op
    if last is None or (product := last.prev_op) is None:
        return False
    if product.name not in ("arith.mulf", "arith.muli"):
        return False
    widened = [] if product is block.first_op else [*block.ops][:-2]
    if len(widened) not in _widened_reads(op) or any(w.name != "arith.extf" for w in widened):
        return False
    if operands_of(last) != (product.results[0],):
        return False
    arguments = list(block.args)
    if not widened and len(arguments) == 2:
        (one, other), (left, right) = operands_of(product), arguments
        return (one is left and other is right) or (one is right and other is left)
    factors: dict[SSAValue, SSAValue] = dict(zip(arguments, arguments, strict=True))
    factors |= {inner.operands[0]: inner.results[0] for inner in widened}
    return len(factors) == len(arguments) and set(operands_of(product)) == set(factors.values())


@once_an_object
def _sums_of_two(combiners: Any, input_maps: Any, output_maps: Any, segments: Any) -> bool:
    """Whether attributes are of a nest of two reads, one sum, and no more, that shares what it
    sums over."""
    inputs, sources, *_ = segments.get_values()
    if words_of(combiners) != ("add",) or inputs != 2 or sources:
        return False
    reduced = set(left_out_by(output_maps))
    return bool(reduced) and all(reduced <= used for used in used_dims_of(input_maps))


def _widened_reads(op: GenericOp) -> tuple[int, ...]:
    """How many reads a product may widen in its body."""
    if in_matrix_tiles(op):
        return (2,)
    return (0, 1) if is_packed(op) else (0,)
