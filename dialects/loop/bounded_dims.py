"""Which dimensions of a kernel's nests have bounds: positions that a mask leaves without effect.

The sums and maxima of a kernel are followed from the comparisons of positions that choose a mask:
outside a bound, such as at keys after the query of a causal mask, a score is -inf, which no maximum
heeds, its exponential is 0, and so is the weight by which a product multiplies. A nest has the
bound where all that it gives is the identity of its reduction there, or is read by nests alone that
have the bound themselves.

Weights are followed as far as `e / sum(e)`, with e = exp(x - m) and m the maximum of x. In a row
that has no number as its maximum, e is NaN at some position within the bounds, as there is always
one, and so are all weights and sums, with or without what is outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from xdsl.dialects import arith, func
from xdsl.ir import BlockArgument, Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop.access import forms_of
from lamina.dialects.loop.agreed_bounds import Bounded, agreed_bounds
from lamina.dialects.loop.bounds import BOUNDS, FIRST_COUNT, Bound, BoundsAttr, cut_of, is_end
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.kernel_facts import KernelFacts, false_outside
from lamina.dialects.loop.kernel_nests import part_of, rows_of, summed_rows
from lamina.dialects.loop.left_sums import leaves_sums
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.outside_values import (
    Given,
    Largest,
    Number,
    OutsideBody,
    Positive,
    Value,
    Weight,
    is_zero,
)
from lamina.dialects.loop.position_bounds import bound_below, comparisons
from lamina.dialects.loop.reached_bounds import read_within
from lamina.dialects.loop.zero_axes import axis_alone


def bounded_dims(
    nests: Sequence[GenericOp],
    masks: Mapping[SSAValue, int] | None = None,
    zeros: frozenset[tuple[int, int, int]] = frozenset(),
) -> Bounded:
    """The bounds of the nests of a kernel, the same for all nests that have any.

    `masks` are arguments that are false from the number in another argument on, and so are those of
    `zeros` (`lamina.zeros`) that are truth values, along an axis. There are some bounds only where
    a product sums over the dimension: elsewhere they would spare little.
    """
    false = false_outside(nests, zeros)
    compare = any(isinstance(op, arith.CmpiOp) for nest in nests for op in block_ops(nest.block))
    if not compare and not masks and not false:
        return {}
    if not any(Contraction.of(nest) for nest in nests):
        return {}
    facts = KernelFacts(_rewritten(nests), outside=false, masks=masks or {})
    return agreed_bounds(_followed(nests, facts, {}))


def counted_dims(
    nests: Sequence[GenericOp],
    masks: Mapping[SSAValue, int],
    counts: Mapping[SSAValue, int],
    kept: Mapping[GenericOp, Mapping[int, Iterable[Bound]]],
    zeros: frozenset[tuple[int, int, int]] = frozenset(),
) -> dict[GenericOp, dict[int, set[Bound]]]:
    """Upper bounds of the nests of a kernel at numbers of the call, by dimension, over its rows.

    Outside of them a nest adds nothing to what it reduces, or nobody reads what it gives. `masks`
    are arguments that are false from the number in another argument on, `counts` those that are
    numbers. `kept` are bounds outside of which nobody reads what nests give to the kernel's caller,
    `zeros` what is known of packed operands (`lamina.zeros`), without which their products add up
    all terms.
    """
    if not (masks or counts or zeros or any(kept.values()) or any(map(cut_of, nests))):
        return {nest: {} for nest in nests}  # the kernel knows no number of the call
    facts = KernelFacts(_rewritten(nests), masks=masks, counts=counts, wide=True, zeros=zeros)
    found = _followed(nests, facts, kept)
    return {
        nest: {d: own for d, bounds in dims.items() if (own := set(filter(is_end, bounds)))}
        for nest, dims in found.items()
    }


def kernel_facts(
    nests: Sequence[GenericOp], masks: Mapping[SSAValue, int], counts: Mapping[SSAValue, int]
) -> KernelFacts:
    """What is known of what nests of a kernel make, and read, at positions outside of bounds."""
    facts = KernelFacts(_rewritten(nests), masks=masks, counts=counts, wide=True)
    for nest in nests:
        _reduced(nest, facts)
    return facts


def _rewritten(nests: Sequence[GenericOp]) -> frozenset[SSAValue]:
    made = Counter(value for nest in nests for value in written_by(nest))
    return frozenset(value for value, count in made.items() if count > 1)


def _followed(
    nests: Sequence[GenericOp],
    facts: KernelFacts,
    kept: Mapping[GenericOp, Mapping[int, Iterable[Bound]]],
) -> dict[GenericOp, dict[int, set[Bound]]]:
    """All bounds of nests: of what they reduce, from the first one on, then of what is unread."""
    found: dict[GenericOp, dict[int, set[Bound]]] = {}
    for nest in nests:
        found[nest] = _reduced(nest, facts)
    for nest in reversed(nests):
        beside = [n for n in nests if part_of(n) == part_of(nest)] if facts.wide else nests
        masks = facts.masks if facts.wide else {}
        for dim, bounds in _unread(nest, beside, found, kept.get(nest, {}), masks).items():
            found[nest].setdefault(dim, set()).update(bounds)
    return found


def bounds_of(nest: GenericOp, dim: int, bounds: Iterable[Bound]) -> BoundsAttr:
    """The attribute of a nest for bounds over the kernel's rows."""
    rows = rows_of(nest)
    own = [
        Bound(
            b.is_upper,
            Linear.of(
                {p if p >= FIRST_COUNT else rows[p]: c for p, c in b.form.terms}, b.form.constant
            ),
        )
        for b in bounds
    ]
    return BoundsAttr.of(dim, own, len(nest.extents))


