"""How a kernel of whole rows walks its long dimension in blocks (`lamina.stream`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lamina.dialects.loop.bounds import STREAM, StreamAttr
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import has_pieces
from lamina.dialects.loop.streamed_dims import Join, streamed_dim
from lamina.dialects.records import record
from lamina.passes.schedule.stages import Stage, is_temporary

BLOCK_START = -4
"""Pseudo-dimension of scratch for a block of a dimension: its first position."""


@record
class StreamPlan:
    """The stages of a kernel in three groups, and what those in the middle walk together."""

    before: tuple[Stage, ...]
    along: tuple[Stage, ...]
    after: tuple[Stage, ...]
    dims: Mapping[Stage, int]
    """For each stage of the middle group, the dimension that it walks."""
    joins: Mapping[Stage, Join]
    """How those that reduce the dimension go on with the next block."""
    block: int
    """Positions of a block."""

    @staticmethod
    def of(stages: Sequence[Stage], products: Mapping[Stage, Contraction]) -> StreamPlan | None:
        """Of the stages of a kernel that is noted to walk a dimension in blocks, if it can."""
        noted = [a for s in stages if isinstance(a := s.op.attributes.get(STREAM), StreamAttr)]
        found = streamed_dim([s.op for s in stages]) if noted else None
        if found is None:
            return None
        plan = StreamPlan(
            tuple(s for s in stages if s.op not in found.dims and s.op not in found.after),
            tuple(s for s in stages if s.op in found.dims),
            tuple(s for s in stages if s.op in found.after),
            {s: found.dims[s.op] for s in stages if s.op in found.dims},
            {s: found.joins[s.op] for s in stages if s.op in found.joins},
            noted[0].block.value.data,
        )
        return plan if plan._is_possible(products) else None

    @property
    def top(self) -> Stage | None:
        """The stage of the maximum that weights are less, if there is one."""
        return next((s for s, join in self.joins.items() if join == "raise"), None)

    def _is_possible(self, products: Mapping[Stage, Contraction]) -> bool:
        """Whether products end blocks at panels, sums into scratch, and rows walk it first."""
        for stage in self.along:
            shape = products.get(stage)
            if shape is None:
                continue
            panel = shape.panel or 1
            if self.block % panel:
                return False
            if stage in self.joins:
                is_kept = is_temporary(stage.writes[0].memory)
                if not has_pieces(shape) or not is_kept or len(shape.columns) != 1:
                    return False
            elif self.dims[stage] != shape.inner_column:
                return False
        rows = [s for s in self.along if s not in products]
        return all(stage.inner == (self.dims[stage],) for stage in rows)


__all__ = ["BLOCK_START", "StreamPlan"]
