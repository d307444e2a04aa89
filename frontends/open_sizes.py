"""Sizes that torch leaves open, as `lamina.dims` says them: symbols, their ranges and relations."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import fx
from torch.utils._sympy.functions import FloorDiv
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.dialects.func import FuncOp

from lamina.dialects.errors import ArgumentError
from lamina.dialects.sizes import Range, SizeAttr, SizeText
from lamina.frontends.torch_types import known_size
from lamina.passes.contracts.argument_sizes import has_open_sizes, size_names
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.contracts.other_ranges import holds
from lamina.passes.contracts.size_hints import set_hints
from lamina.passes.contracts.symbolic_shapes import SymbolicShapes
from lamina.passes.sizes.limit_sizes import state_ranges
from lamina.runtime.call_sizes import CallSizes

_LEAST_TRACED = 2
"""What torch says that a size is at least of which a program says nothing."""

_HUGE = 1 << 40
"""No tensor has so many elements: such a bound is the range of a type."""


def open_sizes(
    name: str,
    value: torch.Tensor,
    ranges: Mapping[Any, Any] | None = None,
    aliases: Mapping[str, str] | None = None,
) -> ArrayAttr | None:
    """`lamina.dims` of an argument; None if torch knows all its sizes.

    `ranges` are those that a program states of its symbols; others are asked of torch. `aliases`
    has symbols that are to stand for others. What is no sum of multiples of symbols and of their
    products is a size of its own.
    """
    found = [
        SizeAttr(_text(f"{name}.shape[{dim}]", size, ranges or {}, aliases or {}))
        for dim, size in enumerate(value.shape)
        if isinstance(size, torch.SymInt) and known_size(size) is None
    ]
    return ArrayAttr(found) if found else None


def hinted_shape(value: torch.Tensor) -> tuple[int, ...] | None:
    """The shape that a tensor had when it was traced; None if that is not known any more."""
    nodes = [size.node for size in value.shape if isinstance(size, torch.SymInt)]
    if not all(node.has_hint() for node in nodes):
        return None
    hints = (size.node.hint if isinstance(size, torch.SymInt) else size for size in value.shape)
    return tuple(int(hint) for hint in hints)


def note_hints(module: ModuleOp, examples: Mapping[str, tuple[int, ...] | None]) -> None:
    """States the sizes that a program was traced with, by shapes of its arguments with open sizes,
    as `lamina.hints` of `@main`. Nothing is stated if they are not known, or out of its ranges."""
    main = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    arguments = [declared for declared in arguments_of(main) if declared.name in examples]
    shapes = [examples[declared.name] for declared in arguments]
    if shapes and None not in shapes:
        with suppress(ArgumentError):
            found = CallSizes(main, arguments).of(shapes)
            set_hints(main, {name.text: size for name, size in found.items()})


def take_small_sizes(module: ModuleOp) -> None:
    """Lets sizes of `@main` be 0 and 1 where torch says 2 at least, unless they must not.

    It says so of every dimension without a least size: it traces with sizes that are neither, and
    takes them in calls all the same. Of a `Dim` without one it says 0. A size of which an op makes
    something else then, or nothing at all, is as much as the op takes, so that a call with less is
    refused.
    """
    main = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    if not has_open_sizes(main):
        return
    stated = {name: size.range for name, size in size_names(arguments_of(main)).items()}
    small = [name for name, held in stated.items() if _may_be_small(held)]
    leasts = {name: stated[name].least % _LEAST_TRACED for name in small}
    lowest = {name: replace(stated[name], least=least) for name, least in leasts.items()}
    if _shapes(main, stated | lowest) is not None:
        return
    ranges = stated | {name: replace(stated[name], least=_LEAST_TRACED) for name in small}
    known = _shapes(main, ranges)
    if known is None:
        state_ranges(main, stated)
        return
    for name in small:
        for least in range(leasts[name], _LEAST_TRACED):
            wider = ranges | {name: replace(ranges[name], least=least)}
            if _shapes(main, wider, known) is not None:
                ranges = wider
                break
    state_ranges(main, ranges)


def _may_be_small(held: Range) -> bool:
    return held.least <= _LEAST_TRACED and (held.most is None or held.most >= _LEAST_TRACED)


def _shapes(
    main: FuncOp, ranges: Mapping[str, Range], known: SymbolicShapes | None = None
) -> SymbolicShapes | None:
    """Shapes for sizes of these ranges, which are stated then; None if an op means no one thing."""
    state_ranges(main, ranges)
    return holds(main, known)


def size_number(
    number: torch.SymInt, graph: fx.GraphModule, aliases: Mapping[str, str] | None = None
) -> ArrayAttr | None:
    """`lamina.dims` of a number that is a size of tensors which a graph makes; None for others."""
    symbol: Any = number.node.expr
    if not symbol.is_Symbol or symbol not in sized_symbols(graph):
        return None
    text = str(symbol)
    named = (aliases or {}).get(text, text)
    said = SizeText.of(named)
    if named == text:
        said = SizeText.ranged(text, range_of(symbol, number.node))
    return ArrayAttr([SizeAttr(said)])


def sized_symbols(graph: fx.GraphModule) -> set[Any]:
    """The symbols that sizes of tensors in a graph are made of."""
    values = [node.meta.get("val") for node in graph.graph.nodes]
    return {
        symbol
        for value in values
        if isinstance(value, torch.Tensor)
        for size in value.shape
        if isinstance(size, torch.SymInt)
        for symbol in size.node.expr.free_symbols
    }


def _text(
    place: str, size: torch.SymInt, ranges: Mapping[Any, Any], aliases: Mapping[str, str]
) -> SizeText:
    node: Any = size.node
    terms = _terms(node.expr)
    if terms is None:
        return SizeText.ranged(place, range_of(node.expr, node, ranges))
    offset = terms.pop((), 0)
    named = [([aliases.get(str(s), str(s)) for s in symbols], by) for symbols, by in terms.items()]
    said = SizeText.sum_of(named, offset)
    if not said.tells_range:
        return said
    (symbol,) = node.expr.free_symbols
    if said.names != [str(symbol)]:  # its range stands there
        return said
    return said.with_range(range_of(symbol, node, ranges))


def _terms(expr: Any) -> dict[tuple[Any, ...], int] | None:
    """Products of symbols, by their positive factors, of an expression that is a sum of these and
    of an integer; None for others."""
    found: dict[tuple[Any, ...], int] = {}
    for product, factor in expr.expand().as_coefficients_dict().items():
        powers = product.as_powers_dict()
        is_product = all(
            (base.is_Symbol and power.is_Integer and power > 0) or base == 1
            for base, power in powers.items()
        )
        if not is_product or not factor.is_Integer or (product != 1 and factor < 1):
            return None
        symbols = [base for base, power in powers.items() if base != 1 for _ in range(int(power))]
        found[tuple(symbols)] = int(factor)
    return found if found.keys() - {()} else None


def guarded_range(symbol: Any, node: Any) -> Range:
    """What a symbol of a graph of Dynamo may be, as torch knows it and by the guards of the graph.

    Where a quotient has been found to be a number, as that of an image of one window is 1, the
    graph is for no other: torch keeps the guard, and does not say it of the symbol's range.
    """
    known = range_of(symbol, node)
    least, most = known.least, known.most
    for guard in node.shape_env.guards:
        expr: Any = guard.expr
        if getattr(expr, "rel_op", None) != "==":
            continue
        for quotient, number in ((expr.lhs, expr.rhs), (expr.rhs, expr.lhs)):
            if not isinstance(quotient, FloorDiv) or quotient.args[0] != symbol:
                continue
            divisor: Any = quotient.args[1]
            if number.is_Integer and divisor.is_Integer and divisor > 0:
                first = int(number) * int(divisor)
                last = first + int(divisor) - 1
                least, most = max(least, first), last if most is None else min(most, last)
    return known if most is not None and most < least else replace(known, least=least, most=most)


def range_of(expr: Any, node: Any, ranges: Mapping[Any, Any] | None = None) -> Range:
    """What an expression of a symbolic size may be, by `ranges` or as torch knows it."""
    held = (ranges or {}).get(expr)
    if held is None:
        held = node.shape_env.bound_sympy(expr)
    least = int(held.lower) if held.lower.is_Integer else 0
    most = int(held.upper) if held.upper.is_Integer and held.upper < _HUGE else None
    return Range(max(least, 0), most)
