"""`linalg.generic`, and what every structured op becomes: nests, by the maps and the body."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, TensorType, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from lamina.dialects.linalg import GenericOp as LinalgGenericOp
from lamina.dialects.linalg import IndexOp
from lamina.dialects.loop.rounding import is_half
from lamina.dialects.records import mutable_record
from lamina.lowering import scalar
from lamina.lowering.linalg_to_loop.bodies import BodyCopy, Captured, captured_by, needed_for
from lamina.lowering.linalg_to_loop.folds import Fold, depends_on, fold_of
from lamina.lowering.linalg_to_loop.linalg_number_arguments import tensor_behind
from lamina.lowering.linalg_to_loop.table import (
    LinalgBuilder,
    constant_of,
    lowers,
)
from lamina.lowering.prims_to_loop.ordered import scan
from lamina.lowering.prims_to_loop.table import Body, Map, d
from lamina.lowering.tensor_types import element_of, shape_of


@lowers("linalg.generic")
def _generic(op: LinalgGenericOp, b: LinalgBuilder) -> list[SSAValue]:
    assert op.maps is not None and op.iterators is not None and op.block is not None
    nest = Structured(b, list(op.inputs), list(op.outputs), op.maps, op.iterators, op.block)
    return nest.lowered()


@mutable_record
class Structured:
    """A structured op: operands, the map of each, `parallel` or `reduction`, and the body."""

    b: LinalgBuilder
    inputs: list[SSAValue]
    outputs: list[SSAValue]
    maps: Sequence[AffineMap]
    iterators: Sequence[str]
    block: Block

    def lowered(self) -> list[SSAValue]:
        """Nests in front of the op; the values of its results."""
        self.extents = self._extents()
        for op in self.block.ops:
            if isinstance(op, IndexOp) and not 0 <= op.dim.value.data < len(self.extents):
                raise self.b.refuse(f"linalg.index {op.dim.value.data} of {len(self.extents)}")
        self.captured = captured_by(self.b, self.block)
        end = self.block.last_op
        assert end is not None
        self.yielded = list(end.operands)
        reduced = {n for n, kind in enumerate(self.iterators) if kind == "reduction"}
        results: dict[int, SSAValue] = {}
        stored: list[int] = []
        folded: dict[int, Fold] = {}
        for number in range(len(self.outputs)):
            used = self.out_map(number).used_dims()
            self._check_out_map(number)
            extents = enumerate(self.extents)
            left = [dim for dim, extent in extents if dim not in used and extent != 1]
            if not left:
                stored.append(number)
            elif any(dim not in reduced for dim in left):
                raise self.b.refuse("a parallel dimension is not in the map of every result")
            elif (fold := self._fold(number)) is not None:
                folded[number] = fold
        rest = [n for n in range(len(self.outputs)) if n not in stored and n not in folded]
        if stored and any(self._mixes(n, stored) for n in rest + stored):
            raise self.b.refuse("a result that is not reduced is part of one that is")
        if stored:
            results.update(zip(stored, self._stored(stored), strict=True))
        for number, fold in folded.items():
            results[number] = self._folded(number, fold)
        if rest:
            results.update(zip(rest, self._in_order(rest), strict=True))
        return [results[number] for number in range(len(self.outputs))]

    # What the op says

    def out_map(self, number: int) -> AffineMap:
        """The index map of an out."""
        return self.maps[len(self.inputs) + number]

    def old(self, number: int) -> SSAValue:
        """The body's argument that is the element of an out."""
        return self.block.args[len(self.inputs) + number]

    def _mixes(self, number: int, stored: list[int]) -> bool:
        others = [n for n in range(len(self.outputs)) if n != number]
        if number in stored:
            others = [n for n in others if n not in stored]
        return any(depends_on(self.yielded[number], self.old(n), self.block) for n in others)

    def _fold(self, number: int) -> Fold | None:
        others = [n for n in range(len(self.outputs)) if n != number]
        mine, old = self.yielded[number], self.old(number)
        if any(depends_on(mine, self.old(n), self.block) for n in others):
            return None
        if any(depends_on(self.yielded[n], old, self.block) for n in others):
            return None
        return fold_of(mine, old, self.block)  # pyright: ignore[reportArgumentType]

    def _extents(self) -> list[int]:
        """The size of each dimension, from an operand that one dimension alone indexes."""
        found: dict[int, int] = {}
        for operand, index_map in zip([*self.inputs, *self.outputs], self.maps, strict=True):
            if not isinstance(operand.type, TensorType):
                continue
            for expr, extent in zip(index_map.results, shape_of(operand), strict=True):
                if not isinstance(expr, AffineDimExpr):
                    continue
                if found.setdefault(expr.position, extent) != extent:
                    raise self.b.refuse(
                        f"dimension d{expr.position} is {found[expr.position]} long for one "
                        f"operand, {extent} for another"
                    )
        missing = [n for n in range(len(self.iterators)) if n not in found]
        if missing:
            raise self.b.refuse(f"no operand says how long dimension d{missing[0]} is")
        self.b_check_ranges(found)
        return [found[n] for n in range(len(self.iterators))]

    def b_check_ranges(self, found: dict[int, int]) -> None:
        """No map may leave its operand."""
        for operand, index_map in zip([*self.inputs, *self.outputs], self.maps, strict=True):
            if not isinstance(operand.type, TensorType) or 0 in found.values():
                continue
            for expr, extent in zip(index_map.results, shape_of(operand), strict=True):
                ends = [found[n] - 1 for n in range(len(self.iterators))]
                if isinstance(expr, AffineDimExpr):
                    continue
                last = expr.eval(ends, [])
                if last >= extent and all(_grows(e) for e in expr.dfs()):
                    raise self.b.refuse(f"index {expr} goes to {last}, the operand has {extent}")

    def _check_out_map(self, number: int) -> None:
        shape = shape_of(self.outputs[number])
        seen: set[int] = set()
        for expr, extent in zip(self.out_map(number).results, shape, strict=True):
            if isinstance(expr, AffineDimExpr) and expr.position not in seen:
                seen.add(expr.position)
            elif not (isinstance(expr, AffineConstantExpr) and expr.value == 0 and extent == 1):
                raise self.b.refuse(
                    f"the map of a result, {self.out_map(number)}, is no projected permutation"
                )

    # Nests

    def _reads(self, values: Sequence[SSAValue]) -> Reads:
        """What the ops that these values are made of read."""
        ops = needed_for(self.block, values)
        used = {operand for op in ops for operand in op.operands} | set(values)
        reads = Reads(ops, self.captured)
        operands = [*self.inputs, *self.outputs]
        arguments = list(self.block.args)
        for argument, operand, index_map in zip(arguments, operands, self.maps, strict=True):
            if argument not in used:
                continue
            if isinstance(operand.type, TensorType):
                reads.add(argument, operand, list(index_map.results))
            elif (held := tensor_behind(operand)) is not None:
                reads.add(argument, held, [])
            elif isinstance(operand.owner, arith.ConstantOp):
                reads.constants[argument] = operand.owner
            else:
                raise self.b.refuse(f"reads a number of {operand.type} from elsewhere")
        for number, held in self.captured.numbers.items():
            if number in used:
                reads.add(number, held, [])
        return reads

    def _stored(self, numbers: list[int]) -> list[SSAValue]:
        values = [self.yielded[n] for n in numbers]
        reads = self._reads(values)

        def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
            copy = reads.copied(self.b, inner, args)
            return [copy(value) for value in values]

        writes = [self._write(n, "store", None) for n in numbers]
        made = self.b.generic(self.extents, reads.nest, writes, body, sources=self.captured.tensors)
        return [self._shaped(n, value) for n, value in zip(numbers, made.res, strict=True)]

    def _write(
        self, number: int, combiner: str, kind: Attribute | None
    ) -> tuple[Map, str, list[int], Attribute]:
        """The write of a result, without the dimensions that its map holds at 0."""
        out = self.outputs[number]
        pairs = zip(self.out_map(number).results, shape_of(out), strict=True)
        kept = [(e, extent) for e, extent in pairs if isinstance(e, AffineDimExpr)]
        shape = [extent for _, extent in kept]
        return [e for e, _ in kept], combiner, shape, kind or element_of(out)

    def _shaped(self, number: int, value: SSAValue) -> SSAValue:
        return self.b.reshape(value, shape_of(self.outputs[number]))

    def _folded(self, number: int, fold: Fold) -> SSAValue:
        """A reduction without what was there before, and a nest that adds it, if it matters."""
        out = self.outputs[number]
        element = element_of(out)
        wide = f32 if is_half(element) else element
        reads = self._reads([term for term, _ in fold.terms])

        def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
            copy = reads.copied(self.b, inner, args)
            joined: SSAValue | None = None
            for term, negated in fold.terms:
                value = scalar.convert(inner, copy(term), wide)
                if negated:
                    value = _negated(inner, value)
                joined = value if joined is None else inner.add(fold.op(joined, value))
            assert joined is not None
            return [joined]

        monoid = fold.monoid(wide)
        made = self.b.generic(
            self.extents,
            reads.nest,
            [self._write(number, fold.combiner, wide)],
            body,
            sources=self.captured.tensors,
            monoids=[] if monoid is None else [monoid],
        ).res[0]
        made = self._shaped(number, made)
        if fold.ignores(constant_of(out)):
            if wide == element:
                return made
            return self.b.pointwise([made], element, lambda i, a: scalar.rounded(i, a[0], element))

        def join(inner: Body, args: list[SSAValue]) -> SSAValue:
            before = scalar.convert(inner, args[0], wide)
            return scalar.rounded(inner, inner.add(fold.op(before, args[1])), element)

        return self.b.pointwise([out, made], element, join)

    def _in_order(self, numbers: list[int]) -> list[SSAValue]:
        """Any other reduction: point by point in the order of the loops, the last value kept."""
        used = [frozenset(self.out_map(n).used_dims()) for n in numbers]
        if len(set(used)) > 1:
            raise self.b.refuse("results that depend on one another are reduced over other dims")
        kept = sorted(used[0])
        reduced = [n for n in range(len(self.extents)) if n not in used[0]]
        steps = prod(self.extents[n] for n in reduced)
        if steps == 0:
            return [self.outputs[n] for n in numbers]
        if self.captured.tensors:
            raise self.b.refuse("a reduction in order whose body reads tensors by index")
        along = len(kept)
        place: list[AffineExpr] = [d(0)] * len(self.extents)
        for position, dim in enumerate(kept):
            place[dim] = d(position)
        stride = 1
        for dim in reversed(reduced):
            whole = d(along) // stride if stride > 1 else d(along)
            place[dim] = whole % self.extents[dim] if dim != reduced[0] else whole
            stride *= self.extents[dim]
        values = [self.yielded[n] for n in numbers]
        olds = [self.old(n) for n in numbers]
        reads = self._reads([*values, *olds])
        there = [reads.numbers[old] for old in olds]
        shape = [self.extents[n] for n in kept]
        lengths = [self.extents[n] for n in reduced]
        order = [*kept, *reduced]
        nest = [self._flat_read(v, exprs, order, shape, lengths) for v, exprs in reads.nest]
        domain = [*(self.extents[n] for n in kept), steps]

        def position_of(inner: Body, dim: int) -> SSAValue:
            if dim in kept:
                return inner.index(kept.index(dim))
            return _index_value(inner, place[dim], along)

        def body(
            inner: Body, args: list[SSAValue], carried: list[SSAValue]
        ) -> tuple[list[SSAValue], list[SSAValue]]:
            at = inner.index(along)
            first = scalar.compare(inner, "eq", at, inner.constant(0, IndexType()))
            begun = list(args)
            for slot, carry in zip(there, carried, strict=True):
                begun[slot] = scalar.select(inner, first, args[slot], carry)
            copy = reads.copied(self.b, inner, begun, position_of)
            following = [copy(value) for value in values]
            return following, following

        kinds = [element_of(self.outputs[n]) for n in numbers]
        starts = [scalar.number(0, kind) for kind in kinds]
        made = scan(self.b, domain, along, nest, starts, kinds, body)
        results: list[SSAValue] = []
        for number, value in zip(numbers, made, strict=True):
            places = [kept.index(dim) for dim in _dims(self.out_map(number))]
            exprs: list[AffineExpr | int] = [steps - 1] * (along + 1)
            for position_out, position_in in enumerate(places):
                exprs[position_in] = d(position_out)
            last = self.b.copy(value, exprs, [shape[p] for p in places])
            results.append(self._shaped(number, last))
        return results

    def _flat_read(
        self,
        value: SSAValue,
        exprs: Map,
        order: list[int],
        shape: list[int],
        lengths: list[int],
    ) -> tuple[SSAValue, Map]:
        """A read over the dimensions that are kept and one for those that are reduced, `order`."""
        place: list[AffineExpr] = [d(order.index(dim)) for dim in range(len(order))]
        placed = [_placed(expr, place) for expr in exprs or ()]
        rank = len(shape)
        used = {n for e in placed if not isinstance(e, int) for n in e.used_dims()}
        if len(lengths) == 1 or not any(dim >= rank for dim in used):
            return value, placed
        copied = self.b.copy(value, placed, [*shape, *lengths])
        return self.b.reshape(copied, [*shape, prod(lengths)]), None


