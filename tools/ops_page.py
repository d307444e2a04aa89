"""docs/ops.md: every functional ATen overload, and by which file it goes down."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from lamina.dialects import aten, core_aten
from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS
from lamina.lowering.bound_dynamic_shapes.table import table as bounded
from lamina.lowering.core_aten_to_prims.table import LOWERINGS, limitations
from lamina.tools.reporting import run_tool

_INTRODUCTION = """# Ops

Made by `python -m lamina.tools.ops_page docs/ops.md` from the tables that the compiler itself
uses; a test checks that it is current. One row for each overload of ATen that returns new tensors:
in-place and `out=` overloads become these before (`functionalize`), which refuses `set_`, `resize_`
to another shape, and ops that read some of the memory that they write. An op is *core* if it stands
in the `core_aten` dialect and is lowered to `prims` by the named file; it is *decomposed* if the
named file turns it into core ops; it is *bounded* if the size of its result depends on data and the
named file makes ops of known sizes of it ([data_dependent_shapes.md](data_dependent_shapes.md)).
`lamina-ops --why OP` tries an example of one op in each dtype and says what stops it;
`lamina-ops --check FILE` lists all that stops a program.
"""


def rows() -> Iterator[tuple[str, str, str]]:
    """(overload, kind, file or reason) for each functional overload of ATen, sorted."""
    for name in sorted(aten.Aten.names):
        schema = aten.Aten.schema(name)
        writes = any(arg.alias is not None and arg.alias.is_write for arg in schema.args)
        if not writes:
            yield (name, *_way(name))


def _way(name: str) -> tuple[str, str]:
    decomposition = DECOMPOSITIONS.table().get(name)
    if decomposition is not None:
        return "decomposed", _file(decomposition)
    lowering = LOWERINGS.table().get(name)
    if lowering is not None:
        return "core", _file(lowering)
    bounding = bounded().get(name)
    if bounding is not None:
        return "bounded", _file(bounding)
    if core_aten.CoreAten.find(name) is None:
        return "none", DECOMPOSITIONS.limitations().get(name, "no lowering from aten yet")
    return "none", limitations().get(name, "no lowering to prims yet")


def _file(function: object) -> str:
    module = getattr(function, "__module__", "")
    return "/".join(module.split(".")[-2:]) + ".py"


def page() -> str:
    """The whole page."""
    table = list(rows())
    counts = Counter(kind for _, kind, _ in table)
    lines = [
        _INTRODUCTION,
        f"{len(table)} overloads: {counts['core']} core, {counts['decomposed']} decomposed, "
        f"{counts['bounded']} bounded, {counts['none']} not lowered.",
        "",
        "| overload | | by, or why not |",
        "|---|---|---|",
        *(f"| `{name}` | {kind} | {by} |" for name, kind, by in table),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: writes the page; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)

    def body() -> None:
        if len(given) > 1 or any(word.startswith("-") for word in given):
            raise SystemExit("usage: python -m lamina.tools.ops_page [FILE]")
        Path(given[0] if given else "docs/ops.md").write_text(page())

    return run_tool("ops_page", body)


if __name__ == "__main__":
    raise SystemExit(main())
