"""`merge-siblings`: kernels that read the same tensor along the same rows become one kernel.

The mean and the maximum of one tensor need one walk over it. What two kernels that do not need
each other read in common is read once: in a common nest where their domains are the same, else
row by row, while the row is in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import func
from xdsl.ir import SSAValue

from lamina.codegen.roofline import Roofline
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, KernelOp
from lamina.dialects.loop.access import Forms, forms_of
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.kernel_nests import rows_of, set_rows
from lamina.dialects.loop.labels import label_of
from lamina.passes.cost.fusion_cost import value_bytes
from lamina.passes.cost.fusion_limits import MAX_ARRAYS
from lamina.passes.cost.kernel_model import row_products
from lamina.passes.cost.scratch_budget import MAX_ROW_BYTES
from lamina.passes.fusion.fusion_decisions import Decision, DecisionLog, Refusal, overridden
from lamina.passes.fusion.fusion_pass_base import FusionPassBase
from lamina.passes.fusion.fusion_rules import MASK_TAKES_ROWS, edge_rows, rows_cost
from lamina.passes.fusion.kernel_merging import Cluster, KernelGraph, is_fixed
from lamina.passes.fusion.nest_merging import merge_nests
from lamina.passes.fusion.position_masks import is_position_mask
from lamina.passes.fusion.size_nests import SIZES_APART, are_apart


class MergeSiblingsPass(FusionPassBase):
    """Merge independent kernels that read the same operand, and such nests of one kernel.

    A refused pair is named in the `lamina.not_fused` attribute of the later kernel.
    What both walk is weighed (see `lamina.passes.cost.kernel_model`).
    """

    name = "merge-siblings"

    def fuse(self, function: func.FuncOp, machine: Roofline, log: DecisionLog) -> None:
        _merge_kernels(function, log, machine)
        for kernel in block_ops(function.body.block):
            if isinstance(kernel, KernelOp) and not is_fixed(kernel):
                merge_nests(kernel.block)


def _merge_kernels(function: func.FuncOp, log: DecisionLog, machine: Roofline) -> None:
    readers: dict[SSAValue, list[KernelOp]] = {}
    for op in function.body.block.ops:
        if isinstance(op, KernelOp) and not is_fixed(op):
            for value in op.inputs:
                readers.setdefault(value, []).append(op)
    shared: dict[SSAValue, list[KernelOp]] = {}
    for value, found in readers.items():
        made = value.owner
        together = [made, *found] if isinstance(made, KernelOp) and not is_fixed(made) else found
        if len(together) > 1:
            shared[value] = together
    if not shared:
        return
    graph = KernelGraph.of(function.body.block)
    largest_first = sorted(shared, key=lambda v: -value_bytes(v))
    for value in largest_first:
        _merge_readers(graph, value, shared[value], log, machine)
    graph.finish()


def _merge_readers(
    graph: KernelGraph,
    value: SSAValue,
    kernels: list[KernelOp],
    log: DecisionLog,
    machine: Roofline,
) -> None:
    """Merge the kernels that make and read `value`, each into the first that takes it."""
    taken: list[Cluster] = []
    for kernel in kernels:
        cluster = graph.cluster_of[kernel]
        if cluster in taken:
            continue
        for earlier in taken:
            if not graph.adjacent(earlier, cluster):
                continue  # a third kernel runs between them
            said = _try(earlier, cluster, value, machine)
            if said is None:
                continue
            names = f"{label_of(earlier.nests[-1])} | {label_of(cluster.nests[-1])}"
            log.kernels(names, said, value)
            if graph.settle(earlier, cluster, names, said):
                break
        else:
            taken.append(cluster)


def _try(one: Cluster, other: Cluster, value: SSAValue, machine: Roofline) -> Decision | None:
    """Merge the rows of both if that is possible; None where they share no stream of data."""
    kept = _shared_rows(one, other, value)
    if kept is None:
        return None
    if are_apart(one.nests, other.nests):
        return SIZES_APART
    handed = [_edge_kept(*edge) for edge in _edges(one, other)]
    rows = max(len(rows_of(one.nests[0])), len(rows_of(other.nests[0])))
    kept = min(handed) if kept < 0 else min([kept, *handed])
    if kept == 0 and rows:
        return Refusal("they walk it along different rows")
    refusal = _refusal(one, other, kept, value_bytes(value), machine)
    if refusal is not None:
        return refusal
    for nest in (*one.nests, *other.nests):
        set_rows(nest, rows_of(nest)[:kept])
    return Decision(True, "it is read once")


def _shared_rows(one: Cluster, other: Cluster, value: SSAValue) -> int | None:
    """How many leading rows of both walk the value alike; -1 where one of them makes it."""
    if any(value.owner in c.ops for c in (one, other)):
        return -1
    pairs = [
        aligned
        for a, a_read in _reads_of(one, value)
        for b, b_read in _reads_of(other, value)
        if (aligned := _aligned(a, a_read, b, b_read)) is not None
    ]
    return max(pairs, default=None)


def _edges(one: Cluster, other: Cluster) -> list[tuple[SSAValue, GenericOp, int]]:
    """What nests of one cluster read of the other's results: the value inside, nest and read."""
    found: list[tuple[SSAValue, GenericOp, int]] = []
    for made, reading in ((one, other), (other, one)):
        for kernel in made.kernels:
            for result, inner in zip(kernel.res, kernel.returned, strict=True):
                found += [(inner, nest, number) for nest, number in _uses_of(reading, result)]
    return found