class Reads:
    """The reads of a nest, and which values of the body they are."""

    def __init__(self, ops: list[Operation], captured: Captured) -> None:
        self.ops = ops
        self.captured = captured
        self.nest: list[tuple[SSAValue, Map]] = []
        self.numbers: dict[SSAValue, int] = {}
        self.constants: dict[SSAValue, arith.ConstantOp] = {}

    def add(self, meant: SSAValue, operand: SSAValue, exprs: list[AffineExpr]) -> None:
        """Read `operand` where the body has `meant`."""
        self.numbers[meant] = len(self.nest)
        self.nest.append((operand, exprs))

    def copied(
        self,
        b: LinalgBuilder,
        inner: Body,
        args: Sequence[SSAValue],
        position: object = None,
    ) -> BodyCopy:
        """A copy of the ops in a nest whose block has these arguments: the reads, the sources."""
        values = {meant: args[number] for meant, number in self.numbers.items()}
        sources = args[len(self.nest) :]
        values.update(zip(self.captured.tensors, sources, strict=False))
        for meant, constant in self.constants.items():
            values[meant] = inner.add(constant.clone())
        for number, held in self.captured.numbers.items():
            if number in values and isinstance(number.type, IndexType):
                assert element_of(held) != number.type
                values[number] = inner.as_index(values[number])
        copy = BodyCopy(b, inner, values, position or Body.index)  # pyright: ignore
        copy.copy(self.ops)
        return copy


