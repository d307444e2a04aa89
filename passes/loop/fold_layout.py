"""`fold-layout`: reshapes, transposes, slices and broadcasts become index maps of their readers.

What remains of a rearrangement is a copy only where no reader or producer can take it. A single
reader's rearrangement of a reduction's result moves into the reduction's write map, so that a
matrix product writes its result where it is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import AnyFloat, FloatAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.ir_links import block_ops, replace_uses
from lamina.dialects.loop import GenericOp, ReshapeOp
from lamina.dialects.loop.access import (
    Forms,
    flatten,
    forms_of,
    is_copy,
    map_of,
    producer_dims,
    shape_of,
    substitute,
    through_reshape,
)
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.monoid import kept_monoids
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.permutations import is_permutation, through_permutation
from lamina.passes.cost.product_limits import MUCH_MORE_PACKED
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.fusion_decisions import Decision, DecisionLog
from lamina.passes.fusion.fusion_override import MATERIALIZED
from lamina.passes.loop.collapse_dims import collapse_dims
from lamina.passes.loop.expand_dims import (
    expand_batch,
    expand_for_read,
    is_split_by_readers,
    joins_groups,
    without_repeats,
)
from lamina.passes.loop.loop_rewriting import change, erase_if_dead, rebuild


@dataclass(frozen=True)
class FoldLayoutPass(ModulePass):
    """Compose layout-only ops into the index maps of the loop nests around them.

    `print_decisions` tells on stderr which rearrangements became index maps, and why others stay.
    """

    name = "fold-layout"

    print_decisions: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        log = DecisionLog(self.name, self.print_decisions)
        for function in defined_functions(op):
            _fold_function(function, log)


def _fold_function(function: func.FuncOp, log: DecisionLog) -> None:
    for op in block_ops(function.body.block):
        match op:
            case GenericOp():
                op = _simplified(op, log)
                if is_copy(op):
                    _sink_copy(op)
            case ReshapeOp():
                _fold_reshape(op, log)
            case _:
                pass
    for op in reversed(block_ops(function.body.block)):
        erase_if_dead(op)


def _simplified(op: GenericOp, log: DecisionLog) -> GenericOp:
    if is_packed(op):  # it reads a copy in the layout that it wants
        return op
    op = fold_reads(drop_unit_dims(op), log)
    while (joined := collapse_dims(op)) is not None:
        op = fold_reads(joined, log)
    while (apart := expand_for_read(op, _reached)) is not None:
        op = fold_reads(apart, log)
        op = without_repeats(op) or op
    for number, value in enumerate(op.inputs if log.enabled else ()):
        if isinstance(value.owner, ReshapeOp) or is_copy(value.owner):
            log.pair(value.owner, op, value, Decision(False, _obstacle(op, number)))  # pyright: ignore
    return op


def _obstacle(op: GenericOp, number: int) -> str:
    """Why a read of something rearranged cannot be one of the original."""
    if op.pad_values[number] is not None:
        return "the result is read beyond its edge"
    return "a reshape between them has no linear index map"


def drop_unit_dims(op: GenericOp) -> GenericOp:
    """Remove the dimensions of extent 1 from the domain: they only ever stand for index 0.

    A reduction over nothing but such dimensions stores what it reads, a sum of floats with 0.0
    added, as sums begin at that: no sum is -0.0.
    """
    extents = op.extents
    if 1 not in extents or any(o.name == "loop.index" for o in block_ops(op.block)):
        return op
    kept = [d for d, e in enumerate(extents) if e != 1]
    values = [Linear.dim(kept.index(d)) if e != 1 else Linear(()) for d, e in enumerate(extents)]
    reads = [forms_of(m, extents) for m in op.read_maps]
    writes = [forms_of(m, extents) for m in op.write_maps]
    if any(f is None for f in (*reads, *writes)):
        return op

    def shrink(forms: Forms | None) -> Forms:
        assert forms is not None
        return tuple(substitute(f, values) for f in forms)

    maps = [map_of(shrink(f), len(kept)) for f in writes]
    names = op.combiner_names
    reduced = [n for n, m in enumerate(maps) if len(m.used_dims()) < len(kept)]
    sums = [n for n, name in enumerate(names) if name == "add" and n not in reduced]
    _begin_at_zero(op, sums)
    domain = [extents[d] for d in kept]
    input_maps = [map_of(shrink(f), len(kept)) for f in reads]
    combiners = [names[n] if n in reduced else "store" for n in range(len(maps))]
    if not (monoids := op.monoids):
        return change(
            op, domain=domain, input_maps=input_maps, output_maps=maps, combiners=combiners
        )
    return rebuild(
        op,
        domain=domain,
        input_maps=input_maps,
        output_maps=maps,
        combiners=combiners,
        monoids=kept_monoids(names, monoids, reduced),
    )


def _begin_at_zero(op: GenericOp, numbers: Sequence[int]) -> None:
    """Add 0.0 to these results of a body, if they are floats; in place."""
    end = op.block.last_op
    assert end is not None
    for number in numbers:
        value = end.operands[number]
        if isinstance(value.type, AnyFloat):
            zero = arith.ConstantOp(FloatAttr(0.0, value.type))
            added = arith.AddfOp(value, zero)
            op.block.insert_ops_before([zero, added], end)
            end.operands[number] = added.result


def fold_reads(op: GenericOp, log: DecisionLog) -> GenericOp:
    """Let every read reach through reshapes and copies to the tensor they rearrange."""
    given, changed = op.reads, False
    reads = [*given]
    for number, (value, index_map, pad) in enumerate(given):
        forms = forms_of(index_map, op.extents)
        while forms is not None and (found := _step(value, forms, pad, op.extents)) is not None:
            if log.enabled:
                said = Decision(True, "the reader's index map takes it")
                log.pair(value.owner, op, value, said)  # pyright: ignore[reportArgumentType]
            value, folded, pad = found
            reads[number] = value, map_of(folded, len(op.extents)), pad
            forms, changed = forms_of(reads[number][1], op.extents), True
    return change(op, reads=reads) if changed else op


def _reached(op: GenericOp, number: int, forms: Forms, extents: Sequence[int]) -> Forms:
    """The indices with which a read reaches through all reshapes and copies that it can."""
    value, pad = op.inputs[number], op.pad_values[number]
    while (found := _step(value, forms, pad, tuple(extents))) is not None:
        value, forms, pad = found
    return forms


def _step(
    value: SSAValue, forms: Forms, pad: Attribute | None, extents: tuple[int, ...]
) -> tuple[SSAValue, Forms, Attribute | None] | None:
    producer = value.owner
    if type(producer) is ReshapeOp:
        source = producer.source
        if pad is not None or element_of(source) != element_of(value):
            return None
        folded = through_reshape(forms, shape_of(value), shape_of(source), extents)
        return None if folded is None else (source, folded, None)
    if not isinstance(producer, GenericOp) or not is_copy(producer):
        return None
    if MATERIALIZED in producer.attributes and is_permutation(producer):
        return None  # it was put there for its order; a border alone is as well read through
    if pad is not None:
        moved = through_permutation(producer, forms, extents)
        return None if moved is None else (producer.inputs[0], moved, pad)
    position = producer_dims(producer, forms)
    read = forms_of(producer.read_maps[0], producer.extents)
    if position is None or read is None:
        return None
    folded = tuple(substitute(f, position) for f in read)
    return producer.inputs[0], folded, producer.pad_values[0]


def _single_reduction(value: SSAValue) -> GenericOp | None:
    """The reduction that makes `value`, if nothing else reads it."""
    producer = value.owner
    if not isinstance(producer, GenericOp) or producer.is_pointwise or len(producer.res) != 1:
        return None
    if is_packed(producer):  # its columns are what is contiguous in the result
        return None
    return producer if value.has_one_use() else None


def _retarget(producer: GenericOp, written: Forms, replaced: Operation) -> None:
    new = rebuild(
        producer,
        output_maps=[map_of(written, len(producer.extents))],
        result_types=[replaced.results[0].type],
        replace_results=False,
    )
    replace_uses(replaced.results[0], new.res[0])
    Rewriter.erase_op(replaced)
    Rewriter.erase_op(producer)


def _sink_copy(op: GenericOp) -> None:
    producer = _single_reduction(op.inputs[0])
    if producer is None or not is_permutation(op) or MATERIALIZED in op.attributes:
        return
    written = forms_of(producer.write_maps[0], producer.extents)
    read = forms_of(op.read_maps[0], op.extents)
    target = forms_of(op.write_maps[0], op.extents)
    if written is None or read is None or target is None:
        return
    position = [Linear(())] * len(op.extents)
    for form, value in zip(read, written, strict=True):
        if form.terms:
            position[form.terms[0][0]] = value
    folded = tuple(substitute(f, position) for f in target)
    if not _packs_much_more(producer, folded, op.res[0]):
        _retarget(producer, folded, op)


def _packs_much_more(producer: GenericOp, written: Forms, result: SSAValue) -> bool:
    """Whether a product would have its other operand packed if it wrote its result so, which is
    much more than to copy the result: of attention the weights of all keys for all lines."""
    now = Contraction.of(producer)
    then = None if now is None else now.writing(written, result.type)
    if now is None or then is None or now.b == then.b:
        return False
    packed, other = (_packed_elements(shape) for shape in (then, now))
    return packed > MUCH_MORE_PACKED * (other + prod(shape_of(result)))


def _packed_elements(shape: Contraction) -> int:
    return shape.size((*shape.batch, *shape.columns, *shape.summed))


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor."""
    assert isinstance(value.type, TensorType)
    return value.type.element_type


def _fold_reshape(op: ReshapeOp, log: DecisionLog) -> None:
    if isinstance(op.source.owner, ReshapeOp):
        op.operands[0] = op.source.owner.source
    if op.source.type == op.result.type:
        replace_uses(op.result, op.source)
        return
    if element_of(op.source) != element_of(op.result):
        return
    producer = _single_reduction(op.source)
    assert isinstance(op.result.type, TensorType)
    if producer is None:
        return
    if (expanded := expand_batch(producer, op)) is not None:
        producer = fold_reads(expanded, log)
    written = forms_of(producer.write_maps[0], producer.extents)
    if written is None:
        return
    shape = shape_of(op.source)
    folded = through_reshape(written, shape, shape_of(op.result), producer.extents)
    if folded is not None and any(
        is_split_by_readers(op, axis) for axis in joins_groups(producer, folded)
    ):
        return
    if folded is not None and flatten(written, shape) == flatten(folded, shape_of(op.result)):
        _retarget(producer, folded, op)
