"""Exported programs with open sizes, taken down to loops with these and interpreted there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from cases import Sample
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.sizes import Size
from lamina.lowering.pipeline import run_pipeline
from lamina.passes.contracts.argument_sizes import shape_of, size_names
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.sizes.limit_sizes import limit_sizes
from lamina.runtime.entry import function_named
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import lower
from lamina.runtime.open_ledger import OPEN_SIZES

UNTOLD = re.compile(
    "sizes are equal where|run bound-dynamic-shapes|is not defined|is in stages by now"
)
"""What a program is refused with that does not go down to loops with the sizes that it has open."""


ROOM = 3
"""How much larger bounds are than the sizes of a sample."""


def in_loops(program: torch.export.ExportedProgram) -> tuple[ModuleOp, Mapping[str, Any]] | None:
    """The program as loops, and its constants; None where no size of it is open."""
    source = lamina.import_exported_program(program)
    if "lamina.dims" not in str(source.module):
        return None
    lower(source.module, "aten", "loop", Target.host(), passes=OPEN_SIZES)
    return lamina.parse(str(source.module)), source.constants


def results_in_loops(module: ModuleOp, constants: Mapping[str, Any], sample: Sample) -> list[Any]:
    """The results of a program for a sample's tensors."""
    return run_module(module, _by_name(module, constants, sample), seed=1)


def results_within_bounds(
    module: ModuleOp, constants: Mapping[str, Any], sample: Sample
) -> list[Any]:
    """The same of its loops over bounds, with garbage behind what counts.

    Raises UnsupportedError where padding does not go through an op.
    """
    given = _by_name(module, constants, sample)
    main = function_named(module, "main")
    assert main is not None
    names = size_names(arguments_of(main))
    sizes: dict[str, int] = {}
    for one in arguments_of(main):
        if one.name in given:
            for extent, number in zip(shape_of(one, names), given[one.name].shape, strict=True):
                if isinstance(extent, Size) and extent.is_name:
                    sizes[str(extent)] = number
    bounded = module.clone()
    most = {n: size + ROOM for n, size in sizes.items() if names[n].range.holds(size + ROOM)}
    limit_sizes(bounded, sizes | most)
    run_pipeline(bounded, ("bound-nests", "verify-loop"), Context())
    bounded = lamina.parse(str(bounded))
    main = function_named(bounded, "main")
    assert main is not None
    padded = {
        one.name: np.array(sizes[one.name[5:-1]])
        if one.name.startswith("size(")
        else _padded(given[one.name], one.type)
        for one in arguments_of(main)
        if one.name in given or one.name.startswith("size(")
    }
    return run_module(bounded, padded, seed=1)


def _padded(array: np.ndarray, kind: Any) -> np.ndarray:
    shape = tuple(kind.get_shape())
    if shape == array.shape:
        return array
    garbage: Any = np.nan
    if array.dtype.kind in "iub":
        garbage = True if array.dtype.kind == "b" else np.iinfo(array.dtype).max
    full = np.full(shape, garbage, array.dtype)
    full[tuple(map(slice, array.shape))] = array
    return full


def _by_name(module: Any, constants: Any, sample: Sample) -> dict[str, Any]:
    """Arguments of `@main`: its constants, and the sample's tensors in order."""
    (main,) = (op for op in module.ops if op.properties["sym_name"].data == "main")
    names = [slot.name for slot in arguments_of(main) if slot.name not in constants]
    given = [tensor.resolve_conj().resolve_neg() for tensor in sample.tensors]
    named = {**constants, **dict(zip(names, given, strict=False))}
    return {name: torch.as_tensor(value).detach().numpy() for name, value in named.items()}
