"""How much memory a compiled program takes, by what it is for."""

from collections.abc import Sequence
from dataclasses import dataclass

from lamina.passes.contracts.entry_attributes import CONSTANT_KINDS
from lamina.runtime.buffers import ALIGNMENT, rounded
from lamina.runtime.entry import OUTPUT_KINDS, Slot


@dataclass(frozen=True)
class MemoryUse:
    """Bytes while a program runs, each buffer in whole cache lines.

    `arena` is for what goes from kernel to kernel, `outputs` what one call gives, `mutations` the
    new values of mutated arguments, `constants` parameters and buffers as the program reads them:
    prepared ones are its own, the others are the caller's arrays.
    """

    arena: int
    outputs: int
    mutations: int
    prepared: int
    held: int

    @property
    def constants(self) -> int:
        """Prepared and held constants."""
        return self.prepared + self.held

    @property
    def peak(self) -> int:
        """All of it, which is there at once while the program runs."""
        return self.arena + self.outputs + self.mutations + self.constants

    @property
    def own(self) -> int:
        """What a bound program keeps between calls, beside the caller's arrays."""
        return self.arena + self.mutations + self.prepared

    def __str__(self) -> str:
        parts = [
            f"arena {self.arena}",
            f"outputs {self.outputs}",
            f"constants {self.constants}",
        ]
        if self.mutations:
            parts.append(f"mutations {self.mutations}")
        return f"peak memory {self.peak} bytes: " + ", ".join(parts)


def memory_use(slots: Sequence[Slot]) -> MemoryUse:
    """What the slots of an entry point take."""

    def total(*kinds: str) -> int:
        return sum(rounded(slot.size, ALIGNMENT) for slot in slots if slot.kind in kinds)

    return MemoryUse(
        arena=total("arena"),
        outputs=total(*OUTPUT_KINDS),
        mutations=total("mutation"),
        prepared=total("prepared"),
        held=total(*CONSTANT_KINDS),
    )
