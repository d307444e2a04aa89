"""Result types of questions about tensors, and of assertions."""

from __future__ import annotations

from xdsl.dialects.builtin import i1, i64

from lamina.dialects.schema.result_rules.shapes import Args, Types, wrap_dim


def integer(args: Args) -> Types:
    """`numel`, `storage_offset`, `dim`: an i64."""
    return [i64]


def integer_of_dim(args: Args) -> Types:
    """`size.int`, `stride.int`: an i64 about one dim."""
    wrap_dim(args["dim"], len(args["self"].get_shape()))
    return [i64]


def truth(args: Args) -> Types:
    """`equal`, `allclose`, `is_floating_point`: an i1."""
    return [i1]


def nothing(args: Args) -> Types:
    """Assertions have no results."""
    return []
