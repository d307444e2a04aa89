"""einsum: diagonals, sums of labels that nobody else has, and products of two at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.records import mutable_record
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.einsum_terms import einsum_terms
from lamina.lowering.tensor_types import element_of, is_integer, shape_of


@mutable_record
class Term:
    """An operand and the label of each of its dimensions, as `einsum_terms` gives them."""

    labels: list[str]
    value: SSAValue


@lowers("einsum")
def einsum(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Operands are multiplied from left to right, whatever `path` says."""
    equation, tensors = op.arg("equation"), op.arg("tensors")
    try:
        labels, wanted = einsum_terms(equation, [len(shape_of(x)) for x in tensors])
    except ValueError as error:
        raise b.refuse(str(error), "a term for each tensor") from None
    element = element_of(op.results[0])  # sums of small integers are of i64
    terms = [
        _diagonal(b, Term(term, b.cast(x, element)))
        for term, x in zip(labels, tensors, strict=True)
    ]
    extents: dict[str, int] = {}
    for term in terms:
        for label, extent in zip(term.labels, shape_of(term.value), strict=True):
            extents[label] = extent if extents.get(label, 1) == 1 else extents[label]
    terms = [_without_ones(b, term, extents) for term in terms]
    result = terms[0]
    for position, term in enumerate(terms[1:], start=1):
        later = {label for rest in terms[position + 1 :] for label in rest.labels}
        result = _product(b, result, term, later.union(wanted), extents)
    result = _summed(b, result, wanted)
    order = [result.labels.index(label) for label in wanted]
    return b.permute(result.value, order)


def _diagonal(b: CoreBuilder, term: Term) -> Term:
    """Labels that occur twice in one term, made one."""
    labels, value = list(term.labels), term.value
    if len(labels) != len(shape_of(value)):
        raise b.refuse(f"a term {''.join(labels)!r} for {value.type}", "a label for each dimension")
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            value = b("diagonal", value, 0, first, second)
            labels = [*labels[:first], *labels[first + 1 : second], *labels[second + 1 :], label]
    return Term(labels, value)


def _without_ones(b: CoreBuilder, term: Term, extents: dict[str, int]) -> Term:
    """Dimensions of extent 1 that are broadcast do not take part."""
    shape = shape_of(term.value)
    kept = [d for d, label in enumerate(term.labels) if shape[d] == extents[label]]
    labels = [term.labels[d] for d in kept]
    return Term(labels, b.view(term.value, [shape[d] for d in kept]))


def _summed(b: CoreBuilder, term: Term, needed: Collection[str]) -> Term:
    """Labels summed out that nobody needs."""
    dims = [d for d, label in enumerate(term.labels) if label not in needed]
    if not dims:
        return term
    element = element_of(term.value)
    dtype = element if is_integer(element) else None
    labels = [label for label in term.labels if label in needed]
    return Term(labels, b("sum.dim_IntList", term.value, dims, dtype=dtype))


def _product(
    b: CoreBuilder, left: Term, right: Term, needed: Collection[str], extents: dict[str, int]
) -> Term:
    """One bmm: shared labels are batches if they are needed later, else they are summed.

    Where none is summed, it is an elementwise product, whose zeros keep their sign.
    """
    left = _summed(b, left, {*needed, *right.labels})
    right = _summed(b, right, {*needed, *left.labels})
    shared = [label for label in left.labels if label in right.labels]
    batch = [label for label in shared if label in needed]
    summed = [label for label in shared if label not in needed]
    rows = [label for label in left.labels if label not in right.labels]
    columns = [label for label in right.labels if label not in left.labels]
    labels = [*batch, *rows, *columns]
    if not summed:
        x, y = (_spread(b, term, labels, extents) for term in (left, right))
        return Term(labels, b("mul.Tensor", x, y))
    x = _arranged(b, left, (batch, rows, summed), extents)
    y = _arranged(b, right, (batch, summed, columns), extents)
    return Term(labels, b.view(b("bmm", x, y), [extents[label] for label in labels]))


def _arranged(
    b: CoreBuilder, term: Term, groups: Sequence[list[str]], extents: dict[str, int]
) -> SSAValue:
    """Three dimensions, one for each group of labels."""
    order = [term.labels.index(label) for group in groups for label in group]
    sizes = [prod(extents[label] for label in group) for group in groups]
    return b.view(b.permute(term.value, order), sizes)


def _spread(b: CoreBuilder, term: Term, labels: Sequence[str], extents: dict[str, int]) -> SSAValue:
    """A dimension for each of `labels`, of extent 1 where the term has it not."""
    order = [term.labels.index(label) for label in labels if label in term.labels]
    shape = [extents[label] if label in term.labels else 1 for label in labels]
    return b.view(b.permute(term.value, order), shape)
