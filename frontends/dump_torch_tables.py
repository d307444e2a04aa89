"""Regenerates the op tables: `python -m lamina.frontends.dump_torch_tables`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
import torch._prims  # registers the prims namespace

import lamina.dialects

FOLDER = Path(lamina.dialects.__path__[0])


def schema_rows(namespace: str) -> list[str]:
    """One line per overload of a namespace: its schema, a tab, its tags; sorted by name."""
    rows: list[tuple[str, str]] = []
    for full_name in torch._C._dispatch_get_all_op_names():
        if not full_name.startswith(f"{namespace}::"):
            continue
        name, _, overload = full_name.partition(".")
        schema = torch._C._get_schema(name, overload)
        packet = getattr(getattr(torch.ops, namespace), name.partition("::")[2])
        tags = sorted(t.name for t in getattr(packet, overload or "default").tags)
        rows.append((full_name, "\t".join([str(schema), ",".join(tags)]).rstrip()))
    return [row for _, row in sorted(rows)]


def core_overloads() -> list[str]:
    """Names of the overloads tagged core whose schema does not mutate; sorted."""
    names: list[str] = []
    for row in schema_rows("aten"):
        schema, _, tags = row.partition("\t")
        if "core" in tags.split(",") and "!" not in schema:
            name = schema[len("aten::") : schema.index("(")]
            names.append(name if "." in name else f"{name}.default")
    return sorted(names)


def tables() -> dict[Path, str]:
    """Every generated file with its text."""
    version = torch.__version__.partition("+")[0]
    head = f"# Made by lamina.frontends.dump_torch_tables from torch {version}."
    return {
        FOLDER / "aten" / "schemas.tsv": "\n".join([head, *schema_rows("aten")]) + "\n",
        FOLDER / "core_aten" / "overloads.txt": "\n".join([head, *core_overloads()]) + "\n",
        FOLDER / "prims" / "schemas.tsv": "\n".join([head, *schema_rows("prims")]) + "\n",
    }


def main() -> int:
    """Write the tables into the source tree; with `--check`, only say which differ: code 1."""
    parser = argparse.ArgumentParser(description="Regenerate the op tables from torch.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    stale = 0
    for path, text in tables().items():
        if not check:
            path.write_text(text)
            print(f"{path.relative_to(FOLDER)}: {text.count(chr(10)) - 1} rows")
        elif path.read_text() != text:
            stale = 1
            print(f"{path.relative_to(FOLDER)} is not what this torch gives: run without --check")
    return stale


if __name__ == "__main__":
    sys.exit(main())
