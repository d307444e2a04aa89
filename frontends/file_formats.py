"""Files that hold programs, by their suffix: textual IR, and what other frameworks write.

A new kind of file is a row of `FILE_FORMATS` and a reader; `lamina.compile`, `lamina-opt`,
`lamina-run` and `lamina-compile` take it from there.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from lamina.dialects.errors import InputError, MissingFileError, UnreadableFileError
from lamina.dialects.records import record
from lamina.frontends.source_program import Bindings, SourceProgram
from lamina.passes.contracts.entry_attributes import verify_entries
from lamina.passes.sizes.bind_sizes import bind_sizes
from lamina.runtime.layers import layer_of, parse


@record
class FileFormat:
    """A kind of file, and what reads it; readers raise InputError for what is not of the kind."""

    written_by: str
    read: Callable[[Path, Bindings], SourceProgram]
    """Takes what the caller binds, which sizes may depend on."""


def _read_exported(path: Path, bindings: Bindings) -> SourceProgram:
    from lamina.frontends.saved_program import read_saved

    return read_saved(path)


def _read_torch_script(path: Path, bindings: Bindings) -> SourceProgram:
    raise InputError(
        f"{path}: error: programs of torch.jit, and pickled modules, are not read: export the "
        "module they were made from, torch.export.save(torch.export.export(module, "
        "example_inputs), 'program.pt2')"
    )


def _read_onnx(path: Path, bindings: Bindings) -> SourceProgram:
    _need_onnx(str(path))
    from lamina.frontends.onnx.read import read_onnx

    return read_onnx(path, bindings)


def _need_onnx(what: str) -> None:
    if find_spec("onnx") is None:
        raise InputError(f"{what}: error: ONNX models need a package: pip install 'lamina[onnx]'")


def read_onnx_model(model: object, bindings: Bindings) -> SourceProgram:
    """The program of an `onnx.ModelProto`. Raises InputError for other objects of ONNX's."""
    from lamina.frontends.onnx.read import read_model

    return read_model(model, bindings)


FILE_FORMATS: dict[str, FileFormat] = {
    ".pt2": FileFormat("torch.export.save", _read_exported),
    ".onnx": FileFormat("ONNX", _read_onnx),
    ".pt": FileFormat("torch.jit.save, torch.save", _read_torch_script),
    ".pth": FileFormat("torch.jit.save, torch.save", _read_torch_script),
}
"""By suffix. Any other file is textual IR."""


def with_sizes(module: ModuleOp, bindings: Bindings) -> ModuleOp:
    """The module, changed in place, for the values of its named sizes that are given."""
    if bindings.sizes:
        bindings.check()
        verify_entries(module, layer_of(module))
        bind_sizes(module, bindings.sizes)
    return module


def read_program(path: Path, bindings: Bindings | None = None) -> SourceProgram:
    """The program in a file. Raises InputError for bad ones.

    For one that cannot be read it is an OSError, too, and a FileNotFoundError if there is none.
    """
    bindings = bindings or Bindings()
    bindings.check()
    known = FILE_FORMATS.get(path.suffix.lower())
    if known is None:
        return SourceProgram(with_sizes(parse(_bytes(path), name=str(path)), bindings))
    if bindings.sizes and path.suffix.lower() != ".onnx":
        raise InputError(f"{path}: error: sizes are bound in ONNX models and textual IR only")
    _bytes(path, 0)
    return known.read(path, bindings)


def _bytes(path: Path, count: int = -1) -> bytes:
    """The first bytes of a file, all without a count."""
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError as error:
        kind = MissingFileError if isinstance(error, FileNotFoundError) else UnreadableFileError
        raise kind(error.errno, error.strerror, str(path)) from error
