"""`fuse-elementwise`: pointwise loop nests are computed inside the nests that read them.

A producer is inlined by composing its index maps with the read and cloning its body. It is inlined
everywhere when that costs less than storing it (see `decide`), and otherwise only into a single
reader that evaluates it no more often than it would have been evaluated on its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.loop import GenericOp, IndexOp, ReshapeOp, YieldOp
from lamina.dialects.loop.access import (
    Forms,
    forms_of,
    map_of,
    producer_dims,
    shape_of,
    substitute,
)
from lamina.dialects.loop.contraction import PANEL, is_product
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.rounding import is_widening
from lamina.passes.body_folding import simplify_body
from lamina.passes.fusion_decisions import Decision, DecisionLog, decide, own_names
from lamina.passes.fusion_override import check_overrides, override
from lamina.passes.loop_rewriting import erase_if_dead
from lamina.passes.padded_inlining import (
    Guard,
    Pads,
    guard_of,
    index_value,
    may_be_guarded,
    pads_for,
)


@dataclass(frozen=True)
class FuseElementwisePass(ModulePass):
    """Inline pointwise producers into their readers where a cost model says it pays.

    The model weighs bytes against operations for `target` (see `lamina.passes.fusion_model`).
    `print_decisions` tells of each pair on stderr what was decided and why.
    """

    name = "fuse-elementwise"

    target: str = "host"
    print_decisions: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_overrides(op)
        machine = Roofline.of(Target.parse(self.target))
        rule = Rule(machine, DecisionLog(self.name, self.print_decisions))
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                self._apply_function(function, rule)

    @staticmethod
    def _apply_function(function: func.FuncOp, rule: Rule) -> None:
        for op in list(function.body.block.ops):
            if not isinstance(op, GenericOp):
                continue
            if not is_product(op):
                inline_producers(op, rule)
            elif PANEL not in op.attributes:
                _inline_widening(op, rule)
        rule.name_all()
        for op in reversed(list(function.body.block.ops)):
            if not erase_if_dead(op) and isinstance(op, GenericOp) and op.block in rule.copied:
                simplify_body(op.block)


@dataclass(frozen=True)
class Rule:
    """The machine that decides about a pair, who hears of it, bodies that took copies.

    And source ops of fused nests, in lists: joined each time, a chain of n would cost n squared.
    """

    machine: Roofline
    log: DecisionLog
    copied: set[Block] = field(default_factory=set)
    names: dict[GenericOp, list[str]] = field(default_factory=dict)

    def tell(self, producer: GenericOp, op: GenericOp, value: SSAValue, said: Decision) -> None:
        """Logs a decision."""
        if self.log.enabled:
            self._name(producer)
            self._name(op)
            self.log.pair(producer, op, value, said)

    def fused(self, nest: GenericOp, producer: GenericOp, op: GenericOp) -> None:
        """`nest` stands for `op` with `producer` in it, which may live on for others."""
        of_producer = self.names.get(producer, own_names(producer))
        names = of_producer if producer.parent is None else list(of_producer)
        names += self.names.pop(op, own_names(op))
        self.names[nest] = names

    def name_all(self) -> None:
        """Writes the names into the `lamina.op` of the nests, joined by `+`."""
        for nest in self.names:
            self._name(nest)
        self.names.clear()

    def _name(self, nest: GenericOp) -> None:
        if nest.parent is not None and (names := self.names.get(nest)):
            nest.attributes["lamina.op"] = StringAttr("+".join(names))


def inline_producers(op: GenericOp, rule: Rule) -> GenericOp:
    """Compute pointwise producers inside a nest where that pays; returns the nest."""
    number = 0
    while number < len(op.inputs):
        fused = _try_inline(op, number, rule)
        if fused is None:
            number += 1
        else:
            op = fused
    return op


def _inline_widening(op: GenericOp, rule: Rule) -> None:
    """Read half floats where an unpacked product reads them widened: half the bytes."""
    for number in range(len(op.inputs)):
        producer = op.inputs[number].owner
        if isinstance(producer, GenericOp) and is_widening(producer):
            said = None
            if override(producer) is None:
                said = Decision(True, "reading half floats costs half the bytes")
            op = _try_inline(op, number, rule, said) or op


def _try_inline(
    op: GenericOp, number: int, rule: Rule, said: Decision | None = None
) -> GenericOp | None:
    value = op.inputs[number]
    pad = op.pad_values[number]
    producer = value.owner
    if pad is not None and isinstance(producer, ReshapeOp) and producer.source.has_one_use():
        producer = producer.source.owner
    if not isinstance(producer, GenericOp) or not producer.is_pointwise or len(producer.res) != 1:
        return None
    if pad is not None and not may_be_guarded(producer):
        return None
    said = said or decide(producer, op, value, rule.machine, padded=pad is not None)
    if not said.fuse:
        rule.tell(producer, op, value, said)
        return None
    forms = forms_of(op.read_maps[number], op.extents)
    seen = None if forms is None else _as_made(forms, value, producer)
    position = None if seen is None else producer_dims(producer, seen)
    if forms is None or position is None:
        return None
    composed: list[Forms] = []
    for read_map in producer.read_maps:
        read = forms_of(read_map, producer.extents)
        if read is None:
            return None
        composed.append(tuple(substitute(f, position) for f in read))
    rule.tell(producer, op, value, said)
    is_copy = not value.has_one_use() or producer.block in rule.copied or op.block in rule.copied
    if pad is None:
        fused = inline(op, number, producer, position, composed)
    else:
        guard = guard_of(pad, forms, shape_of(value), op.extents)
        pads = pads_for(producer, composed, op.extents)
        fused = inline(op, number, producer, position, composed, pads, guard)
    rule.fused(fused, producer, op)
    if is_copy or pad is not None:
        rule.copied.add(fused.block)
    return fused


def _as_made(forms: Forms, value: SSAValue, producer: GenericOp) -> Forms | None:
    """Indices into the producer's result of a read of it, or of it with axes of extent 1 added."""
    if value.owner is producer:
        return forms
    kept = [(f, e) for f, e in zip(forms, shape_of(value), strict=True) if e != 1]
    made = shape_of(producer.res[0])
    if [e for _, e in kept] != [e for e in made if e != 1]:
        return None
    wide = iter(kept)
    return tuple(next(wide)[0] if extent != 1 else Linear(()) for extent in made)


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
    inputs, maps, pads = list(op.inputs), list(op.read_maps), list(op.pad_values)
    sources = list(op.sources)
    reader = op.block
    merged = Block(
        arg_types=[a.type for a in reader.args[:number]]
        + [a.type for a in reader.args[number + 1 : len(inputs)]]
    )
    region = Region(merged)
    before = len(inputs)
    mapping: dict[SSAValue, SSAValue] = {}
    arguments = list(reader.args)
    kept = arguments[:number] + arguments[number + 1 : before]
    for old, new in zip(kept, merged.args, strict=True):
        mapping[old] = new
    del inputs[number], maps[number], pads[number]

    inner: dict[SSAValue, SSAValue] = {}
    read_args = producer.block.args[: len(producer.inputs)]
    given = producer.pad_values if pads_inside is None else pads_inside
    reads = zip(producer.inputs, composed, given, read_args, strict=True)
    for value, forms, pad, argument in reads:
        index_map = map_of(forms, rank)
        inner[argument] = _read(merged, inputs, maps, pads, value, index_map, pad, argument.type)
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
            merged.add_op(body_op.clone(inner))
    for body_op in list(reader.ops):
        body_op.detach()
        _remap(body_op, mapping)
        merged.add_op(body_op)

    return _replace(op, producer, inputs, maps, pads, sources, region)


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
    outer[number].replace_all_uses_with(end.values[0])
    merged.erase_op(end)

    given = list(zip(op.inputs, op.read_maps, op.pad_values, strict=True))
    reads: list[tuple[SSAValue, AffineMap, Attribute | None]] = []
    order: list[BlockArgument] = []
    for i, read in enumerate(given):
        if i == number:
            continue
        reads.append(read)
        same = next((k for k, other in enumerate(taken) if _same_read(read, other)), None)
        order.append(_stand_in(merged, outer[i], None if same is None else inner_reads[same]))
    for read, argument in zip(taken, inner_reads, strict=True):
        if any(argument is kept for kept in order):
            continue
        same = next((k for k, other in enumerate(reads) if _same_read(read, other)), None)
        if same is None:
            reads.append(read)
            order.append(argument)
        else:
            argument.replace_all_uses_with(order[same])
    order += [_stand_in(merged, argument, None) for argument in outer[len(given) :]]
    order += inner_sources
    for body_op in list(reader.ops):
        body_op.detach()
        merged.add_op(body_op)
    _reorder_arguments(merged, order)

    region = producer.body
    region.detach_block(merged)
    region.add_block(Block())
    inputs, maps = [read[0] for read in reads], [read[1] for read in reads]
    pads = [read[2] for read in reads]
    sources = [*op.sources, *producer.sources]
    return _replace(op, producer, inputs, maps, pads, sources, Region(merged))


