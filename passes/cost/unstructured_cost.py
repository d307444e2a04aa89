"""What kernels cost that are one op which is no nest of independent points."""

from __future__ import annotations

from math import log2, prod

from xdsl.ir import Operation

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import FourierOp, SortOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.nest import OrderedNest
from lamina.passes.cost.fusion_cost import op_cost

PARALLEL_WORK = 1 << 15
"""Cost units below which one thread does it all."""
LINES = (4, 2)
"""Lines at once, the first number that divides their count: an add takes about four cycles."""
NEIGHBOURS = (8, 4, 2)
"""The same where lines lie side by side, so that more of them share the cache lines they touch."""
LEAST_TASKS = 16
"""Groups of lines that must be left, for any usual number of threads to share."""
RANKED = 24
"""Elements of a row, for each lane that counts, whose ranks are counted faster than others are
sorted out by their digits: 3.1 and 4.1 us of rows of 128 in eight lanes, 4.7 and 4.7 of 256 (one
core of a Zen 5)."""
OPEN_RANKED = 32
"""The same where that is the most which a row may have: calls mostly have fewer. The first 20 of
100 rows of 50 take 447 us in a version for 256, and 788 by their digits; of 500 rows 2.2 and 3.8 ms
(a thread of a loaded Sapphire Rapids)."""
RANK_REGISTERS = 4
"""Vector registers for each vector whose ranks are counted: words, ranks, a mask, and one free."""
MOST_STEPS = 1 << 11
"""Elements of a row times what is kept of it, for each lane: 0.6 ns a step and vector, while other
ways take some 2 us for rows of a few hundred elements."""
LOOK_COST = 3
"""What finding an element by its digits costs for each element of the row, in moves of a kept one:
6 ns and 2 ns, measured on rows of 2,000 and 50,000."""
LEFT_OUT = 4
"""Where less than one part in so many of a row is left out, sorting all of it takes no longer than
to select the rest first: as long with 320 of 500 elements (9.3 us) and with 1,650 of 2,000 (52 us;
one thread of a loaded Sapphire Rapids)."""
SAMPLE_SHARE = 3
"""A sample is at most the third part of its row. Of a seventh it leaves 0.6 of the time (100 of
4,096: 19.5 to 11.7 us, 1,000 of 50,257: 169 to 92 us; one core of a Zen 5); larger ones were not
measured."""
SAMPLE_TABLES = 8
"""Times as long as the table a sample is for long digits: the table is walked twice for each, and
few elements are left after the first. Samples of 640 and 3,170 take 0.7 and 0.9 of the time with
short ones (one core of a Zen 5)."""
REGISTER_SHARE = 2
"""Half of the vector registers hold what is carried: the rest is left to rows and the body."""
FEW_COLUMNS = 8
"""A guess: rows side by side, of which vectors would be shorter: those are put behind each other
first."""
MOST_POINTS = 1 << 14
"""Complex numbers of a row, a guess: longer rows leave the caches before a step is done (16 of them
are 2 MB of f32)."""
GROUP_LANES = 4
"""What a group of rows in the lanes of a vector takes, in lanes, beside its lanes."""
STEP_OPERATIONS = 10
"""What a step of a Fourier transform takes for each number beside its sums: loads, stores, and
turning it. Of 1,024 numbers, steps of 8, 8 and 16 take 286 us, of five times 4 297 us, of 256 with
16 and 16 219 us, of 8, 8 and 4 198 us (256 and 1,024 rows, one core of a Zen 4)."""
SET_BYTES = 4096
"""Results so far apart lie in the same set of the nearest cache: it has 64 sets of a line of 64
bytes each on all x86 cores so far."""
SET_LINES = 8
"""Lines of a set of the nearest cache."""
SET_OPERATIONS = 10
"""What a last step of more results than a set has lines takes more for each number, if they lie in
one set: 1,024 numbers in steps of 4, 4, 8 and 8 take 277 us (f64 497) where 8, 8 and 16 take 286
(521), 4,096 in steps of 4, 4, 4, 8 and 8 327 (594) where 4, 8, 8 and 16 take 333 (615)."""
FACTOR_REGISTERS = 3
"""Registers for each number of a step behind which numbers are turned: 16 first and then 8 and 8
take 364 us where 8, 8 and 16 take 286."""
LEAST_SCATTER_TASKS = 4
"""Fewer leading rows than this are no use to several threads."""
SCATTER_TASKS = 16
"""Tasks that a later distinct dimension is cut into."""
COPIED_BYTES = 64
"""Bytes of each vector of a copy: a register where those have 512 bits, two or four elsewhere."""
COPIED_VECTORS = 4
"""Vectors of a step of a copy: `index_add` of 4x200x128 f32, which copies first, takes 48 us so,
and 111 where it copies one by one (a thread of a loaded Cascade Lake)."""
COMPARED_VECTORS = 4
"""Vectors that are compared before the branch: it costs as much as they do."""
MOST_KEPT = 64
"""Numbers kept of each row: what vectors do not fit into registers is in the nearest cache."""
MERGED_RUN = 8
"""Elements whose ranks are counted faster than they are merged, one by one."""


def unstructured_work(op: Operation) -> int:
    """Cost units of one op; 0 for all others."""
    if isinstance(op, OrderedNest):
        return op.points * (4 + sum(op_cost(o) for o in block_ops(op.block)))
    if isinstance(op, SortOp):
        *rows, length = shape_of(op.input)
        sorted_ones = length if op.window is None else op.window[1]
        sorting = sorted_ones * 8 * int(log2(max(1, sorted_ones)))
        return prod(rows) * (4 * length + sorting)
    if isinstance(op, FourierOp):
        return fourier_operations(op)
    return 0


def fourier_operations(op: FourierOp) -> int:
    """Additions and multiplications: 2 for each real number and halving of the size."""
    return op.given.count * row_operations(op)


def row_operations(op: FourierOp) -> int:
    """Those of one row."""
    return 4 * op.points * int(log2(max(2, op.size)))
