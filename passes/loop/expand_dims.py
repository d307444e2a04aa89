"""Splitting a batch dimension of a product as its readers see it; used by `fold-layout`.

A batched product is computed over one batch dimension: 24 for 2 x 12 heads. Where a mask or bias
tells the two apart, its readers walk them one by one, and no nest of theirs would line up with the
product. Rows and columns stay whole, since tiles go along them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.access import Forms, forms_of, map_of, shape_of, substitute
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.linear import Linear
from lamina.passes.loop.loop_rewriting import rebuild


def expand_batch(producer: GenericOp, view: ReshapeOp) -> GenericOp | None:
    """The product over a domain whose batch is split as `view` splits it; None if it splits none.

    The result keeps its shape.
    """
    shape = Contraction.of(producer)
    written = forms_of(producer.write_maps[0], producer.extents)
    if shape is None or written is None or any(p is not None for p in producer.pad_values):
        return None
    for axis, form in enumerate(written):
        for dim in shape.batch:
            if form == Linear.dim(dim):
                parts = _parts(shape_of(view.source), shape_of(view.result), axis)
                if len(parts) > 1:
                    return _split(producer, dim, parts)
    return None


def _parts(source: Sequence[int], result: Sequence[int], axis: int) -> list[int]:
    """Extents, other than 1, of the axes that a reshape splits an axis into, if it does."""
    before = prod(source[:axis])
    first = next((n for n in range(len(result)) if prod(result[:n]) == before), len(result))
    for last in range(first, len(result) + 1):
        if prod(result[first:last]) == source[axis]:
            return [extent for extent in result[first:last] if extent != 1]
    return []


def _split(op: GenericOp, dim: int, parts: Sequence[int]) -> GenericOp | None:
    extents = [*op.extents[:dim], *parts, *op.extents[dim + 1 :]]
    moved = [Linear.dim(d if d < dim else d + len(parts) - 1) for d in range(len(op.extents))]
    steps = [prod(parts[n + 1 :]) for n in range(len(parts))]
    moved[dim] = Linear.of({dim + n: step for n, step in enumerate(steps)})
    reads = [forms_of(m, op.extents) for m in op.read_maps]
    writes = [forms_of(m, op.extents) for m in op.write_maps]

    def final(forms: Forms | None) -> Forms:
        assert forms is not None
        return tuple(substitute(f, moved) for f in forms)

    if any(f is None for f in (*reads, *writes)):
        return None
    return rebuild(
        op,
        domain=extents,
        input_maps=[map_of(final(f), len(extents)) for f in reads],
        output_maps=[map_of(final(f), len(extents)) for f in writes],
    )


__all__ = ["expand_batch"]