def _edge_kept(inner: SSAValue, reader: GenericOp, number: int) -> int:
    """How many leading rows of the reader get just what the same row of the producer made."""
    maker = inner.owner
    if not isinstance(maker, GenericOp) or number >= len(reader.inputs):
        return 0
    aligned = edge_rows(inner, {maker: rows_of(maker)}, reader, number, len(rows_of(maker)))
    if isinstance(aligned, Refusal):
        return 0
    kept = 0
    for made, read in zip(aligned, rows_of(reader), strict=False):
        if made != read:
            break
        kept += 1
    return kept


def _reads_of(cluster: Cluster, value: SSAValue) -> list[tuple[GenericOp, int]]:
    """Where nests of the cluster read the value by an index map."""
    return [
        (nest, number) for nest, number in _uses_of(cluster, value) if number < len(nest.inputs)
    ]


def _uses_of(cluster: Cluster, value: SSAValue) -> list[tuple[GenericOp, int]]:
    """The operands of the cluster's nests that are the value."""
    return [
        (nest, use.index)
        for kernel in cluster.kernels
        for operand, argument in zip(kernel.inputs, kernel.block.args, strict=True)
        if operand is value
        for use in argument.uses
        if isinstance(nest := use.operation, GenericOp)
    ]


def _aligned(a: GenericOp, a_read: int, b: GenericOp, b_read: int) -> int | None:
    """How many leading rows walk the same axes of the value; None if a read repeats elements."""
    read_a = forms_of(a.read_maps[a_read], a.extents)
    read_b = forms_of(b.read_maps[b_read], b.extents)
    if read_a is None or read_b is None:
        return None
    if _is_repeated(a, read_a) or _is_repeated(b, read_b):
        return None
    rows_a, rows_b = rows_of(a), rows_of(b)
    kept = 0
    for row_a, row_b in zip(rows_a, rows_b, strict=False):
        steps_a = [form.coefficient(row_a) for form in read_a]
        steps_b = [form.coefficient(row_b) for form in read_b]
        if steps_a != steps_b or a.extents[row_a] != b.extents[row_b]:
            break
        kept += 1
    return kept


def _is_repeated(nest: GenericOp, read: Forms) -> bool:
    """Whether the nest reads elements again and again, as it does those of a bias."""
    used = {d for form in read for d, _ in form.terms}
    return any(d not in used for d, extent in enumerate(nest.extents) if extent != 1)


def _refusal(
    one: Cluster, other: Cluster, kept: int, shared: int, machine: Roofline
) -> Decision | None:
    """Why kernels whose first `kept` rows agree, and which share bytes, had better stay apart."""
    nests = (*one.nests, *other.nests)
    marked = overridden(nests)
    if marked is not None and not marked.fuse:
        return marked
    parallel = prod(nests[0].extents[d] for d in rows_of(nests[0])[:kept])
    row = (sum(map(scratch_bytes, nests)) + handed_bytes(one, other)) // max(1, parallel)
    if row > MAX_ROW_BYTES:
        return Refusal(f"a row takes {row} bytes of scratch, more than {MAX_ROW_BYTES}")
    turned = [is_turned(c.nests) for c in (one, other)]
    if any(turned) and not _become_one(one, other):
        return Refusal("one of them reads along another dimension than it writes")
    if marked is not None:
        return None
    rows = max(len(rows_of(nest)) for nest in nests)
    if kept < rows and any(all(map(is_position_mask, c.nests)) for c in (one, other)):
        return MASK_TAKES_ROWS
    arrays = dict.fromkeys(v for c in (one, other) for k in c.kernels for v in (*k.inputs, *k.res))
    if len(arrays) > MAX_ARRAYS:
        return Refusal(f"together they walk {len(arrays)} arrays, more than {MAX_ARRAYS}")
    products = row_products(nests, [Contraction.of(nest) for nest in nests])
    return rows_cost(nests, products, parallel, shared, machine)


def scratch_bytes(nest: GenericOp) -> int:
    """Bytes of results that other nests of the kernel read."""
    return sum(
        value_bytes(r) for r in nest.res if any(isinstance(u.operation, GenericOp) for u in r.uses)
    )


def handed_bytes(one: Cluster, other: Cluster) -> int:
    """Bytes that go from one cluster to the other."""
    return sum(value_bytes(v) for v in dict.fromkeys(edge[0] for edge in _edges(one, other)))


def is_turned(nests: Sequence[GenericOp]) -> bool:
    """Whether a lone nest is scheduled as a transpose: it must stay a lone nest."""
    if len(nests) != 1 or not nests[0].is_pointwise:
        return False
    (nest,) = nests
    written = forms_of(nest.write_maps[0], nest.extents)
    along = {d for d, c in written[-1].terms if c == 1} if written else set[int]()
    for index_map in nest.read_maps:
        read = forms_of(index_map, nest.extents)
        if not read:
            continue
        last = {d for d, c in read[-1].terms if c == 1}
        strided = {d for form in read[:-1] for d, _ in form.terms}
        if last and not last & along and strided & along:
            return True
    return False


def _become_one(one: Cluster, other: Cluster) -> bool:
    """Whether both are one nest over one domain that store every point."""
    nests = (*one.nests, *other.nests)
    return len(nests) == 2 and all(n.is_pointwise and n.extents == nests[0].extents for n in nests)
