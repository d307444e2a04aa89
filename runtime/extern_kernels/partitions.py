"""The kernels `partition.NAME`: what back ends make of the parts of programs that they take."""

from __future__ import annotations

import re
from typing import Any

from lamina.lowering.partition.backends import backend_entry, compiled_region
from lamina.lowering.partition.partition import LIBRARY
from lamina.runtime.extern_kernels.registry import ExternKernel, provide


def find(name: str) -> ExternKernel | None:
    """The kernel of a back end that is active; InputError if it is not."""
    backend = name.partition(".")[2]
    entry = backend_entry(backend)

    def specialize(call: Any) -> Any:
        from lamina.runtime.layers import parse

        text = str(call.options.get("program", ""))
        return compiled_region(
            backend, text, lambda: parse(text, name=f"<{name}>"), "a part of the program"
        )

    return ExternKernel(name, specialize=specialize, entry=entry, covers=_ops)


def _ops(call: Any) -> str:
    """The ops of the part, by name."""
    names = re.findall(r"^\s*(?:%[^=]*= )?(\w+(?:\.\w+)+)", call.options["program"], re.MULTILINE)
    kept = [name for name in names if name.partition(".")[0] not in ("builtin", "func", "arith")]
    return f"{len(kept)} ops, {', '.join(dict.fromkeys(kept))}"


provide(LIBRARY, find)
