"""The shape of a contraction: which dimensions are batch, rows, columns and summed.

For `out[b, m, n] += a[b, m, k] * b[b, k, n]` each group may hold several dimensions. The columns
are the group with the dimension that is contiguous in the output; its operand, `b`, is the one
that schedules pack into panels.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from lamina.dialects.loop.access import forms_of, is_contraction, row_major_strides
from lamina.dialects.loop.generic import GenericOp

PANEL = "lamina.panel"
"""Attribute of a contraction whose `b` operand is packed: the panel width in elements."""

REPACKED = "lamina.repacked"
"""Attribute of a contraction whose `b` operand is packed anew in every call."""


@dataclass(frozen=True)
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
    def panel(self) -> int | None:
        """Width of the packed panels of `b`, or None while it is not packed."""
        attribute = self.op.attributes.get(PANEL)
        return None if attribute is None else attribute.value.data  # pyright: ignore

    @staticmethod
    def of(op: GenericOp) -> Contraction | None:
        """The contraction that a generic is, or None."""
        if not is_contraction(op):
            return None
        used = [m.used_dims() for m in op.read_maps]
        kept = op.write_maps[0].used_dims()
        written = forms_of(op.write_maps[0], op.extents)
        if written is None:
            return None
        dims = range(len(op.extents))
        batch = tuple(d for d in dims if d in used[0] and d in used[1] and d in kept)
        summed = tuple(d for d in dims if d not in kept)
        only = [
            tuple(d for d in dims if d in used[i] and d not in used[1 - i] and d in kept)
            for i in (0, 1)
        ]
        if len(batch) + len(summed) + len(only[0]) + len(only[1]) != len(op.extents):
            return None
        strides = _output_strides(op)
        side = 1
        if only[0] and (not only[1] or _least(only[0], strides) < _least(only[1], strides)):
            side = 0
        columns = tuple(sorted(only[side], key=lambda d: -strides[d]))
        if not columns:
            return None
        rows = tuple(sorted(only[1 - side], key=lambda d: -strides[d]))
        return Contraction(op, 1 - side, side, batch, rows, columns, summed)


def is_product(op: object) -> bool:
    """Whether a generic is a contraction with columns: a matrix product, no row of dot products."""
    return isinstance(op, GenericOp) and Contraction.of(op) is not None


def _output_strides(op: GenericOp) -> dict[int, int]:
    shape = op.written_types[0].get_shape()  # pyright: ignore[reportAttributeAccessIssue]
    written = forms_of(op.write_maps[0], op.extents)
    assert written is not None
    strides: dict[int, int] = {}
    for form, stride in zip(written, row_major_strides(shape), strict=True):
        for dim, coefficient in form.terms:
            strides[dim] = strides.get(dim, 0) + coefficient * stride
    return strides


def _least(dims: tuple[int, ...], strides: dict[int, int]) -> int:
    return min(strides[d] for d in dims)
