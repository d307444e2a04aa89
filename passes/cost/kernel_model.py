"""What it costs to run nests as one kernel, against two kernels: the roofline model of merging.

One kernel reads what both read only once, keeps what they hand on near, and spares a call and a
wait of all threads. It has only the rows that its nests share, though, so that fewer threads may
find work; and a product in it reads its packed operand again for each block of rows, whichever
thread has packed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from lamina.codegen.roofline import Roofline
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.contraction import Contraction
from lamina.passes.cost.fusion_cost import value_bytes, work
from lamina.passes.cost.fusion_estimate import (
    KERNEL_SECONDS,
    LINE_BYTES,
    Estimate,
)
from lamina.passes.cost.product_limits import ROW_MODE_ROWS

THREADS = 8
"""Threads that rows are shared out among, if there are so many rows: more only add to it."""
PRODUCT_ROWS = 16
"""Rows that a task takes of a product in a kernel of rows, for each time it reads the panels: so
many at least, up to `ROW_MODE_ROWS` if threads find work all the same."""
PACKED_TASK_ROWS = 512
"""Rows of a task that packs the columns which it multiplies, or reads them in pairs, at most: with
256, products in matrix tiles of 512 rows took an eighth longer, with 64 a quarter."""
PACKED_SHARE = 32
"""Rows of such a task, at least, where panels are fewer than cores: it packs a term of a panel in
the time of some four rows. 128x1024x32 takes 0.55 of the time in two tasks, 64x512x32 0.67 (two
threads of a Sapphire Rapids)."""
EVEN_TASKS = 8
"""Tasks for each core from which on it hardly matters whether all have as many. 384x512x197, which
has seven panels, takes 0.64 of the time where two cores share the rows, 256x33x197 0.58 (two
threads of a Sapphire Rapids)."""
TASK_PACKINGS = 2
"""How often tasks may pack the same panels: once takes a twentieth of multiplying 256 rows, and a
kernel that packs all of them for others to read as long as two or three times."""
FRONT_ROWS = 512
"""Rows from which on a kernel in front packs what is large, and of short sums, all the same: two
tasks at once pack as much as they keep near. 512x768x768 takes 0.91 of the time so, 512x1024x1024
0.95, 768x768x768 0.95, 1024x1024x1024 0.91, 512x512x512, which is not large, 1.01, 256x1024x1024
1.03 (two threads of a Sapphire Rapids)."""
FRONT_ELEMENTS = 1 << 18
"""Elements of an operand that is large there: half of the second-level cache in f32."""
FRONT_TERMS = 1024
"""Terms of a short sum, at most: of longer ones tasks pack a block of terms, and 512x2048x512 and
700x4096x700 take as long either way."""
LONG_PANEL = 4
"""Part of the second-level cache that a panel fills before its sum is taken in blocks: on a
Sapphire Rapids with 2 MB, products of 16,384 terms take half the time so, of 4,096 the same. With
whole rows behind them 4,096 take 0.92, and 2,048 in wider panels, 393 KB, as long."""
BLOCKED_ROWS = 8
"""Part of that cache for the rows of a task that takes its sum in blocks, measured with it."""
PACKED_TERMS = 128
"""Terms that a task packs of several panels where all of them are too large to stay near: 64 KiB of
f32 in four panels. There, 8 rows by 4096x4096 take 0.43 of the time so, 64 rows 0.56."""
TURNED_TERMS = 256
"""The same where neighbours follow one another in the sum, so that longer runs of each column are
read: 512 rows and columns of 16,384 terms take 0.95 of what they take with 128."""
COLUMN_TASKS_A_CORE = 1
"""Tasks for each core where columns are reduced and read once: runs of memory are longer then. A
row by 4096x4096 takes 1.9 ms with runs of 8 KB, 2.4 with those of 4 KB, each fetched while the row
before is added up, and 2.6 and 3.5 where nothing is (one thread of a loaded Zen 4)."""
TERMS_AHEAD = 16
"""Terms ahead of those that are packed beside a product whose lines are fetched: on a Sapphire
Rapids 512x768x3072 of bf16 takes 0.91 of the time of none, with 8 and 32 terms 0.93."""
IMAGE_PANELS = 1.3
"""Time of a product whose panels are lines of an image, by that of one with constant panels, both
full: kernels 1x1 of 64 to 256 channels on 56x56 ran at 163 and 216 GF/s on two Zen 4 cores."""
JUMP_CYCLES = 4
"""Cycles for each element that a nest beside products reads in jumps along its vectors: a guess,
between an element from the nearest cache and one from the second."""
LINE_TILES = 1.5
"""Time of a depthwise convolution whose tasks are pixels, by that of tasks of lines in register
tiles: 1.2 with windows of 3x3 in steps of two (96 channels, 112x112), 1.5 in steps of one (144,
56x56), 5 of 7x7 (384, 14x14), one thread of a Zen 5."""
CACHED_ELEMENTS = 1 << 15
"""Elements of a piece of a variance, which is walked twice: 256 KiB of f64, which a second-level
cache holds beside other things."""
LEAST_PIECE_ROWS = 32
"""Rows of such a piece of columns, at least: it hands on three numbers of each column."""
MOST_PIECE_ROWS = 512
"""At most: they are added one after the other, and errors grow with them."""
WINDOW_BYTES = 2 << 20
"""Bytes of windows that a product makes before they are added up where they overlap: a second-level
cache. On a Sapphire Rapids, 6 MB in blocks of 1.6 take 0.7 of the time. Smaller ones leave nothing
to share out among threads.
"""
WINDOW_BLOCKS = 8
"""Such blocks at most: each takes some 90 ms to compile, as a product and a sum of its own (32
to 16 channels, windows of 4x4x4, a Sapphire Rapids)."""
FOLLOWED_STREAMS = 16
"""Streams that a core follows well enough beyond that cache. On a Sapphire Rapids windows of 4x4
elements gain nothing by blocks, those of 3x3x3, 6x6 and more 0.15 to 0.35 of the time."""
FAR_BANDWIDTH = 10e9
"""Bytes a second that a core reads of what others have just written, in their caches."""
FAR_CACHES = 4
"""Second-level caches that hold what threads have packed; more has gone to where all read it."""


def hand_over(machine: Roofline) -> float:
    """Seconds of a kernel of its own besides its work: its call, and a barrier in front of it."""
    return KERNEL_SECONDS + machine.barrier_seconds


def serial_seconds(machine: Roofline) -> float:
    """Work of which a second thread would save no more than the barrier that it takes."""
    return 2 * machine.barrier_seconds


def packs_in_tasks(shape: Contraction) -> bool:
    """Whether tasks had better pack the panels that they multiply than a kernel in front of them.

    They do so for each block of rows anew, which are positions of one dimension, and keep what they
    have packed near meanwhile: of long sums, a block of terms.
    """
    terms, rows = shape.size(shape.summed), shape.size(shape.rows)
    is_large = terms * shape.size(shape.columns) > FRONT_ELEMENTS
    if shape.pairs is None and is_large and terms <= FRONT_TERMS and rows >= FRONT_ROWS:
        return False
    longest = max((shape.op.extents[d] for d in shape.rows), default=1)
    blocks = shape.size(shape.rows) // max(1, longest) * -(-longest // PACKED_TASK_ROWS)
    return blocks <= TASK_PACKINGS


def seconds(nests: Sequence[GenericOp], machine: Roofline) -> float:
    """The least time of the nests as one kernel on one core."""
    return machine.seconds(_traffic(nests), sum(map(work, nests)))


def _traffic(nests: Sequence[GenericOp]) -> int:
    """Bytes of all that the nests read and write, each array once; of tables, what they look up."""
    values = dict.fromkeys(v for n in nests for v in (*n.inputs, *n.res))
    tables: dict[SSAValue, int] = {}
    for nest in nests:
        for table in nest.sources:
            tables[table] = tables.get(table, 0) + prod(nest.extents) * LINE_BYTES
    looked_up = sum(min(value_bytes(t), n) for t, n in tables.items() if t not in values)
    return looked_up + sum(map(value_bytes, values))


def shared_rows(rows: int, most: int, threads: int = THREADS) -> int:
    """Rows of a task of a kernel of rows with products: fewer where threads would find no work."""
    return max(PRODUCT_ROWS, min(most, -(-rows // threads)))


def row_tasks(products: Sequence[Contraction], rows: int) -> int:
    """How many threads find work where nests share `rows` rows: their `row_products` take blocks
    of them."""
    tasks, block = rows, shared_rows(rows, ROW_MODE_ROWS)
    for shape in products:
        own = max(1, min(rows, shape.size(shape.rows)))
        tasks = min(tasks, rows // own * -(-own // block))
    return tasks


def repacked_bytes(products: Sequence[Contraction]) -> int:
    """Bytes of packed operands of products that threads would read out of each other's caches.

    A product of its own, with more columns than rows, leaves each thread the columns that it has
    packed; a kernel of rows cannot.
    """
    return sum(
        value_bytes(shape.op.inputs[shape.b])
        for shape in products
        if shape.repacked
        and shape.size(shape.batch) == 1
        and shape.size(shape.columns) > shape.size(shape.rows)
    )


def row_products(
    nests: Sequence[GenericOp], shapes: Sequence[Contraction | None]
) -> list[Contraction]:
    """The products of a kernel, if another nest of it needs whole rows; `shapes` has what each of
    its nests is."""
    products = [shape for shape in shapes if shape is not None]
    by_panels = shapes[0] is not None and not any(n.reduction_dims for n in nests[1:])
    return [] if by_panels else products


def estimate_far_panels(panels: int, spared: int, machine: Roofline) -> Estimate:
    """Of a kernel of rows that reads `panels` bytes which other threads have just packed.

    It need not move `spared` bytes again.
    """
    near = FAR_CACHES * machine.near_bytes
    return Estimate(
        bytes_saved=spared,
        flops_added=0,
        seconds_saved=spared / machine.bandwidth(spared) + hand_over(machine),
        seconds_added=panels / FAR_BANDWIDTH if panels <= near else 0.0,
    )


def estimate_rows(
    nests: Sequence[GenericOp], rows: int, spared: int, machine: Roofline, share: float = 1.0
) -> Estimate:
    """Of one kernel that shares out `rows` rows, and need not move `spared` bytes again.

    With fewer rows than threads, some threads are idle. A `share` of what nests do, and hand on,
    counts in a usual call.
    """
    idle = 1 / min(THREADS, max(1, rows)) - 1 / THREADS
    moved = share * spared
    return Estimate(
        bytes_saved=int(moved),
        flops_added=0,
        seconds_saved=moved / machine.bandwidth(_traffic(nests)) + hand_over(machine),
        seconds_added=share * idle * seconds(nests, machine),
    )


def estimate_few_rows(
    products: Sequence[GenericOp], few: int, rows: int, spared: int, machine: Roofline
) -> Estimate:
    """Of a kernel of rows with products of weights, in calls that need but `few` of its rows.

    One thread multiplies for each of the rows then, where a product of its own shares out its
    columns. `spared` bytes need not be moved if all rows count.
    """
    idle = 1 / min(THREADS, few) - 1 / THREADS
    shapes = [shape for nest in products if (shape := Contraction.of(nest)) is not None]
    weights = sum(value_bytes(shape.op.inputs[shape.b]) for shape in shapes)
    needed = sum(map(work, products)) * few // max(1, rows)
    moved = spared * few // max(1, rows)
    return Estimate(
        bytes_saved=moved,
        flops_added=0,
        seconds_saved=moved / machine.bandwidth(moved + weights) + hand_over(machine),
        seconds_added=idle * machine.seconds(weights, needed),
    )


def estimate_product(kept: int, panels: int, machine: Roofline) -> Estimate:
    """Of a product in the kernel that makes its rows: `kept` bytes of them are not stored.

    Its `panels` bytes of packed operand are read with each block of rows instead of once.
    """
    bandwidth = machine.bandwidth(kept + panels)
    return Estimate(
        bytes_saved=2 * (kept - panels),
        flops_added=0,
        seconds_saved=2 * kept / bandwidth,
        seconds_added=2 * panels / bandwidth,
    )


def estimate_small(
    one: Sequence[GenericOp], other: Sequence[GenericOp], machine: Roofline
) -> Estimate:
    """Of one thread that runs two kernels as one, whatever rows they have."""
    together = seconds((*one, *other), machine)
    shared = together >= serial_seconds(machine)
    return Estimate(
        bytes_saved=0,
        flops_added=0,
        seconds_saved=KERNEL_SECONDS,
        seconds_added=together / 2 if shared else 0.0,
    )
