"""einsum: dimensions of one label have one size; what is summed over is zero in the padding."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded
from lamina.lowering.einsum_terms import einsum_terms


@bounds("einsum")
def einsum(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The same sum of padded operands."""
    equation = op.arg("equation")
    tensors = [b.tensor(value) for value in op.arg("tensors")]
    try:
        terms, wanted = einsum_terms(equation, [tensor.rank for tensor in tensors])
    except ValueError as error:
        raise b.refuse(str(error), "a term for each tensor") from None
    if any(len(set(term)) < len(term) for term in terms):
        raise b.refuse("a label twice in one term", "aten.diagonal.default")
    places = _places(terms)
    for label, held in places.items():
        if any(tensors[n].sizes[dim] is not None for n, dim in held):
            _align(label, held, tensors, b)
    ready = [_without_padding(t, term, wanted, b) for t, term in zip(tensors, terms, strict=True)]
    sizes = tuple(
        next((tensors[n].sizes[d] for n, d in places[label] if tensors[n].sizes[d]), None)
        for label in wanted
    )
    return Bounded(b("einsum.default", equation, [tensor.value for tensor in ready]), sizes)


def _places(terms: Sequence[Sequence[str]]) -> dict[str, list[tuple[int, int]]]:
    """Where each label stands: operand and dimension."""
    found: dict[str, list[tuple[int, int]]] = {}
    for number, term in enumerate(terms):
        for dim, label in enumerate(term):
            found.setdefault(label, []).append((number, dim))
    return found


def _align(
    label: str, places: Sequence[tuple[int, int]], tensors: list[Bounded], b: BoundBuilder
) -> None:
    """Gives all dimensions of a label that are not 1 the least of their bounds."""
    wide = [
        (n, d) for n, d in places if tensors[n].sizes[d] is not None or tensors[n].shape[d] != 1
    ]
    extent = min(tensors[n].shape[d] for n, d in wide)
    (first, place), *others = wide
    for n, d in others:
        message = f"sizes of label '{label}' differ"
        b.require_equal(b.size(tensors[first], place), b.size(tensors[n], d), message)
    for n, d in wide:
        tensors[n] = Bounded(b.slice(tensors[n].value, d, 0, extent), tensors[n].sizes)


def _without_padding(
    tensor: Bounded, term: Sequence[str], wanted: Collection[str], b: BoundBuilder
) -> Bounded:
    """Zeros in the padding of what is summed over, which nothing else is then."""
    summed = [dim for dim in tensor.dynamic_dims if term[dim] not in wanted]
    return Bounded(b.filled(tensor, 0, summed), tensor.sizes) if summed else tensor
