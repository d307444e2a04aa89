"""Programs that `torch.export.save` wrote."""

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from lamina.dialects.errors import InputError, UnsupportedError


def import_saved(path: Path) -> tuple[ModuleOp, list[UnsupportedError]]:
    """The `aten` module of a .pt2 file, and what of it cannot be imported.

    Raises InputError for other files.
    """
    import torch

    from lamina.frontends.exported_program import import_with_blockers

    try:
        program = torch.export.load(path)
    except OSError:
        raise
    except Exception as error:
        raise InputError(f"{path}: not what torch.export.save writes: {error}") from error
    return import_with_blockers(program)
