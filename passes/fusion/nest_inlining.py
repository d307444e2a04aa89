"""Putting the body of a pointwise nest in the place of a read of its result."""

from __future__ import annotations

from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.ir_links import append_op, replace_uses
from lamina.dialects.loop import GenericOp, IndexOp, YieldOp
from lamina.dialects.loop.access import Forms, forms_of, map_of, producer_dims, substitute
from lamina.dialects.loop.generic import Read
from lamina.dialects.loop.linear import Linear
from lamina.dialects.op_disposal import erase
from lamina.passes.fusion.padded_inlining import Guard, Pads, index_value
from lamina.passes.loop.loop_rewriting import change, erase_if_dead, replace_body


def inline(
    op: GenericOp,
    number: int,
    producer: GenericOp,
    position: Forms,
    composed: list[Forms],
    pads_inside: Pads | None = None,
    guard: Guard | None = None,
) -> GenericOp:
    """Replace read `number` of `op` by the producer's body at the given domain position.

    `guard` chooses between the value and what a padded read gives outside; then the producer's
    reads take `pads_inside` instead of their own pads.
    """
    rank = len(op.extents)
    is_alone = producer.res[0].has_one_use() and guard is None
    if is_alone and _is_same_place(op, producer, position):
        return take_over(op, number, producer, [map_of(forms, rank) for forms in composed])
    reads, sources = op.reads, list(op.sources)
    reader = op.block
    merged = Block(
        arg_types=[a.type for a in reader.args[:number]]
        + [a.type for a in reader.args[number + 1 : len(reads)]]
    )
    region = Region(merged)
    before = len(reads)
    mapping: dict[SSAValue, SSAValue] = {}
    arguments = list(reader.args)
    kept = arguments[:number] + arguments[number + 1 : before]
    for old, new in zip(kept, merged.args, strict=True):
        mapping[old] = new
    del reads[number]

    inner: dict[SSAValue, SSAValue] = {}
    read_args = producer.block.args[: len(producer.inputs)]
    given = producer.pad_values if pads_inside is None else pads_inside
    own = zip(producer.inputs, composed, given, read_args, strict=True)
    for value, forms, pad, argument in own:
        read = value, map_of(forms, rank), pad
        inner[argument] = _read(merged, reads, read, argument.type)
    for argument in arguments[before : before + len(op.sources)]:
        mapping[argument] = merged.insert_arg(argument.type, len(merged.args))
    for source, argument in zip(
        producer.sources, producer.block.args[len(producer.inputs) :], strict=True
    ):
        sources.append(source)
        inner[argument] = merged.insert_arg(argument.type, len(merged.args))

    for body_op in producer.block.ops:
        if isinstance(body_op, YieldOp):
            made = inner[body_op.values[0]]
            mapping[arguments[number]] = made if guard is None else guard(merged, made)
        elif isinstance(body_op, IndexOp):
            inner[body_op.result] = index_value(merged, position[body_op.dim.value.data])
        else:
            append_op(merged, body_op.clone(inner))
    for body_op in list(reader.ops):
        body_op.detach()
        _remap(body_op, mapping)
        append_op(merged, body_op)

    return _replace(op, producer, reads, sources, region)


def composed_reads(producer: GenericOp, forms: Forms) -> tuple[Forms, list[Forms]] | None:
    """Where a producer stands for a read of its result at `forms`, and where it reads itself then;
    None where these are not linear."""
    position = producer_dims(producer, forms)
    reads = [forms_of(read_map, producer.extents) for read_map in producer.read_maps]
    if position is None or None in reads:
        return None
    return position, [
        tuple(substitute(f, position) for f in read) for read in reads if read is not None
    ]


def _is_same_place(op: GenericOp, producer: GenericOp, position: Forms) -> bool:
    """Whether the reader stands at the very point of the domain that it reads."""
    return producer.extents == op.extents and all(
        form == Linear.dim(dim) or (form == Linear(()) and op.extents[dim] == 1)
        for dim, form in enumerate(position)
    )


def take_over(
    op: GenericOp, number: int, producer: GenericOp, read_maps: list[AffineMap]
) -> GenericOp:
    """`inline` where the producer has no other reader and walks the same domain the same way.

    The reader's ops are appended to the producer's block as it stands: a chain of n ops costs n
    moves, while cloning the growing body each time would cost n squared.
    """
    merged, reader = producer.block, op.block
    taken = list(zip(producer.inputs, read_maps, producer.pad_values, strict=True))
    inner = list(merged.args)
    inner_reads, inner_sources = inner[: len(taken)], inner[len(taken) :]
    outer = list(reader.args)
    end = merged.last_op
    assert isinstance(end, YieldOp)
    replace_uses(outer[number], end.values[0])
    erase(end)

    given, reads = op.reads, list[Read]()
    order: list[BlockArgument] = []
    for i, read in enumerate(given):
        if i == number:
            continue
        reads.append(read)
        same = next((k for k, other in enumerate(taken) if same_read(read, other)), None)
        order.append(_stand_in(merged, outer[i], None if same is None else inner_reads[same]))
    for read, argument in zip(taken, inner_reads, strict=True):
        if any(argument is kept for kept in order):
            continue
        same = next((k for k, other in enumerate(reads) if same_read(read, other)), None)
        if same is None:
            reads.append(read)
            order.append(argument)
        else:
            replace_uses(argument, order[same])
    order += [_stand_in(merged, argument, None) for argument in outer[len(given) :]]
    order += inner_sources
    for body_op in list(reader.ops):
        body_op.detach()
        append_op(merged, body_op)
    _reorder_arguments(merged, order)

    region = producer.body
    region.detach_block(merged)
    region.add_block(Block())
    sources = [*op.sources, *producer.sources]
    return _replace(op, producer, reads, sources, Region(merged))


def same_read(read: Read, other: Read) -> bool:
    """Whether two reads give the same."""
    return read[0] is other[0] and read[1:] == other[1:]


def _stand_in(block: Block, argument: SSAValue, found: BlockArgument | None) -> BlockArgument:
    """The argument of `block`, a new one unless there is one, that takes over all uses."""
    new = found or block.insert_arg(argument.type, len(block.args))
    replace_uses(argument, new)
    return new


def _reorder_arguments(block: Block, order: list[BlockArgument]) -> None:
    block._args = tuple(order)  # xDSL can only insert and erase them
    for index, argument in enumerate(order):
        argument.index = index


def _replace(
    op: GenericOp,
    producer: GenericOp,
    reads: list[Read],
    sources: list[SSAValue],
    region: Region,
) -> GenericOp:
    """Put a nest with these reads and this body in the place of `op`."""
    replace_body(op, region)
    new = change(op, reads=reads, sources=sources)
    erase_if_dead(producer)
    return new


def _read(merged: Block, reads: list[Read], read: Read, element: Attribute) -> SSAValue:
    """The body argument of a read, shared with an equal read that is already there."""
    for i, existing in enumerate(reads):
        if same_read(existing, read):
            return merged.args[i]
    reads.append(read)
    return merged.insert_arg(element, len(reads) - 1)


def _remap(op: Operation, mapping: dict[SSAValue, SSAValue]) -> None:
    for index, operand in enumerate(op.operands):
        replacement = mapping.get(operand)
        if replacement is not None:
            op.operands[index] = replacement
