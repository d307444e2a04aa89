"""Flags of inputs and outputs, as native code reads them: beside these 1 and 2 (`Value`)."""

LIMITED = 4
"""Flag of an input behind whose elements, as many as a call brings, the program touches nothing."""

COMPACT = 8
"""Flag of an input or output that lies in memory row-major over the extents that a call has."""
