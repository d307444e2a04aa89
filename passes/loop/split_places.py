"""`split-places`: reads of joined dimensions at sums of places become reads of these dimensions.

`bound-dynamic-shapes` moves the elements of padded dimensions together, which a program joins: it
reads the joined dimension at `%i * 256 + %j`, where i and j are the places in the two dimensions.
Such a place says nothing of where i and j end. If both are below the extents of their dimensions
whatever the sizes are, the read may have them as its indices, of the tensor with the dimensions
apart, as `loop.reshape` gives it:

    loop.read %joined[%place, %k]  ->  loop.read %apart[%i, %j, %k]

Places at which a program reads several dimensions are joined, too: to a sum where each is inside,
and else to a number that is refused. Read apart, each is refused for itself.

`limit-reads` then finds at which numbers of the call they end, and what makes the tensor need not
make more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from lamina.dialects.loop import GenericOp, ReadOp, ReshapeOp, before_reshapes
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.loop.linear import linear
from lamina.dialects.loop.open_nests import is_open
from lamina.dialects.op_list import instances_under
from lamina.dialects.records import record
from lamina.passes.defined_functions import defined_functions
from lamina.passes.loop.body_origins import (
    COPIES,
    Place,
    comparison,
    constant,
    element_of,
    maker,
    origin,
)
from lamina.passes.loop.loop_rewriting import change
from lamina.passes.loop.packing import copy_nest
from lamina.passes.loop.place_ends import end_of_place, is_below
from lamina.passes.loop.refused_places import end_of_index

_Element: TypeAlias = tuple[SSAValue, AffineMap]
"""A tensor, and which element of it."""

_MOST_TERMS = 16
"""Places that are added up: those of a tensor are as many as it has dimensions."""


class SplitPlacesPass(ModulePass):
    """Read dimensions at places of their own, not their join at a sum of these."""

    name = "split-places"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for nest in instances_under(function, GenericOp):
                if nest.sources and not is_open(nest):
                    for read in [one for one in nest.block.ops if isinstance(one, ReadOp)]:
                        _split(nest, read)


@record
class _Term:
    """A multiple of the elements of a tensor, at points of a nest that a map gives."""

    tensor: SSAValue
    index_map: AffineMap
    factor: int

    def ends(self, extent: int) -> bool:
        """Whether the elements, as places of a dimension of this extent, are seen to end at a
        number of the call where they are not refused."""
        made = maker(self.tensor)
        return made is not None and end_of_index(*made, extent) is not None

    def is_inside(self, extent: int) -> bool:
        """Whether they are places of a dimension of this extent, whatever the call's sizes are."""
        made = maker(self.tensor)
        if made is None:
            return False
        return end_of_place(*made) is not None or is_below(*made, extent)

    @property
    def place(self) -> Place:
        """Where the elements are made."""
        made = maker(self.tensor)
        given = (self.tensor, None) if made is None else made
        return origin(*given, self.index_map)


def _split(nest: GenericOp, read: ReadOp) -> None:
    source = read.source
    if read.limits or not isinstance(source, BlockArgument) or source.block is not nest.block:
        return
    if 0 in nest.extents:
        return
    joined = nest.sources[source.index - len(nest.inputs)]
    terms: list[list[_Term] | SSAValue] = []
    shape: list[int] = []
    for index, extent in zip(read.indices, shape_of(joined), strict=True):
        found = _places(index, nest, extent)
        terms.append(index if found is None else found[0])
        shape += [extent] if found is None else found[1]
    if len(shape) == len(read.indices):
        return
    apart = before_reshapes(joined)
    if list(shape_of(apart)) != shape:
        made = ReshapeOp(apart, TensorType(element_type(apart.type), shape))
        block = nest.parent
        assert block is not None
        block.insert_op_before(made, nest)
        apart = made.result
    _replace(nest, read, apart, terms)


def _places(index: SSAValue, nest: GenericOp, extent: int) -> tuple[list[_Term], list[int]] | None:
    """The places of which an index of a read is the row-major number, and the extents of their
    dimensions, which are `extent` together. None where they are not known to be inside, or none of
    them ends at a number of the call."""
    while isinstance(owner := index.owner, COPIES):
        index = owner.input
    if not isinstance(index, BlockArgument) or index.block is not nest.block:
        return None
    number = index.index
    if number >= len(nest.inputs) or nest.pad_values[number] is not None:
        return None
    sums = before_reshapes(nest.inputs[number])
    guard = _guard(sums)
    terms = sorted(_added(sums, guard) or (), key=lambda term: -term.factor)
    extents: list[int] = []
    for term in terms:
        inner, left = divmod(extent, term.factor)
        if left or (guard is None and not term.is_inside(inner)):
            return None
        extents.append(inner)
        extent = term.factor
    ends = (term.ends(inner) for term, inner in zip(terms, extents, strict=True))
    if len(terms) < 2 or extent != 1 or not any(ends):
        return None
    if guard is not None and not _is_inside_of_all(guard, terms, extents):
        return None
    return [_read_by(nest, number, term, sums) for term in terms], extents


def _read_by(nest: GenericOp, number: int, term: _Term, sums: SSAValue) -> _Term:
    """A term of sums, by points of their tensor, by points of the nest that reads these as an
    input, perhaps reshaped."""
    given, read = nest.inputs[number], nest.read_maps[number]
    if given is sums:
        return _Term(term.tensor, term.index_map.compose(read), term.factor)
    copied = copy_nest(nest, "copy", term.tensor, term.index_map, shape_of(sums))
    same = ReshapeOp(copied.res[0], given.type)
    block = nest.parent
    assert block is not None
    block.insert_ops_before([copied, same], nest)
    return _Term(same.result, read, term.factor)


