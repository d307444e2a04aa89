"""Where the terms of packed panels stand that a product in register tiles multiplies by."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Attribute, SSAValue

from lamina.dialects.loop.access import row_major_strides
from lamina.dialects.records import record
from lamina.passes.schedule.emitter import Emitter, Index
from lamina.passes.schedule.memory import Env, Memory
from lamina.passes.schedule.packed_product import PackedProduct
from lamina.passes.schedule.panel_copy import PanelCopy
from lamina.passes.schedule.stages import Access


@record
class PackedOperand:
    """Panels in a flat memref, `panel_stride` elements apart, of rows of `panel` elements.

    A row stands at `start`, plus its position times `strides` of each dimension that has one.
    `packing` is what packs them, where the task does so itself. What is read in place may lie by
    numbers of the call: rows stand where `open` says then.
    """

    memory: SSAValue
    start: int
    panel: int
    panel_stride: int
    strides: Mapping[int, int]
    packing: PanelCopy | None
    open: OpenOperand | None = None

    @staticmethod
    def of(product: PackedProduct, memory: Memory, packing: PanelCopy | None) -> PackedOperand:
        """The operand of a product, which `packing` has if the task packs it."""
        shape, panel = product.shape, product.panel
        packed = product.stage.reads[shape.b]
        if packing is not None:
            terms = {shape.summed[0]: panel}
            return PackedOperand(packing.panels, 0, panel, packing.size, terms, packing)
        flat, start = memory.flat[packed.memory], packed.offset.constant
        if packed.axes:
            steps = packed.offset.coefficients
            between = steps.pop(product.column) * panel
            is_open = packed.memory in memory.strides
            by_call = OpenOperand(memory, packed, product) if is_open else None
            return PackedOperand(flat, start, panel, between, steps, None, by_call)
        extents = row_major_strides(packed.shape)
        outer = (*shape.batch, *shape.columns[:-1])
        steps = dict(zip(outer, extents, strict=False))
        steps.update(zip(shape.summed, extents[len(outer) + 1 :], strict=False))
        return PackedOperand(flat, start, panel, extents[len(outer)], steps, None)

    @property
    def element(self) -> Attribute:
        """What is stored: half floats are widened where they are multiplied by f32."""
        return self.memory.type.element_type  # pyright: ignore[reportAttributeAccessIssue]

    def row(self, emit: Emitter, env: Env, panel: Index) -> Index:
        """Where the row of a panel stands that belongs to a position."""
        if self.open is not None:
            return emit.plus(self.open.row(emit, env), emit.times(panel, self.panel_stride))
        if self.packing is not None:
            panel = emit.minus(panel, self.packing.first)
        at = emit.plus(self.start, emit.times(panel, self.panel_stride))
        if self.packing is not None:
            at = emit.minus(at, emit.times(self.packing.low, self.panel))
        for dim, stride in self.strides.items():
            if dim in env:
                at = emit.plus(at, emit.times(env[dim], stride))
        return at

    def step(self, emit: Emitter, dim: int) -> Index:
        """Elements from one position of a dimension to the next."""
        return self.strides[dim] if self.open is None else self.open.step(emit, dim)


@record
class OpenOperand:
    """What a product reads in place whose strides are numbers of the call.

    Columns are a dimension whose positions lie together.
    """

    memory: Memory
    access: Access
    product: PackedProduct

    def row(self, emit: Emitter, env: Env) -> Index:
        """Where the first column of a row stands; dimensions without a position are at 0."""
        dims = dict.fromkeys(range(len(self.product.stage.extents)), 0)
        form = self.memory.layout(self.access)
        return self.memory.at(emit, form, {**dims, **env, self.product.column: 0})

    def step(self, emit: Emitter, dim: int) -> Index:
        """Elements from one position of a dimension to the next."""
        return self.memory.step(emit, self.access, dim)
