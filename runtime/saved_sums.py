"""Sums that tell whether a block of numbers is what was written, as fast as memory is read.

The block is a table of 64-bit words: its digest is that of the sums of its rows and of its columns,
modulo 2^64. Rows are an odd number of words long, so that a change of one bit throughout changes
sums too. Damage stays unseen only where it changes no sum of either kind, as four words at the
corners of a rectangle may; against forgery there is nothing here, nor in a file's other digests.
"""

from __future__ import annotations

import hashlib

import numpy as np

ROW_WORDS = 2047
"""Words of a row, an odd number: 16 KiB, so that the sums of columns stay in the first cache."""

_ROWS_AT_ONCE = 32
"""Rows that are read twice, the second time from the second-level cache: 512 KiB."""


def sums_digest(data: memoryview) -> str:
    """The digest, 64 hexadecimal digits, of bytes of any number; the last row ends with zeros."""
    view = np.frombuffer(data, np.uint8)
    row_bytes = 8 * ROW_WORDS
    whole = view.size // row_bytes
    table = view[: whole * row_bytes].view(np.uint64).reshape(whole, ROW_WORDS)
    rows = np.zeros(whole + 1, np.uint64)
    columns = np.zeros(ROW_WORDS, np.uint64)
    for begin in range(0, whole, _ROWS_AT_ONCE):
        part = table[begin : begin + _ROWS_AT_ONCE]
        rows[begin : begin + len(part)] = np.add.reduce(part, axis=1)
        columns += np.add.reduce(part, axis=0)
    rest = np.zeros(row_bytes, np.uint8)
    rest[: view.size - whole * row_bytes] = view[whole * row_bytes :]
    rows[whole] = np.add.reduce(rest.view(np.uint64))
    columns += rest.view(np.uint64)
    return hashlib.sha256(rows.tobytes() + columns.tobytes()).hexdigest()
