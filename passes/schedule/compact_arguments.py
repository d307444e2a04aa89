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
from lamina.dialects.loop import ReshapeOp
from lamina.passes.contracts.argument_numbers import COUNTS, LIMITS
from lamina.passes.contracts.declared import Declared, arguments_of, text_of
from lamina.passes.contracts.entry_attributes import COMPACT
from lamina.passes.fusion.outline_kernels import kernel_calls
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.schedule.call_extents import open_axes
from lamina.passes.schedule.compact_accesses import Extents, note_extents
from lamina.passes.schedule.derive_sizes import ProgramNumbers, numbers_of
from lamina.passes.schedule.passed_extents import Numbers, Passed, PassedExtents


class CompactArgumentsPass(ModulePass):
    """Note on arguments of entries and kernels whose extents in memory are numbers of the call."""

    name = "compact-arguments"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in block_ops(op.body.block) if isinstance(f, func.FuncOp)]
        entries = [f for f in functions if ENTRY in f.attributes and COMPACT in f.attributes]
        candidates = {value: e for entry in entries for value, e in _candidates(entry)}
        if not candidates:
            return
        kernels, programs = Passed.by(kernel_calls(op)), numbers_of(op)
        wanted: dict[SSAValue, Numbers] = {v: _values(v, e) for v, e in candidates.items()}
        _keep_possible(wanted, kernels, programs)
        for entry in entries:
            own = {v.index: e for v, e in candidates.items() if v.owner is entry.body.block}
            note_extents(
                entry, {n: e for n, e in own.items() if entry.body.block.args[n] in wanted}
            )
        for kernel, calls in kernels.items():
            PassedExtents(kernel, calls, wanted, programs, are_buffers=False).note()


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


def _values(argument: BlockArgument, extents: Extents) -> Numbers:
    """The arguments of an entry that are extents."""
    values = argument.owner.args
    return tuple(None if n < 0 else values[n] for n in extents)


def _keep_possible(
    wanted: dict[SSAValue, Numbers],
    kernels: Mapping[func.FuncOp, Sequence[Passed]],
    programs: Mapping[func.FuncOp, ProgramNumbers],
) -> None:
    """Leave out arguments that some use needs in another layout; in place."""
    names = {kernel.sym_name.data for kernel in kernels}
    for value in list(wanted):
        if not _goes_to(value, names):
            del wanted[value]
    while True:
        gone: set[SSAValue] = set()
        for kernel, calls in kernels.items():
            possible = PassedExtents(kernel, calls, wanted, programs, are_buffers=False).possible()
            for call in calls:
                gone.update(
                    value
                    for place, value in enumerate(call.bases)
                    if value in wanted and place not in possible
                )
        if not gone:
            return
        for value in gone:
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


def _numbers(attribute: Attribute) -> list[int]:
    assert isinstance(attribute, ArrayAttr)
    return [entry.value.data for entry in attribute if isinstance(entry, IntegerAttr)]
