"""`lamina-compile`: a program as an object file, a C header and a manifest."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lamina
from lamina.codegen.target import Target
from lamina.dialects.errors import InputError
from lamina.runtime.ahead_of_time import C_NAME, ObjectProgram, object_programs
from lamina.runtime.entry import Entry, Slot
from lamina.runtime.lowering_options import LoweringOptions
from lamina.tools.c_header import Memory, all_messages, c_names, header, parameters
from lamina.tools.extension_files import add_load_argument, run_extended
from lamina.tools.lamina_run import loaded_arrays
from lamina.tools.pipeline_arguments import add_pipeline_arguments, pipeline_of
from lamina.tools.source_files import FILES, add_sizes_argument, read_source

MANIFEST = 1
"""The version of the manifest's form."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit code, 1 for bad input."""
    return run_extended("lamina-compile", arguments, lambda: _run(_parser().parse_args(arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lamina-compile",
        description=f"Compile {FILES} to an object file that needs no Lamina.",
        epilog="DIR gets NAME.o, NAME.h, NAME.json and, for weights of more than a megabyte, "
        "NAME.weights; each public function besides main gets files called NAME_function.",
    )
    add = parser.add_argument
    add("file", help="the program; - for textual IR from standard input")
    add("-o", "--output", required=True, metavar="DIR", help="folder of the files, made if need be")
    add("--prefix", metavar="NAME", help="what files and symbols are called (default: as FILE)")
    add_sizes_argument(parser)
    add("--constants", nargs="+", default=[], metavar="FILE.npz", help="arrays by lamina.name")
    add("--target", help=f"{', '.join(Target.names())} (default: host)")
    add("--no-openmp", action="store_true", help="run on the calling thread, without OpenMP")
    add_pipeline_arguments(parser)
    add_load_argument(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    prefix = options.prefix or re.sub(r"\W", "_", Path(options.file).stem, flags=re.ASCII)
    if not C_NAME.fullmatch(prefix):
        raise InputError(
            f"lamina-compile: error: '{prefix}' is no name of C; --prefix NAME gives another"
        )
    constants, listed = loaded_arrays(options.constants)
    if listed:
        raise InputError("--constants: error: arrays are bound by name: pass .npz files")
    source = read_source(options.file, options.sizes)
    made = object_programs(
        source.module,
        Target.host() if options.target is None else Target.parse(options.target),
        prefix,
        constants={**source.constants, **constants},
        openmp=not options.no_openmp,
        options=LoweringOptions("kernel", {}, pipeline_of(options)),
    )
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    for program in made:
        _write(program, folder)


def _write(program: ObjectProgram, folder: Path) -> None:
    name = program.prefix
    (folder / f"{name}.o").write_bytes(program.code)
    (folder / f"{name}.h").write_text(header(program, lamina.__version__))
    (folder / f"{name}.json").write_text(json.dumps(manifest(program), indent=1) + "\n")
    if program.weights and not program.embeds:
        (folder / f"{name}.weights").write_bytes(program.weights)


def manifest(program: ObjectProgram) -> dict[str, Any]:
    """What a caller must know, as plain data.

    `arguments` are those of the C function, in order, before its memory; `pointers` those of the
    symbols, of which each tells its kind and, but for arguments, its block of memory and its place
    there.
    """
    memory = Memory(program)
    names = c_names(program.main.slots)
    entries = {"main": program.main} | ({"setup": program.setup} if program.setup else {})
    return {
        "form": MANIFEST,
        "lamina": lamina.__version__,
        "target": {
            "triple": program.target.triple,
            "cpu": program.target.cpu,
            "features": program.target.features,
        },
        "openmp": program.needs_openmp,
        "undefined": program.wanted,
        "alignment": 64,
        "bytes": {**memory.sizes, "weights": len(program.weights)},
        "weights": f"{program.prefix}_weights"
        if program.embeds
        else f"{program.prefix}.weights"
        if program.weights
        else None,
        "function": program.prefix,
        "arguments": [
            _described(slot) | {"c": names[slot.name], "written": not text.startswith("const ")}
            for text, _, slot in parameters(program)
        ],
        "pointers": {
            f"{program.prefix}_{label}": _pointers(memory, label, entry)
            for label, entry in entries.items()
        },
        "messages": all_messages(program),
    }


def _described(slot: Slot) -> dict[str, Any]:
    row: dict[str, Any] = {"name": slot.name, "kind": slot.kind, "dtype": slot.dtype}
    row |= {"shape": list(slot.shape)}
    return row if slot.target is None else row | {"target": slot.target}


def _pointers(memory: Memory, label: str, entry: Entry) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for slot in entry.slots:
        row = _described(slot)
        if (label, slot.name) in memory.places and slot.kind not in ("input", "output"):
            row["block"], row["at"] = memory.places[label, slot.name]
        found.append(row)
    return found


if __name__ == "__main__":
    sys.exit(main())
