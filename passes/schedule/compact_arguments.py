"""`compact-arguments`: arguments and results of open sizes as calls have them, row-major.

A version for sizes up to bounds has them padded: where more than the outermost dimension is open,
rows of a call lie closer together than those of the version. Where indices end at what counts
(`lamina.limits`), what lies between rows is never touched, and a row may begin anywhere:
`lamina.extents` says at which numbers of the call the dimensions of an argument end in memory.
Calls pass such arguments as they are, and get such results without a copy. Entries say that they do
so by `lamina.compact`; others keep the layout of their types.

    %x: memref<64x256xf32> {lamina.extents = [2, 3], ...}, %out: memref<64x256xf32> {...},
    %size_a: memref<i64>, %size_b: memref<i64>

Element (i, j) is at `i * %size_b + j`. Kernels say the same of their own arguments; `apply-
schedule` computes addresses so. Of a kernel, all nests that touch such an argument run in tasks of
rows, in tiles of products, or are scatters, and vectors run along what is contiguous; else the
argument stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import ReshapeOp, ScatterOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.kernel import before_reshapes
from lamina.dialects.loop.schedules import NestSchedule, ProductTasksAttr, RowTasksAttr
from lamina.passes.contracts.declared import Declared, arguments_of, text_of
from lamina.passes.contracts.derived_sizes import multiples_in
from lamina.passes.contracts.entry_attributes import COMPACT, COUNTS, EXTENTS, LIMITS
from lamina.passes.fusion.outline_kernels import kernel_calls
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.schedule.call_extents import (
    integers,
    limits_of,
    note_on_arguments,
    open_axes,
    reshaped_extents,
)
from lamina.passes.schedule.compact_products import product_accesses
from lamina.passes.schedule.guarded_reads import VECTOR_CLAUSES
from lamina.passes.schedule.kernel_parts import parts_of, schedules_of
from lamina.passes.schedule.live_rows import kept_digits
from lamina.passes.schedule.stages import Access, Stage, collapse_rows, stages_of, take_inner

_CLAUSES = VECTOR_CLAUSES | {
    "compute_at",
    "compute_with",
    "unroll_dims",
    "jam",
    "rfactor",
    "tile",
    "transpose",
    "online",
}
"""What the schedule of a nest may say whose accesses go by strides of the call."""

Extents = tuple[int, ...]


@dataclass(frozen=True)
class CompactArgumentsPass(ModulePass):
    """Note on arguments of entries and kernels whose extents in memory are numbers of the call."""

    name = "compact-arguments"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        entries = [f for f in functions if ENTRY in f.attributes and COMPACT in f.attributes]
        wanted = {value: e for entry in entries for value, e in _candidates(entry)}
        if not wanted:
            return
        kernels = kernel_calls(op)
        _keep_possible(wanted, kernels)
        for entry in entries:
            _note(entry, {v.index: e for v, e in wanted.items() if v.owner is entry.body.block})
        for kernel, own in kernels.items():
            _note(kernel, _of_kernel(kernel, own, wanted))


def _candidates(entry: func.FuncOp) -> Iterator[tuple[BlockArgument, Extents]]:
    """The arguments of open sizes whose indices end at these, and the arguments that are these."""
    arguments = arguments_of(entry)
    numbers = {declared.name: declared.number for declared in arguments}
    written = {text_of(declared.entries.get("lamina.target")) for declared in arguments}
    for value, declared in zip(entry.body.block.args, arguments, strict=True):
        limits = declared.entries.get(LIMITS)
        if not isinstance(limits, ArrayAttr) or declared.kind not in ("input", "output"):
            continue
        if declared.name in written or (told := _told(declared, numbers)) is None:
            continue
        made = _made(declared, arguments)
        extents = tuple(n if n >= 0 else own for n, own in zip(told, made, strict=True))
        ends = _numbers(limits)
        if open_axes(extents) and all(e in (-1, end) for e, end in zip(extents, ends, strict=True)):
            yield value, extents


def _told(declared: Declared, numbers: Mapping[str, int]) -> list[int] | None:
    """For each dimension of an argument the input that says how much of it counts, or -1; None
    where that is no input."""
    counts = declared.entries.get(COUNTS)
    if not isinstance(counts, ArrayAttr):
        return None if declared.kind == "input" else [-1] * _rank(declared)
    names = [text_of(name) for name in counts]
    fits = all(name == "" or name in numbers for name in names)
    return [numbers.get(name or "", -1) for name in names] if fits else None


def _made(declared: Declared, arguments: Sequence[Declared]) -> list[int]:
    """For each dimension of a result the argument that the program writes its size to, or -1."""
    sizes = declared.entries.get("lamina.sizes")
    places = [one.number for one in arguments if one.kind == "size"]
    if not isinstance(sizes, ArrayAttr) or declared.kind != "output":
        return [-1] * _rank(declared)
    return [places[number] if number >= 0 else -1 for number in _numbers(sizes)]


def _rank(declared: Declared) -> int:
    assert isinstance(declared.type, MemRefType)
    return len(declared.type.get_shape())


def _keep_possible(
    wanted: dict[BlockArgument, Extents], kernels: Mapping[func.FuncOp, Sequence[func.CallOp]]
) -> None:
    """Leave out arguments that some use needs in another layout; in place."""
    names = {kernel.sym_name.data for kernel in kernels}
    for value in list(wanted):
        if not _goes_to(value, names):
            del wanted[value]
    while True:
        gone: set[SSAValue] = set()
        for kernel, calls in kernels.items():
            found = _of_kernel(kernel, calls, wanted)
            refused = _refused(kernel, found) if found else frozenset[int]()
            for call in calls:
                bases = [before_reshapes(value) for value in call.arguments]
                gone.update(
                    value
                    for place, value in enumerate(bases)
                    if value in wanted and (place not in found or place in refused)
                )
        if not gone:
            return
        for value in gone:
            assert isinstance(value, BlockArgument)
            del wanted[value]


def _goes_to(value: SSAValue, kernels: Collection[str]) -> bool:
    """Whether a value, in whatever shape, goes to kernels alone."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, ReshapeOp):
            if not _goes_to(op.result, kernels):
                return False
        elif not isinstance(op, func.CallOp) or op.callee.string_value() not in kernels:
            return False
    return True


