"""From an ONNX model, or a file of one, to a program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from onnx import ModelProto, external_data_helper

from lamina.dialects.errors import InputError
from lamina.frontends.onnx import (  # noqa: F401 - they fill the table
    activations,
    control_flow,
    convolution,
    fourier,
    indexing,
    linear,
    normalization,
    optimizers,
    pointwise,
    pooling,
    quantization,
    recurrent,
    reductions,
    resizing,
    sampling,
    shapes,
    sorting,
)
from lamina.frontends.onnx.program import ProgramImporter
from lamina.frontends.source_program import Bindings, SourceProgram


def import_model(
    model: ModelProto,
    name: str = "<model>",
    constants: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> SourceProgram:
    """Imports a model, whose file is called `name` in messages.

    Initializers become arguments of kind parameter with their arrays in `SourceProgram.constants`.
    `constants` binds arrays to inputs and initializers by name, which sizes may then depend on;
    `sizes` binds numbers to the names (`dim_param`) that inputs have for sizes.
    Raises UnsupportedError for ops, versions, types and sizes that cannot be imported, with file
    and node; InputError for models that are no graph.
    """
    if not model.HasField("graph") or not model.opset_import:
        raise InputError(f"{name}: error: no ONNX model: it has no graph, or imports no opset")
    return ProgramImporter(model, name, constants or {}, sizes).run()


def read_model(model: object, bindings: Bindings) -> SourceProgram:
    """An object of ONNX's. Raises InputError for what is no model."""
    if not isinstance(model, ModelProto):
        kind = type(model).__name__
        raise InputError(f"cannot compile an onnx.{kind}: pass an onnx.ModelProto")
    bindings.check()
    return import_model(model, constants=bindings.constants, sizes=bindings.sizes)


def read_onnx(path: Path, bindings: Bindings) -> SourceProgram:
    """The model in a file, with the external data that stands beside it."""
    model = ModelProto()
    try:
        model.ParseFromString(path.read_bytes())
        external_data_helper.load_external_data_for_model(model, str(path.parent))
    except DecodeError:
        raise InputError(f"{path}: error: no ONNX model, or only the beginning of one") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{path}: error: external data cannot be read: {error}") from None
    return import_model(model, str(path), bindings.constants, bindings.sizes)
