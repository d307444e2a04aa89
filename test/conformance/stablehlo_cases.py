"""Programs of JAX's lax ops, and of what people write with them, over types, shapes and options.

A family is a function that yields cases. What a case is lowered to is the program under test, what
JAX computes the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stablehlo_case import Case
from stablehlo_elementwise_cases import binary, conversions, unary
from stablehlo_program_cases import control, indexing, networks, ordering, random, transforms
from stablehlo_tensor_cases import products, reductions, shapes, windows

FAMILIES: tuple[Callable[[], Iterator[Case]], ...] = (
    unary,
    binary,
    conversions,
    shapes,
    reductions,
    windows,
    products,
    indexing,
    ordering,
    transforms,
    control,
    random,
    networks,
)


def cases() -> Iterator[Case]:
    """Of all families."""
    for family in FAMILIES:
        yield from family()
