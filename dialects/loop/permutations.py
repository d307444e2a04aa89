"""Nests that put the elements of one tensor in another order, and reads through them."""

from __future__ import annotations

from lamina.dialects.loop.access import Forms, forms_of, shape_of
from lamina.dialects.loop.generic import GenericOp
from lamina.dialects.loop.linear import Linear


def through_permutation(
    producer: GenericOp, forms: Forms, extents: tuple[int, ...]
) -> Forms | None:
    """The padded read of what a nest makes, element by element, as one of what that reads: each
    axis keeps its own edges. `extents` are the reader's.

    Axes of extent 1 stand in no index map of the nest, but a padded read may leave them. Any one of
    the source is as good as another; None if it has fewer of them than the read leaves.
    """
    read = forms_of(producer.read_maps[0], producer.extents)
    written = forms_of(producer.write_maps[0], producer.extents)
    if 0 in extents or read is None or written is None or not is_permutation(producer):
        return None
    by_dim: dict[int, Linear] = {}
    left: list[Linear] = []
    for form, target, extent in zip(forms, written, shape_of(producer.res[0]), strict=True):
        if extent == 1:
            left += [form] if form.range(extents) != (0, 0) else []
        elif len(target.terms) == 1 and target == Linear.dim(target.terms[0][0]):
            by_dim[target.terms[0][0]] = form
        else:
            return None
    moved: list[Linear] = []
    for form, extent in zip(read, shape_of(producer.inputs[0]), strict=True):
        if extent != 1:
            moved.append(by_dim[form.terms[0][0]])
        else:
            moved.append(left.pop(0) if left else Linear(()))
    return None if left else tuple(moved)


def is_permutation(op: GenericOp) -> bool:
    """Whether a nest takes every element of its first read to exactly one place of its result."""
    read = forms_of(op.read_maps[0], op.extents)
    if read is None or op.pad_values[0] is not None:
        return False
    dims: list[int] = []
    for form, extent in zip(read, shape_of(op.inputs[0]), strict=True):
        if extent == 1 and form.constant == 0 and all(op.extents[d] == 1 for d, _ in form.terms):
            continue
        if len(form.terms) != 1 or form.constant or form.terms[0][1] != 1:
            return False
        if op.extents[form.terms[0][0]] != extent:
            return False
        dims.append(form.terms[0][0])
    return len(set(dims)) == len(dims) == sum(e != 1 for e in op.extents)


__all__ = ["is_permutation", "through_permutation"]
