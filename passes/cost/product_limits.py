"""How products are packed and tiled: rows and columns of a task, blocks of a sum, copies."""

from __future__ import annotations

NARROW_PANELS = 8
"""Panels of columns that end at a number of the call up to which the last is computed in half of
its vectors where these are enough: lines of 14 pixels of a 3x3 convolution of 16 channels take 0.5
of the time so (a thread of a Zen 4). Of more panels it is less than a sixteenth of all, for which
code of all tiles would be there twice."""
PANEL_MODE_ROWS = 128
"""Rows of a task: a panel is read again from the caches for them. 128 rows by 768x3072 take 4.98 ms
in two blocks, 4.72 in one (a thread of a Cascade Lake)."""
ROW_MODE_ROWS = 32
"""The same where scratch holds whole rows, of a kernel that fusion weighs for any target."""
ROW_BLOCK = 128
"""The same of the target's cores, each of which reads all panels for its block: by 768x768, with a
norm behind it, 128 rows take 1.34 ms in blocks of 16, 1.19 of 32, and 1.15 of 64 and of 128 (a
thread of a Cascade Lake); 197 rows 1.21 ms in blocks of 50, 1.15 of 66, 1.11 of 99, by 3072x768
4.99, 4.76 and 4.59 (a thread of a Sapphire Rapids)."""
BOUNDED_ROW_BLOCK = 64
"""The same where rows have bounds, as those of causal attention: each is computed as far as any of
its block. Blocks of 128 take 1.07 of the time of 1,024 keys of f32, and of bf16 1.09, 1.10 of 512
(a thread of a Sapphire Rapids)."""
WAITING_ROWS = 64
"""Of so many at least sums of all columns wait for more terms, where scratch has no room for more
rows: 256x4096x1024 takes 0.92 of the time so (two threads of a Sapphire Rapids). Each block of
fewer rows would read all panels again."""
STREAM_MODE_ROWS = 128
"""The same where rows are walked in blocks: all keys are read again for each block of rows. Of
4,096 and 8,192 keys blocks of 88 to 220 rows, in whole tiles of 11, take 0.95 to 0.98 of the time
of 64, and 0.96 to 0.99 where the mask is causal (two threads of a Sapphire Rapids)."""
TILE_STREAM_ROWS = 128
"""The same in matrix tiles. Products with zeros, outside of bounds, take a tile of rows a block."""
LEAST_BLOCK = 8
"""Rows that share what is read of a panel, however long they are."""
TASKS = 16
"""Tasks to aim for, so that any usual number of threads is kept busy."""
TASKS_A_CORE = 1
"""Tasks for each core, where every task more copies what it reads: of two on one core, 512x3072x768
took a tenth longer."""
LONG_TILE_SUM = 1024
"""Terms from which on rows are copied for blocks of such a sum: 512x3072x768 takes 0.75 of the time
so, and 512x768x3072 a twentieth more."""
SUM_BLOCK = 256
"""Terms of a block: 16 KiB of a panel, and as much of two tiles of rows. 512x768x3072 takes 0.85 of
the time so, of 384 terms 0.93, of 128 as long as in one."""
LEAST_BLOCKED_ROWS = 64
"""Rows that share what is read of a panel, at least: two pairs of tiles."""
MOST_TOGETHER = 4
"""Panels that a task packs at a time where neighbours are columns, at most: rows of them are then
256 bytes or more, on few pages. One at a time, products of 2,048 terms took a quarter longer."""
LIVE_ROWS = 8
"""Rows of a register tile, at most, where it is not known how many rows there are. 768 by 3072
takes 0.90 of the time of tiles of 13 for 16 rows, 0.93 for 32, 0.98 to 1.0 for 64 to 2,048 (a
thread of a Zen 4)."""
TAIL_ROWS = (4, 3, 2, 1)
"""Rows of the tiles that compute what whole ones leave over there. A tile of 13 rows took 29 us for
16 live ones, which are two tiles of it; 18 us were those that the rows need (256 by 256, a Zen 4).
A row in a tile of 4 took 1.6 of the time of one alone."""
WAY_BYTES = 2048
"""Row strides that are multiples of this share at most two cache sets per way."""
WAY_LINES = 16
"""Lines that two sets of the nearest cache keep at least, of 8 ways each. 128 columns of 300 rows,
in lines 4,096 bytes apart, took 5 ns for each element, 1 ns otherwise (a Zen 4)."""
ROW_PADDING_BYTES = 64
"""What is left free between rows of a copy, so that they share no sets of the nearest cache."""
MIN_PANELS = 4
"""With fewer panels than this a copy of the rows is not read often enough to pay."""
SUM_UNROLL = 4
"""Steps of the summed dimension per loop iteration, at most: hides the loop's own instructions."""
SUM_MULTIPLY_ADDS = 28
"""Vectors' multiply-adds in an iteration that hide them as well, so that tiles of many rows take
fewer steps: of 14 rows by two vectors one step is as fast as four (ResNet-50 and BERT within 1 %,
a Zen 4), and is a quarter of the code. Tiles of 24 sums take two steps (a Cascade Lake), and so do
those of 27, whose loop was not free in one."""
LONG_SUM = 24
"""Inner terms, as of a window of 3 x 3 x 3, from which on positions of the outer dimension get sums
of their own: a rounding error grows with the chain of additions it goes through. The other totals
leave the registers meanwhile, which costs a twentieth of what so many terms do."""
CHAIN = 192
"""Terms that are added to one sum before it is added to the total, in a long sum: as many again are
added at each of the two levels of 65,536 terms or fewer. Saving the totals costs a hundredth."""
MIN_ROWS = 4
"""Below this many rows, packing an operand anew in each call costs more than it saves."""
MIN_TURNED_ROWS, MIN_TURNED_BATCH_ROWS = 9, 5
"""The same of an operand along whose memory the sum runs, as the weight of a linear layer: packing
turns it, and dot products read it as it stands, up to 8 rows (`MOST_SHARED_ROWS`) in one tile. In a
batch there is no such tile.
Packed and as it stands, one thread of a Sapphire Rapids, us: 5x512x512 44 and 29, 7x1000x1000 288
and 180, 8x768x768 172 and 140, 8x2048x2048 1,108 and 781, 8x512x197 22 and 14; 12x512x512 58 and
99."""
LONG_DOT = 256
"""Terms that make up for folding a vector at the end of each dot product."""
FEW_ROWS = 8
"""Rows side by side that fill half a register tile: fewer are joined with those behind them."""
IN_PLACE_ROWS = 128
"""Rows up to which columns of the call are read where they stand, not packed. One thread of a
loaded Sapphire Rapids, packed and in place, us: 2x512x512 19 and 9, 4x768x3072 733 and 466,
16x512x16384 4,148 and 2,761, 32x512x512 121 and 93, 64x3072x768 2,291 and 1,945, 128x768x768 939
and 880. So do products of a batch: on two threads 8 of 4x512x512 281 and 141, and parts of a sum:
8x8192x96 107 and 42, 16x8192x64 86 and 50."""
IN_PLACE_VECTORS = (8, 6, 4, 3, 2)
"""Vectors of their panels where one register tile has all rows, by preference."""
LEAST_WIDE_VECTORS = 4
"""Vectors of wide panels at least. More rows than their tiles have take panels of three, where
these divide the columns, or two: 64x768x3072 takes 2,273 us in three, 2,356 in four, 2,408 in
two."""
FEW_TILE_ROWS = 16
"""Rows up to which those are four rather than two: 16x512x16384 takes 2,761 us in panels of four
vectors, 3,530 in two; 32x512x512 107 and 93."""
LONG_LINE_BYTES = 1 << 15
"""Bytes from one row of columns to the next that make four gain whatever the rows: 32x1024x8192
takes 4,747 us for 5,751, 64x512x16384 8,769 for 9,563, but 48x1024x4096 3,004 for 2,918."""
IN_PLACE_TERMS = 16
"""Terms of a block of such a sum: lines of a panel lie a row of the operand apart, on other pages,
and often share sets of the nearest cache, which has 8 to 12 ways. In blocks of 16, of 64 and at
once 8x4096x4096 takes 5,821, 9,015 and 9,032 us, 16x768x3072 594, 760 and 1,251, 8x3072x768 (64
and at once) 603 and 882; 32x512x512 takes 90, 92 and 121."""
LEAST_LINE_BYTES = 512
"""Bytes from one row of such columns to the next from which on blocks of so few terms pay: rows by
64 columns of f32 take 226 us at once and 238 in blocks of 48 (64x4096x64), by 256 205 and 194
(64x1024x256)."""
FEW_BLOCKED_ROWS = 32
"""Rows up to which blocks have so few terms: of more, totals leave the registers too often."""
MORE_ROWS_TERMS = 48
"""Terms of a block of those: 64x768x3072 takes 2,005 us for 2,269 in blocks of 16, 128x768x768 976
for 1,074."""
LEAST_DOT_ROWS = 7
"""Rows that are packed in lanes of dot products, of which there are 16, at least: by 2048x2048 they
take 254 us however many there are, and 40 us each in f32 (two cores of a Zen 5)."""
BROADCAST_COLUMNS = 8
"""Columns of such a tile, whose elements are broadcast from a line each: with 16 of them a power of
two apart, up to 16 rows by 2048x2048 take 1,250 us, with 8 of them 598 (one thread of a Zen 4)."""
FEW_DOT_ROWS = 8
"""Rows whose dot products with columns that lie along the sum are made as both stand, rather than
packed in lanes: by 2048x2048 4 rows take 160 us, 8 take 330, and 12 take 750; in lanes, 7 to 16 of
them take 598 (one thread of a Zen 4)."""
MOST_DOT_ROWS = 16
"""The same where the product is too small for packing in lanes: 1,214 us for 4 rows in f32."""
HALF_ROWS = 2
"""Rows up to which constant columns stay half floats in memory, and are widened in registers. Rows
of f16 by 1024x1024 take, widened and for good in f32, from memory 60 and 127 us for one row, 75 and
143 for two, 92 and 135 for three, 116 and 120 for four; by 768x3072 from the last-level cache 117
and 113 for two, but 158 and 132 for three, 201 and 172 for four (a thread of a Zen 4)."""
MIN_WINDOW_ROWS = 8
"""Below this many rows, as in groups of few channels, windows are summed beside the scratch of
their image (see `pad-windows`): a register tile of columns does as well, in one kernel with it."""
PANEL_VECTORS = 2
"""Vectors per panel row: with two, a register tile needs few loads per multiply-add."""
WIDE_PANEL_VECTORS = 3
"""The same of constant panels, where tiles of so many cost less: 128x768x3072 runs at 136 GF/s for
131, 49x768x3072 at 131 for 126, 64x3072x768 at 121 for 116. Four, whose tiles have six rows, run at
120, 107 and 97 (a thread of a Cascade Lake)."""
WIDE_PANELS = 64
"""Wide panels from which on the last one need not be full: 128 rows of 768 terms by 50,257 columns
take 47.9 ms in 1,048 of them, 53.8 in panels of two vectors (a thread of a Sapphire Rapids); how
few they may be was not measured."""
NEAR_VALUES = 16
"""Values between two products that are looked through: scores are scaled, masked, less a maximum,
raised, divided and rounded, each in a nest of its own."""
LEAST_PRODUCT = 1 << 16
"""Multiplications below which tiles save less than packing for them costs."""
TILES_DEALT = 4
"""Register tiles of each block from which live rows are dealt out by whole ones: blocks of 33 rows
have four of 8 and one of one row, which takes as long as one of 3 (36 us of 768 by 768, a thread of
a Zen 4). With fewer, one tile more for a thread than for another weighs as much; other numbers were
not measured."""
EVEN_ROUNDS = 16
"""Blocks for each thread that share well enough as they are: of 13 blocks of 121 rows one of two
threads has a thirteenth more than its half, of 33 a thirty-third."""
PAIRS_UNROLLED = 2
"""Pairs of terms in a step of the loop over dot products: hides the loop's own instructions."""
DOT_SUMS = 8
"""Vectors of sums side by side, at least, that hide what a dot product of pairs waits for the one
before: fewer get sums of their own for each few pairs of terms."""
WAY_ELEMENTS = 512
"""Rows a multiple of this many elements apart would share sets of the nearest cache."""
APART = 16
"""Elements that keep them apart: a line of f32."""
PANEL_SHARE = 2
"""Part of the nearest cache for a panel, beside rows: lines of a larger one are fetched ahead."""
PANELS_SHARE = 2
"""Part of the second-level cache for all panels of matrix tiles, which lines of an image that are
tasks of their own read: 1x1 by 512x1024 to 14x14 takes 248 us so, and 177 where a task walks the
lines (bf16, a thread of a Sapphire Rapids)."""
SUMS_SHARE = 4
"""Part of the second-level cache for sums of all rows of an image that wait for the next block, a
share that leaves it to panels and rows; not measured."""
INNER_ROWS_GAIN = 1.05
"""How many times as many cycles a tile must take for each term, where lines of an image are tasks
of their own, for tasks to walk all of them: below that estimates tell nothing."""
L2_SHOWS = 0.5
"""Part of the time of loads from the second-level cache that multiply-adds do not hide, as lines
are fetched ahead: 3x3 in steps of two by 128 channels of 56x56 takes as long with its panels there
as with a block of them in the nearest cache (a thread of a Cascade Lake)."""
BLOCK_CYCLES = 40.0
"""Cycles that a register tile takes to begin and end with a block of the sum, beside its terms (a
Cascade Lake)."""
COPY_CYCLES = 2.0
"""Cycles that it takes to copy a vector of rows that are multiplied (a Cascade Lake)."""
PANEL_BYTES_AHEAD = 2048
"""How far ahead lines of a panel are fetched: 16 terms of two vectors of 512 bits."""
STREAMING_CPUS = ("znver4",)
"""CPUs, as LLVM calls them, that go on by themselves with a panel whose next term is asked for, and
lose it where lines further on are: a row by panels of 576 columns takes 93 GB/s from the last-level
cache for 70, of 1,024 from memory 33 for 30, two threads 64 for 54. Others were not asked."""
STREAMED_ROWS = 4
"""Rows of a tile up to which they do: of four 32 GB/s for 25, but of eight, where memory waits for
multiply-adds, 21 for 23.5 (one thread)."""
TILE_SUMS = 22
"""Vectors of sums in a register tile, at most: 128 rows by 768x3072 run at 137 GF/s in tiles of 10
rows by two vectors, at 134 with 11, 127 with 12, 128 with 13 and 118 with 14 (a thread of a Cascade
Lake, whose peak is 152)."""
WIDE_TILE_SUMS = 27
"""The same of wide panels: half of 197 rows is 11 tiles of nine rows, which take 0.96 of the time
of 13 tiles of eight; rows that both divide take as long (two threads of a Sapphire Rapids)."""
DOT_TILE_SUMS = 28
"""The same of dot products of pairs, measured on a Zen 4, where either begins once a cycle."""
PANEL_LOADS = 1.25
"""What loading a vector of a panel costs a register tile, in multiply-adds: its lines come from the
second-level cache. 64 rows of 3,072 terms run at 114 GF/s in tiles of 11, at 106 in tiles of 8."""
DOT_LOADS = 0.75
"""The same beside dot products of pairs, on a Zen 4."""
ROW_LOADS = 0.5
"""The same of an element of a row, which comes from the nearest cache: 128 rows by 768x768 run at
129 GF/s in tiles of 10 rows by two vectors, at 131 in tiles of 7 by three, and at 136 of 8 (the
same thread)."""

MUCH_MORE_PACKED = 4
"""Times as many elements as a product packs and stores, that it may pack of its other operand for
its result to be stored where it is wanted. A guess between 3.4, which a 1x1 convolution of 64 to 16
channels has, and 6, attention over 196 pixels by heads of 16, whose weights are stored then."""