def noted_bounds(nest: GenericOp) -> tuple[Bound, ...]:
    """The bounds that are noted on a nest, over the kernel's rows alone; none if there are none."""
    noted = nest.attributes.get(BOUNDS)
    if not isinstance(noted, BoundsAttr):
        return ()
    places = {d: p for p, d in enumerate(rows_of(nest))}
    return tuple(
        Bound(b.is_upper, Linear.of({places[d]: c for d, c in b.form.terms}, b.form.constant))
        for b in noted.bounds(nest.extents)
        if all(d < FIRST_COUNT for d, _ in b.form.terms)
    )


def written_by(nest: GenericOp) -> tuple[SSAValue, ...]:
    """What a nest makes: memory, or tensors."""
    return tuple(nest.outs) or tuple(nest.res)


def _reduced(nest: GenericOp, facts: KernelFacts) -> dict[int, set[Bound]]:
    """Bounds outside of which a nest adds nothing to what it reduces; its results' facts."""
    found: dict[int, set[Bound]] = {}
    inner = [d for d in range(len(nest.extents)) if d not in rows_of(nest)]
    body = OutsideBody(nest, facts.row)
    shape = Contraction.of(nest)
    if facts.wide and (cut := cut_of(nest)) is not None:
        found[cut[0]] = {Bound(True, Linear.dim(FIRST_COUNT + cut[1]))}
    for dim in inner:
        compared = comparisons(nest, dim, facts.counts)
        for bound in _candidates(nest, dim, compared, facts):
            answers = _answers(bound, compared)
            given = body.outside(dim, answers, _reads_at(nest, dim, bound, facts))
            if nest.is_pointwise:
                _note(nest, dim, bound, given, facts)
            elif shape is not None:
                if dim not in shape.summed:
                    continue
                zeros = [n for n, value in given.reads.items() if is_zero(value)]
                facts.zero_reads |= {(nest, number, dim, bound): None for number in zeros}
                if shape.a in zeros and _is_packed_so(shape, dim, bound, facts):
                    found.setdefault(dim, set()).add(bound)
            elif dim in nest.reduction_dims and leaves_sums(
                nest, given.yielded, wide=facts.wide, is_behind=bound.is_upper
            ):
                found.setdefault(dim, set()).add(bound)
                _note_sums(nest, dim, given.yielded, facts)
    if nest.is_pointwise and not inner:
        for value, known in zip(written_by(nest), body.row(), strict=True):
            if known is not None and value not in facts.rewritten:
                facts.row[value] = known
    return found


