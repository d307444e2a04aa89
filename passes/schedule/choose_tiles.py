"""Register tiles of products: in vectors of multiply-adds, or of dot products of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from lamina.codegen.target import Target
from lamina.dialects.loop.clauses import By
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.pairs import TILE_PANEL
from lamina.dialects.loop.tiles import TILE_COLUMNS, TILE_ROWS
from lamina.passes.cost.cache_shares import FAR_SHARE, row_copy_bytes
from lamina.passes.cost.fusion_cost import body_cost
from lamina.passes.cost.loop_estimate import FLOAT_LATENCY
from lamina.passes.cost.product_limits import (
    BROADCAST_COLUMNS,
    DOT_LOADS,
    DOT_TILE_SUMS,
    LIVE_ROWS,
    MIN_PANELS,
    PANEL_SHARE,
    ROW_PADDING_BYTES,
    TAIL_ROWS,
    WAY_BYTES,
)
from lamina.passes.cost.sweep_limits import LIGHT_BODY
from lamina.passes.cost.tile_cost import panel_bytes_ahead, tile_height
from lamina.passes.schedule.choose_row_loops import choose_next_block
from lamina.passes.schedule.choose_sweeps import decide
from lamina.passes.schedule.memory import Memory
from lamina.passes.schedule.packed_product import PackedProduct
from lamina.passes.schedule.product_ends import noted_sum
from lamina.passes.schedule.product_plan import ProductPlan, Products, jammed_row
from lamina.passes.schedule.row_followers import why_apart
from lamina.passes.schedule.row_operand import are_neighbours, row_pitch
from lamina.passes.schedule.stages import Access, Stage
from lamina.passes.schedule.sweeps import own_loops
from lamina.passes.schedule.tile_fetch import element_bits, fetched_reads, fetched_writes
from lamina.passes.schedule.totals_epilogue import (
    BESIDE_TILES,
    run_in_registers,
    verify_followers,
)


def choose_tiled_row(products: Products, target: Target) -> int | None:
    """The row of the kernel that register tiles of a product go along; None for the last.

    Additions to one sum wait for each other. Where the last row is too short for as many sums side
    by side as hide that, as a line of a window is, tiles go along the longest. So they do where
    each block of rows has its columns packed anew.
    """
    if len(products) > 1:
        return None
    stage, shape = next(iter(products.items()))
    if shape.pairs is not None or stage.schedule.jam is not None:
        return jammed_row(products)
    return _long_enough(stage, shape, [d for d in stage.rows if d in shape.rows], target)


def follows_in_registers(stages: Sequence[Stage], products: Products, target: Target) -> bool:
    """Whether what follows a product panel by panel is computed of its register tiles.

    A light body is: others would need the registers that hold the totals of the tile.
    """
    (shape,), epilogue = products.values(), stages[1:]
    if run_in_registers(epilogue):  # as the text says
        verify_followers(epilogue, BESIDE_TILES)
        return True
    return _is_light(shape, epilogue, target)


def _is_light(shape: Contraction, epilogue: Sequence[Stage], target: Target) -> bool:
    """Whether what follows a product leaves its tiles the registers."""
    if shape.panel is None or target.lanes(32) == 1:
        return False
    if shape.pairs is not None and (target.multiplies_tiles or shape.pairs == shape.a):
        return False
    if any(own_loops(stage) or stage.op.sources for stage in epilogue):
        return False
    return sum(body_cost(stage.op) for stage in epilogue) <= LIGHT_BODY


def compute_of_tiles(stages: Sequence[Stage], target: Target) -> None:
    """Have pointwise stages computed of the register tiles of the product in front of them, and
    their operands fetched while a tile is multiplied."""
    for stage in stages:
        decide(stage, compute_with=True)
        _decide_fetch(stage, stage.inner[0], target)


def _decide_fetch(stage: Stage, column: int, target: Target, *, reads: bool = True) -> None:
    """Have what has left the second-level cache fetched, by its size."""

    def far(accesses: list[Access], numbers: tuple[int, ...]) -> tuple[int, ...] | None:
        sizes = ((n, prod(accesses[n].shape) * element_bits(accesses[n]) // 8) for n in numbers)
        return tuple(n for n, size in sizes if FAR_SHARE * size > target.l2_bytes) or None

    writes = far(stage.writes, fetched_writes(stage, column))
    if reads:
        decide(stage, prefetch=far(stage.reads, fetched_reads(stage, column)))
    decide(stage, prefetch_writes=writes)


def choose_row_followers(plan: ProductPlan, target: Target) -> None:
    """The same of tasks of whole rows, where all that stands between two products, or behind the
    last one, can be computed so."""
    if not plan.is_blocked or plan.stream is not None:
        return
    for product, shape in plan.products.items():
        first = plan.stages.index(product) + 1
        others = plan.stages[first:]
        last = next((n for n, s in enumerate(others) if s in plan.products), len(others))
        followers = others[:last]
        if not followers or any(s.schedule.compute_with is not None for s in followers):
            continue
        if _is_light(shape, followers, target) and why_apart(product, shape, followers) is None:
            compute_of_tiles(followers, target)


def choose_inner_row(stage: Stage, shape: Contraction, target: Target) -> int | None:
    """The same of the rows that a task loops over, where the kernel has none."""
    if shape.pairs is not None or stage.schedule.jam is not None:
        return None
    inner = [d for d in shape.rows if d not in stage.rows and stage.extents[d] != 1]
    return _long_enough(stage, shape, inner, target)


def _long_enough(stage: Stage, shape: Contraction, rows: list[int], target: Target) -> int | None:
    """The last of such rows if it is long enough for sums that need not wait; else the longest."""
    assert shape.panel is not None
    if not rows:
        return None
    vectors = shape.panel // gcd(shape.panel, target.lanes(stage.bits))
    sums = stage.extents[rows[-1]] * vectors
    if sums >= FLOAT_LATENCY * target.arithmetic_ports and not shape.task_packed:
        return rows[-1]
    return max(reversed(rows), key=lambda d: stage.extents[d])


def choose_register_tile(
    product: PackedProduct,
    memory: Memory,
    target: Target,
    room: int,
    lines: int = 1,
    *,
    filled: bool = False,
) -> None:
    """The register tile of a product, and whether its rows are copied first, into scratch that has
    `room` bytes left. A task walks so many lines of rows; tiles of live rows are `filled` where no
    task has fewer."""
    stage, row = product.stage, product.row
    lanes = gcd(product.panel, target.lanes(stage.bits))
    vectors = product.panel // lanes
    height = min(tile_height(vectors, product.most, target), product.fewest)
    if product.is_live:
        height = min(height, LIVE_ROWS)
    decide(stage, vectorize=By(product.column, lanes), unroll=vectors)
    if lanes > 1:
        _decide_fetch(stage, product.column, target, reads=False)
    if row is not None:
        decide(stage, jam=By(row, height))
        if not filled:
            decide_tail(product)
        if lines == 1 and not product.around and _gains_copy(product, row, memory, target, room):
            decide(stage, cache_read=(product.shape.a,))
    if lines > 1:
        rows, jam = lines * product.most, stage.schedule.jam
        choose_next_block(stage, rows, jam)
        return
    _choose_panel_prefetch(product, memory, target)


def _choose_panel_prefetch(product: PackedProduct, memory: Memory, target: Target) -> None:
    """What register tiles fetch ahead of the columns that they multiply by.

    Lines of a panel that leaves the nearest cache, and the next panel, unless a single tile of rows
    walks each: weights of a network have left the second-level cache since its last call.
    """
    stage, shape = product.stage, product.shape
    vectors, packed = stage.schedule.vectorize, stage.reads[shape.b]
    if vectors is None or vectors.count == 1 or packed.memory in memory.scratch or packed.axes:
        return
    size = element_bits(packed) // 8
    terms = stage.schedule.terms or prod(stage.extents[d] for d in product.summed)
    term_bytes, jam = product.panel * size, stage.schedule.jam
    panel_bytes = terms * term_bytes
    if panel_bytes > target.l1d_bytes // PANEL_SHARE:
        ahead = panel_bytes_ahead(1 if jam is None else jam.count, term_bytes, target)
        decide(stage, prefetch=(shape.b,), prefetch_bytes=ahead)
    if shape.task_packed or jam is None or product.most <= jam.count:
        return
    if 2 * panel_bytes <= target.l2_bytes:
        decide(stage, prefetch_panels=1)


def decide_tail(product: PackedProduct) -> None:
    """Smaller tiles for what tiles leave over of rows whose number comes with the call."""
    jam = product.stage.schedule.jam
    if product.is_live and jam is not None and jam.count > 1:
        decide(product.stage, tail=tuple(rows for rows in TAIL_ROWS if rows < jam.count))


def choose_dots(product: PackedProduct, target: Target) -> None:
    """The register tile of a product packed in pairs, in vectors of dot products."""
    stage, shape, row = product.stage, product.shape, product.row
    if shape.pairs == shape.a:
        # Two tiles of rows share what is broadcast. Of more columns, sums would leave registers,
        # or lines that lie a power of two apart the nearest cache, before they are read again.
        unroll = 2 if product.most > TILE_ROWS else 1
        vectors, columns = By(shape.inner_row, TILE_COLUMNS), BROADCAST_COLUMNS
        decide(stage, vectorize=vectors, unroll=unroll, jam=By(shape.inner_column, columns))
        return
    # A single row waits for memory, of which the tiles of a panel are two streams.
    across = 1 if product.most == 1 else TILE_PANEL // TILE_COLUMNS
    decide(stage, vectorize=By(shape.inner_column, TILE_COLUMNS), unroll=across)
    if row is not None:
        height = tile_height(across, product.most, target, DOT_TILE_SUMS, DOT_LOADS)
        decide(stage, jam=By(row, min(height, product.fewest, TILE_ROWS)))


def _gains_copy(
    product: PackedProduct, row: int, memory: Memory, target: Target, room: int
) -> bool:
    """Whether the rows of a task should be copied before they are multiplied, as many terms of them
    as a block of the sum has."""
    stage, terms = product.stage, product.stage.schedule.terms
    access, summed, block = stage.reads[product.shape.a], product.summed, product.most
    if noted_sum(stage.op, product.shape) is not None:
        return False
    if access.memory in memory.scratch or product.panels < MIN_PANELS:
        return False
    size = getattr(access.element, "bitwidth", 32) // 8
    length = prod(stage.extents[d] for d in summed) if terms is None else terms
    copied = block * (length * size + ROW_PADDING_BYTES)
    if are_neighbours(access, row):
        copied = length * row_pitch(block, size * 8) * size
    if copied > min(room, row_copy_bytes(target)):
        return False
    return _lie_badly(access, row, summed[-1])


def copies_rows(stage: Stage, shape: Contraction) -> bool:
    """Whether tasks copy the rows that they multiply, if they have room."""
    if shape.pairs is not None or not stage.rows:
        return False
    return _lie_badly(stage.reads[shape.a], stage.rows[-1], shape.summed[-1])


def _lie_badly(access: Access, row: int, term: int) -> bool:
    """Whether rows of a register tile share sets of the nearest cache, or their terms lie apart."""
    if access.stride(term) != 1:
        return True
    size = getattr(access.element, "bitwidth", 32) // 8
    return (access.stride(row) * size) % WAY_BYTES == 0


def register_height(shape: Contraction, bits: int, rows: int, target: Target) -> int:
    """Rows of the register tile of a product of elements of so many bits, for so many rows."""
    panel = shape.panel or 1
    return tile_height(panel // gcd(panel, target.lanes(bits)), rows, target)
