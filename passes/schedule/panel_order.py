"""Which tasks of a packed product are neighbours: of the same rows, or of the same columns."""

from __future__ import annotations

from lamina.codegen.target import Target
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import is_packed_in_tasks
from lamina.passes.schedule.product_kernel import Products
from lamina.passes.schedule.stages import Stage


def reads_far_panels(products: Products, target: Target) -> bool:
    """Whether constant panels leave the second-level cache before the next task of the same rows
    reads them again, as lines of a small image by many channels do: tasks of the same columns are
    then neighbours."""
    stage, shape = next(iter(products.items()))
    if shape.repacked or shape.pairs is not None:
        return False
    return 2 * panel_bytes(stage, shape) * _panels(stage, shape) >= target.l2_bytes


def _panels(stage: Stage, shape: Contraction) -> int:
    return -(-stage.extents[shape.inner_column] // (shape.panel or 1))


def panel_bytes(stage: Stage, shape: Contraction) -> int:
    """Size of one packed panel, all its terms."""
    bits = stage.writes[0].element.bitwidth  # pyright: ignore[reportAttributeAccessIssue]
    return shape.size(shape.summed) * (shape.panel or 1) * bits // 8


def shares_columns(stages: list[Stage], products: Products) -> bool:
    """Whether threads should divide the columns: then each reads only the panels it packed itself.

    Worth it where the panels are made in the same call, or are read as they are, and are the
    larger operand; otherwise dividing the rows keeps a row with the thread that has it in cache.
    """
    shape = next(iter(products.values()))
    as_they_are = shape.pairs == shape.a or is_packed_in_tasks(shape)
    if not shape.repacked and not as_they_are:
        return False
    if len(stages) == 1 and shape.size(shape.rows) > shape.size(shape.summed):
        return False  # the result is larger than the panels, and read by rows more often than not
    return shape.size(shape.columns) > shape.size(shape.rows)
