"""Programs that `torch.export.save` wrote."""

import logging
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from lamina.dialects.errors import InputError, UnsupportedError
from lamina.frontends.source_program import SourceProgram


def import_saved(path: Path) -> tuple[ModuleOp, list[UnsupportedError]]:
    """The `aten` module of a .pt2 file, and what of it cannot be imported.

    Raises InputError for other files, OSError for files that cannot be read.
    """
    from lamina.frontends.exported_program import import_with_blockers

    return import_with_blockers(_load(path))


def read_saved(path: Path) -> SourceProgram:
    """The program of a .pt2 file. Raises as `import_saved`, UnsupportedError for what is no op."""
    from lamina.frontends.exported_program import import_exported_program

    return import_exported_program(_load(path))


def _load(path: Path) -> Any:
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise InputError(f"{path}: not what torch.export.save writes: no zip archive")
    try:
        import torch
    except ImportError:
        raise InputError(f"{path}: error: install lamina[torch], which reads it") from None

    with _quiet_torch():
        try:
            return torch.export.load(path)
        except Exception as error:
            reason = str(error).strip().partition("\n")[0].partition(". ")[0]
            raise InputError(f"{path}: not what torch.export.save writes: {reason}") from error


@contextmanager
def _quiet_torch() -> Iterator[None]:
    """Keep torch from logging a traceback of what it then raises, and from warning of dtypes."""
    logger = logging.getLogger("torch.export")
    before = logger.disabled
    logger.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.disabled = before
