"""Which nests of a part of a kernel end at the same rows, and which parts that makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.passes.fusion.row_counts import return_more
from lamina.passes.fusion.row_limits import RowLimit, Rows


def _wanted(
    nests: Sequence[GenericOp], agreed: Mapping[Operation, frozenset[RowLimit]]
) -> frozenset[RowLimit]:
    """The limits of a part: those of its products, else of what is limited at all."""
    products = [nest for nest in nests if Contraction.of(nest) is not None]
    limited = products or [nest for nest in nests if agreed[nest]]
    return frozenset.intersection(*(agreed[n] for n in limited)) if limited else frozenset()


def follow_readers(nests: Sequence[GenericOp], agreed: Rows) -> None:
    """A nest that hands rows to others of its part alone runs for the rows that these run (in
    place): indices are demanded whole, as nothing may be looked up at one that was never made, and
    each row makes its own."""
    wanted = _wanted(nests, agreed)
    for nest in reversed(nests):
        readers = [use for value in nest.res for use in value.uses]
        extents = [nest.extents[d] for d in rows_of(nest)]
        if not wanted <= agreed[nest] and all(
            isinstance(reader := use.operation, GenericOp)
            and reader in nests
            and use.index < len(reader.inputs)
            and wanted <= agreed[reader]
            and [reader.extents[d] for d in rows_of(reader)] == extents
            for use in readers
        ):
            agreed[nest] |= wanted


def divided(
    nests: list[GenericOp], agreed: Mapping[Operation, frozenset[RowLimit]]
) -> list[list[GenericOp]]:
    """The nests of a part, or two parts: those with the rows that count, and what needs all rows.

    The latter stands behind a product whose results it takes, such as zeros in the place of keys
    that are padding, or in front, such as places at which other kernels look up as well. What it
    hands on then is no more than a number for each row, unless it is a result.
    """
    products = [nest for nest in nests if Contraction.of(nest) is not None]
    wanted = _wanted(nests, agreed)
    rest = [nest for nest in nests if not wanted <= agreed[nest]]
    if not wanted or not rest:
        return [nests]
    kept = [nest for nest in nests if nest not in rest]
    end = nests[0].parent_block().last_op  # pyright: ignore[reportOptionalMemberAccess]
    returned = set(end.operands) if end is not None else set()
    behind = {value for nest in kept for value in nest.res if _is_read(value, rest)}
    in_front = {value for nest in rest for value in nest.res if _is_read(value, kept)}
    made = {value for nest in rest for value in nest.res}
    products_alone = all(isinstance(v.owner, GenericOp) and v.owner in products for v in behind)
    if not in_front and made <= returned and (products_alone or behind <= returned):
        return [kept, rest]
    rows = prod(nests[0].extents[d] for d in rows_of(nests[0]))
    if not behind and all(v in returned or prod(shape_of(v)) <= rows for v in in_front):
        return [rest, kept]
    return [nests]


def return_handed(
    kernel: func.FuncOp, groups: Sequence[Sequence[GenericOp]], calls: Sequence[func.CallOp]
) -> None:
    """What a product hands from one part to another is in memory: the kernel returns it."""
    end = kernel.body.block.last_op
    assert isinstance(end, func.ReturnOp)
    group_of = {nest: number for number, group in enumerate(groups) for nest in group}
    more = [
        value
        for nest, number in group_of.items()
        for value in nest.res
        if value not in end.operands
        and any(group_of.get(use.operation, number) != number for use in value.uses)  # pyright: ignore
    ]
    if more:
        return_more(kernel, more, calls)


def in_order(groups: Sequence[Sequence[GenericOp]]) -> None:
    """Have the nests of each part stand behind those of the parts in front of it, which read
    nothing of them; where the text has that otherwise, all stay and are refused later."""
    nests = [nest for group in groups for nest in group]
    block = nests[0].parent_block() if nests else None
    if block is None or len(groups) < 2:
        return
    places = {op: place for place, op in enumerate(block_ops(block))}
    if all(places[one] < places[other] for one, other in pairwise(nests)):
        return
    turns = {nest: turn for turn, nest in enumerate(nests)}
    for nest, turn in turns.items():
        makers = (value.owner for value in nest.operands)
        if any(turns.get(maker, -1) > turn for maker in makers):  # pyright: ignore[reportArgumentType, reportCallIssue]
            return
    last = block.last_op
    assert last is not None
    for nest in nests:
        nest.detach()
        block.insert_op_before(nest, last)


def _is_read(value: SSAValue, nests: Sequence[GenericOp]) -> bool:
    return any(use.operation in nests for use in value.uses)
