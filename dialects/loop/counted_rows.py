"""Sums over the rows of a kernel to which those behind a number of the call add nothing.

Rows are counted one after the other. Nests that share them hand each other what they make of one
row alone, so that what stands there behind the number is followed from nest to nest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.bounded_dims import written_by
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.kernel_nests import rows_of, summed_rows
from lamina.dialects.loop.left_sums import leaves_sums
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.outside_values import Number, OutsideBody, Value
from lamina.dialects.loop.position_bounds import counted_comparisons


def counted_sums(
    nests: Sequence[GenericOp], masks: Mapping[SSAValue, int], counts: Mapping[SSAValue, int]
) -> list[int]:
    """The numbers behind which rows add nothing to what the nests of a part sum over rows.

    They are arguments of the kernel. `masks` are arguments that are false from the number in
    another argument on, `counts` those that are numbers. None for nests that sum over no rows.
    """
    if not any(map(summed_rows, nests)):
        return []
    wanted = sorted({*counts.values(), *masks.values()})
    return [number for number in wanted if _adds_nothing(nests, masks, counts, number)]


def row_number(nest: GenericOp) -> Linear:
    """The number of a row, counted in row-major order."""
    terms: dict[int, int] = {}
    step = 1
    for dim in reversed(rows_of(nest)):
        terms[dim] = step
        step *= nest.extents[dim]
    return Linear.of({d: c for d, c in terms.items() if nest.extents[d] > 1})


def _adds_nothing(
    nests: Sequence[GenericOp],
    masks: Mapping[SSAValue, int],
    counts: Mapping[SSAValue, int],
    number: int,
) -> bool:
    made = Counter(memory for nest in nests for memory in written_by(nest))
    known: dict[SSAValue, Value] = {}
    for nest in nests:
        row = row_number(nest)
        compared = counted_comparisons(nest, counts)
        answers = {value: False for value, own in compared.items() if own == (row, number)}
        reads: dict[int, Value] = {}
        for place, memory in enumerate(nest.inputs):
            if nest.pad_values[place] is not None:
                continue
            if memory in known:
                reads[place] = known[memory]
            elif masks.get(memory) == number:
                forms = forms_of(nest.read_maps[place], nest.extents)
                if forms is not None and forms[0] == row:
                    reads[place] = Number(0.0)
        yielded = OutsideBody(nest, {}).outside(None, answers, reads).yielded
        if summed_rows(nest):
            if not leaves_sums(nest, yielded, wide=True):
                return False
            continue
        kept = nest.is_pointwise or leaves_sums(nest, yielded, wide=True)
        for memory, value in zip(written_by(nest), yielded, strict=True):
            if kept and value is not None and made[memory] == 1:
                known[memory] = value
    return True