def _negated(inner: Body, value: SSAValue) -> SSAValue:
    if scalar.is_float(value.type):
        return inner.add(arith.NegfOp(value))
    return scalar.sub(inner, inner.constant(0, value.type), value)


def _grows(expr: AffineExpr) -> bool:
    return not isinstance(expr, AffineConstantExpr) or expr.value >= 0


def _dims(index_map: AffineMap) -> list[int]:
    return [e.position for e in index_map.results if isinstance(e, AffineDimExpr)]


def _placed(expr: AffineExpr | int, place: list[AffineExpr]) -> AffineExpr | int:
    return expr if isinstance(expr, int) else expr.replace_dims_and_symbols(place, [])


def _index_value(inner: Body, expr: AffineExpr, along: int) -> SSAValue:
    """The value of `(d floordiv n) mod m` at the dimension `along`."""
    from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind

    if isinstance(expr, AffineDimExpr):
        return inner.index(along)
    assert isinstance(expr, AffineBinaryOpExpr) and isinstance(expr.rhs, AffineConstantExpr)
    left = _index_value(inner, expr.lhs, along)
    right = inner.constant(expr.rhs.value, IndexType())
    kind = arith.DivUIOp if expr.kind is AffineBinaryOpKind.FloorDiv else arith.RemUIOp
    return inner.add(kind(left, right))
