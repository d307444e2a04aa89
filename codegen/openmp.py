"""The OpenMP runtime that generated code calls: the one this process has, else the system's.

Sharing torch's runtime means sharing its threads; a second pool beside it would fight it.
"""

import ctypes
import os
import re
from functools import cache
from pathlib import Path

from lamina.codegen.llvm_emitter.parallel import OPENMP_SYMBOLS, TEAM_SIZE

_RUNTIME = re.compile(r"/lib(gomp|omp|iomp5)[-.\w]*\.so[.\d]*$")
_SYSTEM = ("libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so")


def _loaded_runtimes() -> list[str]:
    """Paths of OpenMP runtimes mapped into this process, in the order of the memory map."""
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return []
    paths = (line.split(maxsplit=5)[-1] for line in maps.splitlines() if "omp" in line)
    return list(dict.fromkeys(path for path in paths if _RUNTIME.search(path)))


def _symbols(library: str, mode: int) -> dict[str, int] | None:
    try:
        handle = ctypes.CDLL(library, mode=mode)
        functions = {name: getattr(handle, name) for name in (*OPENMP_SYMBOLS, TEAM_SIZE)}
    except (OSError, AttributeError):
        return None
    _prepare_forks(handle, library)
    return {
        name: ctypes.cast(function, ctypes.c_void_p).value or 0
        for name, function in functions.items()
    }


_PAUSE_HARD = 2
"""OpenMP's omp_pause_hard: threads end, and begin anew with the next team."""


def _prepare_forks(runtime: ctypes.CDLL, library: str) -> None:
    """Lets forked children have teams.

    A child has only the thread that forked, but libgomp's record of a whole team, and would wait
    for it for ever. So the team ends before a fork; parent and child each begin one when they need
    it. LLVM's runtime, which is libiomp5 too, sees to that itself.
    """
    pause = getattr(runtime, "omp_pause_resource_all", None)
    if "gomp" in library and pause is not None:
        os.register_at_fork(before=lambda: pause(_PAUSE_HARD))


@cache
def openmp_symbols() -> dict[str, int] | None:
    """Addresses of what generated code needs from OpenMP; None where there is no runtime.

    Decided once in a process: two runtimes at a time would be two thread pools.
    """
    for path in _loaded_runtimes():
        if found := _symbols(path, os.RTLD_NOW | os.RTLD_NOLOAD):
            return found
    for name in _SYSTEM:
        if found := _symbols(name, os.RTLD_NOW):
            return found
    return None
