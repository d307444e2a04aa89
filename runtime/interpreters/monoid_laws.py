"""Trying a combining region on samples: identities, associativity, commutativity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr

from lamina.dialects.errors import InputError
from lamina.dialects.loop.monoid import Monoid
from lamina.runtime.interpreters.loop_reduce import combined
from lamina.runtime.interpreters.values import numpy_dtype


def verify_laws(monoid: Monoid, samples: Sequence[Any], tolerance: float = 0.0) -> None:
    """Raises InputError where the region is no commutative monoid on these tuples.

    `samples` has one array of n elements for each value of a tuple; every three neighbouring tuples
    are joined in each way. Floats agree if they are equal, or within `tolerance` of each other
    relative to the larger of their size and 1.
    """
    one = [np.asarray(values) for values in samples]
    two, three = ([np.roll(values, -n) for values in one] for n in (1, 2))
    neutral: list[Any] = []
    for given in monoid.identities:
        assert isinstance(given, FloatAttr | IntegerAttr)  # as verified
        neutral.append(np.full(len(one[0]), given.value.data, numpy_dtype(given.type)))
    with np.errstate(all="ignore"):
        laws = {
            "combined with the identities": (combined(monoid, one, neutral), one),
            "the identities combined with": (combined(monoid, neutral, one), one),
            "in the other order,": (combined(monoid, one, two), combined(monoid, two, one)),
            "in other pairs,": (
                combined(monoid, combined(monoid, one, two), three),
                combined(monoid, one, combined(monoid, two, three)),
            ),
        }
    for law, (made, wanted) in laws.items():
        for place, (left, right) in enumerate(zip(made, wanted, strict=True)):
            wrong = np.flatnonzero(~_agree(left, right, tolerance))
            if wrong.size:
                at = wrong[0]
                raise InputError(
                    f"no commutative monoid: {law} tuple {at} gives {left[at]} for value {place}, "
                    f"where {right[at]} is due"
                )


def _agree(left: Any, right: Any, tolerance: float) -> Any:
    same = (left == right) | ((left != left) & (right != right))
    if left.dtype.kind != "f":
        return same
    with np.errstate(invalid="ignore"):
        size = np.maximum(1, np.maximum(abs(left), abs(right)))
        return same | (abs(left - right) <= tolerance * size)


__all__ = ["verify_laws"]
