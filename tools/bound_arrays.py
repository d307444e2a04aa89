"""What programs bind to their arguments, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina.frontends.source_program import SourceProgram
from lamina.runtime.arguments import array_kind, kind_name
from lamina.runtime.entry import Slot


def arrays_of(source: SourceProgram, slots: Sequence[Slot]) -> dict[str, np.ndarray]:
    """What the program binds to its arguments as NumPy arrays, views where memory is row-major."""
    return {
        slot.name: _array(source.constants[slot.name], slot)
        for slot in slots
        if slot.name in source.constants
    }


def _array(value: Any, slot: Slot) -> np.ndarray:
    kind = array_kind(kind_name(value) or "numpy")
    plain = kind.plain(value, slot)
    seen = kind.memory(plain).view(slot.numpy_dtype)
    return seen if plain is value else seen.copy()  # `plain` and its memory go with this call
