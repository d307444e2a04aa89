"""Programs as object files for another machine, run there by qemu, or here."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lamina.runtime.entry import NUMPY_DTYPES
from lamina.tools.lamina_compile import main

COMPILERS = {"aarch64": "aarch64-linux-gnu-gcc", "riscv64": "riscv64-linux-gnu-gcc"}
EMULATORS = {
    "aarch64": ["qemu-aarch64", "-cpu", "max"],
    "riscv64": ["qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0"],
}
"""Commands, by target."""


def missing(target: str) -> str | None:
    """The command that is not installed here without which nothing runs for a target."""
    needed = (COMPILERS[target], EMULATORS[target][0])
    return next((command for command in needed if shutil.which(command) is None), None)


def run_compiled(
    folder: Path, text: str, target: str, arrays: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    """Compiles a program to an object file, links it with a main function in C, and runs that.

    Inputs go to its standard input, outputs come from its standard output, in the order of the
    manifest.
    """
    (folder / "p.mlir").write_text(text)
    made = main([str(folder / "p.mlir"), "-o", str(folder), "--no-openmp", "--target", target])
    assert made == 0, f"not compiled for {target}"
    manifest = json.loads((folder / "p.json").read_text())
    (folder / "main.c").write_text(_main_text(manifest))
    link = [COMPILERS[target], "-static", "-Wall", "-Werror", "main.c", "p.o", "-lm", "-o", "p"]
    linked = subprocess.run(link, cwd=folder, capture_output=True, text=True, check=False)
    assert linked.returncode == 0, linked.stderr
    arguments = manifest["arguments"]
    given = b"".join(arrays[a["name"]].tobytes() for a in arguments if a["kind"] == "input")
    run = subprocess.run(
        [*EMULATORS[target], "./p"], cwd=folder, input=given, capture_output=True, check=False
    )
    assert run.returncode == 0, (run.returncode, run.stderr.decode())
    return _outputs(arguments, run.stdout)


def _outputs(arguments: list[dict[str, Any]], data: bytes) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    for argument in (a for a in arguments if a["kind"] == "output"):
        dtype = np.dtype(NUMPY_DTYPES[argument["dtype"]])
        size = dtype.itemsize * int(np.prod(argument["shape"]))
        found.append(np.frombuffer(data[:size], dtype).reshape(argument["shape"]))
        data = data[size:]
    assert not data
    return found


def _main_text(manifest: Mapping[str, Any]) -> str:
    lines = [
        "#include <stdio.h>",
        "#include <stdlib.h>",
        '#include "p.h"',
        "static void *memory(size_t size) { return aligned_alloc(64, (size + 127) / 64 * 64); }",
        "int main(void) {",
        "  struct p_memory m = {memory(0), memory(P_PREPARED_BYTES), memory(P_WORKSPACE_BYTES)};",
    ]
    if manifest["weights"] == "p_weights":
        lines.append("  m.weights = p_weights;")
    for number, argument in enumerate(manifest["arguments"]):
        dtype = np.dtype(NUMPY_DTYPES[argument["dtype"]])
        size = dtype.itemsize * int(np.prod(argument["shape"]))
        lines.append(f"  void *a{number} = memory({size});")
        if argument["kind"] == "input":
            lines.append(f"  if (fread(a{number}, 1, {size}, stdin) != {size}) return 2;")
    names = [f"a{number}" for number in range(len(manifest["arguments"]))]
    lines += [
        "  int32_t status = p_prepare(&m);",
        f"  if (!status) status = p({', '.join([*names, '&m'])});",
        '  if (status) { fprintf(stderr, "%s\\n", p_message(status)); return 3; }',
    ]
    for number, argument in enumerate(manifest["arguments"]):
        if argument["kind"] == "output":
            dtype = np.dtype(NUMPY_DTYPES[argument["dtype"]])
            size = dtype.itemsize * int(np.prod(argument["shape"]))
            lines.append(f"  fwrite(a{number}, 1, {size}, stdout);")
    return "\n".join([*lines, "  return 0;", "}", ""])