def _of_kernel(
    kernel: func.FuncOp, calls: Sequence[func.CallOp], wanted: Mapping[BlockArgument, Extents]
) -> dict[int, Extents]:
    """The arguments of a kernel that are compact in all of its calls, and its own arguments that
    are their extents."""
    found: dict[int, Extents] = {}
    for place in range(len(kernel.body.block.args)):
        said = {_passed(call, place, wanted) for call in calls}
        extents = said.pop() if len(said) == 1 else None
        if extents is not None:
            found[place] = extents
    return found


def _passed(
    call: func.CallOp, place: int, wanted: Mapping[BlockArgument, Extents]
) -> Extents | None:
    """The places in a call of the numbers that are the extents of one of its arguments."""
    passed = call.arguments[place]
    value = before_reshapes(passed)
    if not isinstance(value, BlockArgument) or value not in wanted:
        return None
    entry = value.owner.parent_op()
    assert isinstance(entry, func.FuncOp)
    multiples = {} if passed is value else multiples_in(entry)
    found = reshaped_extents(wanted[value], value, passed, multiples)
    if found is None:
        return None
    places = {argument: number for number, argument in enumerate(call.arguments)}
    arguments = value.owner.args
    extents = [-1 if n < 0 else places.get(arguments[n]) for n in found]
    return tuple(n for n in extents if n is not None) if None not in extents else None


