"""`limit-arguments`: how far into the memory of its arguments a program reaches.

A program with open sizes, or with sizes that depend on data, is compiled for bounds. Where all its
kernels run just the rows of an argument, or of a result, that count (`live` in `#loop.nest`), they
touch no memory behind these. `lamina.limits` of the argument says so: what calls the program needs
no more memory than there are elements, and copies nothing to pad or to cut it.

    %x: memref<1024x512xf32> {lamina.limits = [2, -1]}

Indices in dimension 0 are below the number in argument 2, or 0 where that is less than 1. Where the
number is a multiple of another one (`lamina.derived`) they are in the first group where it is 0.

Kernels may end at whole groups of a size, as at windows of an image, of which there are `h floordiv
16`. They touch the first group where a call has none: `lamina.touched = [16, 1]` of an input says
how many positions there have to be, so that calls with fewer of them pad it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import (
    FourierOp,
    GenericOp,
    ReshapeOp,
    ScanOp,
    ScatterOp,
    SortOp,
)
from lamina.dialects.loop.access import forms_of, row_major_strides, shape_of
from lamina.dialects.loop.kernel_nests import rows_of
from lamina.dialects.loop.linear import Linear
from lamina.dialects.records import mutable_record
from lamina.passes.contracts.argument_numbers import LIMITS, TOUCHED
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.derived_sizes import multiples_in
from lamina.passes.fusion.demanded_elements import is_count
from lamina.passes.fusion.element_limits import (
    ALL_POINTS,
    EVERYTHING,
    Demand,
    Limit,
    PointLimit,
    Points,
    Reach,
    Touched,
)
from lamina.passes.fusion.outline_kernels import kernel_functions
from lamina.passes.fusion.unstructured_demand import elements_read, elements_written
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.schedule.call_extents import (
    dimensions_of,
    integers,
    limits_of,
    note_on_arguments,
)
from lamina.passes.schedule.derive_sizes import ProgramNumbers
from lamina.passes.schedule.ended_dims import Ended, ended_dims
from lamina.passes.schedule.guarded_reads import (
    guarded_limits,
    guarded_reads,
    kernel_masks,
    turned_guards,
)
from lamina.passes.schedule.kernel_parts import Part, parts_of, schedules_of
from lamina.passes.schedule.live_rows import kept_digits, live_digits
from lamina.passes.schedule.lookup_limits import looked_up_limits
from lamina.passes.schedule.parallelize import rows_run_singly
from lamina.passes.schedule.product_rows import ended_columns, product_rows_run_singly
from lamina.passes.schedule.reads_behind import reads_behind
from lamina.passes.schedule.stages import Stage
from lamina.passes.schedule.unstructured_ops import Unstructured, runs_live_rows_only

_OF_CALLS = ("input", "output")
"""Kinds of arguments whose memory a call brings, or makes."""


class LimitArgumentsPass(ModulePass):
    """Note on the arguments of entries at which sizes all accesses to them end."""

    name = "limit-arguments"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        entries = [f for f in functions if ENTRY in f.attributes and _sizes(f)]
        if not entries:
            return
        kernels = {kernel.sym_name.data: kernel for kernel in kernel_functions(op)}
        accesses = _Accesses(kernels)
        for entry in entries:
            _limit(entry, accesses, ProgramNumbers(entry, arguments_of(entry), kernels))


def _sizes(entry: func.FuncOp) -> dict[SSAValue, int]:
    """The arguments that are numbers of a call, which may be sizes, by their places."""
    return {
        value: declared.number
        for value, declared in zip(entry.body.block.args, arguments_of(entry), strict=True)
        if declared.kind == "input" and is_count(value)
    }


def _made_sizes(entry: func.FuncOp) -> dict[SSAValue, int]:
    """The arguments that a program writes sizes of its results to, by their places."""
    return {
        value: declared.number
        for value, declared in zip(entry.body.block.args, arguments_of(entry), strict=True)
        if declared.kind == "size"
    }


def _limit(entry: func.FuncOp, accesses: _Accesses, numbers: ProgramNumbers) -> None:
    sizes, made, arguments = _sizes(entry), _made_sizes(entry), arguments_of(entry)
    values = entry.body.block.args
    multiples: dict[SSAValue, tuple[SSAValue, int]] = {
        values[place]: (values[one], factor) for place, (one, factor) in multiples_in(entry).items()
    }

    def equal(dimension: tuple[int, int], size: SSAValue) -> Iterator[Limit]:
        """The limits that say that a dimension ends at a size: at itself, or, where it is a
        multiple of another one, groups of so many at that."""
        stride, extent = dimension
        yield Limit(stride, extent, Reach(size))
        one, factor = multiples.get(size, (size, 1))
        if extent % factor == 0:
            yield Limit(factor * stride, extent // factor, Reach(one))

    noted: dict[int, Attribute] = {}
    touched: dict[int, Attribute] = {}
    for value, declared in zip(values, arguments, strict=True):
        if declared.kind not in _OF_CALLS or value in sizes:
            continue
        groups = _Groups(numbers) if declared.kind == "input" else None
        limits = accesses.of(value, groups)
        known = {**sizes, **made} if declared.kind == "output" else sizes
        ends = [
            next((n for size, n in known.items() if not limits.isdisjoint(equal(at, size))), -1)
            for at in dimensions_of(value)
        ]
        if any(number >= 0 for number in ends):
            noted[value.index] = integers(ends)
            least = groups.least(value, ends) if groups is not None else [1]
            if max(least) > 1:
                touched[value.index] = integers(least)
    note_on_arguments(entry, LIMITS, noted)
    note_on_arguments(entry, TOUCHED, touched)


@mutable_record
class _Groups:
    """Which sizes limits end at that end at whole groups of these, and how large groups are."""

    numbers: ProgramNumbers
    sizes: dict[Limit, int] = field(default_factory=dict[Limit, int])
    """The most positions of a group, of limits that follow."""

    def with_sizes(self, limits: Demand) -> Demand:
        """Limits, and those that follow: where groups end at `size floordiv 16`, their positions
        end at the size."""
        return limits | frozenset(filter(None, map(self._of_positions, limits)))

    def _of_positions(self, limit: Limit) -> Limit | None:
        assert isinstance(limit.end, Reach)
        formula = self.numbers.of(limit.end.count)
        if limit.end != Reach(limit.end.count) or formula is None:
            return None
        if formula.kind not in ("divsi", "floordiv") or formula.parts[0].kind != "argument":
            return None
        size, by = formula.parts[0].value, formula.parts[1].value
        if limit.stride % by:
            return None
        count = Reach(self.numbers.entry.body.block.args[size])
        found = Limit(limit.stride // by, limit.extent * by, count)
        self.sizes[found] = max(by, self.sizes.get(found, 1))
        return found

    def least(self, value: SSAValue, ends: Sequence[int]) -> list[int]:
        """How many positions of each dimension are touched, whatever the sizes are, at which these
        arguments say that they end."""
        arguments = self.numbers.entry.body.block.args
        return [
            1 if n < 0 else self.sizes.get(Limit(stride, extent, Reach(arguments[n])), 1)
            for (stride, extent), n in zip(dimensions_of(value), ends, strict=True)
        ]


@mutable_record
class _Accesses:
    """Within which limits the kernels of a program touch memory."""

    kernels: Mapping[str, func.FuncOp]
    _known: dict[str, Mapping[int, Demand]] = field(default_factory=dict[str, Mapping[int, Demand]])

    def of(self, value: SSAValue, groups: _Groups | None = None) -> Demand:
        """The limits that all accesses keep to, in numbers that are values beside `value`, and
        those of which their groups are."""
        found: list[Demand] = []
        for use in value.uses:
            op = use.operation
            if isinstance(op, ReshapeOp):
                found.append(self.of(op.result, groups))
            elif isinstance(op, func.CallOp):
                own = self._of_call(op, use.index)
                found.append(own if groups is None else groups.with_sizes(own))
            elif not isinstance(op, func.ReturnOp):
                return EVERYTHING
        return frozenset.intersection(*found) if found else EVERYTHING

    def _of_call(self, call: func.CallOp, place: int) -> Demand:
        name = call.callee.string_value()
        if name not in self.kernels:
            return EVERYTHING
        if name not in self._known:
            self._known[name] = limits_of_arguments(self.kernels[name])
        limits = self._known[name].get(place, EVERYTHING)
        return frozenset(
            Limit(limit.stride, limit.extent, Reach(call.arguments[limit.end.count.index]))
            for limit in limits
            if isinstance(limit.end, Reach) and isinstance(limit.end.count, BlockArgument)
        )


def limits_of_arguments(kernel: func.FuncOp) -> Mapping[int, Demand]:
    """The limits of all accesses to each argument of a kernel, by its place, in numbers that are
    arguments."""
    parts = parts_of(kernel)
    scheduled = list(zip(parts, schedules_of(kernel, parts), strict=True))
    guarded = _guarded(kernel, parts)
    points: dict[Operation, Points] = {}
    for part, tasks in scheduled:
        if part.op is not None and runs_live_rows_only(part.op):
            points[part.op] = _points(part.op, rows_of(part.op))
        singly = rows_run_singly(part, tasks) or product_rows_run_singly(part, tasks)
        ended = {**ended_dims(part, tasks), **ended_columns(part, tasks)} if singly else {}
        for nest, dims in singly.items():
            ends = _ends(nest, ended.get(nest, {}))
            points[nest] = _points(nest, dims) | ends
    found: dict[int, Demand] = {}
    for argument in kernel.body.block.args:
        limits = [_touched(use.operation, argument, points, guarded) for use in argument.uses]
        known = frozenset.intersection(*limits) if limits else EVERYTHING
        found[argument.index] = known or _read_within(kernel, scheduled, argument)
    return found


def _read_within(
    kernel: func.FuncOp, parts: Sequence[tuple[Part, Any]], argument: BlockArgument
) -> Demand:
    """The limits of the first dimension of what a kernel only reads, in sums that end there too."""
    shape = shape_of(argument)
    users = [use.operation for use in argument.uses]
    if not shape or any(argument in getattr(op, "outs", ()) for op in users):
        return EVERYTHING
    stride = prod(shape[1:])
    return frozenset(
        Limit(stride, shape[0], Reach(count))
        for count in kernel.body.block.args
        if is_count(count) and not reads_behind(kernel, parts, argument.index, count.index)
    )


def _ends(nest: GenericOp, ended: Ended) -> Points:
    """The points of a nest whose loops over these dimensions end at numbers in arguments."""
    block = nest.parent_block()
    assert block is not None
    return frozenset(
        PointLimit(
            Linear.dim(dim), nest.extents[dim], 1, nest.extents[dim], Reach(block.args[number])
        )
        for dim, numbers in ended.items()
        for number in numbers
    )


def _points(op: GenericOp | Unstructured, dims: Sequence[int]) -> Points:
    """The points of an op on a domain that run: of these of its rows those that count."""
    arguments = op.parent_block().args  # pyright: ignore[reportOptionalMemberAccess]
    found: set[PointLimit] = set()
    for dim, own in live_digits(op).items():
        stride = extent = prod(digit.extent for digit in own)
        for digit in own:
            stride //= digit.extent
            if digit.count is not None and digit.is_count and dim in dims:
                end = Reach(arguments[digit.count])
                found.add(PointLimit(Linear.dim(dim), extent, stride, digit.extent, end))
    return frozenset(found)


def _guarded(kernel: func.FuncOp, parts: Sequence[Part]) -> dict[Operation, Stage]:
    """The nests of a kernel some of whose loads are masked."""
    masks = kernel_masks(kernel)
    return {
        stage.op: stage
        for part in parts
        for stage in part.stages
        if guarded_reads(stage, masks) or turned_guards(stage, masks)
    }


def _touched(
    op: Operation,
    value: SSAValue,
    points: Mapping[Operation, Points],
    guarded: Mapping[Operation, Stage],
) -> Demand:
    """The limits within which an op touches a value; one whose points are not known may touch all
    of it."""
    if isinstance(op, ScatterOp):
        return _scattered(op, value, points.get(op, ALL_POINTS))
    looked_up = looked_up_limits(op, value, points.get(op, ALL_POINTS))
    others = sum(operand is value for operand in op.operands) - len(looked_up)
    if others and op not in points:
        return EVERYTHING
    found: list[Touched] = []
    if isinstance(op, GenericOp):
        outside: dict[tuple[AffineExpr, int], int] = {}
        accesses = [
            *zip(op.inputs, op.read_maps, strict=True),
            *zip(op.outs, op.write_maps, strict=True),
        ]
        found = [
            Touched.of(op.extents, shape_of(value), index_map, outside)
            for touched, index_map in accesses
            if touched is value
        ]
    elif isinstance(op, ScanOp | SortOp | FourierOp):
        found = [touched for read, touched in elements_read(op) if read is value]
        found += [elements_written(op, out) for out in op.outs if out is value]
    if len(found) != others:  # what a transform turns by, or is looked up elsewhere, is one more
        return EVERYTHING
    demands = [touched.limits(points[op]) for touched in found]
    if isinstance(op, GenericOp) and found:
        demands = [own | edge for own, edge in zip(demands, _edges(op, value), strict=True)]
        if op in guarded and isinstance(value, BlockArgument):
            masked = guarded_limits(guarded[op], value)
            demands[: len(masked)] = [own | m for own, m in zip(demands, masked, strict=False)]
    return frozenset.intersection(*looked_up, *demands)


def _edges(op: GenericOp, value: SSAValue) -> list[Demand]:
    """For each access of a nest to an argument the limits at which it ends because it gives a pad
    from there on."""
    shape, noted = shape_of(value), limits_of(value) or ()
    block = op.parent_block()
    assert block is not None
    ends = frozenset(
        Limit(stride, extent, Reach(block.args[number]))
        for stride, extent, number in zip(row_major_strides(shape), shape, noted, strict=False)
        if number >= 0
    )
    reads = [
        ends if pad is not None and _reaches_beyond(index_map, op.extents, shape) else EVERYTHING
        for read, index_map, pad in op.reads
        if read is value
    ]
    return [*reads, *(EVERYTHING for out in op.outs if out is value)]


def _reaches_beyond(index_map: AffineMap, extents: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether some point of a domain has an index outside of a shape."""
    ranges = [form.range(extents) for form in forms_of(index_map, extents) or ()]
    return any(
        low < 0 or high >= extent for (low, high), extent in zip(ranges, shape, strict=False)
    )


def _scattered(op: ScatterOp, value: SSAValue, points: Points) -> Demand:
    """The limits within which a scatter touches a value: it copies and writes what is kept of its
    result, and reads where its points run."""
    found = [touched.limits(points) for read, touched in elements_read(op) if read is value]
    shape = shape_of(op.into)
    arguments = op.parent_block().args  # pyright: ignore[reportOptionalMemberAccess]
    kept = frozenset(
        Limit(stride, extent, Reach(arguments[digit.count]))
        for stride, extent, digit in zip(
            row_major_strides(shape), shape, kept_digits(op), strict=True
        )
        if digit is not None and digit.count is not None
    )
    found += [kept for memory in (op.into, *op.outs) if memory is value]
    if len(found) != sum(operand is value for operand in op.operands):
        return EVERYTHING
    return frozenset.intersection(*found)
