"""A row of one position for products of a single row that dropped it; used by `pack-contractions`.

`fold-layout` drops dimensions of one position. What multiplies rows by packed columns wants rows,
be there one.
"""

from __future__ import annotations

from lamina.dialects.loop.access import Forms, forms_of, map_of, shape_of, substitute
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.linear import Linear
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.widened_operands import Operand


def with_unit_row(
    shape: Contraction, operands: list[Operand]
) -> tuple[Contraction, list[Operand]] | None:
    """The product over one more dimension, a row behind the columns, and the indices of operands.

    It walks an axis of one position of the row operand, of what was widened to give that, and of
    the result. None where one of them has no such axis.
    """
    op, rows = shape.op, operands[shape.a]
    reads = [forms_of(m, op.extents) for m in op.read_maps]
    read, written = reads[shape.a], forms_of(op.write_maps[0], op.extents)
    if read is None or written is None:
        return None
    places = [
        _unit_axis(rows.forms, shape_of(rows.value)),
        _unit_axis(read, shape_of(op.inputs[shape.a])),
        _unit_axis(written, shape_of(op.res[0])),
    ]
    if None in places:
        return None
    own, seen, made = places
    row, count = min(shape.summed), len(op.extents) + 1
    maps = [
        map_of(_behind(forms or (), row, seen if n == shape.a else None), count)
        for n, forms in enumerate(reads)
    ]
    new = rebuild(
        op,
        domain=[*op.extents[:row], 1, *op.extents[row:]],
        input_maps=maps,
        output_maps=[map_of(_behind(written, row, made), count)],
    )
    found = Contraction.of(new)
    assert found is not None
    moved = [
        Operand(o.value, _behind(o.forms, row, own if n == shape.a else None))
        for n, o in enumerate(operands)
    ]
    return found, moved


def _unit_axis(forms: Forms, extents: tuple[int, ...]) -> int | None:
    """The first axis of one position that no dimension walks."""
    still = (n for n, form in enumerate(forms) if form == Linear(()) and extents[n] == 1)
    return next(still, None)


def _behind(forms: Forms, row: int, axis: int | None) -> Forms:
    """Indices over one more dimension, number `row`, which walks an axis."""
    dims = 1 + max((d for form in forms for d, _ in form.terms), default=-1)
    places = [Linear.dim(d if d < row else d + 1) for d in range(dims)]
    return tuple(
        Linear.dim(row) if n == axis else substitute(form, places) for n, form in enumerate(forms)
    )