def _same_read(
    read: tuple[SSAValue, AffineMap, Attribute | None],
    other: tuple[SSAValue, AffineMap, Attribute | None],
) -> bool:
    return read[0] is other[0] and read[1:] == other[1:]


def _stand_in(block: Block, argument: SSAValue, found: BlockArgument | None) -> BlockArgument:
    """The argument of `block`, a new one unless there is one, that takes over all uses."""
    new = found or block.insert_arg(argument.type, len(block.args))
    argument.replace_all_uses_with(new)
    return new


def _reorder_arguments(block: Block, order: list[BlockArgument]) -> None:
    block._args = tuple(order)  # xDSL can only insert and erase them
    for index, argument in enumerate(order):
        argument.index = index


def _replace(
    op: GenericOp,
    producer: GenericOp,
    inputs: list[SSAValue],
    maps: list[AffineMap],
    pads: list[Attribute | None],
    sources: list[SSAValue],
    region: Region,
) -> GenericOp:
    """Put a nest with these reads and this body in the place of `op`."""
    new = GenericOp(
        op.extents,
        inputs,
        maps,
        op.write_maps,
        op.combiner_names,
        [r.type for r in op.res],
        region,
        sources=sources,
        outs=list(op.outs),
        pads=pads,
    )
    new.attributes.update(op.attributes)
    new.location = op.location
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(new, op)
    for old_result, result in zip(op.res, new.res, strict=True):
        result.name_hint = old_result.name_hint
        old_result.replace_all_uses_with(result)
    block.erase_op(op)
    erase_if_dead(producer)
    return new


def _read(
    merged: Block,
    inputs: list[SSAValue],
    maps: list[AffineMap],
    pads: list[Attribute | None],
    value: SSAValue,
    index_map: AffineMap,
    pad: Attribute | None,
    element: Attribute,
) -> SSAValue:
    """The body argument of a read, shared with an equal read that is already there."""
    for i, existing in enumerate(inputs):
        if existing is value and maps[i] == index_map and pads[i] == pad:
            return merged.args[i]
    inputs.append(value)
    maps.append(index_map)
    pads.append(pad)
    return merged.insert_arg(element, len(inputs) - 1)


def _remap(op: Operation, mapping: dict[SSAValue, SSAValue]) -> None:
    for index, operand in enumerate(op.operands):
        replacement = mapping.get(operand)
        if replacement is not None:
            op.operands[index] = replacement
