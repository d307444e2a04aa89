"""Writes through views that torch's own functionalization does not get right.

AOTAutograd turns a write through a view into an op that puts the new elements back into the base.
For two views that op is not eager mode's write: what the windows of `unfold` leave out comes back
as zeros, and elements of `as_strided` that share memory are written from one of several values.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from lamina.passes.view_inverses import overlaps


def wrong_write(node: fx.Node) -> str | None:
    """Why the op of an inference graph is a write that went wrong; None for any other node."""
    if node.target is torch.ops.aten.unfold_backward.default and not _covers(node.args):
        return "torch's functionalization loses what the windows of a written unfold leave out"
    if node.target is torch.ops.aten.as_strided_scatter.default:
        arguments: Any = node.args
        if overlaps(arguments[2], arguments[3]):
            return "writes through as_strided, whose elements share memory"
    return None


def _covers(arguments: Any) -> bool:
    """Whether windows (`size` elements, `step` apart) have every element along their dimension."""
    _, sizes, dim, size, step = arguments
    if not sizes:
        return True
    length = sizes[dim]
    windows = (length - size) // step + 1
    return (windows - 1) * step + size == length and (step <= size or windows == 1)
