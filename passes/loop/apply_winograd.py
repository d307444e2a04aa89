"""`apply-winograd`: convolutions by windows of 3x3 become sixteen products for each 2x2 results.

Winograd's F(2x2, 3x3), of A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks"
(2015). Along one axis, results y0 and y1 of inputs d0 .. d3 and weights g0 .. g2 are

    y0 = p00 + p10 - p11        p0r = (d[r] - d[r + 2]) g[2 r]
    y1 = p10 + p11 - p01        p1r = (d[1] + s d[2]) (g[0] + s g[1] + g[2]) / 2, s = 1 - 2 r

of four products instead of six; along both axes it is nested. Numbered so, each group of four
products (q of the lines, q of the columns) has linear index maps, and is a product of matrices with
r of both as its batch: tiles of the image by channels, times channels by channels. Weights are
computed in f64 and rounded once, in `@setup`. Images and groups stay the dimensions that they are.
Line by line (`lamina.winograd = "line"`), tiles, products and results of a line of tiles may share
a kernel, whose blocks read all weights. Else (`"image"`) products are kernels of their own
(`lamina.fuse = "never"`), of all tiles at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    f64,
)
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects.ir_links import block_ops, replace_uses
from lamina.dialects.loop import GenericOp, IndexOp, YieldOp
from lamina.dialects.loop.access import Forms, forms_of, map_of, shape_of, substitute
from lamina.dialects.loop.labels import set_names
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.scalar_ops import binary_op, compare_op, constant_op, scalar_op, select_op
from lamina.dialects.loop.winograd import BY_LINE, WINOGRAD, Windows
from lamina.dialects.schema.result_rules.shapes import tensor
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.fusion_override import FUSE, MATERIALIZED
from lamina.passes.loop.pad_windows import padded_copy
from lamina.passes.loop.stored_nest import NestBody, stored_nest

GROUPS = tuple((q, p) for q in (0, 1) for p in (0, 1))
"""Which kind of product stands along the lines, and which along the columns."""


class ApplyWinogradPass(ModulePass):
    """Carry out `lamina.winograd`."""

    name = "apply-winograd"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for nest in block_ops(function.body.block):
                if isinstance(nest, GenericOp) and WINOGRAD in nest.attributes:
                    _apply(nest)


def _apply(nest: GenericOp) -> None:
    shape = Windows.of(nest)
    assert shape is not None
    image, forms = nest.inputs[shape.image], shape.image_forms
    block = nest.parent_block()
    assert block is not None
    if (pad := nest.pad_values[shape.image]) is not None:
        copy, read = padded_copy(nest, shape.image, forms, pad)
        block.insert_op_before(copy, nest)
        shifted = forms_of(read, nest.extents)
        assert shifted is not None
        image, forms = copy.res[0], shifted
    products: dict[tuple[int, int], GenericOp] = {}
    for group in GROUPS:
        tiles = _image_nest(nest, shape, image, forms, group)
        weights = _weight_nest(nest, shape, group)
        products[group] = _product(nest, shape, tiles.res[0], forms, weights.res[0])
        block.insert_ops_before([tiles, weights, products[group]], nest)
    result = _result_nest(nest, shape, [products[group].res[0] for group in GROUPS])
    result.res[0].name_hint = nest.res[0].name_hint
    block.insert_op_before(result, nest)
    replace_uses(nest.res[0], result.res[0])
    block.erase_op(nest)


_FIRST = IntegerAttr(0, IndexType())


class _Body(NestBody):
    """The body of a nest, with what all nests of these products compute."""

    def sign(self, dim: int) -> SSAValue:
        """1 at position 0 of a dimension, -1 at position 1."""
        zero = self.add(constant_op(_FIRST))
        first = self.add(compare_op(self.add(IndexOp(dim)), zero, "eq"))
        return self.add(select_op(first, self.number(1.0), self.number(-1.0)))

    def sum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a + b."""
        return self.add(binary_op(arith.AddfOp, a, b))

    def difference(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a - b."""
        return self.add(binary_op(arith.SubfOp, a, b))

    def signed_sum(self, a: SSAValue, sign: SSAValue, b: SSAValue) -> SSAValue:
        """a + sign b, the product of which is exact."""
        return self.add(scalar_op(math.FmaOp, sign, b, a))


def _place_of_kinds(nest: GenericOp, axes: Sequence[int]) -> int:
    """Where r of lines and columns stand among the axes of an image or a result, the axes of whose
    lines and columns are given: behind tiles where products go line by line with the sums around
    them, which all have lines of tiles as rows then; else in front, as a batch."""
    return 1 + max(axes) if nest.attributes[WINOGRAD] == BY_LINE else 0


def _image_nest(
    nest: GenericOp, shape: Windows, image: SSAValue, forms: Forms, group: tuple[int, int]
) -> GenericOp:
    """Axes of the image, of which lines and columns are of tiles, with r of both among them."""
    assert isinstance(image.type, TensorType)
    element = image.type.element_type
    sizes = list(shape_of(image))
    sizes[shape.image_axes[0]], sizes[shape.image_axes[1]] = shape.tiles
    at = _place_of_kinds(nest, shape.image_axes)
    domain = [*sizes[:at], 2, 2, *sizes[at:]]
    starts = [forms[axis].constant for axis in shape.image_axes]

    def read(places: tuple[Linear, Linear]) -> tuple[SSAValue, Forms]:
        index = [Linear.dim(axis if axis < at else axis + 2) for axis in range(len(sizes))]
        for axis, start, place in zip(shape.image_axes, starts, places, strict=True):
            index[axis] = index[axis].scale(2).add(place).add(Linear((), start))
        return image, tuple(index)

    def places(kind: int, dim: int) -> tuple[Linear, Linear]:
        if kind:
            return Linear((), 1), Linear((), 2)
        return Linear.dim(dim), Linear.of({dim: 1}, 2)

    lines, columns = places(group[0], at), places(group[1], at + 1)
    reads = [read((line, column)) for line in lines for column in columns]
    body = _Body([element] * 4, element)

    def pair(kind: int, dim: int) -> Callable[[SSAValue, SSAValue], SSAValue]:
        if not kind:
            return body.difference
        sign = body.sign(dim)
        return lambda a, b: body.signed_sum(a, sign, b)

    along_line, across = pair(group[1], at + 1), pair(group[0], at)
    a, b, c, d = body.block.args
    total = across(along_line(a, b), along_line(c, d))
    kind = tensor(domain, element)
    return stored_nest(nest, "winograd_image", domain, reads, kind, body.region(total))


def _weight_nest(nest: GenericOp, shape: Windows, group: tuple[int, int]) -> GenericOp:
    """[r of lines, r of columns, axes of the weight without the window]."""
    weight = nest.inputs[1 - shape.image]
    assert isinstance(weight.type, TensorType)
    element, sizes = weight.type.element_type, shape_of(weight)
    kept = [axis for axis in range(len(sizes)) if axis not in shape.weight_axes]
    domain = [2, 2, *(sizes[axis] for axis in kept)]
    place = {axis: Linear.dim(number + 2) for number, axis in enumerate(kept)}

    def places(kind: int, dim: int) -> list[Linear]:
        return [Linear((), k) for k in range(3)] if kind else [Linear.of({dim: 2})]

    points = [(y, x) for y in places(group[0], 0) for x in places(group[1], 1)]
    reads = [
        (weight, tuple(place.get(a) or at[shape.weight_axes.index(a)] for a in range(len(sizes))))
        for at in points
    ]
    body = _Body([element] * len(reads), f64)
    values = [body.widened(value) for value in body.block.args]

    def joined(three: Sequence[SSAValue], dim: int) -> SSAValue:
        outer = body.sum(three[0], three[2])
        whole = body.signed_sum(outer, body.sign(dim), three[1])
        return body.add(binary_op(arith.MulfOp, whole, body.number(0.5)))

    if group[1]:
        values = [joined(values[at : at + 3], 1) for at in range(0, len(values), 3)]
    total = joined(values, 0) if group[0] else values[0]
    region = body.region(body.rounded(total, element))
    made = stored_nest(nest, "winograd_weight", domain, reads, tensor(domain, element), region)
    made.attributes[MATERIALIZED] = UnitAttr()
    return made


def _product(
    nest: GenericOp, shape: Windows, tiles: SSAValue, forms: Forms, weights: SSAValue
) -> GenericOp:
    """The sums over channels: axes of the result, in tiles, with r of lines and columns among
    them."""
    gone = set(shape.window)
    kept = [d for d in range(len(nest.extents)) if d not in gone]
    extents = [nest.extents[d] for d in kept]
    for dim, count in zip(shape.places, shape.tiles, strict=True):
        extents[kept.index(dim)] = count
    at = _place_of_kinds(nest, [kept.index(dim) for dim in shape.places])
    extents[at:at] = [2, 2]
    moved = [Linear(())] * len(nest.extents)
    for number, dim in enumerate(kept):
        moved[dim] = Linear.dim(number if number < at else number + 2)
    batch = (Linear.dim(at), Linear.dim(at + 1))
    image = [substitute(form, moved) for form in forms]
    for axis, dim in zip(shape.image_axes, shape.places, strict=True):
        image[axis] = moved[dim]
    among = _place_of_kinds(nest, shape.image_axes)
    image[among:among] = batch
    weight = [
        substitute(form, moved)
        for axis, form in enumerate(shape.weight_forms)
        if axis not in shape.weight_axes
    ]
    written = [substitute(form, moved) for form in shape.result_forms]
    sizes = list(shape_of(nest.res[0]))
    sizes[shape.result_axes[0]], sizes[shape.result_axes[1]] = shape.tiles
    among = _place_of_kinds(nest, shape.result_axes)
    written[among:among], sizes[among:among] = batch, [2, 2]
    rank = len(extents)
    assert isinstance(nest.res[0].type, TensorType)
    element = nest.res[0].type.element_type
    body = Block(arg_types=[element, element])
    body.add_op(product := arith.MulfOp(body.args[0], body.args[1]))
    body.add_op(YieldOp([product.result]))
    made = GenericOp(
        extents,
        [tiles, weights],
        [map_of(image, rank), map_of((*batch, *weight), rank)],
        [map_of(written, rank)],
        ["add"],
        [tensor(sizes, element)],
        Region(body),
    )
    set_names(made, ["winograd_product"])
    made.location = nest.location
    if nest.attributes[WINOGRAD] != BY_LINE:
        made.attributes[FUSE] = StringAttr("never")
    return made


def _result_nest(nest: GenericOp, shape: Windows, products: Sequence[SSAValue]) -> GenericOp:
    """The results, two lines and two columns of each tile."""
    kind = nest.res[0].type
    assert isinstance(kind, TensorType)
    sizes, axes = shape_of(nest.res[0]), shape.result_axes
    domain: list[int] = []
    written: list[Linear] = []
    tile: list[Linear] = []
    part: dict[int, int] = {}
    for axis, size in enumerate(sizes):
        dim = len(domain)
        tile.append(Linear.dim(dim))
        if axis in axes:
            part[axis] = dim + 1
            domain += [size // 2, 2]
            written.append(Linear.of({dim: 2, dim + 1: 1}))
        else:
            domain.append(size)
            written.append(Linear.dim(dim))
    across, along = (part[axis] for axis in axes)
    one, fixed = Linear((), 1), Linear(())

    def terms(dim: int) -> list[tuple[int, Linear]]:
        return [(1, fixed), (0, Linear.dim(dim)), (1, one)]

    at = _place_of_kinds(nest, axes)
    reads = [
        (products[GROUPS.index((q, p))], (*tile[:at], r, s, *tile[at:]))
        for q, r in terms(across)
        for p, s in terms(along)
    ]
    body = _Body([kind.element_type] * len(reads), kind.element_type)

    def joined(three: Sequence[SSAValue], sign: SSAValue) -> SSAValue:
        return body.signed_sum(three[0], sign, body.difference(three[1], three[2]))

    signs = body.sign(across), body.sign(along)
    args = list(body.block.args)
    lines = [joined(args[at : at + 3], signs[1]) for at in range(0, len(args), 3)]
    total = body.region(joined(lines, signs[0]))
    return stored_nest(nest, "winograd_result", domain, reads, kind, total, tuple(written))


__all__ = ["ApplyWinogradPass"]