def _is_packed_so(shape: Contraction, dim: int, bound: Bound, facts: KernelFacts) -> bool:
    """Whether the packed operand of a product is 0 outside a bound, where that is asked: it may be
    infinite elsewhere, which makes no number of the sum."""
    if not facts.wide or shape.panel is None:
        return True
    read, axis = shape.op.inputs[shape.b], axis_alone(shape.op, shape.b, dim)
    if not isinstance(read, BlockArgument) or axis is None:
        return False
    ends = {
        FIRST_COUNT + number for at, own, number in facts.zeros if (at, own) == (read.index, axis)
    }
    return any(bound == Bound(True, Linear.dim(end)) for end in ends)


def _note_sums(
    nest: GenericOp, dim: int, yielded: Sequence[Value | None], facts: KernelFacts
) -> None:
    """Note what the results of a reduction over one dimension are in each row."""
    rest = set(range(len(nest.extents))) - {dim, *rows_of(nest)}
    if summed_rows(nest) or any(nest.extents[d] != 1 for d in rest):
        return
    pairs = zip(written_by(nest), nest.combiner_names, yielded, strict=True)
    for number, (memory, combiner, value) in enumerate(pairs):
        if memory in facts.rewritten:
            continue
        if combiner == "max":
            facts.row[memory] = Largest(nest, number, dim)
        elif combiner == "add" and isinstance(value, Weight):
            facts.row[memory] = Positive(value.of)


def _note(nest: GenericOp, dim: int, bound: Bound, given: Given, facts: KernelFacts) -> None:
    """Note what stands in pointwise results outside a bound."""
    for memory, index_map, value in zip(
        written_by(nest), nest.write_maps, given.yielded, strict=True
    ):
        forms = forms_of(index_map, nest.extents)
        if value is None or forms is None or memory in facts.rewritten:
            continue
        axes = [a for a, form in enumerate(forms) if form.coefficient(dim)]
        if len(axes) == 1 and forms[axes[0]] == Linear.dim(dim):
            facts.outside.setdefault(memory, {})[axes[0], bound] = value


def _candidates(
    nest: GenericOp, dim: int, compared: Mapping[SSAValue, Bound], facts: KernelFacts
) -> list[Bound]:
    """Bounds of a dimension that comparisons of the body set, or what it reads has."""
    found: dict[Bound, None] = {}
    for bound in compared.values():
        found |= dict.fromkeys((bound, Bound(not bound.is_upper, bound.form)))
    for one, other in combinations(list(found), 2):  # a mask of several has what is around them
        if one.is_upper == other.is_upper:
            found[one.around(other)] = None
    for number, value in enumerate(nest.inputs):
        axis = _axis_along(nest, number, dim)
        found |= {b: None for a, b in facts.outside.get(value, {}) if a == axis}
        if (masked := _masked(nest, number, dim, facts)) is not None:
            found[masked] = None
    return list(found)


def _masked(nest: GenericOp, number: int, dim: int, facts: KernelFacts) -> Bound | None:
    found = mask_bound(nest, number, dim, facts.masks)
    level = found is not None and all(d >= FIRST_COUNT for d, _ in found.form.terms)
    return found if facts.wide or level else None


def mask_bound(
    nest: GenericOp, number: int, dim: int, masks: Mapping[SSAValue, int]
) -> Bound | None:
    """The bound of a dimension outside of which a read, if it is of one of `masks`, is false."""
    value = nest.inputs[number]
    if value not in masks or nest.pad_values[number] is not None:
        return None
    forms = forms_of(nest.read_maps[number], nest.extents)
    places = {d: p for p, d in enumerate(rows_of(nest))}
    return None if forms is None else bound_below(forms[0], masks[value], dim, places)


def _reads_at(nest: GenericOp, dim: int, bound: Bound, facts: KernelFacts) -> dict[int, Value]:
    """What the reads of a nest give outside a bound of one of its dimensions, where it is known."""
    known: dict[int, Value] = {}
    for number, value in enumerate(nest.inputs):
        axis = _axis_along(nest, number, dim)
        for (other_axis, other), made in facts.outside.get(value, {}).items():
            if other_axis == axis and bound.outside_is_outside(other):
                known[number] = made
        masked = _masked(nest, number, dim, facts)
        if masked is not None and bound.outside_is_outside(masked):
            known[number] = Number(0.0)
    return known


