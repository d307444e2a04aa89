"""`fuse-gathers`: a pointwise nest that is only read at computed indices is computed just there.

A cross entropy reads one log-probability of each row: computing it from the logits at that place
saves storing all the others. The indirect reads of the result become indirect reads of what it is
made from, with the same checks of their indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from lamina.codegen.roofline import Roofline
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp, ReadOp, YieldOp
from lamina.dialects.loop.access import Forms, forms_of, shape_of
from lamina.dialects.loop.labels import names_of, set_names
from lamina.passes.cost.fusion_model import estimate_gather, look_ups
from lamina.passes.fusion.copied_bodies import bounded, size_of
from lamina.passes.fusion.fusion_decisions import Decision, DecisionLog, Refusal, overridden
from lamina.passes.fusion.fusion_pass_base import FusionPassBase
from lamina.passes.fusion.padded_inlining import linear_value
from lamina.passes.loop.loop_rewriting import erase_if_dead, rebuild
from lamina.passes.loop.position_reads import settle_reads


class FuseGathersPass(FusionPassBase):
    """Compute pointwise producers at the places where a nest reads them indirectly.

    Bytes and operations are weighed (see `lamina.passes.cost.fusion_model`).
    """

    name = "fuse-gathers"

    def fuse(self, function: func.FuncOp, machine: Roofline, log: DecisionLog) -> None:
        for nest in block_ops(function.body.block):
            if isinstance(nest, GenericOp) and nest.sources:
                _fuse_sources(nest, machine, log)


def _fuse_sources(op: GenericOp, machine: Roofline, log: DecisionLog) -> None:
    number = 0
    while number < len(op.sources):
        value = op.sources[number]
        producer = value.owner
        if isinstance(producer, GenericOp) and _is_possible(producer):
            axes = _axis_of_dims(producer)
            reads = _checked_reads(producer, axes) if axes is not None else None
            said = _decide(producer, op, value, machine, is_checked=reads is not None)
            log.pair(producer, op, value, said)
            if axes is not None and reads is not None and said.fuse:
                op = _inline(op, number, producer, axes, reads)
                continue
        number += 1


def _is_possible(producer: GenericOp) -> bool:
    if not producer.is_pointwise or len(producer.res) != 1 or 0 in producer.extents:
        return False
    return all(pad is None for pad in producer.pad_values)


def _decide(
    producer: GenericOp, op: GenericOp, value: SSAValue, machine: Roofline, *, is_checked: bool
) -> Decision:
    if not is_checked:
        return Refusal("no read of the producer would check the computed indices")
    thought = estimate_gather(producer, op, value, machine)
    if (said := overridden([producer])) is not None:
        return replace(said, estimate=thought)
    copies = (look_ups(op, value) - value.has_one_use()) * size_of(producer)
    return bounded(Decision(thought.pays, str(thought), thought), copies)


def _axis_of_dims(producer: GenericOp) -> dict[int, int] | None:
    """For each dimension of the producer, the result axis that it is alone; None if one is not."""
    written = forms_of(producer.write_maps[0], producer.extents)
    if written is None:
        return None
    axes: dict[int, int] = {}
    for axis, form in enumerate(written):
        dim = form.pure_dim
        if dim is None:
            return None
        axes[dim] = axis
    return axes if len(axes) == len(producer.extents) == len(written) else None


def _checked_reads(producer: GenericOp, axes: dict[int, int]) -> list[Forms] | None:
    """The producer's reads, if every result axis is some read's whole axis: its check stays."""
    reads: list[Forms] = []
    checked: set[int] = set()
    for value, index_map in zip(producer.inputs, producer.read_maps, strict=True):
        forms = forms_of(index_map, producer.extents)
        if forms is None:
            return None
        reads.append(forms)
        for form, extent in zip(forms, shape_of(value), strict=True):
            dim = form.pure_dim
            if dim is not None and producer.extents[dim] == extent:
                checked.add(dim)
    return reads if checked == set(axes) else None


def _inline(
    op: GenericOp, number: int, producer: GenericOp, axes: dict[int, int], reads: list[Forms]
) -> GenericOp:
    count = len(op.inputs)
    names = [*names_of(producer), *names_of(op)]
    sources = list(op.sources)
    new = rebuild(op, sources=[*sources, *producer.inputs, *producer.sources])
    block = new.block
    old_argument = block.args[count + number]
    arguments = [
        block.insert_arg(value.type, len(block.args))
        for value in (*producer.inputs, *producer.sources)
    ]
    for read in [o for o in block.ops if isinstance(o, ReadOp) and o.source is old_argument]:
        value = _compute_at(read, producer, axes, reads, arguments)
        read.result.replace_all_uses_with(value)
        block.erase_op(read)
    kept = [v for i, v in enumerate(new.sources) if i != number]
    block.erase_arg(old_argument)
    final = settle_reads(rebuild(new, sources=kept))
    set_names(final, names)
    erase_if_dead(producer)
    return final


def _compute_at(
    read: ReadOp,
    producer: GenericOp,
    axes: dict[int, int],
    reads: list[Forms],
    arguments: Sequence[SSAValue],
) -> SSAValue:
    """The producer's body in front of the read, at the read's indices."""
    block = read.parent_block()
    assert block is not None
    position = {dim: read.indices[axis] for dim, axis in axes.items()}
    ends = {dim: read.limit_of_each[axis] for dim, axis in axes.items()}

    def add(op: Operation) -> SSAValue:
        block.insert_op_before(op, read)
        return op.results[0]

    mapping: dict[SSAValue, SSAValue] = {}
    count = len(producer.inputs)
    for argument, forms, source in zip(
        producer.block.args[:count], reads, arguments[:count], strict=True
    ):
        indices = [linear_value(add, form, position.__getitem__) for form in forms]
        limits = [None if form.pure_dim is None else ends[form.pure_dim] for form in forms]
        made = ReadOp(source, indices, limits)
        made.attributes.update(read.attributes)
        mapping[argument] = add(made)
    mapping.update(zip(producer.block.args[count:], arguments[count:], strict=True))
    for inner in producer.block.ops:
        if isinstance(inner, YieldOp):
            break
        if isinstance(inner, IndexOp):
            mapping[inner.result] = position[inner.dim.value.data]
        else:
            add(inner.clone(mapping))
    return mapping[producer.yielded[0]]
