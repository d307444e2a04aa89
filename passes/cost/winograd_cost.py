"""What a convolution by 3x3 takes in seconds, by its windows and by Winograd's F(2x2, 3x3)."""

from __future__ import annotations

from math import prod

from lamina.codegen.roofline import Roofline
from lamina.codegen.target import Target
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.winograd import Windows
from lamina.passes.cost.fusion_limits import PANELS_TOGETHER

PRODUCT_SHARE = 4 / 9
"""Multiplications of F(2x2, 3x3) by those of windows: 16 a tile instead of 36."""
IMAGE_STEPS = 8
"""Operations for each element of the image's tiles, of which there are four an element: four
reads, three sums, a store."""
RESULT_STEPS = 20
"""Operations for each result: nine reads, eight sums, a store, and what waits between them."""
LEAST_GAIN = 1.1
"""How much longer windows must take: sums are less exact by tiles, by half of an error."""
GROWTH = 4
"""Elements of tiles for each element of the image, and of products for each result."""
LINE_TILES = 16
"""Tiles on a line, from which on products go line by line with the sums around them, whose tasks
are lines of tiles that all read the weights. Of shorter ones products are kernels of their own:
28x28 by 256 channels takes 1.23 ms so, 1.40 line by line, by 192 channels 0.74 and 0.76 (two
threads of a Sapphire Rapids)."""
NEAR_LINE_TILES = 14
"""The same where the weights of all products stay in the second-level cache, and all of a line is
one kernel: 8x28x28 by 128 channels takes 2.78 ms so, 3.46 by products apart, and 8x56x56 by 64
channels 3.0 in one kernel, 4.7 in four. Shorter lines were not asked."""

PAIR_RATE = 2
"""Products of bf16 in pairs for one of f32, at least, by instructions that multiply pairs."""


def direct_seconds(shape: Windows, target: Target, *, in_pairs: bool) -> float:
    """By windows: its multiply-adds at peak, of numbers that were bf16 `in_pairs`."""
    rate = PAIR_RATE if in_pairs else 1
    return prod(shape.nest.extents) / _peak(shape, target) / rate


def winograd_seconds(shape: Windows, target: Target) -> float:
    """By tiles: multiply-adds at peak, or weights that come from afar, and sums around them.

    Tiles and products are stored and read once: all of them, or, where one kernel makes both, those
    of a line, which the next line's follow in the same place.
    """
    nest, machine = shape.nest, Roofline.of(target)
    peak = _peak(shape, target)
    image, weight = nest.inputs[shape.image], nest.inputs[1 - shape.image]
    size = nest.res[0].type.element_type.bitwidth // 8  # pyright: ignore
    places = prod(nest.extents[d] for d in shape.places)
    inside = prod(shape_of(image)[axis] for axis in shape.image_axes)
    tiles = GROWTH * prod(shape_of(image)) // inside * places
    results = prod(shape_of(nest.res[0]))
    weights = prod(shape_of(weight)) * 16 // 9 * size
    products = max(prod(nest.extents) * PRODUCT_SHARE / peak, weights / machine.bandwidth(weights))
    stored = (tiles + GROWTH * results) * size
    sums = (tiles * IMAGE_STEPS + results * RESULT_STEPS) / peak
    together = stored
    if _has_near_weights(shape, target) and goes_by_lines(shape, target):
        together = stored // _lines(shape)
    return products + sums + 2 * stored / machine.bandwidth(together)


def seconds_saved(shape: Windows, target: Target, *, in_pairs: bool) -> float:
    """What tiles save of the windows' seconds; 0 where that is too little to take them for it."""
    direct = direct_seconds(shape, target, in_pairs=in_pairs)
    tiles = winograd_seconds(shape, target)
    return direct - tiles if tiles_pay(tiles, direct) else 0.0


def tiles_pay(tiles: float, direct: float) -> bool:
    """Whether tiles are to be taken, by the seconds of both ways."""
    return LEAST_GAIN * tiles < direct


def goes_by_lines(shape: Windows, target: Target) -> bool:
    """Whether products are made of a line of tiles, beside the sums around them, and not of all."""
    near = _has_near_weights(shape, target)
    return shape.tiles[1] >= (NEAR_LINE_TILES if near else LINE_TILES)


def _has_near_weights(shape: Windows, target: Target) -> bool:
    """Whether the weights of all products stay in the second-level cache, for one kernel of all."""
    weight = shape.nest.inputs[1 - shape.image]
    size = shape.nest.res[0].type.element_type.bitwidth // 8  # pyright: ignore
    panels = prod(shape_of(weight)) * 16 // 9 * size
    return panels <= target.l2_bytes // PANELS_TOGETHER


def _lines(shape: Windows) -> int:
    """Lines of tiles, of all images and groups."""
    nest, reduced = shape.nest, set(shape.nest.reduction_dims)
    walked = {d for form in shape.image_forms for d, _ in form.terms} - reduced
    return shape.tiles[0] * prod(nest.extents[d] for d in walked - set(shape.places))


def _peak(shape: Windows, target: Target) -> float:
    """Multiply-adds a second of one core."""
    bits = shape.nest.res[0].type.element_type.bitwidth  # pyright: ignore
    return Roofline.of(target).peak_flops * 32 / bits
