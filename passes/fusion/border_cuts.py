"""A nest that copies an image into one with a border, cut into its inside and the edges."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import SSAValue

from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.access import forms_of, shape_of
from lamina.dialects.op_disposal import erase
from lamina.passes.loop.canonicalize_loop import drop_unused_operands
from lamina.passes.loop.split_domains import domain_part

Ends = tuple[int, int]
"""The first position along a dimension, and the one behind the last."""


def inside_of(nest: GenericOp, number: int) -> list[Ends] | None:
    """Where along each dimension the read of that number lies inside of its image.

    None for a read that does not walk all of the image, each element once, as it stands.
    """
    shape, forms = shape_of(nest.inputs[number]), forms_of(nest.read_maps[number], nest.extents)
    ends: dict[int, Ends] = {}
    for form, extent in zip(forms or (), shape, strict=False):
        if not form.terms and not form.constant and extent == 1:
            continue
        if len(form.terms) != 1 or form.terms[0][1] != 1 or form.terms[0][0] in ends:
            return None
        dim, low = form.terms[0][0], -form.constant
        if low < 0 or low + extent > nest.extents[dim]:
            return None
        ends[dim] = low, low + extent
    if forms is None or any(d not in ends and e != 1 for d, e in enumerate(nest.extents)):
        return None
    return [ends.get(dim, (0, extent)) for dim, extent in enumerate(nest.extents)]


def cut_border(nest: GenericOp, image: SSAValue) -> tuple[GenericOp, list[GenericOp]]:
    """The nest of what is inside of the image, and those of its edges, instead of the whole nest.

    An edge is outside along one dimension, and inside along those in front of it.
    """
    ends = inside_of(nest, nest.inputs.index(image))
    assert ends is not None
    edges: list[GenericOp] = []
    for dim, (low, high) in enumerate(ends):
        extent = nest.extents[dim]
        if (low, high) == (0, extent):
            continue
        outside = [part for part in ((0, low), (high, extent)) if part[0] < part[1]]
        edges += [_without(domain_part(nest, dim, *part), image) for part in outside]
        whole, nest = nest, domain_part(nest, dim, low, high)
        erase(whole)
    return nest, edges


def _without(edge: GenericOp, image: SSAValue) -> GenericOp:
    """An edge with the pad in place of what it reads of the image, if it still asks for that."""
    reads = zip(edge.inputs, edge.pad_values, list(edge.block.args), strict=False)
    for value, pad, argument in reads:
        if value is image:
            assert isinstance(pad, FloatAttr | IntegerAttr)  # all of it is outside
            outside = arith.ConstantOp(pad)
            first = edge.block.first_op
            assert first is not None
            edge.block.insert_op_before(outside, first)
            argument.replace_all_uses_with(outside.result)
    return drop_unused_operands(edge)
