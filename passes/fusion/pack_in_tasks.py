"""`pack-in-tasks`: the tasks of a product pack the panels that they multiply.

A kernel that packs a weight of the call writes all of it for the next kernel to read. Where few
blocks of rows are multiplied, each task packs its panels into scratch instead, which stays in the
second-level cache, and half floats are widened on the way. So a product of few rows takes no more
than reading its weight.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, KernelOp
from lamina.dialects.loop.access import Forms, flatten, forms_of, is_copy, map_of, shape_of
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.nest_attributes import is_in_runs
from lamina.dialects.loop.packing import packing_of, set_packing
from lamina.passes.cost.kernel_model import packs_in_tasks
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.fusion_reasons import take_reasons
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.packing import widen_read


class PackInTasksPass(ModulePass):
    """Let the tasks of products pack what a kernel in front of them packs.

    They do where few enough blocks of rows read it.
    """

    name = "pack-in-tasks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for kernel in block_ops(function.body.block):
                if isinstance(kernel, KernelOp):
                    _pack(kernel)


def _pack(kernel: KernelOp) -> None:
    shape = _lone_product(kernel)
    if shape is None or not packs_in_tasks(shape):
        return
    given = shape.op.inputs[shape.b]
    if given not in kernel.block.args or given.has_more_than_one_use():
        return
    place = kernel.block.args.index(given)  # pyright: ignore[reportArgumentType]
    packed = kernel.inputs[place]
    packing = packed.owner
    if not isinstance(packing, KernelOp) or packed.has_more_than_one_use():
        return
    nest = _lone_copy(packing)
    if nest is None or nest.inputs[0] not in packing.block.args:
        return
    forms = _unpacked(shape, nest)
    if forms is None or not _is_inside(shape, nest, forms):
        return
    source = packing.inputs[packing.block.args.index(nest.inputs[0])]  # pyright: ignore
    op, number = shape.op, shape.b
    kernel.operands[place] = source
    argument = Rewriter.replace_value_with_new_type(given, source.type)
    maps = list(op.read_maps)
    maps[number] = map_of(forms, len(op.extents))
    widen_read(op, number, source)
    new = rebuild(op, inputs=[argument if v is given else v for v in op.inputs], input_maps=maps)
    set_packing(new, replace(packing_of(new), pack_at="task"))
    take_reasons(kernel, [packing, kernel])
    Rewriter.erase_op(packing)


def _lone_product(kernel: KernelOp) -> Contraction | None:
    """The product of a kernel that goes panel by panel, repacked in each call and not by tasks."""
    nests = [op for op in block_ops(kernel.block) if isinstance(op, GenericOp)]
    if not nests or packing_of(nests[0]).pack_at != "call":
        return None
    product, *epilogue = nests
    shape = Contraction.of(product)
    if shape is None or shape.pairs is not None:
        return None
    if len(shape.columns) != 1 or len(shape.summed) != 1:
        return None
    return shape if all(op.is_pointwise for op in epilogue) else None


def _lone_copy(kernel: KernelOp) -> GenericOp | None:
    """The one nest of a kernel that packs, and perhaps widens."""
    nests = block_ops(kernel.block)[:-1]
    nest = nests[0] if len(nests) == 1 else None
    if not isinstance(nest, GenericOp):
        return None
    if len(nest.inputs) != 1 or len(nest.res) != 1 or nest.sources or not nest.is_pointwise:
        return None
    names = [op.name for op in block_ops(nest.block)]
    return nest if is_copy(nest) or names == ["arith.extf", "loop.yield"] else None


def _unpacked(shape: Contraction, nest: GenericOp) -> Forms | None:
    """Where the product reads what a nest packs (see `packed_layout`), or None if that is unclear.

    Both are read in runs of neighbours.
    """
    extents, panel = nest.extents, shape.panel
    outer = shape.batch
    read = forms_of(nest.read_maps[0], extents)
    written = forms_of(nest.write_maps[0], extents)
    if read is None or written != tuple(Linear.dim(d) for d in range(len(extents))):
        return None
    if panel is None or len(extents) != len(outer) + 3 or extents[-1] != panel:
        return None
    group, term, lane = range(len(outer), len(outer) + 3)
    forms: list[Linear] = []
    for form in read:
        if form.coefficient(group) != panel * form.coefficient(lane):
            return None
        terms = {d: form.coefficient(place) for place, d in enumerate(outer)}
        terms[shape.summed[0]] = form.coefficient(term)
        terms[shape.inner_column] = form.coefficient(lane)
        forms.append(Linear.of(terms, form.constant))
    return tuple(forms)


def _is_inside(shape: Contraction, nest: GenericOp, forms: Forms) -> bool:
    """Whether the product itself reads no padding, and runs of neighbours.

    What is the same in all columns, or in all terms, leaves no operand of a product.
    """
    if not {shape.inner_column, shape.summed[0]} <= {d for form in forms for d, _ in form.terms}:
        return False
    extents, source = shape.op.extents, nest.inputs[0]
    pad = nest.pad_values[0]
    if pad is not None and not (isinstance(pad, FloatAttr) and pad.value.data == 0):
        return False
    for form, extent in zip(forms, shape_of(source), strict=True):
        low, high = form.range(extents)
        if low < 0 or high >= extent:
            return False
    return is_in_runs(shape, flatten(forms, shape_of(source)))
