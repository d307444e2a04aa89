"""`--list-passes` and `--list-ops` of `lamina-opt`: what there is, one line each."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE
from xdsl.utils.target import Target

from lamina.dialects.context import DIALECTS, load_dialect
from lamina.dialects.extension_tables import extended_names
from lamina.dialects.nearest_ops import op_names
from lamina.tools.universe import UNIVERSE

LAYERS: tuple[str, ...] = tuple(DIALECTS)
"""Lamina's dialects, top layer first."""


def summary(thing: object) -> str:
    """First line of a docstring, without its final full stop."""
    text = inspect.getdoc(thing) or ""
    return text.split("\n", 1)[0].rstrip(".")


def options_of(kind: type[ModulePass] | type[Target]) -> str:
    """`{option: type = default ...}`, empty for a pass or target without options."""
    quotes = "'\""  # types written as text, under `from __future__ import annotations`
    shown = [
        f"{option.name.replace('_', '-')}: {str(option.type).strip(quotes)}"
        + (f" = {str(getattr(kind, option.name)).lower()}" if hasattr(kind, option.name) else "")
        for option in fields(kind)
        if option.name != "name"
    ]
    return "{" + ", ".join(shown) + "}" if shown else ""


def list_passes() -> Iterable[str]:
    """Lamina's passes with options and summary, then the names of xDSL's."""
    yield "Lamina's passes:"
    for name, factory in sorted(UNIVERSE.all_passes.items()):
        pass_type = factory()
        yield f"  {name}{options_of(pass_type)}"
        yield f"      {summary(pass_type)}"
    yield "xDSL's passes:"
    for name in sorted(XDSL_UNIVERSE.all_passes):
        yield f"  {name}"
    added = extended_names("pass")
    if added:
        yield "Passes of extensions:"
    for name, entry in sorted(added.items()):
        yield f"  {name}{options_of(entry.value())}: {entry}"


class ListPasses(argparse.Action):
    """Print all passes and end."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print, then exit with code 0."""
        print("\n".join(list_passes()))
        parser.exit()


class ListOps(argparse.Action):
    """Print the ops of one layer, or of all, and end."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        layers = (*LAYERS, *extended_names("dialect"))
        super().__init__(*arguments, nargs="?", choices=layers, **options)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Print, then exit with code 0."""
        added = extended_names("dialect")
        for layer in (values,) if values else (*LAYERS, *added):
            dialect = load_dialect(layer) if layer in LAYERS else added[layer].value()
            print("\n".join(sorted(op_names(dialect))))
        parser.exit()
