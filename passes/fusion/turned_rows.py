"""Nests that turn what they read, which the rows of a kernel would walk in jumps."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import flatten, forms_of, shape_of
from lamina.dialects.loop.contraction import is_product
from lamina.dialects.loop.linear import Linear
from lamina.passes.cost.fusion_cost import value_bytes
from lamina.passes.cost.product_limits import WAY_BYTES, WAY_LINES
from lamina.passes.fusion.fusion_decisions import Refusal

TURNED_ROWS = Refusal("it turns what it reads, which its rows would walk in jumps")


TURNED_STORES = Refusal("it stores what it turns to lines that share sets of the nearest cache")


def turns_more(op: GenericOp, edges: Sequence[tuple[int, SSAValue]], dims: Sequence[int]) -> bool:
    """Whether `op` turns a tensor that is larger than what a kernel hands it (its reads `edges`),
    whose neighbours would stand in different rows `dims`.

    Alone it is turned in tiles. In a kernel each row walks it in jumps, and the columns whose sums
    it is handed as well.
    """
    written = forms_of(op.write_maps[0], op.extents)
    if not op.is_pointwise or not written or _runs_along(written[-1], dims):
        return False
    handed = dict(edges)
    given = sum(map(value_bytes, {*handed.values()}))
    return any(
        number not in handed
        and value_bytes(value) > given
        and (read := forms_of(op.read_maps[number], op.extents))
        and _runs_along(read[-1], dims)
        for number, value in enumerate(op.inputs)
    )


def stores_in_one_set(
    op: GenericOp, edges: Sequence[tuple[int, SSAValue]], dims: Sequence[int]
) -> bool:
    """Whether `op` turns what a kernel hands it (its reads `edges`) and writes the columns of rows
    `dims` to lines that share sets of the nearest cache, more than that keeps until the next row
    writes to them, too. What follows a product at once is left to its blocks of rows.
    """
    written = forms_of(op.write_maps[0], op.extents)
    if not op.is_pointwise or not written or not _runs_along(written[-1], dims):
        return False
    offset = flatten(written, shape_of(op.res[0]))
    each = value_bytes(op.res[0]) // max(prod(shape_of(op.res[0])), 1)
    for number, value in edges:
        read = forms_of(op.read_maps[number], op.extents)
        if isinstance(value.owner, GenericOp) and is_product(value.owner):
            return False
        if not read or _runs_along(read[-1], dims):
            return False
        steps = [(d, offset.coefficient(d) * each) for d, step in read[-1].terms if step == 1]
        if any(op.extents[d] > WAY_LINES and by and by % WAY_BYTES == 0 for d, by in steps):
            return True
    return False


def _runs_along(form: Linear, dims: Sequence[int]) -> bool:
    """Whether neighbours stand along one of these dimensions."""
    return any(step == 1 and dim in dims for dim, step in form.terms)
