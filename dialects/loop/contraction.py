"""The shape of a contraction: which dimensions are batch, rows, columns and summed.

For `out[b, m, n] += a[b, m, k] * b[b, k, n]` each group may hold several dimensions. The columns
are the group with the dimension that is contiguous in the output, unless that is narrow and the
other group fills vectors better; their operand, `b`, is the one that schedules pack into panels.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr

from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.loop.access import (
    Forms,
    forms_of,
    is_contraction,
    map_of,
    row_major_strides,
)
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.packing import packing_of
from lamina.dialects.loop.segments import integers64, maps_of, used_dims_of
from lamina.dialects.records import record

NARROW = 8
"""Neighbouring results that are worth a vector of their own: half of the widest there is."""

MANY_ROWS = 128
"""Rows that make up for packing an operand of any size, where results side by side are almost as
many as are worth a vector; fewer do where these are fewer. Transposed convolutions of 2x2 in steps
of two take 1.0 ms for 4.9 (4x32x56x56 to 16 channels, 64 rows), 6.8 for 21.6 (128x128), 4.1 for
13.1 (2x64x112x112), 1.2 for 16.7 (8x32x64x64 to 8 channels) so, on a thread of a loaded Sapphire
Rapids."""
NEAR_ELEMENTS = 1 << 17
"""Elements of an operand that a second-level cache keeps near."""


@record
class Contraction:
    """Dimension groups (in domain order) and which read is which operand."""

    op: GenericOp
    a: int
    b: int
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    summed: tuple[int, ...]

    def size(self, dims: tuple[int, ...]) -> int:
        """Iterations of a group of dimensions: the product of their extents."""
        return prod(self.op.extents[d] for d in dims)

    @property
    def inner_column(self) -> int:
        """The column dimension that is contiguous in the output."""
        return self.columns[-1]

    @property
    def inner_row(self) -> int:
        """The row dimension that tiles go along: of all, the nearest in the output."""
        return self.rows[-1]

    @property
    def panel(self) -> int | None:
        """Width of the packed panels of `b`, or None while it is not packed."""
        return packing_of(self.op).panel

    @property
    def pairs(self) -> int | None:
        """Which read of a product in matrix tiles is packed in pairs; None for other products."""
        return packing_of(self.op).pairs

    @property
    def repacked(self) -> bool:
        """Whether the panels of `b` are made in every call, by its tasks or in front of them."""
        return packing_of(self.op).pack_at is not None

    @property
    def task_packed(self) -> bool:
        """Whether each task packs the panels of `b` that it multiplies."""
        return packing_of(self.op).pack_at == "task"

    @staticmethod
    def of(op: GenericOp) -> Contraction | None:
        """The contraction that a generic is, or None."""
        found = _groups_of(op)
        return None if found is None else Contraction(op, *found)

    def reading(self, forms: Sequence[Forms]) -> Contraction | None:
        """The same if its operands were read at these indices, or None of what is no contraction.

        A batch that one of them is the same for, as of a matrix that was expanded, are rows or
        columns then.
        """
        maps = ArrayAttr([AffineMapAttr(map_of(form, len(self.op.extents))) for form in forms])
        kinds = self.op.properties
        given = kinds["domain"], maps, kinds["output_maps"], self.op.written_types[0]
        found = _groups(*given)
        return None if found is None else Contraction(self.op, *found)

    def writing(self, forms: Forms, written: Any) -> Contraction | None:
        """The same if its result were written at these indices of a tensor of this type."""
        maps = ArrayAttr([AffineMapAttr(map_of(forms, len(self.op.extents)))])
        kinds = self.op.properties
        found = _groups(kinds["domain"], kinds["input_maps"], maps, written)
        return None if found is None else Contraction(self.op, *found)


def _groups_of(op: GenericOp) -> Groups | None:
    if not is_contraction(op):
        return None
    kinds = op.properties
    return _grouped(kinds["domain"], kinds["input_maps"], kinds["output_maps"], op.written_types[0])


Groups = tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""What a `Contraction` has beside its nest."""


def _groups(domain: Any, input_maps: Any, output_maps: Any, written: Any) -> Groups | None:
    """The groups of a contraction's dimensions, by its properties and the type of its result."""
    extents, index_map = integers64(domain), maps_of(output_maps)[0]
    used, kept = used_dims_of(input_maps), used_dims_of(output_maps)[0]
    forms = forms_of(index_map, extents)
    if forms is None:
        return None
    dims = range(len(extents))
    batch = tuple(d for d in dims if d in used[0] and d in used[1] and d in kept)
    summed = tuple(d for d in dims if d not in kept)
    only = [
        tuple(d for d in dims if d in used[i] and d not in used[1 - i] and d in kept)
        for i in (0, 1)
    ]
    if len(batch) + len(summed) + len(only[0]) + len(only[1]) != len(extents):
        return None
    strides = _output_strides(forms, written.get_shape())
    side = 1
    if only[0] and (not only[1] or _least(only[0], strides) < _least(only[1], strides)):
        side = 0
    if _fills_vectors_better(extents, only[side], only[1 - side], summed, strides):
        side = 1 - side
    columns = tuple(sorted(only[side], key=lambda d: -strides[d]))
    if not columns:
        return None
    rows = tuple(sorted(only[1 - side], key=lambda d: -strides[d]))
    return 1 - side, side, batch, rows, columns, summed


_grouped = once_an_object(_groups)


def _fills_vectors_better(
    extents: tuple[int, ...],
    own: tuple[int, ...],
    other: tuple[int, ...],
    summed: tuple[int, ...],
    strides: dict[int, int],
) -> bool:
    """Whether vectors had better run along the other operand's dims, though results then scatter.

    So it is for a few columns side by side, such as the places of a window or a narrow image. The
    operand to pack must be small, or read by many rows: a tile of few rows takes as long to read
    panels from afar as to multiply.
    """
    if not own or not other:
        return False
    narrow, wide = (extents[min(dims, key=lambda d: strides[d])] for dims in (own, other))
    rows = prod(extents[d] for d in own)
    packed = prod(extents[d] for d in (*other, *summed))
    return (
        narrow < NARROW <= rows
        and wide >= 2 * narrow
        and (rows * NARROW >= MANY_ROWS * narrow or packed <= NEAR_ELEMENTS)
    )


def is_product(op: object) -> bool:
    """Whether a generic is a contraction with columns: a matrix product, no row of dot products."""
    return isinstance(op, GenericOp) and _groups_of(op) is not None


def _output_strides(written: Forms, shape: Sequence[int]) -> dict[int, int]:
    strides: dict[int, int] = {}
    for form, stride in zip(written, row_major_strides(shape), strict=True):
        for dim, coefficient in form.terms:
            strides[dim] = strides.get(dim, 0) + coefficient * stride
    return strides


def _least(dims: tuple[int, ...], strides: dict[int, int]) -> int:
    return min(strides[d] for d in dims)
