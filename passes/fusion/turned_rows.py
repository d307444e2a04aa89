"""Nests that turn what they read, which the rows of a kernel would walk in jumps."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.linear import Linear
from lamina.passes.cost.fusion_cost import value_bytes
from lamina.passes.fusion.fusion_decisions import Refusal

TURNED_ROWS = Refusal("it turns what it reads, which its rows would walk in jumps")


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


def _runs_along(form: Linear, dims: Sequence[int]) -> bool:
    """Whether neighbours stand along one of these dimensions."""
    return any(step == 1 and dim in dims for dim, step in form.terms)
