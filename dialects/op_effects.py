"""Whether ops have side effects, asked once of their classes where these tell."""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation
from xdsl.traits import (
    MemoryAllocEffect,
    MemoryEffect,
    MemoryFreeEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoMemoryEffect,
    Pure,
    RecursiveMemoryEffect,
)

from lamina.dialects.ir_links import block_ops

_NONE = {NoMemoryEffect, Pure}
_EFFECTS = {MemoryReadEffect, MemoryWriteEffect, MemoryAllocEffect, MemoryFreeEffect}


def is_free_of_effects(op: Operation) -> bool:
    """As xDSL's `is_side_effect_free`, which collects all effects of an op and of all under it."""
    told = _told_by(type(op))
    if told is not None:
        return told
    if _asks_inner_ops(type(op)):
        blocks = [block for region in op.regions for block in region.blocks]
        return all(is_free_of_effects(inner) for block in blocks for inner in block_ops(block))
    effects = [trait.get_effects(op) for trait in _traits_of(type(op))]
    return not any(found is None or found for found in effects)


@cache
def _traits_of(kind: type[Operation]) -> list[MemoryEffect]:
    return kind.get_traits_of_type(MemoryEffect)


@cache
def _told_by(kind: type[Operation]) -> bool | None:
    """What is so for all ops of a class; None where it depends on the op."""
    traits = {type(trait) for trait in _traits_of(kind)}
    if not traits or traits & _EFFECTS:
        return False
    return True if traits <= _NONE else None


@cache
def _asks_inner_ops(kind: type[Operation]) -> bool:
    """Whether an op has the effects of those in its regions, and no others."""
    traits = {type(trait) for trait in _traits_of(kind)}
    return traits <= {*_NONE, RecursiveMemoryEffect}
