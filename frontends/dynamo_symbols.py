"""What the symbols in a graph that Dynamo captured are sizes of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod
from typing import Any

import torch
from torch import fx

from lamina.frontends.torch_types import known_size


def places_of_symbols(graph: fx.GraphModule) -> dict[str, str]:
    """For each symbol an argument that is it, or a dimension of one that tells it."""
    found: dict[str, str] = {}
    for node in graph.graph.nodes:
        value = node.meta.get("val") if node.op == "placeholder" else None
        argument = f"argument '{node.name}'"
        if isinstance(value, torch.SymInt):
            found.setdefault(str(value.node.expr), argument)
        for dim, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            if isinstance(size, torch.SymInt):
                expr: Any = size.node.expr
                for symbol in expr.free_symbols:
                    if expr.is_symbol or str(symbol) not in found:
                        found[str(symbol)] = f"dimension {dim} of {argument}"
    return found


def feature_sizes(graph: fx.GraphModule) -> list[str]:
    """Symbols that are numbers of features, as they seem: never but the last dimension, of floats
    in two, or of anything in three or four, of tensors all of whose dimensions are symbols, or 1,
    which torch makes of no dimension a symbol. Lengths stand in front of these, or are the last of
    integers and masks in two dimensions; of graphs with ops of images four are no features. Where
    weights, or sizes that have not varied yet, are numbers, what is a symbol varies."""
    found: dict[str, bool] = {}
    most_rank = 3 if any(map(_is_of_images, graph.graph.nodes)) else 4
    for value in (n.meta.get("val") for n in graph.graph.nodes if n.op == "placeholder"):
        if not isinstance(value, torch.Tensor):
            continue
        shape = list(value.shape)
        if len(shape) > 2 and known_size(shape[-1]) == 2:
            shape.pop()  # the parts of complex numbers
        if (rank := len(shape)) < 2:
            continue  # such as a bias, which says nothing
        is_inexact = value.dtype.is_floating_point or value.dtype.is_complex
        known = [size for size in shape if not isinstance(size, torch.SymInt)]
        fits = 3 <= rank <= most_rank or (rank == 2 and is_inexact)
        fits = fits and all(size == 1 for size in known) and rank - len(known) > 1
        for dim, size in enumerate(shape):
            if not isinstance(size, torch.SymInt):
                continue
            expr: Any = size.node.expr
            for symbol in expr.free_symbols:
                before = found.get(str(symbol), True)
                found[str(symbol)] = before and fits and dim == rank - 1 and expr.is_symbol
    return [name for name, is_steady in found.items() if is_steady]


def number_at(size: int | torch.SymInt, sizes: Mapping[str, int]) -> int:
    """A size where the symbols have these values."""
    if not isinstance(size, torch.SymInt):
        return size
    expr: Any = size.node.expr
    return int(expr.xreplace({s: sizes[str(s)] for s in expr.free_symbols}))


def padded_elements(
    graph: fx.GraphModule, sizes: Mapping[str, int], growing: Collection[str]
) -> int:
    """How many elements the arguments with symbolic sizes have together, but for those that have
    `growing` ones."""
    values = [n.meta.get("val") for n in graph.graph.nodes if n.op == "placeholder"]
    shapes = [value.shape for value in values if isinstance(value, torch.Tensor)]
    symbols = [{str(s.node.expr) for s in shape if isinstance(s, torch.SymInt)} for shape in shapes]
    return sum(
        prod(number_at(size, sizes) for size in shape)
        for shape, own in zip(shapes, symbols, strict=True)
        if own and own.isdisjoint(growing)
    )


_IMAGE_OPS = ("batch_norm", "conv", "grid", "group_norm", "im2col", "pad", "pool", "upsample")
"""What is in the names of ops on images, and on lines of samples."""


def _is_of_images(node: fx.Node) -> bool:
    return node.op == "call_function" and any(part in str(node.target) for part in _IMAGE_OPS)
