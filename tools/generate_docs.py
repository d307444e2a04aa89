"""Writes the reference of ops and passes: `python -m lamina.tools.generate_docs [FOLDER]`.

One page for each layer, one for the passes and one for the numbers that they decide by, made from
the tables, docstrings and options that the tools use, so they cannot disagree. The pages are made
when wanted and not committed.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from xdsl.ir import Dialect

from lamina.dialects.context import DIALECTS, load_dialect
from lamina.dialects.schema.dialect import TableDialect
from lamina.passes.registry import PASSES, load_pass
from lamina.tools.constants import constants
from lamina.tools.listings import options_of, summary
from lamina.tools.reporting import run_tool

ABOUT: dict[str, str] = {
    "aten": "Every overload that torch registers: what a program said.",
    "core_aten": "The overloads torch tags `core`, less those that mutate an argument.",
    "prims": "Torch's primitives, and extension ops of ours (tag `ext`) where torch leaves a hole.",
    "loop": "Loop nests on tensors, the kernels they form, and what scheduled loops need besides.",
    "control": "Branches and loops over whole tensors, around ops of any layer of tensors.",
    "lamina": "Attributes that stand at any layer: names of sizes.",
    "stablehlo": "StableHLO, as JAX prints it: a source layer that joins `prims`.",
    "chlo": "Ops of CHLO that JAX leaves in programs of StableHLO.",
    "mhlo": "Ops of MHLO that JAX leaves in programs of StableHLO.",
    "sdy": "Ops of Shardy that JAX leaves in programs of StableHLO; they say where data lies.",
}
"""What each page opens with."""


def cell(text: str) -> str:
    """`text` for a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def table_page(dialect: TableDialect) -> Iterator[str]:
    """One row for each overload, grouped by name in the order of the alphabet."""
    yield "| op | arguments | results | tags |"
    yield "|---|---|---|---|"
    for name in sorted(dialect.names):
        schema, _, tags = dialect.rows[name].partition("\t")
        arguments, _, results = schema.partition("(")[2].rpartition(") -> ")
        shown = ", ".join(sorted(filter(None, tags.split(","))))
        yield f"| `{dialect.name}.{name}` | `{cell(arguments)}` | `{cell(results)}` | {shown} |"


def written_page(dialect: Dialect) -> Iterator[str]:
    """One section for each op of a hand-written dialect, from its docstring."""
    for operation in sorted(dialect.operations, key=lambda operation: operation.name):
        yield f"## `{operation.name}`\n"
        yield (inspect.getdoc(operation) or "").strip() + "\n"


def passes_page() -> Iterator[str]:
    """One section for each of Lamina's passes: options and docstring."""
    for name in sorted(PASSES):
        kind = load_pass(name)
        yield f"## `{name}`\n"
        yield (inspect.getdoc(kind) or "").strip() + "\n"
        options = options_of(kind)
        if options:
            yield f"Options: `{options}`\n"


def constants_page() -> Iterator[str]:
    """One row for each number that is explained, by file."""
    yield "| constant | value | in | what it is |"
    yield "|---|---|---|---|"
    for found in constants():
        if found.meaning is not None:
            shown = f"`{found.name}` | {cell(found.value)} | `{found.path}` | {cell(found.meaning)}"
            yield f"| {shown} |"


def index_page() -> Iterator[str]:
    """Links, with the number of ops of each layer."""
    for name in DIALECTS:
        dialect = load_dialect(name)
        table = isinstance(dialect, TableDialect)
        count = len(dialect.rows) if table else len(list(dialect.operations))
        yield f"- [`{name}`]({name}.md): {count} ops. {ABOUT[name]}"
    yield "- [constants](constants.md): the numbers that decisions are made with."
    yield f"- [passes](passes.md): {len(PASSES)} passes."
    for name in PASSES:
        yield f"  - [`{name}`](passes.md#{anchor(name)}): {summary(load_pass(name))}"


def anchor(heading: str) -> str:
    """The anchor that Markdown viewers give a heading."""
    return re.sub(r"[^a-z0-9_-]", "", heading.lower())


def generate(folder: Path) -> list[Path]:
    """Write all pages into `folder`; their paths."""
    pages = {
        "index": ("Reference", index_page()),
        "passes": ("Passes", passes_page()),
        "constants": ("Constants", constants_page()),
    }
    for name in DIALECTS:
        dialect = load_dialect(name)
        table = isinstance(dialect, TableDialect)
        body = table_page(dialect) if table else written_page(dialect)
        pages[name] = (f"The `{name}` dialect\n\n{ABOUT[name]}", body)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (title, body) in pages.items():
        path = folder / f"{name}.md"
        path.write_text(f"# {title}\n\n" + "\n".join(body).rstrip() + "\n")
        written.append(path)
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)

    def body() -> None:
        if len(given) > 1 or any(word.startswith("-") for word in given):
            raise SystemExit("usage: python -m lamina.tools.generate_docs [FOLDER]")
        for path in generate(Path(given[0] if given else "docs/generated")):
            print(path)

    return run_tool("generate_docs", body)


if __name__ == "__main__":
    raise SystemExit(main())
