"""What ops do to memory that are the same on tensors and, after `bufferize`, on memrefs."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect


class WritesOuts(MemoryEffect):
    """No effects on tensors; unknown effects once the op writes into `outs`."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance] | None:
        """None (unknown) for ops on memrefs."""
        made: Any = op
        return None if made.outs else set()
