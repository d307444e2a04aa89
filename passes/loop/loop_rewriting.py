"""Rebuilding `loop.generic` ops with some of their parts changed; shared by the loop passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, TypeVar, Unpack

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.ir_links import erase_op, replace_uses, set_operands, take_name
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.generic import Read
from lamina.dialects.loop.monoid import Monoid
from lamina.dialects.loop.segments import (
    SEGMENTS,
    array64,
    index_maps,
    pads_of,
    segment_sizes,
    words,
)
from lamina.dialects.op_effects import is_free_of_effects

T = TypeVar("T")


def _given(value: Sequence[T] | None, default: Sequence[T]) -> Sequence[T]:
    return default if value is None else value


def rebuild(
    op: GenericOp,
    *,
    domain: Sequence[int] | None = None,
    reads: Sequence[Read] | None = None,
    inputs: Sequence[SSAValue] | None = None,
    input_maps: Sequence[AffineMap] | None = None,
    pads: Sequence[Attribute | None] | None = None,
    sources: Sequence[SSAValue] | None = None,
    output_maps: Sequence[AffineMap] | None = None,
    combiners: Sequence[str] | None = None,
    monoids: Sequence[Monoid] | None = None,
    result_types: Sequence[Attribute] | None = None,
    replace_results: bool = True,
) -> GenericOp:
    """A copy of `op` before it, with the named parts replaced and its body moved into the copy.

    By default the copy also takes over the results and `op` is erased; with
    `replace_results=False` the emptied `op` stays for the caller to erase.
    """
    given, region, own = _given(reads, op.reads), op.body, op.monoids
    op.detach_region(region)
    new = GenericOp(
        _given(domain, op.extents),
        _given(inputs, [value for value, _, _ in given]),
        _given(input_maps, [index_map for _, index_map, _ in given]),
        _given(output_maps, op.write_maps),
        _given(combiners, op.combiner_names),
        _given(result_types, [r.type for r in op.res]),
        region,
        sources=_given(sources, op.sources),
        outs=list(op.outs),
        pads=_given(pads, [pad for _, _, pad in given]),
        monoids=_given(monoids, own),
    )
    new.attributes.update(op.attributes)
    new.location = op.location
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(new, op)
    for old_result, result in zip(op.res, new.res, strict=True):
        take_name(result, old_result)
    if replace_results:
        for old_result, result in zip(op.res, new.res, strict=True):
            replace_uses(old_result, result)
        erase_op(op)
    return new


class NestParts(TypedDict, total=False):
    """Parts of a nest that leave its results what they are."""

    domain: Sequence[int]
    reads: Sequence[Read]
    inputs: Sequence[SSAValue]
    input_maps: Sequence[AffineMap]
    pads: Sequence[Attribute | None]
    sources: Sequence[SSAValue]
    output_maps: Sequence[AffineMap]
    combiners: Sequence[str]


_MADE_AGAIN = frozenset({"slices", "identities"})
"""Nests with one of these properties are made again by `change`."""


def change(op: GenericOp, **parts: Unpack[NestParts]) -> GenericOp:
    """`op` with the named parts replaced: the nest itself, or a copy in its place.

    A nest that stays what it is, as long as its results have the same types, need not be made
    again: a third of the time of `rebuild`. Callers ask for no new object.
    """
    held = op.properties
    if not _MADE_AGAIN.isdisjoint(held) or op.indices or op.sizes:
        return rebuild(op, **parts)
    if "reads" in parts:
        reads = parts.pop("reads")
        parts["inputs"] = [value for value, _, _ in reads]
        parts["input_maps"] = [index_map for _, index_map, _ in reads]
        parts["pads"] = [pad for _, _, pad in reads]
    if "domain" in parts:
        held["domain"] = array64(*parts["domain"])
    if "input_maps" in parts:
        held["input_maps"] = index_maps(*parts["input_maps"])
    if "pads" in parts:
        held["pads"] = pads_of(parts["pads"])
    if "output_maps" in parts:
        held["output_maps"] = index_maps(*parts["output_maps"])
    if "combiners" in parts:
        held["combiners"] = words(*parts["combiners"])
    if "inputs" in parts or "sources" in parts:
        inputs, sources = parts.get("inputs", op.inputs), parts.get("sources", op.sources)
        outs = op.outs
        set_operands(op, [*inputs, *sources, *outs])
        held[SEGMENTS] = segment_sizes(len(inputs), len(sources), len(outs), 0, 0)
    return op


def replace_body(op: GenericOp, body: Region) -> None:
    """Give a nest another body, in place."""
    _, *combining = [op.detach_region(region) for region in list(op.regions)]
    for region in (body, *combining):
        op.add_region(region)


def erase_if_dead(op: Operation) -> bool:
    """Erase an op that nobody uses and that has no effects; whether it was."""
    if not op.results or any(r.first_use for r in op.results) or not is_free_of_effects(op):
        return False
    erase_op(op)
    return True
