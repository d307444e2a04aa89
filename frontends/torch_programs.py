"""What `lamina.compile` takes of torch's: exported programs, modules, graphs of make_fx."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch._subclasses import FakeTensorMode
from torch.export import ExportedProgram

from lamina.dialects.compiling import compiling
from lamina.dialects.errors import InputError
from lamina.frontends.exported_program import import_exported_program
from lamina.frontends.source_program import SourceProgram


def read_torch(program: object, example_inputs: Sequence[Any] | None) -> SourceProgram:
    """The program of a torch object; modules are exported with the example inputs first.

    Graphs that make_fx has traced bring the shapes of their inputs along. Raises InputError for
    what cannot be exported, with torch's reason, and UnsupportedError for what is no op.
    """
    if isinstance(program, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        raise InputError(
            f"cannot compile a {type(program).__name__} of torch.jit: export the module it was "
            "made from, torch.export.export(module, example_inputs)"
        )
    if isinstance(program, ExportedProgram):
        if example_inputs is not None:
            raise InputError("an exported program has its inputs: leave example_inputs out")
        return _imported(program)
    if not isinstance(program, torch.nn.Module):
        raise InputError(
            f"cannot compile a {type(program).__qualname__}: pass a module with example_inputs, or "
            "what torch.export.export(module, example_inputs) gives"
        )
    if not isinstance(example_inputs, tuple | list | None):
        raise InputError(
            f"example_inputs is a {type(example_inputs).__name__}: pass a tuple of the module's "
            "positional arguments, (x,)"
        )
    if example_inputs is None:
        example_inputs = _traced_inputs(program)
    exported = _exported(program, tuple(example_inputs))
    return _imported(exported)


def _imported(program: ExportedProgram) -> SourceProgram:
    with compiling():
        return import_exported_program(program)


def _traced_inputs(module: torch.nn.Module) -> tuple[Any, ...]:
    """What the placeholders of a traced graph stood for. Raises InputError for other modules."""
    found: list[Any] = []
    if isinstance(module, fx.GraphModule):
        nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
        found = [node.meta["val"] for node in nodes if "val" in node.meta]
        if len(found) == len(nodes):
            return _in_one_mode(found)
    raise InputError(
        f"cannot compile a {_kind(module)} without inputs, whose shapes it is compiled "
        "for: lamina.compile(module, (x,))"
    )


def _in_one_mode(values: Sequence[Any]) -> tuple[Any, ...]:
    """Fake tensors like these; make_fx may give each its own mode, which torch.export refuses."""
    with FakeTensorMode():
        return tuple(
            torch.empty_strided(
                [int(extent) for extent in value.shape],
                [int(stride) for stride in value.stride()],
                dtype=value.dtype,
                requires_grad=value.requires_grad,
            )
            if isinstance(value, torch.Tensor)
            else value
            for value in values
        )


def _exported(module: torch.nn.Module, inputs: tuple[Any, ...]) -> ExportedProgram:
    try:
        return torch.export.export(module, inputs)
    except Exception as error:
        reason = " ".join(str(error).split("\n\n")[0].split())
        raise InputError(
            f"torch.export cannot export {_kind(module)}: {type(error).__name__}: {reason}"
        ) from error


def _kind(module: torch.nn.Module) -> str:
    """The name of its class; each GraphModule has one of its own."""
    return "GraphModule" if isinstance(module, fx.GraphModule) else type(module).__qualname__
