"""Joining loop nests of one kernel that walk the same domain and read the same: one nest of all.

The merged nest has the results of both and each common read once. Nests are joined only if both
store every point or both reduce the same dimensions, so that one order of loops suits all results.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Block, Operation

from lamina.dialects.ir_links import block_ops, replace_uses
from lamina.dialects.loop import GenericOp, YieldOp
from lamina.dialects.loop.kernel_nests import rows_of, set_rows
from lamina.dialects.loop.labels import names_of, set_names
from lamina.passes.fusion.fusion_override import FUSE
from lamina.passes.fusion.kernel_merging import sort_block
from lamina.passes.fusion.nest_inlining import same_read
from lamina.passes.loop.body_folding import simplify_body


def merge_nests(block: Block) -> bool:
    """Join the nests of a kernel body that may be joined; whether any were."""
    nests = [op for op in block_ops(block) if isinstance(op, GenericOp)]
    by_kind: dict[Hashable, list[GenericOp]] = {}
    for nest in nests:
        by_kind.setdefault(_kind(nest), []).append(nest)
    if len(by_kind) == len(nests):
        return False
    changed = False
    for alike in by_kind.values():
        while len(alike) > 1:
            first, *rest = alike
            other = next((n for n in rest if _share_a_read(first, n) and _apart(first, n)), None)
            if other is None:
                alike = rest
                continue
            alike = [_join(first, other), *(n for n in rest if n is not other)]
            changed = True
    if changed:
        sort_block(block)
    return changed


def _kind(nest: GenericOp) -> Hashable:
    """What two nests must have in common: domain, rows, and what each result leaves out."""
    wide = {d for d, extent in enumerate(nest.extents) if extent != 1}
    reduced = frozenset(
        (combiner == "store", frozenset(wide - index_map.used_dims()))
        for index_map, combiner in zip(nest.write_maps, nest.combiner_names, strict=True)
    )
    mark = nest.attributes.get(FUSE)
    return nest.extents, rows_of(nest), reduced, mark


def _share_a_read(one: GenericOp, other: GenericOp) -> bool:
    return any(same_read(a, b) for a in one.reads for b in other.reads)


def _apart(one: GenericOp, other: GenericOp) -> bool:
    """Whether neither nest needs the other, directly or through others of the kernel."""
    return not _needs(other, one) and not _needs(one, other)


def _needs(op: Operation, wanted: Operation) -> bool:
    seen: set[Operation] = set()
    waiting = [op]
    while waiting:
        for operand in waiting.pop().operands:
            owner = operand.owner
            if owner is wanted:
                return True
            if isinstance(owner, Operation) and owner not in seen:
                seen.add(owner)
                waiting.append(owner)
    return False


def _join(one: GenericOp, other: GenericOp) -> GenericOp:
    """One nest for both, in the place of the first."""
    reads = one.reads
    first, second = one.block, other.block
    count = len(reads)
    arguments = list(second.args)
    for read, argument in zip(other.reads, arguments, strict=False):
        same = next((k for k, r in enumerate(reads) if same_read(r, read)), None)
        if same is None:
            same = len(reads)
            reads.append(read)
            first.insert_arg(argument.type, same)
        replace_uses(argument, first.args[same])
    sources = list(one.sources)
    for source, argument in zip(other.sources, arguments[len(other.inputs) :], strict=True):
        same = next((k for k, s in enumerate(sources) if s is source), None)
        if same is None:
            same = len(sources)
            sources.append(source)
            first.insert_arg(argument.type, len(first.args))
        replace_uses(argument, first.args[len(reads) + same])
    assert count <= len(reads)
    yielded = [*one.yielded, *other.yielded]
    for block in (first, second):
        assert block.last_op is not None
        block.erase_op(block.last_op)
    for op in list(second.ops):
        op.detach()
        first.add_op(op)
    first.add_op(YieldOp(yielded))
    simplify_body(first)
    monoids = [*one.monoids, *other.monoids]
    region = one.detach_region(one.body)
    new = GenericOp(
        one.extents,
        [r[0] for r in reads],
        [r[1] for r in reads],
        [*one.write_maps, *other.write_maps],
        [*one.combiner_names, *other.combiner_names],
        [r.type for r in (*one.res, *other.res)],
        region,
        sources=sources,
        pads=[r[2] for r in reads],
        monoids=monoids,
    )
    _replace(new, one, other)
    return new


def _replace(new: GenericOp, one: GenericOp, other: GenericOp) -> None:
    new.attributes.update(one.attributes)
    set_rows(new, rows_of(one))
    set_names(new, [*names_of(one), *names_of(other)])
    new.location = one.location
    block = one.parent_block()
    assert block is not None
    block.insert_op_before(new, one)
    for old, result in zip([*one.res, *other.res], new.res, strict=True):
        result.name_hint = old.name_hint
        replace_uses(old, result)
    block.erase_op(one)
    block.erase_op(other)
