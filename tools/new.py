"""Scaffolds a new pass or op: `python -m lamina.tools.new pass my-pass`, `... op aten foo.default`.

Works in a checkout of the project (an editable installation), never in an installed package.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from lamina.dialects.errors import InputError
from lamina.tools.reporting import run_tool
from lamina.tools.scaffold import append_row, fill, project_root, write_new


def new_pass(root: Path, name: str, summary: str | None = None) -> list[Path]:
    """Write the pass, its test and its registry row; the paths of the three."""
    from lamina.passes.registry import PASSES

    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise InputError(f"new: error: '{name}' is no pass name: words-with-dashes in lower case")
    if name in PASSES:
        raise InputError(f"new: error: pass '{name}' exists: {PASSES[name]}")
    stem = name.replace("-", "_")
    class_stem = "".join(word.capitalize() for word in name.split("-"))
    said = summary or "what it does, in one line"
    values = {
        "name": name,
        "class_stem": class_stem,
        "summary": said[0].lower() + said[1:],
        "summary_sentence": said[0].upper() + said[1:],
    }
    module = write_new(root / "passes" / f"{stem}.py", fill("pass.py.in", **values))
    test = write_new(root / "test" / "passes" / f"{stem}.mlir", fill("pass.mlir.in", **values))
    registry = root / "passes" / "registry.py"
    row = f'    "{name}": "lamina.passes.{stem}:{class_stem}Pass",\n'
    registry.write_text(append_row(registry.read_text(), "PASSES", row))
    return [module, test, registry]


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; the exit code."""
    return run_tool("new", lambda: _run(arguments))


def _run(arguments: Sequence[str] | None) -> None:
    from lamina.tools.new_op import LAYERS, new_op

    parser = argparse.ArgumentParser(prog="python -m lamina.tools.new", description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("pass", help="a pass, its FileCheck test and its registry row")
    one.add_argument("name", help="words-with-dashes")
    one.add_argument("--summary", help="what it does, in one line")
    one = kinds.add_parser("op", help="the next step down of an op, and its FileCheck test")
    one.add_argument("layer", choices=LAYERS)
    one.add_argument("name", help="overload name, such as add.Tensor; for prims the name")
    one.add_argument("--family", help="the file of the lowering it belongs to", required=True)
    given = parser.parse_args(arguments)
    root = project_root()
    if given.kind == "pass":
        paths = new_pass(root, given.name, given.summary)
    else:
        paths = new_op(root, given.layer, given.name, given.family)
    for path in paths:
        print(path.relative_to(root))


if __name__ == "__main__":
    raise SystemExit(main())
