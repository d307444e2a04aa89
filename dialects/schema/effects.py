"""What a table op does to memory, for dead code elimination and the like."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, OpTrait, Pure

from lamina.dialects.schema.grammar import Schema

IMPURE_TAGS = frozenset({"nondeterministic_seeded"})
"""Tags of ops that draw random numbers: two of them are never the same."""


class ReadsAndAllocates(MemoryEffect):
    """Reads its operands and makes new tensors: may be erased if unused, but never merged.

    In a program that mutates, two equal ops need not give equal values, as what they read may be
    written in between; nor one shared result, as one of the two may be written later.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        """A read, and an allocation of each result."""
        allocations = {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}
        return {EffectInstance(MemoryEffectKind.READ), *allocations}


def traits_of(schema: Schema, functional: bool) -> tuple[OpTrait, ...]:
    """The effects of an overload, `functional` where nothing in the dialect mutates.

    None for ops that write, draw random numbers or only check something: their effects are unknown.
    """
    if schema.mutates or schema.tags & IMPURE_TAGS or not schema.results:
        return ()
    return (Pure(),) if functional else (ReadsAndAllocates(),)
