"""Nests that make sizes of a call's sizes alone: kernels of their own, which run first.

Rows of any kernel may end at such a size then (`limit-rows`), also of one that stands in front of
what reads the size.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from lamina.dialects.loop import GenericOp, KernelOp
from lamina.passes.fusion.demanded_elements import is_count
from lamina.passes.fusion.fusion_decisions import Refusal

SIZES_APART = Refusal("one of them makes sizes alone, at which rows of the other may end")
"""Computed in front of everything, they cost the call of one short kernel."""

_MOST_STEPS = 32
"""Nests that are followed from a size: those of a result that is padded and halved are a few."""


def are_apart(one: Iterable[Operation], other: Iterable[Operation]) -> bool:
    """Whether nests of one side alone make nothing but sizes."""
    return len({all(map(makes_sizes, nests)) for nests in (list(one), list(other))}) > 1


def makes_sizes(op: Operation) -> bool:
    """Whether a nest computes nothing but numbers, of sizes that the program is given."""
    waiting, steps = [op], 0
    while waiting:
        nest = waiting.pop()
        steps += 1
        if steps > _MOST_STEPS or not isinstance(nest, GenericOp):
            return False
        if nest.extents or not nest.inputs or nest.sources or not all(map(is_count, nest.res)):
            return False
        made = [value for value in map(_outside, nest.inputs) if not _is_given(value)]
        if any(isinstance(value, BlockArgument) for value in made):
            return False
        waiting += [value.owner for value in made if isinstance(value.owner, Operation)]
    return True


def _outside(value: SSAValue) -> SSAValue:
    """What a value is outside of kernels: that which they are given, or what another one makes."""
    while True:
        if isinstance(value, BlockArgument):
            kernel = value.block.parent_op()
            if not isinstance(kernel, KernelOp):
                return value
            value = kernel.inputs[value.index]
        elif isinstance(value, OpResult) and isinstance(value.owner, KernelOp):
            value = value.owner.returned[value.index]
        else:
            return value


def _is_given(value: SSAValue) -> bool:
    """Whether a value is a number that calls of a program bring."""
    if not isinstance(value, BlockArgument) or not is_count(value):
        return False
    function = value.block.parent_op()
    if not isinstance(function, func.FuncOp) or function.arg_attrs is None:
        return False
    entry = function.arg_attrs.data[value.index]
    return isinstance(entry, DictionaryAttr) and entry.data.get("lamina.kind") == StringAttr(
        "input"
    )
