"""`fuse-borders`: what a product makes is stored inside the border of the image it is copied to.

Windows that overlap read a copy of their image with its border (`pad-windows`,
`pack-contractions`). What makes the image and that copy walk different rows, so that no kernel of
rows holds both: the image would be stored, read, and stored again. Inside of the border they walk
the same rows, though. So the copy is cut. What is inside becomes one more nest of the product's
rows, in whose scratch the image then is. Each edge is a part of the kernel, which stores the pad.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.bounds import BOUNDS, ENDS, STREAM, masks_of
from lamina.dialects.loop.kernel_nests import (
    live_rows_of,
    part_of,
    rows_of,
    set_part,
    set_rows,
    summed_rows,
)
from lamina.dialects.loop.labels import label_of, names_of
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.schedules import SCHEDULE
from lamina.dialects.op_list import ops_of
from lamina.dialects.records import record
from lamina.passes.fusion.border_cuts import cut_border, inside_of
from lamina.passes.fusion.fusion_override import override
from lamina.passes.fusion.fusion_reasons import reason_texts, set_reason_texts
from lamina.passes.fusion.outline_kernels import KERNEL, kernel_functions
from lamina.passes.memory.bufferize import ENTRY
from lamina.passes.memory.memory_accesses import root_of


class FuseBordersPass(ModulePass):
    """Make the inside of a bordered image in the kernel of the product that is copied there."""

    name = "fuse-borders"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {f.sym_name.data: f for f in kernel_functions(op) if f.body.blocks}
        entries = [
            f
            for f in block_ops(op.body.block)
            if isinstance(f, func.FuncOp) and ENTRY in f.attributes
        ]
        fused: dict[tuple[str, str, int, int], func.FuncOp] = {}
        for entry in entries:
            for call in ops_of(entry, func.CallOp):
                pair = _pair_ending_at(call, kernels)
                if pair is None:
                    continue
                if pair.key not in fused:
                    name = _free_name(kernels)
                    fused[pair.key] = kernels[name] = pair.fused(name)
                    op.body.block.insert_op_after(fused[pair.key], pair.copier.function)
                pair.replace(fused[pair.key])
        names = {name for maker, copier, _, _ in fused for name in (maker, copier)}
        _erase_uncalled([kernels[name] for name in kernels if name in names], entries)


def _free_name(kernels: Mapping[str, func.FuncOp]) -> str:
    number = len(kernels)
    while f"kernel_{number}" in kernels:
        number += 1
    return f"kernel_{number}"


def _erase_uncalled(kernels: Iterable[func.FuncOp], entries: Sequence[func.FuncOp]) -> None:
    calls = [call for entry in entries for call in ops_of(entry, func.CallOp)]
    called = {call.callee.root_reference.data for call in calls}
    for kernel in kernels:
        if kernel.sym_name.data not in called:
            Rewriter.erase_op(kernel)


@record
class _Kernel:
    """A call of a kernel."""

    call: func.CallOp
    function: func.FuncOp

    @property
    def name(self) -> str:
        return self.function.sym_name.data

    @property
    def arguments(self) -> list[SSAValue]:
        return list(self.call.arguments)

    @property
    def nests(self) -> list[GenericOp]:
        """The nests of the kernel; none if it holds anything else."""
        *ops, _ = self.function.body.block.ops
        if not all(isinstance(op, GenericOp | memref.AllocOp) for op in ops):
            return []
        return [op for op in ops if isinstance(op, GenericOp)]

    def inlined(self, body: Block, instead: Mapping[int, SSAValue]) -> list[GenericOp]:
        """Clones of its ops at the end of a block, which gets its arguments but for some, `instead`
        of which there are other values. Gives the nests."""
        values: dict[SSAValue, SSAValue] = {}
        for number, argument in enumerate(self.function.body.block.args):
            if (value := instead.get(number)) is None:
                value = body.insert_arg(argument.type, len(body.args))
                value.name_hint = argument.name_hint
            values[argument] = value
        *ops, _ = self.function.body.block.ops
        made: list[GenericOp] = []
        for op in ops:
            clone = op.clone(values)
            body.add_op(clone)
            if isinstance(clone, GenericOp):
                made.append(clone)
        return made


def _called(op: Operation | None, kernels: Mapping[str, func.FuncOp]) -> _Kernel | None:
    if not isinstance(op, func.CallOp):
        return None
    function = kernels.get(op.callee.root_reference.data)
    return None if function is None else _Kernel(op, function)


def _pair_ending_at(call: func.CallOp, kernels: Mapping[str, func.FuncOp]) -> _Pair | None:
    """The pair whose second kernel is called here, if both may become one."""
    before = call.prev_op
    while isinstance(before, memref.AllocOp | ReshapeOp):
        before = before.prev_op
    copier, maker = _called(call, kernels), _called(before, kernels)
    if copier is None or maker is None or len(copier.nests) != 1:
        return None
    for read, image in enumerate(copier.arguments):
        if maker.arguments.count(image) == 1 and copier.arguments.count(image) == 1:
            pair = _Pair(maker, copier, maker.arguments.index(image), read)
            if pair.is_legal():
                return pair
    return None


@record
class _Pair:
    """A kernel that makes an image, and the next one, which copies it into one with a border."""

    maker: _Kernel
    copier: _Kernel
    made: int
    """Which argument of the maker is the image."""
    read: int
    """Which argument of the copier it is."""

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What the kernel that does both depends on."""
        return self.maker.name, self.copier.name, self.made, self.read

    @property
    def image(self) -> SSAValue:
        """What the first hands to the second."""
        return self.copier.arguments[self.read]

    @property
    def made_argument(self) -> BlockArgument:
        """The image in the maker."""
        return self.maker.function.body.block.args[self.made]

    @property
    def read_argument(self) -> BlockArgument:
        """The image in the copier."""
        return self.copier.function.body.block.args[self.read]

    @property
    def writer(self) -> GenericOp:
        """The nest that makes the image."""
        return next(nest for nest in self.maker.nests if self.made_argument in nest.outs)

    @property
    def copy(self) -> GenericOp:
        """The nest that copies it."""
        return self.copier.nests[0]

    def is_legal(self) -> bool:
        """Whether the image is needed for nothing else, and both walk it row by row alike."""
        if not isinstance(self.image.owner, memref.AllocOp) or len(list(self.image.uses)) != 2:
            return False
        if not self._makes_image() or not self._copies_image() or self._rows() is None:
            return False
        read = [root_of(v) for n, v in enumerate(self.maker.arguments) if n != self.made]
        bordered = self.copier.function.body.block.args.index(self.copy.outs[0])
        return root_of(self.copier.arguments[bordered]) not in read

    def _makes_image(self) -> bool:
        """Whether a kernel of one part, around products, makes the image, beside other results."""
        nests, image = self.maker.nests, self.made_argument
        if not any(map(is_packed, nests)) or not _is_plain(self.maker.function, nests):
            return False
        if any(part_of(nest) or summed_rows(nest) for nest in nests):
            return False
        outs = [out for nest in nests for out in nest.outs if isinstance(out, BlockArgument)]
        if outs.count(image) != 1 or not image.has_one_use():
            return False
        return len(self.writer.outs) == 1 and override(self.writer) != "never"

    def _copies_image(self) -> bool:
        """Whether the copy reads the image element by element, with pads around it."""
        nest, image = self.copy, self.read_argument
        if not nest.is_pointwise or len(nest.outs) != 1 or nest.sources:
            return False
        if not _is_plain(self.copier.function, [nest]) or image not in nest.inputs:
            return False
        if not image.has_one_use() or not nest.outs[0].has_one_use():
            return False
        ends = inside_of(nest, nest.inputs.index(image))
        return ends is not None and ends != [(0, extent) for extent in nest.extents]

    def _rows(self) -> list[int] | None:
        """The copy's dimension for each of the maker's rows; None where it has none for one, or
        they walk the image in other ways than by a dimension for each axis."""
        writer, copy = self.writer, self.copy
        written = forms_of(writer.write_maps[0], writer.extents)
        number = copy.inputs.index(self.read_argument)
        read = forms_of(copy.read_maps[number], copy.extents)
        if written is None or read is None:
            return None
        walked: dict[int, int] = {}
        for own, other in zip(written, read, strict=True):
            if own.terms and own.pure_dim is None:
                return None
            if own.pure_dim is not None and other.terms:
                walked[own.pure_dim] = other.terms[0][0]
        rows = rows_of(writer)
        return [walked[row] for row in rows] if walked.keys() >= set(rows) else None

    def fused(self, name: str) -> func.FuncOp:
        """The kernel that does both."""
        rows, allocation, body = self._rows(), self.image.owner, Block()
        assert rows is not None and isinstance(allocation, memref.AllocOp)
        scratch = allocation.clone()
        body.add_op(scratch)
        nests = self.maker.inlined(body, {self.made: scratch.memref})
        (copy,) = self.copier.inlined(body, {self.read: scratch.memref})
        inside, edges = cut_border(copy, scratch.memref)
        set_rows(inside, rows)
        set_part(inside, 0)
        for number, edge in enumerate(edges):
            set_part(edge, number + 1)
        inside.detach()
        body.insert_op_after(inside, nests[-1])
        body.add_op(func.ReturnOp())
        kind = FunctionType.from_lists([argument.type for argument in body.args], [])
        function = func.FuncOp(name, kind, Region(body), visibility="private")
        function.location = self.copier.function.location
        function.attributes[KERNEL] = UnitAttr()
        labels = [label for nest in (*nests, inside) for label in names_of(nest)]
        function.attributes["lamina.ops"] = ArrayAttr(map(StringAttr, labels))
        self._explain(function)
        return function

    def _explain(self, function: func.FuncOp) -> None:
        """Keep what was said of either, but for why they stood apart."""
        apart = f"{label_of(self.writer)} -> {label_of(self.copy)}: "
        kernels = (self.maker.function, self.copier.function)
        texts = dict.fromkeys(text for kernel in kernels for text in reason_texts(kernel))
        set_reason_texts(function, [text for text in texts if not text.startswith(apart)])

    def replace(self, function: func.FuncOp) -> None:
        """Call the kernel that does both, where the second stood."""
        given = [v for n, v in enumerate(self.maker.arguments) if n != self.made]
        given += [v for n, v in enumerate(self.copier.arguments) if n != self.read]
        allocation = self.image.owner
        assert isinstance(allocation, memref.AllocOp)
        call = func.CallOp(SymbolRefAttr(function.sym_name), given, [])
        call.location = self.copier.call.location
        Rewriter.replace_op(self.copier.call, call, [])
        Rewriter.erase_op(self.maker.call)
        Rewriter.erase_op(allocation)


def _is_plain(function: func.FuncOp, nests: Sequence[GenericOp]) -> bool:
    """Whether nothing is noted of some nests but their rows, and nothing of their kernel."""
    noted = any(
        note in nest.attributes for nest in nests for note in (BOUNDS, ENDS, STREAM, SCHEDULE)
    )
    if noted or masks_of(function) or SCHEDULE in function.attributes:
        return False
    return all(0 not in nest.extents and live_rows_of(nest) is None for nest in nests)
