"""Which nests have vectors of half the width that the target has."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType

from lamina.codegen.target import Target
from lamina.passes.cost.fusion_cost import body_cost
from lamina.passes.cost.sweep_limits import NEAR_BODY
from lamina.passes.memory.plan_memory import byte_size
from lamina.passes.schedule.memory import Sweep
from lamina.passes.schedule.stages import is_temporary

WIDEST_BITS = 512
"""Width of vectors of which half is enough to store what waits for caches."""


def waits_for_caches(sweep: Sweep, target: Target) -> bool:
    """Whether pointwise nests of f32 do little to what lies in caches beyond the nearest one, in
    vectors that are twice as wide as what suffices for that.

    What stays in the kernel stays near: rows of a product are made in 0.9 of the time by whole
    vectors (the images of Winograd's tiles, 64 channels of 56x56, a Sapphire Rapids).
    """
    if any(is_temporary(write.memory) for stage in sweep.stages for write in stage.writes):
        return False
    if target.vector_bits != WIDEST_BITS or sum(body_cost(s.op) for s in sweep.stages) > NEAR_BODY:
        return False
    kinds = {access.memory: access.memory.type for s in sweep.stages for access in s.accesses()}
    sizes = [kind for kind in kinds.values() if isinstance(kind, MemRefType)]
    if any(getattr(kind.element_type, "bitwidth", 0) != 32 for kind in sizes):
        return False
    return target.l1d_bytes < sum(map(byte_size, sizes)) <= target.l3_bytes
