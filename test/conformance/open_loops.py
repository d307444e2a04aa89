"""Exported programs with open sizes, taken down to loops with these and interpreted there."""

from __future__ import annotations

import re
from typing import Any

import torch
from cases import Sample

import lamina
from lamina.codegen.target import Target
from lamina.passes.contracts.declared import arguments_of
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import lower
from lamina.runtime.open_ledger import OPEN_SIZES

UNTOLD = re.compile(
    "sizes are equal where|run bound-dynamic-shapes|is not defined|is in stages by now"
)
"""What a program is refused with that does not go down to loops with the sizes that it has open."""


def results_in_loops(program: torch.export.ExportedProgram, sample: Sample) -> list[Any] | None:
    """The results of the program for a sample's tensors; None where no size of it is open."""
    source = lamina.import_exported_program(program)
    if "lamina.dims" not in str(source.module):
        return None
    lower(source.module, "aten", "loop", Target.host(), passes=OPEN_SIZES)
    module = lamina.parse(str(source.module))
    return run_module(module, _by_name(module, source.constants, sample), seed=1)


def _by_name(module: Any, constants: Any, sample: Sample) -> dict[str, Any]:
    """Arguments of `@main`: its constants, and the sample's tensors in order."""
    (main,) = (op for op in module.ops if op.properties["sym_name"].data == "main")
    names = [slot.name for slot in arguments_of(main) if slot.name not in constants]
    given = [tensor.resolve_conj().resolve_neg() for tensor in sample.tensors]
    named = {**constants, **dict(zip(names, given, strict=False))}
    return {name: torch.as_tensor(value).detach().numpy() for name, value in named.items()}
