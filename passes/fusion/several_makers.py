"""When a nest that has joined the kernel of one of its makers takes those of others in, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from lamina.codegen.roofline import Roofline
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.least_extents import least_extents_of
from lamina.passes.cost.fusion_cost import value_bytes
from lamina.passes.cost.fusion_limits import MOST_PRODUCTS, PANELS_TOGETHER
from lamina.passes.fusion.fusion_decisions import Refusal, overridden
from lamina.passes.fusion.fusion_rules import (
    edge_rows,
    few_rows_cost,
    product_row_too_long,
    row_too_long,
    rows_cost,
)


def shared_rows(
    members: Sequence[GenericOp],
    others: Sequence[GenericOp],
    rows: Mapping[GenericOp, tuple[int, ...]],
    op: GenericOp,
    machine: Roofline,
) -> int | Refusal:
    """How many rows survive if `others`, a kernel that makes what `op` reads, join its kernel.

    `op` is one of the `members`. Both kernels have products. All panels have to stay near, as each
    block of rows reads them.
    """
    shapes = [Contraction.of(nest) for nest in (*members, *others)]
    products = [shape for shape in shapes if shape is not None]
    if len(products) > MOST_PRODUCTS:
        return Refusal(f"together they have {len(products)} products, more than {MOST_PRODUCTS}")
    edges = [(number, value) for number, value in enumerate(op.inputs) if value.owner in others]
    if any(op.pad_values[number] is not None for number, _ in edges):
        return Refusal("the result is read beyond its edge")
    if any(value.owner in others for value in op.sources):
        return Refusal("the result is read through computed indices")
    multiplied = Contraction.of(op)
    if multiplied is not None and any(number == multiplied.b for number, _ in edges):
        return Refusal("the result is the packed operand of a matrix product")
    if _hands_over(others, [nest for nest in members if nest is not op]) or _hands_over(
        members, others
    ):
        return Refusal("another nest of one kernel reads what the other makes, but stayed apart")
    own = {nest: rows[nest] for nest in others}
    kept = len(rows[op])
    for number, value in edges:
        aligned = edge_rows(value, own, op, number, len(own[others[0]]))
        if isinstance(aligned, Refusal):
            return aligned
        kept = min(kept, _common(aligned, rows[op]))
    # Of several products, tasks are blocks of rows that have all columns.
    for shape in products:
        of_columns = [dim in shape.columns for dim in rows[shape.op][:kept]]
        kept = of_columns.index(True) if True in of_columns else kept
    if not kept:
        return Refusal("their rows are not those of the kernel that makes another operand")
    said = overridden([*members, *others])
    if said is not None:
        return kept if said.fuse else Refusal(said.reason)
    panels = sum(value_bytes(shape.op.inputs[shape.b]) for shape in products)
    if panels > (most := machine.near_bytes // PANELS_TOGETHER):
        return Refusal(f"a block of rows would read {panels} bytes of panels, more than {most}")
    nests = [*members, *others]
    parallel = prod(op.extents[dim] for dim in rows[op][:kept])
    handed = [(number, value) for number, value in enumerate(op.inputs) if value.owner in nests]
    shorter = {nest: rows[nest][:kept] for nest in nests}
    long = row_too_long(nests, shapes, op, handed, parallel)
    if refusal := long or product_row_too_long(products, shorter):
        return refusal
    if any(map(_is_open_inside, nests, shorter.values())):
        return Refusal("calls may need fewer positions than there are inside of their rows")
    spared = sum(value_bytes(value) for value in dict.fromkeys(value for _, value in edges))
    costly = rows_cost(nests, products, parallel, spared, machine)
    few = few_rows_cost(nests, products, shorter, parallel, spared, machine)
    return costly or few or kept


def _hands_over(makers: Sequence[GenericOp], readers: Sequence[GenericOp]) -> bool:
    """Whether readers read what makers make: rows of these are aligned when a reader is placed."""
    made = {value for nest in makers for value in nest.res}
    return any(value in made for nest in readers for value in nest.operands)


def _is_open_inside(nest: GenericOp, rows: Sequence[int]) -> bool:
    """Whether sizes of the call end dimensions of a nest that are no rows: of several products,
    loops over those would run to the bound."""
    least = least_extents_of(nest)
    return any(least[d] < n for d, n in enumerate(nest.extents) if d not in rows)


def _common(aligned: Sequence[int | None], rows: Sequence[int]) -> int:
    """How many leading rows are the same."""
    count = min(len(aligned), len(rows))
    return next((place for place in range(count) if aligned[place] != rows[place]), count)
