"""Which arguments of packed products can be touched by strides of a call (`lamina.extents`).

Register tiles compute where a row of their operand, and of what they store, begins; vectors run
along columns, which lie together. So do tasks that pack of what they pack, along columns or terms,
and panels that are read in place. What is copied in tiles or multiplied in pairs keeps the layout
of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.schedules import ProductTasks
from lamina.passes.schedule.jammed_block import jams_rows
from lamina.passes.schedule.kernel_parts import Part
from lamina.passes.schedule.product_rows import plan_of
from lamina.passes.schedule.stages import Access, Stage


def product_accesses(
    part: Part, tasks: ProductTasks, strided: Callable[[Stage], bool]
) -> Iterator[tuple[Access, bool]]:
    """The accesses of a part around products whose strides are numbers of the call, and whether its
    code can have them so; `strided` says it of nests that are swept row by row."""
    plan = plan_of(part, tasks)
    fits = plan.stream is None and tasks.inner_rows is None and tasks.outer_columns != "loops"
    for stage in plan.stages:
        shape = plan.products.get(stage)
        own = fits and not stage.totals
        if shape is None:
            own = own and strided(stage) and not jams_rows([stage])
        for access in stage.accesses():
            if access.open_axes:
                yield access, own and (shape is None or _reached(stage, shape, access))


def _reached(stage: Stage, shape: Contraction, access: Access) -> bool:
    """Whether tiles of a product, or what packs for them, reach an operand or their result by any
    strides of its rows."""
    if shape.pairs is not None or stage.schedule.cache_read:
        return False
    if access in stage.writes:
        return not access.walks_open_axis(shape.inner_column)
    if shape.task_packed and access is stage.reads[shape.b]:
        along_columns = access.stride(shape.inner_column) == 1
        return not access.walks_open_axis(shape.inner_column if along_columns else shape.summed[0])
    if access is stage.reads[shape.b]:  # read in place, a line of columns after the other
        schedule = stage.schedule
        fetched = schedule.prefetch is not None or schedule.prefetch_panels is not None
        return not fetched and access.stride(shape.inner_column) == 1
    return access is stage.reads[shape.a] and not access.walks_open_axis(*shape.summed)


__all__ = ["product_accesses"]
