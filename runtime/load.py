"""`lamina.load`: programs that `Compiled.save` wrote."""

import os
from typing import NoReturn

from lamina.dialects.errors import InputError
from lamina.runtime.arguments import FlatStructure
from lamina.runtime.compiled import Compiled
from lamina.runtime.saved import Loaded, read


def load(path: str | os.PathLike[str]) -> Compiled:
    """The program that `Compiled.save` wrote to `path`: as fast as it was, made without compiling.

    It takes its inputs flat, by position or name, as NumPy arrays or torch tensors, and gives one
    result or a tuple. Extern kernels are looked up in this process. There is no IR: `ir`,
    `measure` and `explain_schedules` raise InputError. torch is not imported.

    Raises InputError for a file that cannot be read, is damaged or is of a newer Lamina, and
    ExecutionError where this CPU lacks what the code uses.

        result = lamina.load("model.lamina")(x)
    """
    made = {name: _compiled(loaded, str(path)) for name, loaded in read(path).items()}
    main = made.pop("main")
    main.others.update(made)
    return main


def _compiled(loaded: Loaded, path: str) -> Compiled:
    def no_ir(layer: str) -> NoReturn:
        raise InputError(f"there is no IR in '{path}': compile the program from its source")

    names = [slot.name for slot in loaded.program.main.slots if slot.kind == "input"]
    return Compiled(loaded.program, loaded.constants, FlatStructure(names), no_ir)
