"""`lamina.load`: programs that `Compiled.save` wrote."""

import os
from typing import NoReturn

from lamina.dialects.errors import InputError
from lamina.runtime.compiled import Compiled
from lamina.runtime.saved import Loaded, LoadedSizes, read


def load(path: str | os.PathLike[str], *, mapped: bool = True) -> Compiled:
    """The program that `Compiled.save` wrote to `path`: as fast as it was, made without compiling.

    It is called as what was saved, with NumPy arrays or torch tensors: arguments and results nest
    in tuples, lists, dicts and named tuples as they did. They are flat, by position or name, and
    results a tuple, where they nested in other types. Extern kernels are looked up in this process.
    A program with open sizes has the versions that were saved, and refuses calls with other sizes.
    There is no IR: `ir`, `measure` and `explain_schedules` raise InputError. Neither torch nor JAX
    is imported.

    `mapped` leaves constants in the file, which has to stay as it is while the program lives
    (`Compiled.save` to the same path makes a new file); else they are read into memory.

    Raises InputError for a file that cannot be read, is damaged or is of a newer Lamina, and
    ExecutionError where this CPU lacks what the code uses.

        result = lamina.load("model.lamina")(x)
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"cannot load a {type(path).__name__}: pass the path of a file")
    loaded = read(path, mapped=mapped)
    made = {name: _compiled(entry, str(path)) for name, entry in loaded.items()}
    main = made.pop("main")
    main.others.update(made)
    return main


def _compiled(loaded: Loaded | LoadedSizes, path: str) -> Compiled:
    def no_ir(layer: str) -> NoReturn:
        raise InputError(f"there is no IR in '{path}': compile the program from its source")

    if isinstance(loaded, LoadedSizes):
        from lamina.runtime.loaded_sizes import LoadedSizedProgram

        return LoadedSizedProgram(loaded, path, no_ir)
    return Compiled(loaded.program, loaded.constants, loaded.structure, no_ir)
