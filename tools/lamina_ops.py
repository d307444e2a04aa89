"""`lamina-ops`: which ops there are, how far down each goes, and what stops a program."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from lamina.dialects.context import load_dialect
from lamina.dialects.errors import InputError, UnsupportedError
from lamina.dialects.extension_tables import extended_names
from lamina.dialects.nearest_ops import nearest, nearest_packets
from lamina.dialects.schema.dialect import TableDialect
from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.schema.result_rules import find_rule
from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS
from lamina.tools.extension_files import add_load_argument, run_extended
from lamina.tools.op_trials import DTYPES, Trial, example, try_example
from lamina.tools.other_names import what_becomes_of
from lamina.tools.program_check import blockers
from lamina.tools.tolerant_parser import parse_tolerantly

LAYERS = ("aten", "core_aten", "prims")
"""Layers whose ops come from tables."""

_IMPORTED = ".pt2"


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `lamina-ops` command; 1 for bad input and for a program with blockers."""
    return run_extended("lamina-ops", arguments, lambda: _run(_parser().parse_args(arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lamina-ops", description=__doc__)
    add = parser.add_argument
    add("pattern", nargs="?", default="*", help="overload names to list, as 'add.*'")
    layers = _layers()
    add("--layer", choices=layers, default=layers[0], help=f"of the listed ops ({layers[0]})")
    add("--tag", help="list only ops with this tag of torch's, for example core or pointwise")
    add("--dtype", choices=DTYPES, help="list only ops whose example compiles in this dtype")
    add_load_argument(parser)
    one = parser.add_mutually_exclusive_group()
    add = one.add_argument
    add("--why", metavar="OP", help="how far down an op goes, for each dtype, and what stops it")
    add("--check", metavar="FILE", help="every blocker of a .mlir or .pt2 program; - is stdin")
    return parser


def _run(options: argparse.Namespace) -> None:
    if options.why is not None or options.check is not None:
        if (options.pattern, options.tag, options.dtype) != ("*", None, None):
            raise InputError("lamina-ops: error: --why and --check list no ops by name or tag")
        _show(_checked(options.check) if options.why is None else why(options.why))
        return
    names = listed(options.layer, options.pattern, options.tag, options.dtype)
    first = next(names, None)
    if first is None:
        name = options.pattern.removeprefix(f"{options.layer}.")
        known = list(_table(options.layer).names)
        near = nearest(name, known) or nearest_packets(name, known)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        raise InputError(f"lamina-ops: error: no op of {options.layer} fits{hint}")
    _show(chain([first], names))


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _checked(name: str) -> Iterator[str]:
    """The blockers of a program; ends with code 1 if there are any."""
    module, unknown = load(name)
    found = [str(error) for error in unknown] + blockers(module)
    yield from found or [f"{name}: nothing stops this program"]
    if found:
        raise SystemExit(1)


def _layers() -> tuple[str, ...]:
    """Dialects whose ops come from tables, those of extensions last."""
    added = (name.partition(".")[0] for name in extended_names("op"))
    return tuple(dict.fromkeys([*LAYERS, *added]))


def _table(layer: str) -> TableDialect:
    dialect = load_dialect(layer) if layer in LAYERS else extended_names("dialect")[layer].value()
    assert isinstance(dialect, TableDialect)
    return dialect


def listed(layer: str, pattern: str, tag: str | None, dtype: str | None) -> Iterator[str]:
    """Full names of the ops that fit, in the table's order.

    A pattern is of full names or of names without their layer, and may leave overloads out.
    """
    table: Any = _table(layer)
    pattern = pattern.removeprefix(f"{layer}.")
    if tag is not None:
        _check_tag(tag, {known for name in table.names for known in table.schema(name).tags})
    for name in table.names:
        if not (fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(name, f"{pattern}.*")):
            continue
        if tag is not None and tag not in table.schema(name).tags:
            continue
        if dtype is not None:
            tried = trial(table.find(name), dtype)
            if tried is None or (tried.error is not None and not tried.only_first):
                continue
        yield f"{layer}.{name}"


def _check_tag(tag: str, known: set[str]) -> None:
    """Raise InputError for a tag that no op has."""
    if tag not in known:
        raise InputError(f"lamina-ops: error: no tag '{tag}'; tags: {', '.join(sorted(known))}")


def trial(kind: type[SchemaOp], dtype: str) -> Trial | None:
    """What becomes of the example of an op in a dtype; None without an example."""
    op = example(kind, dtype)
    return None if op is None else try_example(op)


def op_class(name: str) -> type[SchemaOp]:
    """The class of `aten.add.Tensor`, also without its layer. InputError for unknown names."""
    layer, _, rest = name.partition(".")
    if layer not in _layers():
        layer, rest = "aten", name
    table: Any = _table(layer)
    for candidate in (rest, f"{rest}.default"):
        if (kind := table.find(candidate)) is not None:
            return kind
    known = list(table.names)
    near = [n for n in known if n.startswith(f"{rest}.")] or nearest(rest, known)
    near = near or nearest_packets(rest, known)
    hint = f"; nearest: {', '.join(near[:8])}" if near else ""
    raise InputError(f"lamina-ops: error: {layer} has no op '{rest}'{hint}")


def untried(kind: type[SchemaOp]) -> str:
    """Why there is no example of an op."""
    schema = kind.schema
    recorded = DECOMPOSITIONS.limitations().get(schema.overload_name)
    if recorded is not None and schema.overload_name not in DECOMPOSITIONS.table():
        return recorded
    if find_rule(kind.name.partition(".")[0], schema.overload_name, schema.tags) is None:
        return "the types of its results are only known from a program"
    return "no small call of it in this dtype is valid"


def why(name: str) -> list[str]:
    """Lines about one op: its schema, and for each dtype what its example came to."""
    try:
        kind = op_class(name)
    except InputError:
        becomes = what_becomes_of(name)
        if becomes is None:
            raise
        return [f"{name}: {becomes}"]
    signature = ", ".join(f"{arg.type} {arg.name}" for arg in kind.schema.args)
    lines = [f"{kind.name}({signature})"]
    shown: str | None = None
    for dtype in DTYPES:
        op = example(kind, dtype)
        if op is None:
            lines.append(f"  {dtype:13} not tried: {untried(kind)}")
            continue
        call = str(op).partition("= ")[2] if op.results else str(op)
        if shown is None:
            shown = call
            lines.append(f"  tried as {call}")
        tried = try_example(op)
        if tried.error is None:
            lines.append(f"  {dtype:13} goes down to {tried.reached}")
            continue
        if tried.only_first:
            lines.append(
                f"  {dtype:13} goes down to {tried.reached} if only its first result is used"
            )
            lines.append(f"  {'':13} the others: {tried.reason}")
            continue
        lines.append(f"  {dtype:13} stops at {tried.reached}: {tried.reason}")
        if tried.nearest:
            lines.append(f"  {'':13} use instead: {tried.nearest}")
    return lines


def load(name: str) -> tuple[ModuleOp, list[UnsupportedError]]:
    """The program in a file, textual IR or what torch.export saved; and what is no op of ours.

    `-` is textual IR from the standard input.
    """
    if name == "-":
        return parse_tolerantly(sys.stdin.buffer.read(), "<stdin>"), []
    path = Path(name)
    if path.suffix != _IMPORTED:
        return parse_tolerantly(path.read_bytes(), str(path)), []
    from lamina.frontends.saved_program import import_saved

    return import_saved(path)


if __name__ == "__main__":
    raise SystemExit(main())
