"""`fuse-elementwise`: pointwise loop nests are computed inside the nests that read them.

A producer is inlined by composing its index maps with the read and cloning its body. It is inlined
everywhere when that costs less than storing it (see `decide`), and otherwise only into a single
reader that evaluates it no more often than it would have been evaluated on its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from itertools import count
from math import prod

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.access import Forms, forms_of, shape_of
from lamina.dialects.loop.contraction import Contraction, is_product
from lamina.dialects.loop.labels import names_of, set_names
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.pairs import copies_in_pairs
from lamina.dialects.loop.rounding import is_widening
from lamina.dialects.records import record
from lamina.passes.cost.fusion_cost import value_bytes
from lamina.passes.cost.fusion_limits import MANY_READS, OFTEN
from lamina.passes.fusion.copied_bodies import CopiedBodies, share_reads
from lamina.passes.fusion.fusion_decisions import Decision, DecisionLog, decide
from lamina.passes.fusion.fusion_override import MATERIALIZED, check_overrides, override
from lamina.passes.fusion.fusion_pass_base import FusionPassBase
from lamina.passes.fusion.nest_inlining import composed_reads, inline
from lamina.passes.fusion.padded_inlining import (
    PaddedRead,
    guard_of,
    keep_batches_apart,
    may_be_guarded,
    pads_for,
    widened_pad,
)
from lamina.passes.fusion.position_masks import masks_places, masks_products
from lamina.passes.loop.body_folding import simplify_body
from lamina.passes.loop.loop_rewriting import erase_if_dead
from lamina.passes.loop.position_reads import is_position, settle_reads
from lamina.passes.loop.widened_operands import dots_in_place


class FuseElementwisePass(FusionPassBase):
    """Inline pointwise producers into their readers where a cost model says it pays.

    The model weighs bytes against operations (see `lamina.passes.cost.fusion_model`).
    """

    name = "fuse-elementwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_overrides(op)
        super().apply(ctx, op)

    def fuse(self, function: func.FuncOp, machine: Roofline, log: DecisionLog) -> None:
        rule, target = Rule(machine, log), Target.parse(self.target)
        for op in block_ops(function.body.block):
            if not isinstance(op, GenericOp):
                continue
            if copies_in_pairs(op):
                continue  # two by two in registers, which a body would not be
            if not is_product(op):
                inline_producers(op, rule)
            elif not is_packed(op):
                _inline_widening(op, rule, target)
        rule.name_all()
        for op in reversed(block_ops(function.body.block)):
            if not erase_if_dead(op) and isinstance(op, GenericOp) and op.block in rule.copied:
                simplify_body(op.block)


@record
class Rule:
    """The machine that decides about a pair, who hears of it, bodies that took copies.

    And source ops of fused nests, by a number of their own: a body may come twice into a nest, its
    ops stand once in the name. Joined as text each time, a chain of n would cost n squared.
    """

    machine: Roofline
    log: DecisionLog
    bodies: CopiedBodies = field(default_factory=CopiedBodies)
    copied: set[Block] = field(default_factory=set)
    names: dict[GenericOp, dict[int, str]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def tell(self, producer: GenericOp, op: GenericOp, value: SSAValue, said: Decision) -> None:
        """Logs a decision."""
        if self.log.enabled:
            self._name(producer)
            self._name(op)
            self.log.pair(producer, op, value, said)

    def note(self, *nests: GenericOp) -> None:
        """Keeps the names of nests that may be erased soon."""
        for nest in nests:
            self._names_of(nest)

    def fused(self, nest: GenericOp, producer: GenericOp, op: GenericOp) -> None:
        """`nest` stands for `op` with `producer` in it, which may live on for others.

        Their names were noted before: they may be erased by now.
        """
        of_producer = self.names[producer]
        names = of_producer if producer.parent is None else dict(of_producer)
        names |= self.names.pop(op)
        self.names[nest] = names

    def tidied(self, op: GenericOp, number: int = 0) -> tuple[GenericOp, int]:
        """The nest simplified, and which of its reads was number `number`."""
        before = list(op.block.args)[:number]
        new = self.bodies.tidy(op)
        self.renamed(op, new)
        return new, sum(
            argument.block is new.block and bool(argument.first_use) for argument in before
        )

    def renamed(self, op: GenericOp, new: GenericOp) -> None:
        """`new` is what `op` has become."""
        if new is not op and op in self.names:
            self.names[new] = self.names.pop(op)

    def name_all(self) -> None:
        """Writes the names into the `lamina.op` of the nests."""
        for nest in self.names:
            self._name(nest)
        self.names.clear()

    def _names_of(self, nest: GenericOp) -> dict[int, str]:
        found = self.names.get(nest)
        if found is None:
            found = self.names[nest] = {next(self.numbers): name for name in names_of(nest)}
        return found

    def _name(self, nest: GenericOp) -> None:
        if nest.parent is not None and (names := self.names.get(nest)):
            set_names(nest, list(names.values()))


def inline_producers(op: GenericOp, rule: Rule) -> GenericOp:
    """Compute pointwise producers inside a nest where that pays; returns the nest.

    With what gives indices in it, indirect reads may be plain ones: others may then follow.
    """
    number = 0
    op = share_reads(op)
    while True:
        while number < len(op.inputs):
            fused = _try_inline(op, number, rule)
            if fused is None:
                number += 1
            elif rule.bodies.is_due(fused):
                op, number = rule.tidied(fused, number)
            else:
                op = fused
        if op.block in rule.bodies.changed:
            op = rule.tidied(op)[0]
        number = len(op.inputs)
        settled = settle_reads(op)
        if settled is op:
            return op
        rule.renamed(op, settled)
        op = settled


def _inline_widening(op: GenericOp, rule: Rule, target: Target) -> None:
    """Read half floats where an unpacked product reads them widened: half the bytes.

    What stays in the nearest cache and is read again and again is widened once instead, but where
    dot products widen by themselves.
    """
    number, shape = 0, Contraction.of(op)
    dots = shape is not None and dots_in_place(shape, (), target)
    while number < len(op.inputs):
        producer = op.inputs[number].owner
        fused = None
        if isinstance(producer, GenericOp) and is_widening(producer):
            said = None
            if override(producer) is None:
                said = Decision(True, "reading half floats costs half the bytes")
                if not dots and _stays_near(producer, op, rule.machine):
                    said = Decision(False, "it is widened once, and stays in the nearest cache")
            fused = _try_inline(op, number, rule, said)
        if fused is None:
            number += 1
        else:
            op = fused


def _stays_near(producer: GenericOp, op: GenericOp, machine: Roofline) -> bool:
    """Whether what a nest makes fits the nearest cache, beside what else `op` reads, which reads
    it often."""
    size, _ = machine.caches[0]
    reads, made = prod(op.extents), prod(producer.extents)
    near = value_bytes(producer.res[0]) <= 3 * size // 4
    return near and reads >= max(MANY_READS, OFTEN * made)


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
    said = said or _decide(producer, op, value, rule, padded=pad is not None)
    if not said.fuse:
        rule.tell(producer, op, value, said)
        return None
    forms = forms_of(op.read_maps[number], op.extents)
    seen = None if forms is None else _as_made(forms, value, producer)
    places = None if seen is None else composed_reads(producer, seen)
    if forms is None or seen is None or places is None:
        return None
    position, composed = places
    rule.tell(producer, op, value, said)
    rule.note(producer, op)
    copies, blocks = rule.bodies.count(producer, op, value), (producer.block, op.block)
    is_copy = not value.has_one_use() or producer.block in rule.copied or op.block in rule.copied
    if pad is None:
        fused = inline(op, number, producer, position, composed)
    elif (narrow := widened_pad(producer, composed, forms, value, pad)) is not None:
        fused = inline(op, number, producer, position, composed, [narrow])
    else:
        if keep_batches_apart(producer, position, op.extents):
            position, composed = composed_reads(producer, seen) or places
        pads = pads_for(producer, composed, op.extents, pad)
        read = PaddedRead(pad, forms, shape_of(value), op.extents)
        guard = guard_of(read, producer, composed, pads)
        fused = inline(op, number, producer, position, composed, pads, guard)
    rule.bodies.took(fused, *blocks, copies)
    rule.fused(fused, producer, op)
    if is_copy or pad is not None:
        rule.copied.add(fused.block)
    return fused


def _decide(
    producer: GenericOp, op: GenericOp, value: SSAValue, rule: Rule, *, padded: bool
) -> Decision:
    if MATERIALIZED in producer.attributes:
        return Decision(False, f"{MATERIALIZED}: it is stored to be read many times")
    if not padded and override(producer) is None and masks_products(producer, op, value):
        return Decision(True, "a product may leave out what a mask of positions does")
    if not padded and override(producer) is None and masks_places(producer, op, value):
        return Decision(True, "what is masked where it is looked up is made no further")
    if not padded and override(producer) is None and is_position(producer):
        return Decision(True, "an index that follows from the position takes no reading")
    said = decide(producer, op, value, rule.machine, padded=padded)
    return said if override(producer) else rule.bodies.bound(said, producer, op, value)


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