def _guard(sums: SSAValue) -> arith.SelectOp | None:
    """Where elements of a tensor are sums, or else a number that no read takes: the choice."""
    made = maker(sums)
    if made is None or not isinstance(chosen := made[0].owner, arith.SelectOp):
        return None
    other = constant((chosen.rhs, made[1], AffineMap.identity(len(made[1].extents))))
    return chosen if other is not None and other < 0 else None


def _is_inside_of_all(
    guard: arith.SelectOp, terms: Sequence[_Term], extents: Sequence[int]
) -> bool:
    """Whether the condition of a choice is that all terms are places of their dimensions."""
    nest = guard.parent_op()
    assert isinstance(nest, GenericOp)
    waiting: list[Place] = [(guard.cond, nest, AffineMap.identity(len(nest.extents)))]
    places = [term.place for term in terms]
    left = {
        (n, *side) for n, extent in enumerate(extents) for side in (("sge", 0), ("slt", extent))
    }
    while waiting and len(waiting) <= _MOST_TERMS:
        value, at, point = origin(*waiting.pop())
        if at is None:
            return False
        if isinstance(value.owner, arith.AndIOp):
            waiting += [(side, at, point) for side in value.owner.operands]
            continue
        said = {
            (n, relation, constant(found))
            for n, place in enumerate(places)
            for relation in ("sge", "slt")
            if (found := comparison((value, at, point), relation, place)) is not None
        }
        if not said & left:
            return False
        left -= said
    return not left


def _added(sums: SSAValue, guard: arith.SelectOp | None = None) -> list[_Term] | None:
    """The multiples of tensors' elements that elements of a tensor add up, by points of it, where
    the condition of a `guard` holds; None for other sums."""
    shape, found = shape_of(sums), list[_Term]()
    if (made := maker(sums)) is None:
        return None
    if guard is not None:
        made = guard.lhs, made[1]
    point = AffineMap.identity(len(shape))
    waiting: list[tuple[SSAValue, GenericOp, AffineMap, int, _Element | None]]
    waiting = [(*made, point, 1, (sums, point))]
    while waiting:
        if len(waiting) + len(found) > _MOST_TERMS:
            return None
        value, at, point, factor, element = waiting.pop()
        owner = value.owner
        if isinstance(value, BlockArgument):
            number = value.index
            if value.block is not at.block or number >= len(at.inputs):
                return None
            if at.pad_values[number] is not None:
                return None
            element = element_of(at, number, point)
            if (made := maker(element[0])) is not None:
                waiting.append((*made, element[1], factor, element))
                continue
        elif isinstance(owner, COPIES):
            waiting.append((owner.input, at, point, factor, element))
            continue
        elif isinstance(owner, arith.AddiOp):
            waiting += [(side, at, point, factor, None) for side in owner.operands]
            continue
        elif isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
            if owner.value.value.data:
                return None
            continue
        elif isinstance(owner, arith.MuliOp) and (scaled := _scaled(owner, at, point)):
            waiting.append((scaled[0], at, point, factor * scaled[1], None))
            continue
        if element is None or element_type(element[0].type) != i64:
            return None
        if any(linear(index, shape) is None for index in element[1].results):
            return None
        found.append(_Term(*element, factor))
    return found


def _scaled(
    product: arith.MuliOp, nest: GenericOp, point: AffineMap
) -> tuple[SSAValue, int] | None:
    """The value that a product has a positive multiple of."""
    for value, other in (product.operands, reversed(product.operands)):
        factor = constant((other, nest, point))
        if factor is not None and factor > 0:
            return value, factor
    return None


def _replace(
    nest: GenericOp,
    read: ReadOp,
    tensor: SSAValue,
    terms: Sequence[list[_Term] | SSAValue],
) -> None:
    """Read a tensor at the places that `terms` has for its dimensions."""
    block, reads, sources = nest.block, nest.reads, list(nest.sources)
    indices: list[SSAValue] = []
    for own in terms:
        if isinstance(own, SSAValue):
            indices.append(own)
            continue
        for term in own:
            argument = block.insert_arg(i64, len(reads))
            reads.append((term.tensor, term.index_map, None))
            cast = arith.IndexCastOp(argument, IndexType())
            block.insert_op_before(cast, read)
            indices.append(cast.result)
    source = block.insert_arg(tensor.type, len(reads) + len(sources))
    sources.append(tensor)
    made = ReadOp(source, indices)
    made.attributes.update(read.attributes)
    made.location = read.location
    block.insert_op_before(made, read)
    old = read.source
    read.result.replace_all_uses_with(made.result)
    pending = [value.owner for value in read.indices]
    block.erase_op(read)
    while pending:
        op = pending.pop()
        if isinstance(op, COPIES) and not op.result.uses:
            pending.append(op.input.owner)
            block.erase_op(op)
    if isinstance(old, BlockArgument) and not old.uses:
        del sources[old.index - len(reads)]
        block.erase_arg(old)
    for argument in [a for a in block.args[: len(reads)] if not a.uses][::-1]:
        del reads[argument.index]
        block.erase_arg(argument)
    change(nest, reads=reads, sources=sources)
