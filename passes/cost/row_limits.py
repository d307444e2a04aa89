"""How kernels of rows are divided: least work of a thread, and of a task, and how many there are.

Work is in cost units (see `fusion_cost`).
"""

from __future__ import annotations

PARALLEL_WORK = 1 << 14
"""Cost units (see `fusion_cost`) below which a fork and join costs more than it saves."""
CHUNK_WORK = 1 << 14
"""Cost units per task, at least, where one long dimension is all there is to divide."""
LEAST_CHUNK, MOST_CHUNK = 1024, 8192
"""Elements per task, whatever they cost: long runs of memory, and tasks for everybody."""
WHOLE_LINES = 64
"""Elements that tasks are a multiple of: whole cache lines of any type."""
ENOUGH_TASKS = 64
"""Tasks that any usual number of threads shares evenly: a dimension is cut into no more."""
COLUMN_TASKS = 16
"""Tasks to aim for where neighbouring columns are reduced together."""
LEAST_LINE = 4
"""Positions of a line that are worth a register tile of their own: fewer share too little."""
ROW_STREAMS = (4, 2)
"""Rows at once, the first number that divides their count; more streams gain little."""
MOST_SHARED_ROWS = 8
"""Rows at once that share what they read most of, at most, as rows of a product by a weight do:
the nearest cache has as many places, or more, for lines a power of two apart."""
LEAST_STREAM_TASKS = 16
"""Groups of rows that must be left, for any usual number of threads to share."""
STREAM_VECTORS = 2
"""Vectors of each row a step: a whole line or more, and accumulators enough for any latency."""