def _refused(kernel: func.FuncOp, extents: Mapping[int, Extents]) -> frozenset[int]:
    """Those arguments of a kernel that it cannot touch by strides of the call."""
    arguments = kernel.body.block.args
    before = kernel.properties.get("arg_attrs")
    joined = [_joined(part.stages) for part in parts_of(kernel)]
    _note(kernel, extents)
    parts = parts_of(kernel)
    allowed: dict[SSAValue, bool] = {arguments[place]: True for place in extents}
    scatters = [part.op for part in parts if isinstance(part.op, ScatterOp)]
    for op in scatters:
        for value in _out_of_reach(op, {arguments[n]: e for n, e in extents.items()}):
            allowed[value] = False
    for part, tasks, rows in zip(parts, schedules_of(kernel, parts), joined, strict=True):
        if part.kind is ProductTasksAttr:
            for access, fits in product_accesses(part, tasks, _strided):
                allowed[access.memory] &= fits
            continue
        if part.kind is not RowTasksAttr:
            continue
        stages = stages_of([stage.op for stage in part.stages])
        collapse_rows(stages)
        fits = tasks.jam is None and (tasks.inner is None or rows == len(stages[0].rows))
        if fits:
            take_inner(stages, tasks.inner or ())
        for stage in stages:
            for access in stage.accesses():
                if access.open_axes:
                    allowed[access.memory] &= fits and _strided(stage)
            for _, source in stage.sources:
                if source in allowed:
                    allowed[source] &= fits and _looks_up(stage)
    for value in allowed:
        users = [use.operation for use in value.uses]
        in_rows = {
            s.op for p in parts if p.kind in (RowTasksAttr, ProductTasksAttr) for s in p.stages
        }
        for user in users:
            looks_up = isinstance(user, ScatterOp) and value in user.sources
            allowed[value] &= user in in_rows or (user in scatters and not looks_up)
    if before is None:
        kernel.properties.pop("arg_attrs", None)
    else:
        kernel.properties["arg_attrs"] = before
    return frozenset(place for place in extents if not allowed[arguments[place]])


def _out_of_reach(op: ScatterOp, extents: Mapping[SSAValue, Extents]) -> Iterator[SSAValue]:
    """Arguments that a scatter cannot touch by strides of the call: what it copies and writes ends
    where what it keeps does, and it reads along its last dimension."""
    kept = tuple(-1 if d is None or d.count is None else d.count for d in kept_digits(op))
    yield from (value for value in (op.into, *op.outs) if extents.get(value, kept) != kept)
    for value, index_map in zip(op.inputs, op.read_maps, strict=True):
        if value not in extents:
            continue
        forms, last = forms_of(index_map, op.extents), len(op.extents) - 1
        axes = open_axes(extents[value])
        if forms is None or any(forms[axis].coefficient(last) for axis in axes):
            yield value


def _joined(stages: Sequence[Stage]) -> int:
    """How many rows are left of a part where those are one that every access walks as one."""
    if not stages:
        return 0
    copies = stages_of([stage.op for stage in stages])
    collapse_rows(copies)
    return len(copies[0].rows)


def _is_plain(stage: Stage) -> bool:
    """Whether code of a nest's schedule asks for the strides of what it touches."""
    said = {f.name for f in fields(NestSchedule) if getattr(stage.schedule, f.name) is not None}
    return not stage.totals and not said - _CLAUSES


def _looks_up(stage: Stage) -> bool:
    """Whether a nest looks up by strides of the call: places are computed, in vectors if they
    differ from lane to lane."""
    return _is_plain(stage) and stage.schedule.transpose is None


def _strided(stage: Stage) -> bool:
    """Whether a nest, whose loops of a task are its inner ones, reaches its arguments by strides of
    the call: vectors do not run along one."""
    if not _is_plain(stage):
        return False
    if stage.schedule.compute_with:
        across = stage.inner
    elif stage.schedule.vectorize is not None:
        across = (stage.schedule.vectorize.dim,)
    else:
        across = (stage.schedule.order or stage.inner)[-1:]
    turned = stage.schedule.transpose
    return all(
        (access.pad is None or _ends_with_the_call(access))
        and (
            not access.walks_open_axis(*across)
            or (
                turned is not None
                and access.stride(turned) == 1
                and not stage.schedule.compute_with
            )
        )
        for access in stage.accesses()
        if access.open_axes
    )


def _ends_with_the_call(access: Access) -> bool:
    """Whether a padded read gives its pad from the numbers on that are extents."""
    extents, limits = access.extents or (), limits_of(access.memory)
    return limits is not None and all(
        extent in (-1, end) for extent, end in zip(extents, limits, strict=True)
    )


def _note(function: func.FuncOp, extents: Mapping[int, Extents]) -> None:
    """Note what extents arguments have in memory; those without are as their types say."""
    note_on_arguments(function, EXTENTS, {n: integers(own) for n, own in extents.items()})


def _numbers(attribute: Attribute) -> list[int]:
    assert isinstance(attribute, ArrayAttr)
    return [entry.value.data for entry in attribute if isinstance(entry, IntegerAttr)]
