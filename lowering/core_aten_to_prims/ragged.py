"""Rows of different lengths, one after the other in one vector: bags, triangles, repeats."""

from __future__ import annotations

from xdsl.dialects.builtin import bf16, f16, f32, i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_certain, shape_of

SUM, MEAN, MAX = 0, 1, 2
"""Modes of embedding_bag."""


def rows_and_places(b: PrimsBuilder, lengths: SSAValue, total: int) -> tuple[SSAValue, SSAValue]:
    """For each of `total` elements: the row that holds it, and its place there."""
    ends = b("scan", lengths, "add", 0)
    position = b.iota(total, i64)
    row = b("searchsorted", ends, position, True)
    start = b("take", b("sub", ends, lengths), row, 0)
    return row, b("sub", position, start)


@lowers("repeat_interleave.Tensor")
def repeat_interleave(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Each position as often as asked for."""
    repeats = op.arg("repeats")
    row, _ = rows_and_places(b, b.convert(repeats, i64), shape_of(op.results[0])[0])
    return b.convert(row, element_of(op.results[0]))


@lowers("tril_indices", "triu_indices")
def triangle_indices(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Rows and columns of a triangle, in row-major order."""
    rows, columns, offset = op.arg("row"), op.arg("col"), op.arg("offset")
    total = shape_of(op.results[0])[1]
    if not total:
        return b.full([2, 0], 0, element_of(op.results[0]))
    none, whole = b.full([rows], 0, i64), b.full([rows], columns, i64)
    lower = op.overload_name.startswith("tril")
    edge = b("minimum", b("maximum", b.iota(rows, i64, offset + lower), none), whole)
    row, column = rows_and_places(b, edge if lower else b("sub", whole, edge), total)
    if not lower:
        column = b("add", column, b("take", edge, row, 0))
    both = b("cat", [b.reshape(v, [1, total]) for v in (row, column)], 0)
    return b.convert(both, element_of(op.results[0]))


@lowers("_pdist_forward")
def pdist(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Distances of each row from all later ones."""
    x, order = op.arg("self"), op.arg("p")
    rows, _ = shape_of(x)
    total = shape_of(op.results[0])[0]
    if not total:
        return b.full([0], 0, element_of(x))
    first, place = rows_and_places(b, b.iota(rows, i64, rows - 1, -1), total)
    second = b.with_number("add", b("add", first, place), 1)
    difference = b("abs", b("sub", b("take", x, first, 0), b("take", x, second, 0)))
    return norm(b, difference, order, 1)


def norm(b: PrimsBuilder, distance: SSAValue, order: float, dim: int) -> SSAValue:
    """The norm of non-negative numbers along a dimension, which goes away."""
    element = element_of(distance)
    if order == float("inf"):
        return b("amax", distance, [dim])
    if order == 0:
        return b("sum", b.convert(b.with_number("ne", distance, 0), element), [dim])
    if order == 1:
        return b("sum", distance, [dim])
    if order == 2:
        return b("sqrt", b("sum", b("mul", distance, distance), [dim]))
    total = b("sum", b.with_number("pow", distance, order), [dim])
    return b.with_number("pow", total, 1 / order)


@lowers("_cdist_backward")
def cdist_backward(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Each row of x1 sums what its distances hand back; nothing where the distance is 0."""
    grad, x, y, order = op.arg("grad"), op.arg("x1"), op.arg("x2"), op.arg("p")
    *batch, rows, size = shape_of(x)
    columns, n = shape_of(y)[-2], len(batch)
    if shape_of(y)[:-2] != batch:
        raise b.refuse("batches that broadcast", "expand first")
    shape, lead = [*batch, rows, columns, size], list(range(n))
    left = b("broadcast_in_dim", x, shape, [*lead, n, n + 2])
    right = b("broadcast_in_dim", y, shape, [*lead, n + 1, n + 2])
    spread = [*lead, n, n + 1]
    handed = b("broadcast_in_dim", grad, shape, spread)
    distance = b("broadcast_in_dim", op.arg("cdist"), shape, spread)
    difference = b("sub", left, right)
    zero = b.full(shape, 0, element_of(x))
    size_of, sign = b("abs", difference), b("sign", difference)
    if order == 0:
        return b.full([*batch, rows, size], 0, element_of(x))
    if order == 1:
        made = b("mul", handed, sign)
    elif order == float("inf"):
        made = b.where(b("eq", size_of, distance), b("mul", handed, sign), zero)
    else:
        if order == 2:
            share = b("div", difference, distance)
        else:
            powered = b.with_number("pow", size_of, order - 1)
            share = b("mul", sign, b("div", powered, b.with_number("pow", distance, order - 1)))
        made = b.where(b.with_number("eq", distance, 0), zero, b("mul", handed, share))
        if order < 1:
            made = b.where(b.with_number("eq", difference, 0), zero, made)
    return b("sum", made, [n + 1])


@lowers("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """The sum, mean or maximum of the table's rows in each bag, and the bookkeeping that is read.

    That is, in this order: the bag of each index, the indices in each bag that are not padding, and
    of a maximum the row that has it. A sum says 0 for the last two.
    """
    bags = _Bags(op, b)
    mode, result = op.arg("mode"), element_of(op.results[0])
    index_type = element_of(op.results[3])
    if mode == MAX:
        indices = b.convert(bags.indices, index_type)
        made, places = b.op("segment_max", bags.weight, indices, bags.walked, bags.padding).results
        return [made, *bags.bookkeeping(), places]
    scale = op.arg("per_sample_weights")
    made = b("segment_sum", bags.weight, bags.indices, bags.walked, scale, bags.padding)
    if mode == MEAN:
        shape, compute = shape_of(made), element_of(made)
        size = b.along(bags.sizes(), shape, 0)
        made = b("div", made, b.convert(b("maximum", size, b.full(shape, 1, i64)), compute))
    return [b.convert(made, result), *bags.bookkeeping(), bags.counted(op.results[3])]


class _Bags:
    """The bags of an op: where they begin, and what is told of them beside their sums."""

    def __init__(self, op: SchemaOp, b: PrimsBuilder) -> None:
        self.op, self.b = op, b
        self.weight, self.indices = op.arg("weight"), op.arg("indices")
        self.padding: int = op.arg("padding_idx")
        [self.bags, _], [self.count] = shape_of(op.results[0]), shape_of(self.indices)
        given = b.convert(op.arg("offsets"), i64)
        end = b.full([1], self.count, i64)
        self.offsets = walked = self._joined(given, end)
        """The first place of each bag, and the end of the last one."""
        if op.arg("include_last_offset") and shape_of(given)[0] > self.bags:
            last = b.slice(given, 0, self.bags, self.bags + 1)
            in_one_step = op.arg("mode") != MAX and self.padding < 0
            in_one_step &= element_of(self.weight) in (f16, bf16, f32)
            walked = self._joined(given, last if in_one_step else b("maximum", last, end))
        self.walked = walked
        """The same of the indices that are looked up: where torch sums in one step, the last bag
        ends at the last offset, else it goes on to the last index, whatever that says."""

    def _joined(self, given: SSAValue, end: SSAValue) -> SSAValue:
        """Where each bag begins, and an end; in no order where torch has an error."""
        b = self.b
        if not self.bags:
            return end
        # The first bag begins at 0: another number is turned into one that is refused.
        first = b("neg", b("abs", b.slice(given, 0, 0, 1)))
        is_one = is_certain(lambda: self.bags <= 1)
        rest = [] if is_one else [b.slice(given, 0, 1, self.bags)]
        return b("cat", [first, *rest, end], 0)

    def sizes(self) -> SSAValue:
        """How many indices of each bag are not padding, i64."""
        b = self.b
        if self.padding < 0 or not self.count:
            ends, starts = (b.slice(self.offsets, 0, n, n + self.bags) for n in (1, 0))
            return b("sub", ends, starts)
        there = b.with_number("ne", b.convert(self.indices, i64), self.padding)
        line = b.iota(self.count, i64)
        return b("segment_sum", b.convert(there, i64), line, self.offsets)

    def bookkeeping(self) -> list[SSAValue | None]:
        """offset2bag and bag_size, each if somebody reads it."""
        _, bag_of_index, sizes, _ = self.op.results
        return [self._bag_of_index(bag_of_index), self.counted(sizes)]

    def _bag_of_index(self, result: SSAValue) -> SSAValue | None:
        if not result.first_use:
            return None
        b, element = self.b, element_of(result)
        if shape_of(result) == [0]:
            return b.full([0], 0, element)
        starts = b.slice(self.offsets, 0, 0, self.bags)
        bag = b("searchsorted", starts, b.iota(self.count, i64), True)
        return b.convert(b.with_number("sub", bag, 1), element)

    def counted(self, result: SSAValue) -> SSAValue | None:
        """The sizes of bags where they are averaged or compared, zeros where they are summed.

        Torch makes a place for the end of the last bag too where it says so; its number is 0.
        """
        if not result.first_use:
            return None
        b, element, [wanted] = self.b, element_of(result), shape_of(result)
        if self.op.arg("mode") == SUM:
            return b.full([wanted], 0, element)
        sizes = b.convert(self.sizes(), element)
        if wanted > self.bags:
            return b("cat", [sizes, b.full([wanted - self.bags], 0, element)], 0)
        return sizes
