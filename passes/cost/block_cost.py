"""What blocks of rows of products cost, and with it how many rows a task takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from lamina.codegen.target import Target
from lamina.dialects.records import record
from lamina.passes.cost.kernel_model import PRODUCT_ROWS
from lamina.passes.cost.product_limits import EVEN_ROUNDS, PANEL_LOADS
from lamina.passes.cost.tile_cost import tile_height, tiles_cost

FAR_PANEL_LOADS = 2.5
"""What a block adds to the loads of a vector of a panel, in multiply-adds, as the panel comes from
beyond the second-level cache for it: 1,576 rows by 768x3072x768, in whole tiles of 8, run at 0.83
of the peak in blocks of 56, at 0.81 of 32 (two threads of a Sapphire Rapids)."""
PACKED_PANEL_LOADS = 12.5
"""The same where the block packs the panel first, which takes a twentieth of multiplying 256 rows:
512x16384x512 runs at 0.86 of the peak in blocks of 256 rows, at 0.83 of 176, whose tiles compute
fewer rows twice (two threads of a Zen 4)."""
TILES_TRIED = 4
"""How many heights of register tiles, from the tallest down, blocks are made whole tiles of: lower
ones load a panel too often to be chosen."""


@record
class Panels:
    """The operand of a product that all its rows are multiplied by: vectors of a panel, terms of
    all panels together, and whether each block packs them itself."""

    vectors: int
    terms: int
    packed_in_tasks: bool = False


@lru_cache(maxsize=1024)
def even_rows(
    rows: int, most: int, around: int, products: tuple[Panels, ...], cores: int, target: Target
) -> int | None:
    """Rows of a block, `most` at most, for which all of `rows` rows, `around` times, cost least.

    Blocks are shared by so many `cores`; with one core the sum of all blocks counts. None where no
    number of them leaves a whole register tile for the last block.
    """

    def cost(block: int) -> float:
        heights = [tile_height(p.vectors, block, target) for p in products]
        whole, rest = divmod(rows, block)
        tasks = [_block_cost(block, heights, products)] * whole
        if rest:
            tasks.append(_block_cost(rest, heights, products))
        if around * len(tasks) >= EVEN_ROUNDS * cores:
            return sum(tasks) * around / cores
        return _slowest(tasks * around, cores)

    def ends(block: int) -> bool:
        rest = rows % block
        return not rest or rest >= max(tile_height(p.vectors, block, target) for p in products)

    sizes = [n for n in sorted(set(_sizes(rows, most, products, cores, target))) if ends(n)]
    return min(sizes, key=lambda block: (cost(block), -block), default=None)


def even_count(blocks: int, rows: int, around: int, cores: int) -> int:
    """As many blocks of rows at least, and more where cores would have unequal shares: of rows
    whose tiles do not say what they cost."""
    if around * blocks >= EVEN_ROUNDS * cores:
        return blocks
    counts = (n for n in range(blocks, blocks + cores) if rows // n >= PRODUCT_ROWS)
    return next((n for n in counts if around * n % cores == 0), blocks)


def _sizes(
    rows: int, most: int, products: Sequence[Panels], cores: int, target: Target
) -> Iterator[int]:
    """Rows of equal blocks, as few as there may be and some more; the same in whole tiles."""
    fewest = -(-rows // most)
    tallest = {tile_height(p.vectors, most, target) for p in products}
    tiles = {height - n for height in tallest for n in range(TILES_TRIED) if height > n}
    for blocks in range(fewest, fewest + cores + 1):
        equal = -(-rows // blocks)
        if blocks > fewest and equal < PRODUCT_ROWS:
            break
        yield equal
        yield from (whole for tile in tiles if (whole := -(-equal // tile) * tile) <= most)


def _block_cost(rows: int, heights: Sequence[int], products: Sequence[Panels]) -> float:
    """Vector operations of so many rows in register tiles of these heights."""
    return sum(
        p.terms
        * (tiles_cost(height, p.vectors, rows, PANEL_LOADS) + _far_loads(p) * p.vectors)
        / p.vectors
        for p, height in zip(products, heights, strict=True)
    )


def _far_loads(panels: Panels) -> float:
    return PACKED_PANEL_LOADS if panels.packed_in_tasks else FAR_PANEL_LOADS


def _slowest(tasks: Sequence[float], cores: int) -> float:
    """When the last core ends, of those that take one task after the other."""
    ends = [0.0] * cores
    for task in tasks:
        first = ends.index(min(ends))
        ends[first] += task
    return max(ends)
