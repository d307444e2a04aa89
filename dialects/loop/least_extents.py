"""How few positions of each dimension of a nest a call may need: `lamina.least_extents`.

    loop.generic (d0, d1) in [256, 768] ... attributes {lamina.least_extents = array<i64: 1, 768>}

The domain of a nest in a program that has room for sizes of calls is that of the largest call.
What is best for it need not be for the smallest.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.generic import GenericOp

LEAST_EXTENTS = "lamina.least_extents"
"""Attribute of a nest: for each dimension how many of its positions a call needs at least."""


def least_extents_of(nest: GenericOp) -> tuple[int, ...]:
    """The least extent of each dimension; its extent where nothing is noted."""
    noted = nest.attributes.get(LEAST_EXTENTS)
    if noted is None or not isinstance(noted, DenseArrayBase):
        return tuple(nest.extents)
    return tuple(int(number) for number in noted.get_values())


def set_least_extents(nest: GenericOp, least: Sequence[int]) -> None:
    """Note how few positions a call may need, unless calls need all."""
    nest.attributes.pop(LEAST_EXTENTS, None)
    if tuple(least) != tuple(nest.extents):
        nest.attributes[LEAST_EXTENTS] = DenseArrayBase.from_list(i64, list(least))


def verify_least_extents(nest: GenericOp, noted: Attribute) -> None:
    """Raises VerifyException unless each dimension has a number from 0 to its extent."""
    name = f"{nest.name}: {LEAST_EXTENTS}"
    if not isinstance(noted, DenseArrayBase) or noted.elt_type != i64:
        raise VerifyException(f"{name} is an array<i64> of extents, not {noted}")
    least, extents = [int(number) for number in noted.get_values()], nest.extents
    if len(least) != len(extents):
        raise VerifyException(f"{name} has {len(least)} numbers for {len(extents)} dimensions")
    for dim, (number, extent) in enumerate(zip(least, extents, strict=True)):
        if not 0 <= number <= extent:
            raise VerifyException(f"{name}: {number} of d{dim} is not in 0 to {extent}")
