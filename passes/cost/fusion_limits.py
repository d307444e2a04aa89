"""What kernels may grow to, how reductions are split, and from which size on either pays."""

from __future__ import annotations

MIN_PARALLEL_ROWS = 8
"""Rows of a kernel at least: fewer would leave threads idle."""
MIN_PADDED_ROWS = 64
"""Rows from which on a read beyond the edges of a row is made from scratch: with fewer, a kernel of
its own has more to share out."""
MOST_GROWTH = 16
"""A result of a product that is so many times its operands, as scores of attention are, may have
longer rows: stored, it would take most of the program's memory."""
MAX_GROWN_ROW_BYTES = 1 << 26
"""Such rows at most. They are walked in blocks mostly (see `stream-dims`)."""
SERIAL_WORK = 1 << 16
"""Domain points up to which a kernel may run with few rows, that is on one thread."""
OFTEN = 16
"""Reads of each element that make up for storing and loading it once widened."""
MANY_READS = 1 << 16
"""Reads of all that make up for a kernel of its own."""
LEAST_STREAM_BLOCKS = 4
"""Blocks from which on a row is long. On a Sapphire Rapids 2,048 keys of bf16 in matrix tiles take
0.91 of the time in whole rows of scores as in two blocks, 0.87 where half of them is masked."""
SUM_TASKS = 16
"""Tasks to aim for: enough for any usual number of threads to share."""
MOST_PARTS = 16 * SUM_TASKS
"""Parts of a sum that are thought of: each is a task, and one more row to be joined."""
LEAST_SUMMED_ROWS = 8
"""Rows that a task adds up at least: what it reads is that many times what it keeps."""
LEAST_SUM_RUN = 1024
"""Points of a row at least, if others are next to it: shorter rows are read in pieces of lines."""
ENOUGH_RESULTS = 16
"""With this many results there is parallel work as it is."""
LEAST_POINTS = 1 << 16
"""Domain points below which one thread is done before a second has started."""
PARTS = 64
"""Parts to aim for: enough for any usual number of threads to share evenly."""
MASKED_PARTS = 1 << 10
"""Positions of a dimension, masked from a number of the call on, each of which is a part of its
own: what joins these is a row that the nearest cache holds."""
LEAST_MASKED_PART = 1 << 6
"""Points of such a part, so that what joins them is little beside it."""
LEAST_COLUMN_POINTS = 1 << 20
"""Domain points of a reduction into columns that memory bounds: less stays in the caches."""
PRODUCT_PARTS = 8
"""Parts of a product to aim for: one for each of as many threads as a desktop has. Of 64 to 128
rows and columns 2 to 8 take 0.85 to 0.95 of the time of one (two threads of a Sapphire Rapids)."""
LEAST_PART_TERMS = 8
"""Terms of such a part, at least, for each row or column, of which there are more: its result,
which is stored and read again, is a quarter of what it reads then. 128x16384x128 takes 0.89 of the
time in two parts, 256x8192x256 0.95, 256x2048x256 as long (two threads of a Sapphire Rapids)."""
LEAST_ROW_TERMS = 64
"""The same of a single row, whose operand is read row by row: parts of it are whole runs of memory,
ranges of its columns pieces. 1x1024x1024 takes 0.41 of the time in two parts, 1x3072x768 0.68,
1x768x3072 0.92, 1x4096x4096 as long (two threads of a Sapphire Rapids)."""
ROW_COLUMNS = 3072
"""Columns of such a row, at most: pieces of more are long. 1x768x3072 and 1x4096x4096, above, are
on either side of it."""
LEAST_PANEL_POINTS = 1 << 19
"""Domain points of a product of one panel of columns, which is one task, from which on parts are
worth a barrier: 16x2048x16 takes 0.65 of the time in two parts, 128x2048x32 0.56, 2x4096x32 1.06
(two threads of a Sapphire Rapids)."""
LEAST_PRODUCT_POINTS = 1 << 25
"""The same of several panels, which threads share otherwise: 64x2048x64 takes 1.08 of the time in
two parts, 64x4096x64 as long, 64x16384x64 0.92 (two threads of a Sapphire Rapids)."""
LEAST_LONG_POINTS = 3 << 19
"""The same of several panels whose sum is long enough for more than all parts: 2x20000x44 takes
0.44 of the time in eight parts, 16x8192x40 0.34, 2x16384x64 0.83, 16x12000x100 0.65, 8x4096x40 1.24
(two threads of a Sapphire Rapids). Parts keep digits, too: eight have a third of one's error."""
LEAST_NARROW_ROWS = 16
"""Rows of fewer columns than a vector has lanes that fill vectors together: as many as there are
lanes of f32 in the widest registers."""
COLUMN_PARTS = 16
"""Parts to aim for there: each writes a whole row of results."""
LEAST_PART_ROWS = 32
"""Rows of such a part: what it reads is that many times what it writes."""
WIDE = 1 << 14
"""With this many columns, a thread's share of a row is a long run as it is."""
LEAST_SHARE = 8
"""Parts must spare this share of the arithmetic: each costs a loop of its own, perhaps a fork."""
MAX_PARTS = 16
"""Parts of a domain: as many as concatenations usually have pieces."""
MANY_CUTS = 4
"""More cuts than these are not all tried at every step."""
LEAST_PAIRS = 8
"""Pairs side by side that are worth vectors of each half: one of 256 bits."""
MAX_NESTS = 32
"""Nests of a merged kernel: equal kernels are compiled once, and nests of one kernel each."""
LOOK_BACK = 4
"""Small kernels before it that a kernel is tried with."""
LEAST_STEPS = 16
"""Steps of a repetition that become a loop, at least: fewer may fuse with what is around them, and
an op that is written out costs some milliseconds to compile, whose sum is below a second. Not
measured further."""
MANY_OPS = 400
"""Ops of a repetition that becomes a loop of fewer steps: to write them out takes seconds. Twelve
steps of RAFT (1,400 ops) take 38 s of CPU time to the first result, 16 as a loop (a loaded Zen)."""
LEAST_LONG_STEPS = 4
"""Steps of such a repetition, at least: of fewer, the first and the last, which often differ, are
most. Not measured."""
LEAST_LAYERS = 2
"""Equal layers that become one region, at least: fewer are none. With two of Swin's three
pairs of blocks as one, passes take 0.79 and 0.88 of the time (a loaded Cascade Lake, two runs)."""
LEAST_LAYER_ELEMENTS = 1 << 18
"""Elements that the products of a layer read, at least: 1 MB of f32 takes 50 us at 20 GB/s, beside
which it should not show that nothing is fused over the edge of a layer. Smaller layers have not
been measured."""
LEAST_BLOCKS = 3
"""Equal blocks of nests that become one region, at least. With two, EfficientNet-B0 has 68
different kernels for 62, as the blocks in front and behind are fused with one another otherwise,
and passes take as long for them as they spare."""
MOST_KERNEL_COPIES = 8
"""Kernels of one whose calls end in different ways: code grows with each. Not measured."""
MOST_PAIR_OPS = 64
"""Ops of a body that is written twice."""
MAX_COPIED_OPS = 64
"""Ops of a body that may be copies: with twice as many, chains of rolls and of updates of rows took
as long to run, and up to several times as long to compile."""
MOST_FOLLOWED_OPS = 64
"""Ops and nests that are followed from an index to what it is made of: in bounded programs, and of
three dimensions that are joined, these are a dozen."""
MAX_ARRAYS = 24
"""Arrays that one kernel may walk at a time: as many as the usual prefetchers follow."""
MASK_OPS = 12
"""Cost units of a body that takes no longer than what it spares of a product of some terms."""
SMALL_SHARE = 16
"""What a mask reads beside its positions, such as the lengths of a batch, is this much smaller."""
NEAR_NESTS = 4
"""Pointwise nests between a product and its mask that are looked through."""
EXPANSION_LIMIT = 4
"""A constant result this many times larger than what it is made from is made each call instead."""
PREPARED_ELEMENTS = 1 << 20
"""Elements of what is made of nothing, at most, for which memory is held: 4 MB of f32."""
LEAST_READS = 2
"""Reads of each element from which on a copy costs less than testing positions."""
MOST_POINT_WORK = 16
"""Cost units of what a scatter computes at each point instead of reading it: more is better done in
vectors. A guess."""
MOST_PRODUCTS = 4
"""Products of one kernel that takes in the kernels of several makers, at most: the groups of
Winograd's are four. More were not measured."""
PANELS_TOGETHER = 2
"""Part of the second-level cache for all panels of such a kernel, which each block of rows reads
again: 3x3 by 128 channels of 8x28x28, whose panels are half of 2 MB, takes 2.8 ms so for 3.5 (two
threads of a Sapphire Rapids); larger shares were not measured."""
