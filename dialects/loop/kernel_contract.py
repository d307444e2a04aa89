"""What the nests of a kernel must agree on, so that they can be run row by row.

Nests of one part share loops over the rows that `#loop.nest` names. So their rows must have the
same extents, and what one nest writes another may touch at the same row only. Parts run one after
the other, and hand each other what all threads see: results of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import gcd, prod
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import DenseArrayBase, MemRefType, TensorType, i1, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.access import flatten, forms_of, shape_of
from lamina.dialects.loop.bounded_dims import bounded_dims, bounds_of
from lamina.dialects.loop.bounds import (
    BOUNDS,
    CUT,
    ENDS,
    MASKS,
    STREAM,
    ZEROS,
    StreamAttr,
    cut_of,
    masks_of,
    zeros_of,
)
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.counted_dims import EndsFault, counts_of, kernel_of, verify_ends
from lamina.dialects.loop.counted_rows import counted_sums
from lamina.dialects.loop.fourier import FourierOp
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.kernel_nests import NEST, live_rows_of, part_of, rows_of, summed_rows
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.live_rows import LiveRows
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.sort import SortOp
from lamina.dialects.loop.streamed_dims import streamed_dim
from lamina.dialects.op_list import instances
from lamina.dialects.records import record


class KernelFault(VerifyException):
    """A nest that cannot share its kernel as it is noted, and why."""

    def __init__(self, op: Operation, reason: str) -> None:
        super().__init__(f"{op.name}: {reason}")
        self.op = op
        self.reason = reason


def verify_kernel(body: Iterable[Operation]) -> None:
    """Raises KernelFault for a kernel, on tensors or memory, that no schedule of rows runs."""
    ops = instances(body, (GenericOp, OrderedNest, SortOp, FourierOp))
    for op in ops:
        if not isinstance(op, GenericOp) and len(ops) > 1:
            raise KernelFault(op, "is a kernel of its own; there are other nests in this one")
    nests = [op for op in ops if isinstance(op, GenericOp)]
    written: dict[SSAValue, GenericOp] = {}
    for nest in nests:
        _verify_own_memory(nest)
        written |= dict.fromkeys(_written(nest), nest)
    for nest in nests:
        if is_packed(nest) and nest.inputs[_packed(nest)] in written:
            raise KernelFault(nest, "its packed operand is made in the same kernel")
    first: dict[int, GenericOp] = {}
    _verify_parts(nests)
    for nest in nests:
        if 0 in nest.extents:
            continue
        before = first.setdefault(part_of(nest), nest)
        if _row_extents(nest) != _row_extents(before):
            raise KernelFault(
                nest,
                f"its rows have extents {_row_extents(nest)}, those of the first nest in its "
                f"kernel {_row_extents(before)}",
            )
        if live_rows_of(nest) != live_rows_of(before):
            raise KernelFault(
                nest,
                f"of its rows {live_rows_of(nest) or 'all'} are live, of those of the first nest "
                f"in its kernel {live_rows_of(before) or 'all'}",
            )
    for one, other in combinations(nests, 2):
        for memory in _shared(one, other):
            _verify_shared(one, other, memory)
    _verify_sums(nests)
    _verify_live_sums(nests)
    _verify_order(nests)
    _verify_zeros(nests)
    _verify_bounds(nests)
    _verify_stream(nests)
    _verify_cuts(nests)
    if any(ENDS in nest.attributes for nest in nests):
        try:
            verify_ends(nests, masks_in(nests))
        except EndsFault as fault:
            raise KernelFault(fault.op, fault.reason) from fault


def _verify_parts(nests: Sequence[GenericOp]) -> None:
    """Parts are numbered from 0 on."""
    numbers = {part_of(nest) for nest in nests}
    for nest in nests:
        before = part_of(nest) - 1
        if before >= 0 and before not in numbers:
            raise KernelFault(
                nest, f"its part = {before + 1} leaves out {before}: parts are numbered from 0 on"
            )


def _verify_bounds(nests: Sequence[GenericOp]) -> None:
    """Bounds are what the masks of the kernel give, on all of its nests that have any."""
    if not any(BOUNDS in nest.attributes for nest in nests):
        return
    kernel = kernel_of(nests[0])
    zeros = frozenset[tuple[int, int, int]]() if kernel is None else zeros_of(kernel)
    known = bounded_dims(nests, masks_in(nests), zeros)
    for nest in nests:
        wanted = bounds_of(nest, *known[nest]) if nest in known else None
        if nest.attributes.get(BOUNDS) != wanted:
            said = "has none" if wanted is None else f"would have {wanted}"
            raise KernelFault(nest, f"its {BOUNDS} do not follow from the kernel: it {said}")


def _verify_zeros(nests: Sequence[GenericOp]) -> None:
    """Arguments that end in zeros have the dimension, and a number at which these begin."""
    function = kernel_of(nests[0]) if nests else None
    block = function.regions[0].first_block if function is not None else None
    if function is None or block is None:
        return
    noted = function.attributes.get(ZEROS)
    if noted is not None and (
        not isinstance(noted, DenseArrayBase) or noted.elt_type != i64 or len(noted) % 3
    ):
        raise KernelFault(nests[0], f"{ZEROS} is an array<i64> of triples, not {noted}")
    for argument, axis, number in sorted(zeros_of(function)):
        value, end = (_argument_type(block, place) for place in (argument, number))
        if value is None or not 0 <= axis < len(value.get_shape()):
            raise KernelFault(nests[0], f"{ZEROS}: argument {argument} has no dimension {axis}")
        if end is None or (end.element_type, len(end.get_shape())) != (i64, 0):
            raise KernelFault(
                nests[0], f"{ZEROS}: argument {number} is to have i64 of 0 dimensions"
            )


def _verify_cuts(nests: Sequence[GenericOp]) -> None:
    """Sums are cut at numbers that are arguments of the kernel."""
    for nest in nests:
        cut, function = cut_of(nest), kernel_of(nest)
        block = function.regions[0].first_block if function is not None else None
        if cut is None or block is None:
            continue
        end = _argument_type(block, cut[1])
        if end is None or (end.element_type, len(end.get_shape())) != (i64, 0):
            raise KernelFault(nest, f"{CUT}: argument {cut[1]} is to have i64 of 0 dimensions")


def _argument_type(block: Block, place: int) -> TensorType[Any] | MemRefType[Any] | None:
    """The type of an argument, if there is one and it is an array."""
    kind = block.args[place].type if 0 <= place < len(block.args) else None
    return kind if isinstance(kind, TensorType | MemRefType) else None


def masks_in(nests: Sequence[GenericOp]) -> dict[SSAValue, int]:
    """The masks among the arguments of the kernel that nests are in, with the argument that says
    from which number on they are false. Raises KernelFault for arguments of other types."""
    function = kernel_of(nests[0])
    block = function.regions[0].first_block if function is not None else None
    if function is None or block is None:
        return {}
    found: dict[SSAValue, int] = {}
    for mask, number in masks_of(function).items():
        for argument, kind, rank in ((mask, i1, 1), (number, i64, 0)):
            shaped = _argument_type(block, argument)
            if shaped is None or (shaped.element_type, len(shaped.get_shape())) != (kind, rank):
                said = f"{kind} of {rank} dimensions"
                raise KernelFault(nests[0], f"{MASKS}: argument {argument} is to have {said}")
        found[block.args[mask]] = number
    return found


def _verify_stream(nests: Sequence[GenericOp]) -> None:
    """All nests along the dimension that is walked in blocks say so, of blocks of one size."""
    noted = [a for n in nests if isinstance(a := n.attributes.get(STREAM), StreamAttr)]
    if not noted:
        return
    found = streamed_dim(nests)
    for nest in nests:
        own = nest.attributes.get(STREAM)
        wanted = None
        if found is not None and nest in found.dims:
            wanted = StreamAttr.of(found.dims[nest], noted[0].block.value.data)
        if own != wanted:
            said = "has none" if wanted is None else f"would have {wanted}"
            raise KernelFault(nest, f"its {STREAM} does not follow from the kernel: it {said}")


def _verify_sums(nests: Sequence[GenericOp]) -> None:
    """Sums over rows of one part are over the same ones, the last: a task runs these in turn."""
    found: dict[int, list[int]] = {}
    for nest in nests:
        if not (summed := summed_rows(nest)):
            continue
        rows = [place for place, extent in enumerate(_row_extents(nest)) if extent != 1]
        turns = [place for place in rows if rows_of(nest)[place] in summed]
        if turns != rows[-len(turns) :]:
            raise KernelFault(nest, "it sums over rows in front of others")
        if found.setdefault(part_of(nest), turns) != turns:
            raise KernelFault(nest, "it sums over other rows than a nest in front of it")


def _written(nest: GenericOp) -> tuple[SSAValue, ...]:
    """What a nest makes: memory, or tensors."""
    return tuple(nest.outs) or tuple(nest.res)


def _packed(product: GenericOp) -> int:
    """The number of the read that is packed."""
    shape = Contraction.of(product)
    assert shape is not None  # the nest has been verified
    return shape.b if shape.pairs is None else shape.pairs


def _row_extents(nest: GenericOp) -> list[int]:
    return [nest.extents[d] for d in rows_of(nest)]


def _shared(one: GenericOp, other: GenericOp) -> list[SSAValue]:
    """Memory that both touch and one writes."""
    touched = [_touched(nest) for nest in (one, other)]
    made = dict.fromkeys((*_written(one), *_written(other)))
    return [value for value in made if all(value in values for values in touched)]


def _touched(nest: GenericOp) -> set[SSAValue]:
    """A nest of no points writes nothing but the identities of what it reduces."""
    if 0 not in nest.extents:
        return {*nest.operands, *_written(nest)}
    made = zip(_written(nest), nest.combiner_names, strict=True)
    return {value for value, combiner in made if combiner != "store"}


def _verify_own_memory(nest: GenericOp) -> None:
    """A nest reads what it writes at the very element that it writes there, or not at all."""
    writes: dict[SSAValue, AffineMap] = {}
    shared: set[SSAValue] = set()
    for value, index_map in zip(_written(nest), nest.write_maps, strict=True):
        if value in writes:
            if not _are_apart(nest, value, writes[value], index_map):
                raise KernelFault(nest, "two of its results are the same memory")
            shared.add(value)
        writes[value] = index_map
    if shared.intersection(nest.inputs):
        raise KernelFault(nest, "it reads what two of its results are written to")
    reads = zip(nest.inputs, nest.read_maps, nest.pad_values, strict=True)
    for value, index_map, pad in reads:
        if value in writes and (index_map != writes[value] or pad is not None):
            raise KernelFault(nest, "it reads elements that it writes at other points")
    if any(source in writes for source in nest.sources):
        raise KernelFault(nest, "it reads at computed indices what it writes")


def _are_apart(nest: GenericOp, memory: SSAValue, one: AffineMap, other: AffineMap) -> bool:
    """Whether two maps name no element in common, as those of the parts of complex numbers do.

    It is enough that they never agree on one axis, or on the offset of the element.
    """
    left, right = forms_of(one, nest.extents), forms_of(other, nest.extents)
    if left is None or right is None:
        return False
    offsets = [flatten(forms, shape_of(memory)) for forms in (left, right)]
    return _never_equal(*offsets) or any(map(_never_equal, left, right))


def _never_equal(left: Linear, right: Linear) -> bool:
    """Whether sum(c_i d_i) + k is no sum(c_i e_i) + l: then gcd(c) does not divide l - k."""
    if left.coefficients != right.coefficients:
        return False
    step, distance = gcd(*left.coefficients.values()), abs(left.constant - right.constant)
    return distance % step != 0 if step else distance != 0


def _verify_shared(one: GenericOp, other: GenericOp, memory: SSAValue) -> None:
    if 0 in one.extents or 0 in other.extents:
        raise KernelFault(other, "it touches what a nest of no points reduces in the same kernel")
    if part_of(one) != part_of(other):
        if isinstance(memory.owner, memref.AllocOp):
            raise KernelFault(other, "it touches what another part keeps to itself")
        return
    if any(summed_rows(nest) and memory in _written(nest) for nest in (one, other)):
        raise KernelFault(other, "it touches a sum over rows before the last row is added")
    for places in _accesses(one, memory):
        for others in _accesses(other, memory):
            _verify_same_row(one, places, other, others)


def _accesses(nest: GenericOp, memory: SSAValue) -> Iterator[AffineMap | None]:
    """Index maps by which a nest reads and writes some memory; None for computed indices."""
    operands = (*nest.inputs, *_written(nest))
    for value, index_map in zip(operands, (*nest.read_maps, *nest.write_maps), strict=True):
        if value is memory:
            yield index_map
    if memory in nest.sources:
        yield None


def _verify_same_row(
    one: GenericOp, places: AffineMap | None, other: GenericOp, others: AffineMap | None
) -> None:
    extents = _row_extents(one)
    wide = {place for place, extent in enumerate(extents) if extent != 1}
    left = _by_row(one, places)
    right = _by_row(other, others)
    for here, there in zip(left, right, strict=False):  # none where one has no forms
        apart = max(here.high - there.low, there.high - here.low)
        if here.rows == there.rows and apart < here.rows.spacing(extents):
            wide -= here.rows.coefficients.keys()
    if wide:
        same = rows_of(other)[min(wide)]
        raise KernelFault(
            other,
            f"it touches other rows (d{same}) of what a nest in front of it touches in the "
            f"kernel; see {NEST}",
        )


@record
class _RowIndex:
    """An index as a form over the numbers of the rows, and the range of what is added to it."""

    rows: Linear
    low: int
    high: int


def _by_row(nest: GenericOp, index_map: AffineMap | None) -> list[_RowIndex]:
    """The index of each axis; none where they are not linear."""
    forms = None if index_map is None else forms_of(index_map, nest.extents)
    places = {d: place for place, d in enumerate(rows_of(nest)) if nest.extents[d] != 1}
    found: list[_RowIndex] = []
    for form in forms or ():
        rows = Linear.of({places[d]: c for d, c in form.terms if d in places})
        rest = Linear.of({d: c for d, c in form.terms if d not in places}, form.constant)
        found.append(_RowIndex(rows, *rest.range(nest.extents)))
    return found


def _verify_live_sums(nests: Sequence[GenericOp]) -> None:
    """Rows that are not live add nothing to what the nests of a part sum over its rows."""
    for part in {part_of(nest) for nest in nests if summed_rows(nest)}:
        own = [nest for nest in nests if part_of(nest) == part]
        live = live_rows_of(own[0])
        if live is None or (number := _turns(own, live)) is None:
            continue
        kernel = kernel_of(own[0])
        block = kernel.regions[0].first_block if kernel is not None else None
        counts = {} if block is None else counts_of(block)
        if number not in counted_sums(own, masks_in(own), counts):
            summing = next(nest for nest in own if summed_rows(nest))
            raise KernelFault(summing, f"of its rows {live} are live: others may add to its sums")


def _turns(nests: Sequence[GenericOp], live: LiveRows) -> int | None:
    """The argument at whose number rows end that a task takes in turn, if they end at one."""
    summing = next(nest for nest in nests if summed_rows(nest))
    return live.turns(prod(summing.extents[d] for d in summed_rows(summing)))


def _verify_order(nests: Sequence[GenericOp]) -> None:
    """Parts run in the order of their first nests; nothing may need it otherwise."""
    order: dict[int, int] = {}
    places = [order.setdefault(part_of(nest), len(order)) for nest in nests]
    for (at, one), (later, other) in combinations(zip(places, nests, strict=True), 2):
        if at > later and _shared(one, other):
            raise KernelFault(other, "it needs its part to run later than it does")
