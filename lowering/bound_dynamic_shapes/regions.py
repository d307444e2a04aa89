"""Branches and loops that take or give padded tensors: sizes go in beside them, and come out.

Inside, a region's arguments are padded as the operands are, and their sizes are further arguments.
What a branch gives is padded up to the larger bound of both, and its size is that of an operand, or
one more result. What a loop carries keeps its size in all rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from lamina.dialects.control import CondOp, RegionOp, ScanOp, YieldOp
from lamina.dialects.control.scan import stacked
from lamina.dialects.records import mutable_record, record
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.grouping import move_together
from lamina.lowering.bound_dynamic_shapes.limits import limits_of
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Number, State, is_number
from lamina.lowering.tensor_types import element_of, is_float
from lamina.passes.refusal import unsupported

BoundBlock = Callable[[Block, State, Callable[[Operation], None]], None]
"""Bounds the ops of a block; what it is given does the last one."""

_TENSOR_OF_NUMBER = TensorType(i64, [])


@mutable_record
class _Region:
    """A region behind being bounded: what it knows, its counts, and the tensors that it yields."""

    state: State
    end: Operation
    counts: dict[SSAValue, SSAValue]
    """Of each argument that is a count, the one outside."""
    yielded: list[Bounded]

    @property
    def builder(self) -> BoundBuilder:
        return BoundBuilder(self.end, self.state)

    def outer(self, count: Count) -> Count:
        """The count outside; a refusal's None stands for all positions."""
        return None if count is None else self.counts.get(count)


