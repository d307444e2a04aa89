"""Products of bf16 in matrix tiles: one operand packed in pairs, the other read as it stands.

A tile instruction multiplies rows of one operand, whose summed elements are neighbours, by columns
of the other, which are packed: sixteen columns side by side, each with two summed elements at a
time (see `paired_layout`). So a weight that `nn.Linear` keeps is read where it is, once, and what
it multiplies is packed, which is smaller. A constant one is packed for good. Columns that are
neighbours in memory are packed by the tasks that multiply them, panel by panel.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from xdsl.dialects.builtin import FloatAttr, bf16
from xdsl.ir import Region, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.ir_links import erase_op
from lamina.dialects.loop import GenericOp, before_reshapes
from lamina.dialects.loop.access import (
    forms_of,
    map_of,
    shape_of,
    substitute,
)
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.packing import Packing, set_packing
from lamina.dialects.loop.pairs import TILE_PANEL, paired_around, paired_layout, paired_outer
from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_TERMS
from lamina.passes.cost.product_limits import LEAST_PRODUCT, NEAR_VALUES
from lamina.passes.loop.gather_windows import Windows, gather_windows, widened_product
from lamina.passes.loop.loop_rewriting import rebuild
from lamina.passes.loop.packing import copy_nest, is_constant
from lamina.passes.loop.pad_windows import are_windows, padded_copy, reads_again
from lamina.passes.loop.unit_rows import with_unit_row
from lamina.passes.loop.widened_operands import Operand, widened_operand

LEAST_TERMS = TILE_TERMS
"""Terms of a sum that fill a tile: shorter ones leave most of it empty."""


def pack_pairs(shape: Contraction, invariants: Collection[SSAValue], *, least_rows: int) -> bool:
    """Have a product of widened bf16 use matrix tiles (in place), if they fit; whether they do.

    Only where the program did not ask for f32 itself: tiles take subnormal numbers for zeros, as
    eager mode's products of bf16 do. Rows are packed if there are `least_rows` of them.
    """
    halves = [half for n in (0, 1) if (half := widened_operand(shape.op, n)) is not None]
    if len(halves) != 2 or not _fits(shape):
        return False
    operands, made = zip(*(half.placed(shape.op) for half in halves), strict=True)
    seen = shape.reading([operand.forms for operand in operands])
    if seen and _fits(seen) and _pack(seen, [*operands], invariants, least_rows):
        return True
    for op in reversed([*made[0], *made[1]]):
        erase_op(op)
    return False


def _pack(
    shape: Contraction,
    operands: list[Operand],
    invariants: Collection[SSAValue],
    least_rows: int,
) -> bool:
    """The same of a product that may fit, with its operands."""
    if not shape.rows:
        if (rowed := _with_row(shape, operands, invariants)) is None:
            return False
        shape, operands = rowed
    if (windows := _few_channels(shape, operands, invariants)) is not None:
        shape, operands = gather_windows(shape, windows, operands)
        invariants = {*invariants, operands[shape.b].value}
    op = shape.op
    term = _term(shape, operands)
    if op.extents[term] < LEAST_TERMS:
        return False
    number = _packed_read(shape, operands, term, invariants)
    if number is None or (number == shape.a and op.extents[shape.inner_row] < least_rows):
        return False
    fixed = is_constant(operands[number].value, invariants)
    is_window = len(shape.summed) > 1
    if is_window and (number == shape.a or not fixed or operands[shape.a].step(term) != 1):
        return False
    if any(op.pad_values) and not (is_window and _has_border(shape)):
        return False
    in_tasks = number == shape.b and operands[shape.b].step(shape.inner_column) == 1 and not fixed
    in_tasks = in_tasks and not _shares_rows_with_product(operands[shape.a].value)
    if operands[1 - number].step(term) != 1:
        operands[1 - number] = _turned_copy(shape, operands[1 - number], term)
    maps = [map_of(operand.forms, len(op.extents)) for operand in operands]
    inputs = [operand.value for operand in operands]
    if not in_tasks:
        if not _ends_with_sum(shape, operands[number], term):
            operands[number] = _turned_copy(shape, operands[number], term)
        inputs[number], maps[number] = _paired_copy(shape, number, operands[number], term)
    op.detach_region(op.body)
    op.add_region(Region(widened_product()))
    pads: list[FloatAttr | None] = [None, None]
    if op.pad_values[shape.a] is not None:
        pads[shape.a] = FloatAttr(0.0, bf16)
    new = rebuild(op, inputs=inputs, input_maps=maps, pads=pads)
    in_call = number == shape.b and not (fixed or in_tasks)
    set_packing(new, Packing(TILE_PANEL, pack_at="call" if in_call else None, pairs=number))
    if pads[shape.a] is not None:
        _give_border(new, shape.a)
    return True


def _fits(shape: Contraction) -> bool:
    """Whether a product has the dimensions of one in matrix tiles, and enough to do."""
    op = shape.op
    if 0 in op.extents or (shape.rows and op.extents[shape.inner_row] < 2):
        return False
    return op.extents[shape.inner_column] >= TILE_COLUMNS and prod(op.extents) >= LEAST_PRODUCT


def _few_channels(
    shape: Contraction, operands: list[Operand], invariants: Collection[SSAValue]
) -> Windows | None:
    """How rows slide by constant columns, if their channels fill no tile of terms, and all elements
    of a window do; None otherwise."""
    a, b, op = shape.a, shape.b, shape.op
    fixed = [is_constant(operand.value, invariants) for operand in operands]
    if len(shape.summed) < 2 or fixed[a] or not fixed[b] or len(shape.columns) > 1:
        return None
    if op.extents[shape.inner_column] < TILE_PANEL or shape.size(shape.summed) < LEAST_TERMS:
        return None
    pad = op.pad_values[a]
    if op.pad_values[b] is not None or (isinstance(pad, FloatAttr) and pad.value.data != 0):
        return None
    windows = Windows.of(shape, operands[a])
    return windows if windows and windows.pixel(operands[a]) < LEAST_TERMS else None


def _with_row(
    shape: Contraction, operands: list[Operand], invariants: Collection[SSAValue]
) -> tuple[Contraction, list[Operand]] | None:
    """The product of a single row by constant columns as one with rows, and its operands; None of
    other ones."""
    a, b, op = shape.a, shape.b, shape.op
    fixed = [is_constant(operand.value, invariants) for operand in operands]
    if fixed[a] or not fixed[b] or shape.batch or (len(shape.columns), len(shape.summed)) != (1, 1):
        return None
    if any(op.pad_values) or op.extents[shape.summed[0]] < LEAST_TERMS:
        return None
    return with_unit_row(shape, operands)


def _give_border(op: GenericOp, number: int) -> None:
    """Have an operand read from a copy with its border, which windows share, in front of `op`."""
    reads, forms = op.reads, forms_of(op.read_maps[number], op.extents)
    pad = op.pad_values[number]
    assert forms is not None and pad is not None
    image, read = padded_copy(op, number, forms, pad)
    _insert(image, op)
    reads[number] = image.res[0], read, None
    rebuild(op, reads=reads)


def _term(shape: Contraction, operands: list[Operand]) -> int:
    """The summed dimension to be in pairs: of several, neighbours in the rows as they stand."""
    along = (d for d in shape.summed if operands[shape.a].step(d) == 1)
    return shape.summed[0] if len(shape.summed) == 1 else next(along, shape.summed[-1])


def _has_border(shape: Contraction) -> bool:
    """Whether only rows have a pad, of zeros, around an image that several windows share."""
    op, number = shape.op, shape.a
    pad, forms = op.pad_values[number], forms_of(op.read_maps[number], op.extents)
    if op.pad_values[shape.b] is not None or not isinstance(pad, FloatAttr) or forms is None:
        return False
    return pad.value.data == 0 and are_windows(op, forms) and reads_again(op, forms)


def _packed_read(
    shape: Contraction, operands: list[Operand], term: int, invariants: Collection[SSAValue]
) -> int | None:
    """Which read to pack: a constant one, else one that is not read as it stands.

    Of two that could be, the smaller one; of two that could not, the smaller one is turned. Rows in
    several dimensions, as of heads that share their keys, are not packed: None if they should be.
    """
    fixed = [is_constant(operand.value, invariants) for operand in operands]
    if len(shape.rows) > 1:
        return None if fixed[shape.a] and not fixed[shape.b] else shape.b
    if fixed[shape.a] != fixed[shape.b]:
        return shape.a if fixed[shape.a] else shape.b
    ready = [operand.step(term) == 1 for operand in operands]
    if ready[shape.a] != ready[shape.b]:
        return shape.a if ready[shape.b] else shape.b
    sizes = [prod(shape_of(operand.value)) for operand in operands]
    smaller, larger = sorted((shape.b, shape.a), key=lambda number: sizes[number])
    return smaller if all(ready) else larger


def _shares_rows_with_product(value: SSAValue) -> bool:
    """Whether rows are made of another product's and of numbers of each, as softmax weights are.

    The two share a kernel with tasks of a few rows: each would pack all columns anew.
    """
    size, scaled = prod(shape_of(value)), False
    waiting, seen = [value], {value}
    while waiting and len(seen) <= NEAR_VALUES:
        owner = before_reshapes(waiting.pop()).owner
        if not isinstance(owner, GenericOp):
            continue
        if Contraction.of(owner) is not None:
            return scaled
        for read in owner.inputs:
            if prod(shape_of(read)) == size and read not in seen:
                seen.add(read)
                waiting.append(read)
            elif isinstance(before_reshapes(read).owner, GenericOp):
                scaled = True
    return False


def _ends_with_sum(shape: Contraction, operand: Operand, term: int) -> bool:
    """Whether what stands after the end of a sum is outside of an operand, and is read as zero."""
    terms = shape.op.extents[term]
    along = Linear.dim(term)
    axes = zip(operand.forms, shape_of(operand.value), strict=True)
    return terms % TILE_TERMS == 0 or any(f == along and e == terms for f, e in axes)


def _turned_copy(shape: Contraction, operand: Operand, term: int) -> Operand:
    """A copy in front of the product with the elements of a sum side by side."""
    op = shape.op
    used = {dim for form in operand.forms for dim, _ in form.terms}
    dims = [*sorted(used - {term}), term]
    position = [Linear(())] * len(op.extents)
    for place, dim in enumerate(dims):
        position[dim] = Linear.dim(place)
    read = map_of([substitute(form, position) for form in operand.forms], len(dims))
    nest = copy_nest(op, "turn", operand.value, read, [op.extents[d] for d in dims], None)
    _insert(nest, op)
    return Operand(nest.res[0], tuple(Linear.dim(dim) for dim in dims))


def _paired_copy(
    shape: Contraction, number: int, operand: Operand, term: int
) -> tuple[SSAValue, AffineMap]:
    """A copy in front of the product in pairs, zeros after its end, and the map that reads it."""
    op = shape.op
    extents, indices = paired_layout(shape, number, term)
    outer, around = paired_outer(shape, number), paired_around(shape, term)
    across = shape.rows[0] if number == shape.a else shape.inner_column
    position = [Linear(())] * len(op.extents)
    tile, pair = len(outer), len(outer) + 1 + len(around)
    places = [*range(tile), *range(tile + 1, pair)]
    for place, dim in zip(places, (*outer, *around), strict=True):
        position[dim] = Linear.dim(place)
    position[across] = Linear.of({tile: TILE_COLUMNS, pair + 1: 1})
    position[term] = Linear.of({pair: 2, pair + 2: 1})
    reads = [substitute(form, position) for form in operand.forms]
    ends = [form.range(extents)[1] for form in reads]
    inside = all(end < extent for end, extent in zip(ends, shape_of(operand.value), strict=True))
    pad = None if inside else FloatAttr(0.0, bf16)
    read = map_of(reads, len(extents))
    nest = copy_nest(op, "pair", operand.value, read, extents, pad)
    _insert(nest, op)
    return nest.res[0], AffineMap(len(op.extents), 0, indices)


def _insert(nest: GenericOp, before: GenericOp) -> None:
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(nest, before)
