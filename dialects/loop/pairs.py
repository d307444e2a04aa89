"""Products of bf16 in matrix tiles: how their operands lie in memory (see `packing`).

Sixteen rows or columns of the packed operand make a tile; in a row of it stand two summed elements
of each.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BFloat16Type, MemRefType, TensorType
from xdsl.ir.affine import AffineExpr
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.access import flatten, forms_of, is_copy, shape_of
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.linear import Linear, linear
from lamina.dialects.loop.packing import PACKING
from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_TERMS

TILE_PANEL = 2 * TILE_COLUMNS
"""Columns of a panel of matrix tiles: two by two of them share what they load."""
PAIR_BYTES = 2
"""Bytes of an element of a product in matrix tiles."""


def verify_pairs(op: GenericOp, number: int) -> None:
    """Raises VerifyException where a nest does not read pairs in this operand."""
    shape = Contraction.of(op)
    if shape is None or shape.panel != TILE_PANEL or not is_tiled(shape, number):
        raise VerifyException(
            f"{op.name}: {PACKING}: pairs stand, beside panel = {TILE_PANEL}, on a matrix product "
            f"of bf16 with rows (in one dimension, if they are packed), {TILE_COLUMNS} columns, "
            f"and {TILE_TERMS} or more neighbours along a dimension that is summed (the only one, "
            "if rows are packed)"
        )
    if op.pad_values != (None, None) or not sums_neighbours(shape, 1 - number):
        raise VerifyException(
            f"{op.name}: {PACKING}: pairs = {number} needs reads without pads, and neighbours "
            f"along the sum in read {1 - number}"
        )
    extents, wanted = paired_layout(shape, number, paired_term(shape, number))
    found = op.read_maps[number].results
    if not is_packed_in_tasks(shape) and (
        shape_of(op.inputs[number]) != extents
        or any(not is_same(a, b, op.extents) for a, b in zip(found, wanted, strict=True))
    ):
        raise VerifyException(
            f"{op.name}: {PACKING}: read {number} is not packed in pairs: that would be "
            f"[{', '.join(map(str, wanted))}] of shape {list(extents)}, or neighbouring columns"
        )


def paired_term(shape: Contraction, number: int) -> int:
    """The summed dimension whose elements stand in pairs in read `number`, as the channels of a
    convolution: of several, one whose elements are neighbours in the other read, or the last.

    Tiles of it are multiplied for each position of the others, a window's.
    """
    if len(shape.summed) == 1:
        return shape.summed[0]
    op = shape.op
    forms = forms_of(op.read_maps[1 - number], op.extents)
    if forms is None:
        return shape.summed[-1]
    offset = flatten(forms, shape_of(op.inputs[1 - number]))
    return next((d for d in shape.summed if offset.coefficient(d) == 1), shape.summed[-1])


def is_packed_in_tasks(shape: Contraction) -> bool:
    """Whether the columns of a product in matrix tiles are neighbours in memory: each task packs
    those that it multiplies."""
    op = shape.op
    if shape.pairs != shape.b or len(shape.summed) != 1:
        return False
    if (forms := forms_of(op.read_maps[shape.b], op.extents)) is None:
        return False
    offset = flatten(forms, shape_of(op.inputs[shape.b]))
    return offset.coefficient(shape.inner_column) == 1


def has_pieces(shape: Contraction) -> bool:
    """Whether a packed product can add up pieces of its sum: panels of terms."""
    if shape.pairs is None:
        return True
    return shape.pairs == shape.b and len(shape.summed) == 1 and not is_packed_in_tasks(shape)


def is_tiled(shape: Contraction, number: int) -> bool:
    """Whether matrix tiles fit the dimensions and types of a product, but for their order.

    `number` is the read that is packed.
    """
    op = shape.op
    kinds = [value.type for value in op.inputs]
    assert all(isinstance(kind, TensorType | MemRefType) for kind in kinds)
    return (
        all(isinstance(kind.element_type, BFloat16Type) for kind in kinds)  # pyright: ignore
        and (len(shape.rows) == 1 if number == shape.a else bool(shape.rows))
        and (len(shape.summed) == 1 if number == shape.a else bool(shape.summed))
        and op.extents[paired_term(shape, number)] >= TILE_TERMS
        and op.extents[shape.inner_column] >= TILE_COLUMNS
        and 0 not in op.extents
    )


def sums_neighbours(shape: Contraction, number: int) -> bool:
    """Whether a read has the elements of a sum side by side, by index maps that are linear."""
    op = shape.op
    forms = forms_of(op.read_maps[number], op.extents)
    if forms is None:
        return False
    term = paired_term(shape, 1 - number)
    return flatten(forms, shape_of(op.inputs[number])).coefficient(term) == 1


def paired_layout(
    shape: Contraction, number: int, term: int
) -> tuple[tuple[int, ...], tuple[AffineExpr, ...]]:
    """Shape of an operand of matrix tiles packed in pairs along `term`, and the contraction's
    indices into it.

    Its axes: `paired_outer`, tile, `paired_around`, pair of the sum, row or column within the tile,
    element of the pair. What fills the last tiles is zero.
    """
    extents = shape.op.extents
    outer, around = paired_outer(shape, number), paired_around(shape, term)
    across = shape.rows[0] if number == shape.a else shape.inner_column
    size = TILE_COLUMNS
    place, along = AffineExpr.dimension(across), AffineExpr.dimension(term)
    exprs = [AffineExpr.dimension(d) for d in outer]
    exprs += [place // size, *(AffineExpr.dimension(d) for d in around)]
    exprs += [along // 2, place % size, along % 2]
    sizes = [extents[d] for d in outer]
    sizes += [-(-extents[across] // size), *(extents[d] for d in around)]
    sizes += [-(-extents[term] // TILE_TERMS) * TILE_TERMS // 2, size, 2]
    return tuple(sizes), tuple(exprs)


def paired_outer(shape: Contraction, number: int) -> tuple[int, ...]:
    """Dimensions of which each position has tiles of its own in an operand packed in pairs: batch,
    and of the column operand outer columns."""
    return shape.batch if number == shape.a else (*shape.batch, *shape.columns[:-1])


def paired_around(shape: Contraction, term: int) -> tuple[int, ...]:
    """What is summed around `term`, as a window is around channels.

    It lies within a tile, so that all that a register tile walks is one run of memory: pieces of a
    panel as far apart as all columns would share few sets of the caches.
    """
    return tuple(d for d in shape.summed if d != term)


def copies_in_pairs(op: GenericOp) -> bool:
    """Whether a nest only copies into pairs, as its own schedule does in registers."""
    extents = op.extents
    return (
        is_copy(op)
        and isinstance(op.written_types[0].element_type, BFloat16Type)  # pyright: ignore
        and len(extents) >= 4
        and extents[-2:] == (TILE_COLUMNS, 2)
        and extents[-3] % TILE_COLUMNS == 0
        and shape_of(op.res[0]) == extents
    )


def is_same(one: AffineExpr, other: AffineExpr, extents: Sequence[int]) -> bool:
    """Whether two indices are the same number everywhere; dimensions of extent 1 stand for 0."""
    forms = [linear(expr, extents) for expr in (one, other)]
    left, right = (
        None if f is None else Linear.of({d: c for d, c in f.terms if extents[d] != 1}, f.constant)
        for f in forms
    )
    return one == other if left is None or right is None else left == right