def _axis_along(nest: GenericOp, number: int, dim: int) -> int | None:
    """The axis of a read that a dimension alone walks, position by position."""
    forms = forms_of(nest.read_maps[number], nest.extents)
    if forms is None or nest.pad_values[number] is not None:
        return None
    axes = [a for a, form in enumerate(forms) if form.coefficient(dim)]
    return axes[0] if len(axes) == 1 and forms[axes[0]] == Linear.dim(dim) else None


def _unread(
    nest: GenericOp,
    nests: Sequence[GenericOp],
    found: dict[GenericOp, dict[int, set[Bound]]],
    kept: Mapping[int, Iterable[Bound]],
    masks: Mapping[SSAValue, int],
) -> dict[int, set[Bound]]:
    """Bounds of the dimensions that a nest keeps outside of which nobody reads its results.

    `kept` are those of what it gives to the caller of the kernel.
    """
    whole: dict[int, set[Bound]] | None = None
    for memory, index_map in zip(written_by(nest), nest.write_maps, strict=True):
        left = leaves_kernel(memory)
        if not left and not _readers(memory):
            continue  # as one of a place and what stands there may be
        if left:
            own = {dim: set(bounds) for dim, bounds in kept.items()}
            if _readers(memory) - {nest}:
                within = _bounds_of_readers(nest, memory, index_map, nests, found, masks)
                own = {d: own[d] & within[d] for d in own.keys() & within.keys()}
        else:
            own = _bounds_of_readers(nest, memory, index_map, nests, found, masks)
        whole = own if whole is None else {d: b & own[d] for d, b in whole.items() if d in own}
    return whole or {}


def _readers(memory: SSAValue) -> set[Operation]:
    """What reads memory, or a tensor, in a kernel: not what writes other parts of it."""
    users = {use.operation for use in memory.uses}
    return {
        user
        for user in users
        if not isinstance(user, func.ReturnOp)
        and not (isinstance(user, GenericOp) and memory not in (*user.inputs, *user.sources))
    }


def leaves_kernel(memory: SSAValue) -> bool:
    """Whether what a nest writes is a result of its kernel: an argument, or what it returns."""
    returned = any(isinstance(use.operation, func.ReturnOp) for use in memory.uses)
    return returned or not isinstance(memory.owner, Operation)


def _bounds_of_readers(
    nest: GenericOp,
    memory: SSAValue,
    index_map: object,
    nests: Sequence[GenericOp],
    found: dict[GenericOp, dict[int, set[Bound]]],
    masks: Mapping[SSAValue, int],
) -> dict[int, set[Bound]]:
    users = _readers(memory) - {nest}
    if memory in nest.inputs or not users or not users <= set(nests):
        return {}
    forms = forms_of(index_map, nest.extents)  # pyright: ignore[reportArgumentType]
    result: dict[int, set[Bound]] = {}
    for axis, form in enumerate(forms or ()):
        dims = [d for d, _ in form.terms if d not in rows_of(nest)]
        if len(dims) != 1 or form != Linear.dim(dims[0]):
            continue
        common: set[Bound] | None = None
        for reader in users:
            assert isinstance(reader, GenericOp)
            bounds = read_within(reader, memory, axis, found[reader], masks)
            common = bounds if common is None else common & bounds
        if common:
            result[dims[0]] = common
    return result


def _answers(bound: Bound, compared: Mapping[SSAValue, Bound]) -> dict[SSAValue, bool]:
    """Of comparisons in a body those that come out the same at all positions outside a bound."""
    answers: dict[SSAValue, bool] = {}
    for value, own in compared.items():
        if bound.outside_is_outside(own):
            answers[value] = False
        elif bound.outside_is_inside(own):
            answers[value] = True
    return answers


__all__ = [
    "Bounded",
    "bounded_dims",
    "bounds_of",
    "comparisons",
    "counted_dims",
    "kernel_facts",
    "leaves_kernel",
    "mask_bound",
    "noted_bounds",
    "written_by",
]