class RegionBounding:
    """How a branch or loop with sizes that are not known becomes one of padded tensors.

    `results` are what those of the op have become. Raises UnsupportedError for what a loop carries
    in changing sizes, and for checks of sizes inside.
    """

    def __init__(self, op: RegionOp, state: State, bound_block: BoundBlock) -> None:
        self.op, self.state = op, state
        self._bound_block = bound_block
        self._builder = BoundBuilder(op, state)
        move_together(op, self._builder)
        self._groups = [[self._operand(value) for value in group] for group in op.groups]
        counts = (c for group in self._groups for t, _ in group for c in t.sizes if c is not None)
        self._counts = list(dict.fromkeys(counts))
        self._steps_that_count = self._count_of_steps() if isinstance(op, ScanOp) else None
        regions = [self._region(block) for block in op.blocks]
        self.results = self._results(regions)

    def _operand(self, value: SSAValue) -> tuple[Bounded, Number | None]:
        """A tensor; a number as one, with its range."""
        if not is_number(value.type):
            return self._builder.tensor(value), None
        number = self._builder.number(value)
        return Bounded(self._builder.as_tensor(number, value.type), ()), number

    # Regions

    def _arguments(self) -> list[tuple[Bounded, Number | None]]:
        """What regions take, of the operands: of what a scan walks, the elements."""
        groups = self._groups[1:] if isinstance(self.op, CondOp) else list(self._groups)
        if isinstance(self.op, ScanOp):
            groups[1] = [(self._element(tensor), None) for tensor, _ in groups[1]]
        return [entry for group in groups for entry in group]

    def _element(self, tensor: Bounded) -> Bounded:
        return Bounded(tensor.value, tensor.sizes[1:])

    def _count_of_steps(self) -> Count:
        """How many steps of a scan count. Where some do not, nothing is carried from one to the
        next, and none may fail: they walk over zeros, by which floats may be divided."""
        walked = [tensor for tensor, _ in self._groups[1]]
        counts, lengths = {t.sizes[0] for t in walked}, {t.shape[0] for t in walked}
        if counts == {None}:
            return None
        if len(counts) > 1 or len(lengths) > 1 or self._groups[0]:
            raise self._refuse("the number of steps is not known", "a scan of known length")
        if not all(is_float(element_of(t.value)) for t in walked):
            raise self._refuse("the number of steps is not known", "a map over floats")
        self._groups[1] = [
            (Bounded(self._builder.filled(t, 0, [0]), t.sizes), None) for t in walked
        ]
        return counts.pop()

    def _region(self, block: Block) -> _Region:
        inner = State(limits=limits_of(block), concerned=self.state.concerned)
        old = list(block.args)
        given = self._arguments()
        made = [block.insert_arg(self._type_in(t), len(block.args)) for t, _ in given]
        counts = [block.insert_arg(_TENSOR_OF_NUMBER, len(block.args)) for _ in self._counts]
        inside = dict(zip(self._counts, counts, strict=True))
        inner.least = {inside[c]: n for c, n in self.state.least.items() if c in inside}
        for before, value, (tensor, number) in zip(old, made, given, strict=True):
            value.name_hint = before.name_hint
            sizes = tuple(None if count is None else inside[count] for count in tensor.sizes)
            if number is not None:
                inner.numbers[before] = Number(value, number.most, number.least)
            elif any(count is not None for count in sizes):
                inner.tensors[before] = Bounded(value, sizes)
            else:
                before.replace_all_uses_with(value)
        ends: list[_Region] = []

        def end(last: Operation) -> None:
            b = BoundBuilder(last, inner)
            move_together(last, b)
            yielded = [self._yielded(value, b) for value in last.operands]
            last.operands = ()  # what they are goes with the ops that have become others
            outside: dict[SSAValue, SSAValue] = {v: count for count, v in inside.items()}
            ends.append(_Region(inner, last, outside, yielded))

        self._bound_block(block, inner, end)
        if inner.checks:
            raise self._refuse(
                f"a check inside control flow: {inner.checks[0][1]}",
                "the check in front of it, or static shapes in it",
            )
        for argument in old:
            block.erase_arg(argument)
        return ends[0]

    def _type_in(self, tensor: Bounded) -> TensorType[Attribute]:
        shape = tensor.shape[len(tensor.shape) - tensor.rank :]
        return TensorType(element_of(tensor.value), shape)

    def _yielded(self, value: SSAValue, b: BoundBuilder) -> Bounded:
        if is_number(value.type):
            return Bounded(b.as_tensor(b.number(value), value.type), ())
        return b.tensor(value)

    # Results

    def _results(self, regions: Sequence[_Region]) -> list[Bounded | Number]:
        giving = [
            region
            for region, types in zip(regions, self.op.region_results(), strict=True)
            if types is not None
        ]
        sizes = [self._sizes(place, giving) for place in range(len(self.op.results))]
        added = [count for entry in sizes for count in entry if isinstance(count, _Own)]
        for region in giving:
            values = [
                self._fitted(region, place, [bound for bound, _ in self._extents(place, giving)])
                for place in range(len(self.op.results))
            ]
            self._end(region, [*values, *(own.of(region) for own in added)])
        for region in regions:
            if region not in giving:
                self._end(region, [tensor.value for tensor in region.yielded])
        op = self._replaced(giving[0], len(added))
        made = op.results
        outside = {id(own): made[len(sizes) + n] for n, own in enumerate(added)}
        found: list[Bounded | Number] = []
        for result, value, own in zip(self.op.results, made, sizes, strict=False):
            counts = tuple(outside[id(c)] if isinstance(c, _Own) else c for c in own)
            is_value = is_number(result.type)
            found.append(Number(value) if is_value else Bounded(value, counts))
        return found

    def _carried(self, place: int) -> Bounded | None:
        """What a loop begins with in the place of a result; None of others, and of branches."""
        if isinstance(self.op, CondOp) or place >= len(self._groups[0]):
            return None
        return self._groups[0][place][0]

    def _extents(self, place: int, giving: Sequence[_Region]) -> list[tuple[int, list[Count]]]:
        """Of each dimension of what is yielded: the bound, and the counts in the regions."""
        yielded = [region.yielded[place] for region in giving]
        carried = self._carried(place)
        found: list[tuple[int, list[Count]]] = []
        for dim in range(yielded[0].rank):
            bound = max(t.shape[dim] for t in yielded) if carried is None else carried.shape[dim]
            found.append((bound, [t.sizes[dim] for t in yielded]))
        return found

    def _sizes(self, place: int, giving: Sequence[_Region]) -> list[Count | _Own]:
        """The sizes of a result, as they are known outside."""
        carried = self._carried(place)
        found: list[Count | _Own] = []
        for dim, (bound, counts) in enumerate(self._extents(place, giving)):
            pairs = list(zip(giving, counts, strict=True))
            known = {r.outer(c) for r, c in pairs}
            is_named = all((c is None) == (r.outer(c) is None) for r, c in pairs)
            extents = {r.yielded[place].shape[dim] for r, c in pairs if c is None}
            same = is_named and len(known) == 1 and extents <= {bound}
            if carried is not None and (not same or known != {carried.sizes[dim]}):
                raise self._refuse(
                    f"the size of dimension {dim} of what it carries changes from round to round",
                    "tensors of one size in all rounds, of which a number says how many count",
                )
            if same:
                found.append(known.pop())
            elif isinstance(self.op, CondOp):
                found.append(_Own(place, dim))
            else:
                raise self._refuse(
                    "what its steps give has sizes that are not known outside", "equal steps"
                )
        if not isinstance(self.op, ScanOp) or carried is not None:
            return found
        return [self._steps_that_count, *found]

    def _fitted(self, region: _Region, place: int, bounds: Sequence[int]) -> SSAValue:
        value = region.yielded[place].value
        for dim, bound in enumerate(bounds):
            value = region.builder.resized(value, dim, bound)
        return value

    def _end(self, region: _Region, values: Sequence[SSAValue]) -> None:
        block = region.end.parent
        assert block is not None
        made = YieldOp(values)
        made.location = region.end.location
        block.insert_op_before(made, region.end)
        region.end.detach()
        region.end.erase()
        region.end = made

    def _replaced(self, giving: _Region, added: int) -> Operation:
        """The op on padded tensors, in front of the old one."""
        old = self.op
        groups = [[tensor.value for tensor, _ in group] for group in self._groups]
        groups[-1] += self._counts
        types = [value.type for value in giving.end.operands]
        if isinstance(old, ScanOp):
            first = len(groups[0])
            types[first:] = [stacked(kind, self._steps()) for kind in types[first:]]
        regions = [old.detach_region(region) for region in list(old.regions)]
        made = type(old).build_from(groups, types, regions)
        made.location = old.location
        made.attributes.update(old.attributes)
        for before, value in zip(old.results, made.results, strict=False):
            value.name_hint = before.name_hint
        block = old.parent
        assert block is not None
        block.insert_op_before(made, old)
        return made

    def _steps(self) -> int:
        return self._groups[1][0][0].shape[0]

    def _refuse(self, reason: str, nearest: str) -> Exception:
        return unsupported(self.op, reason, nearest)


@record
class _Own:
    """A size that a branch gives as one more result."""

    place: int
    dim: int

    def of(self, region: _Region) -> SSAValue:
        """What a region yields for it."""
        tensor = region.yielded[self.place]
        return region.builder.as_tensor(region.builder.size(tensor, self.dim))
