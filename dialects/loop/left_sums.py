"""Whether reductions stay what they are where a body gives what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.ir import Attribute

from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.monoid import extreme_of
from lamina.dialects.loop.outside_values import (
    Number,
    Position,
    Value,
    Vanishing,
    Weight,
    is_identity,
)


def leaves_sums(
    nest: GenericOp, yielded: Sequence[Value | None], *, wide: bool, is_behind: bool = False
) -> bool:
    """Whether what the body gives leaves each reduction as it is.

    With `wide` all of them are asked for, as sums of zeros; else those that masks of attention
    leave. What `is_behind` all other positions is never the first extreme value.
    """
    if "store" in nest.combiner_names:
        return False
    for results, combiner, monoid in nest.reductions:
        values = [yielded[result] for result in results]
        if monoid is not None:
            extreme = extreme_of(monoid) if wide and is_behind else None
            if extreme is None or not isinstance(values[1], Position):
                return False
            combiner, values = extreme, values[:1]
        (value,), kind = values, nest.yielded[results[0]].type
        if not _leaves(combiner, kind, value, wide=wide):
            return False
    return True


def _leaves(combiner: str, kind: Attribute, value: Value | None, *, wide: bool) -> bool:
    if combiner == "max" and isinstance(value, Number) and value.value == -inf:
        return True
    if combiner == "add" and isinstance(value, Weight) and value.is_exponential:
        return True
    if wide and combiner == "add" and isinstance(value, Vanishing):
        return True
    return wide and isinstance(value, Number) and is_identity(combiner, kind, value.value)
