"""Which loops of a kernel's nests end at numbers of the call (`lamina.ends`).

A version for padded sizes has room behind what a call brings, and masks there. Where such a mask
leaves a sum as it is, or where nobody reads what a nest gives, its loops may end at the number.
They do so in all nests of a part or in none: what one of them left out another must not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, MemRefType, TensorType, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.bounded_dims import (
    bounds_of,
    counted_dims,
    leaves_kernel,
    mask_bound,
    written_by,
)
from lamina.dialects.loop.bounds import ENDS, FIRST_COUNT, Bound, ends_of, zeros_of
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.position_bounds import comparisons

DimEnds = Mapping[int, Iterable[Bound]]
"""Upper bounds by dimension, over the rows of a kernel and numbers of the call."""


def kernel_of(nest: Operation) -> Operation | None:
    """The function of a kernel, or another op, in whose block or loops a nest stands."""
    above = nest.parent_op()
    while above is not None and above.parent_op() is not None and not _is_kernel(above):
        above = above.parent_op()
    return above


def _is_kernel(op: Operation) -> bool:
    return isinstance(op, func.FuncOp) or op.name == "loop.kernel"


def counts_of(block: Block) -> dict[SSAValue, int]:
    """The arguments of a kernel that may be numbers of the call: each an i64 in memory."""
    found: dict[SSAValue, int] = {}
    for argument in block.args:
        kind = argument.type
        shaped = kind if isinstance(kind, TensorType | MemRefType) else None
        if shaped is not None and shaped.element_type == i64 and not shaped.get_shape():
            found[argument] = argument.index
    return found


def noted_ends(nest: GenericOp) -> dict[int, frozenset[Bound]]:
    """The ends noted on a nest, by dimension, over the kernel's rows."""
    places = {d: p for p, d in enumerate(rows_of(nest))}
    return {
        dim: frozenset(
            Bound(
                True,
                Linear.of(
                    {d if d >= FIRST_COUNT else places[d]: c for d, c in b.form.terms},
                    b.form.constant,
                ),
            )
            for b in bounds
        )
        for dim, bounds in ends_of(nest, nest.extents).items()
    }


def set_ends(nest: GenericOp, ends: DimEnds) -> None:
    """Note where loops of a nest end; nothing where none does."""
    nest.attributes.pop(ENDS, None)
    given = {dim: sorted(bounds, key=_order) for dim, bounds in ends.items()}
    if any(given.values()):
        entries = [bounds_of(nest, dim, given[dim]) for dim in sorted(given) if given[dim]]
        nest.attributes[ENDS] = ArrayAttr(entries)


def drop_ends(nests: Iterable[GenericOp]) -> None:
    """Have the loops of all nests of a kernel go to the end of their dimensions."""
    for nest in nests:
        nest.attributes.pop(ENDS, None)


def true_within(
    nest: GenericOp, ends: DimEnds, masks: Mapping[SSAValue, int], counts: Mapping[SSAValue, int]
) -> list[SSAValue]:
    """The truth values of a body that are true at all points within ends: what masks compare."""
    found: list[SSAValue] = []
    for dim, bounds in ends.items():
        known = set(bounds)
        found += [v for v, own in comparisons(nest, dim, counts).items() if own in known]
        arguments = nest.block.args
        for number in range(len(nest.inputs)):
            if mask_bound(nest, number, dim, masks) in known:
                found.append(arguments[number])
    return found


def verify_ends(nests: Sequence[GenericOp], masks: Mapping[SSAValue, int]) -> None:
    """Raises VerifyException for ends that do not follow from the masks of a kernel.

    That nobody reads what leaves it behind an end cannot be seen here, as with live rows.
    """
    noted = {nest: ends for nest in nests if (ends := noted_ends(nest))}
    if not noted:
        return
    kernel = kernel_of(nests[0])
    counts: dict[SSAValue, int] = {}
    if isinstance(kernel, func.FuncOp):
        counts = counts_of(kernel.body.block)
    left = {nest: _left(nest, ends) for nest, ends in noted.items()}
    zeros = frozenset[tuple[int, int, int]]() if kernel is None else zeros_of(kernel)
    known = counted_dims(nests, masks, counts, left, zeros)
    numbers = set(counts.values())
    for nest, ends in noted.items():
        for dim, bounds in ends.items():
            for bound in sorted(bounds, key=_order):
                (number,) = (d - FIRST_COUNT for d, _ in bound.form.terms if d >= FIRST_COUNT)
                if number not in numbers:
                    raise EndsFault(nest, f"{ENDS}: argument {number} is to be an i64 in memory")
                if bound not in known[nest].get(dim, ()):
                    raise EndsFault(nest, f"its {ENDS} of d{dim} do not follow from the kernel")


class EndsFault(VerifyException):
    """A nest whose ends are not those of its kernel, and why."""

    def __init__(self, op: GenericOp, reason: str) -> None:
        super().__init__(f"{op.name}: {reason}")
        self.op = op
        self.reason = reason


def _left(nest: GenericOp, ends: DimEnds) -> DimEnds:
    """The ends of dimensions of what leaves the kernel, as far as all of it has them."""
    found: dict[int, Iterable[Bound]] = dict(ends)
    for memory, index_map in zip(written_by(nest), nest.write_maps, strict=True):
        if leaves_kernel(memory):
            found = {d: bounds for d, bounds in found.items() if d in index_map.used_dims()}
    return found


def _order(bound: Bound) -> tuple[object, ...]:
    return bound.form.terms, bound.form.constant
