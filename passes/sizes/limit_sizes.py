"""`limit-sizes{sizes="batch=32"}`: a program for sizes of its arguments up to given ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from lamina.dialects.errors import InputError
from lamina.dialects.records import record
from lamina.dialects.sizes import Range, SizeAttr, SizeText
from lamina.passes.contracts.argument_sizes import (
    DIMS,
    has_open_sizes,
    open_dims_of,
    refuse_unknown_names,
    size_names,
    texts_of,
)
from lamina.passes.contracts.declared import Declared, arguments_of
from lamina.passes.contracts.entry_attributes import verify_entries
from lamina.passes.contracts.size_hints import hints_of, set_hints
from lamina.passes.sizes.bind_sizes import named_number


@record
class LimitSizesPass(ModulePass):
    """Narrow the ranges of sizes of arguments to at most these numbers.

    `sizes` are texts as `batch=32`. Other sizes keep their ranges.
    """

    name = "limit-sizes"

    sizes: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_entries(op, "fused")
        limit_sizes(op, dict(map(named_number, self.sizes)))


def limit_sizes(module: ModuleOp, most: Mapping[str, int]) -> None:
    """Write the ranges of sizes in the attributes of arguments, in place; hints out of them go.

    Sizes without a name get one. Raises InputError for a name that no function has, and for a
    number below its range.
    """
    known: set[str] = set()
    for function in module.body.block.ops:
        if isinstance(function, FuncOp) and function.body.blocks and has_open_sizes(function):
            known |= _limit(function, most)
    refuse_unknown_names(most, known)


def _limit(function: FuncOp, most: Mapping[str, int]) -> set[str]:
    arguments = arguments_of(function)
    names = size_names(arguments)
    ranges: dict[str, Range] = {}
    for name, size in names.items():
        limit, held = most.get(name), size.range
        if limit is not None and limit < held.least:
            raise InputError(f"size '{name}' is in {held}, and cannot be at most {limit}")
        if limit is not None and (held.most is None or limit < held.most):
            held = replace(held, most=limit)
        ranges[name] = held
    hints = hints_of(function)
    state_ranges(function, ranges)
    set_hints(function, {n: hint for n, hint in hints.items() if ranges[n].holds(hint)})
    return set(names)


def state_ranges(function: FuncOp, ranges: Mapping[str, Range]) -> None:
    """Write the ranges of all sizes, by name, in the attributes of a function's arguments: where
    names stand alone, or else wherever they are the only one."""
    arguments = arguments_of(function)
    alone = {s.name for declared in arguments for s in texts_of(declared) if s.is_name}
    entries = [_limited(declared, ranges, alone) for declared in arguments]
    function.properties["arg_attrs"] = ArrayAttr(entries)


def _limited(
    declared: Declared, ranges: Mapping[str, Range], alone: Collection[str]
) -> DictionaryAttr:
    """The attributes of an argument, whose sizes say their ranges wherever they are named."""
    entries = dict(declared.entries)
    if open_dims_of(declared):
        entries[DIMS] = ArrayAttr([SizeAttr(_said(s, ranges, alone)) for s in texts_of(declared)])
    return DictionaryAttr(entries)


def _said(said: SizeText, ranges: Mapping[str, Range], alone: Collection[str]) -> SizeText:
    if not said.tells_range:
        return said
    (name,) = said.names
    if name in alone and not said.is_name:
        return replace(said, range=None)
    return said.with_range(ranges[name])
