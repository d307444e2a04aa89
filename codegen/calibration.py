"""The file of figures that were measured on this machine, by `python -m lamina.tools.calibrate`.

It is TOML: `cpu`, the CPU that they were measured on (`cpu_name`), and any of the fields of
`MEASURED`. A file for another CPU, or one with a figure that cannot be, is ignored as a whole, with
a warning: it makes programs faster, and no program waits for it.
"""

import os
import warnings
from pathlib import Path

from lamina.dialects.errors import CacheError

MEASURED: dict[str, tuple[float, float]] = {
    "clock_hz": (1e7, 1e11),
    "arithmetic_ports": (0.01, 64),
    "l2_bytes_per_cycle": (0.01, 4096),
    "l3_bytes_per_cycle": (0.01, 4096),
    "memory_bandwidth": (1e6, 1e13),
    "fork_nanoseconds": (0, 1e9),
    "barrier_nanoseconds": (0, 1e9),
}
"""Fields of `Target` that a host's file may have, with the least and the most that is credible."""

FILE = "LAMINA_TARGET_FILE"
"""The variable of the environment that names the file; empty: there is none."""

MOST_BYTES = 1 << 16
"""Longer files are not read: a few lines are all that one has."""


def unfit(name: str, value: object) -> str | None:
    """Why `value` cannot be the field `name` of `MEASURED`; None if it can."""
    least, most = MEASURED[name]
    if type(value) is float and least <= value <= most:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{name}={str(value)[:40]!r} is no number"
    if not least <= value <= most:  # nan is neither
        return f"{name}={str(value)[:40]} is not from {least:g} to {most:g}"
    return None


def cache_folder() -> Path:
    """LAMINA_CACHE_DIR, else the user's cache folder (XDG_CACHE_HOME, else ~/.cache).

    CacheError if the user has none.
    """
    if given := os.environ.get("LAMINA_CACHE_DIR"):
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(home):  # others are to be ignored, says the XDG specification
        return Path(home) / "lamina"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise CacheError(f"no folder for the cache: {error}") from None
    if not home.is_absolute() or os.environ.get("HOME") == "":
        raise CacheError("no folder for the cache: HOME is empty or relative")
    return home / ".cache" / "lamina"


def calibration_path() -> Path | None:
    """LAMINA_TARGET_FILE, else `target.toml` in the cache folder; None where there is neither."""
    given = os.environ.get(FILE)
    if given is not None:
        return Path(given) if given else None
    try:
        return cache_folder() / "target.toml"
    except CacheError:
        return None


def measured(cpu: str) -> dict[str, float]:
    """The figures of this machine, whose CPU LLVM calls `cpu`; empty if there are none to be used.

    Warns about a file that is there and is not used.
    """
    path = calibration_path()
    if path is None:
        return {}
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        if FILE in os.environ:
            _warn(path, "there is no such file")
        return {}
    except OSError as error:
        _warn(path, error.strerror or str(error))
        return {}
    try:
        return parse_figures(data, cpu_name(cpu))
    except ValueError as error:
        _warn(path, str(error))
        return {}


def parse_figures(data: bytes, cpu: str) -> dict[str, float]:
    """The figures in a file of the CPU `cpu`; ValueError, with the field, if they are of no use."""
    import tomllib

    if len(data) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    try:
        fields = tomllib.loads(data.decode())
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    if "cpu" not in fields:
        raise ValueError("the field cpu is missing")
    there = fields.pop("cpu")
    for name, value in fields.items():
        reason = unfit(name, value) if name in MEASURED else f"there is no field {name[:40]!r}"
        if reason is not None:
            raise ValueError(reason)
    if there != cpu:
        raise ValueError(f"cpu={str(there)[:80]!r} is where it was measured, and this is {cpu!r}")
    return {name: float(value) for name, value in fields.items()}


def cpu_name(cpu: str) -> str:
    """This machine's CPU: LLVM's name, which several models share, and the model's own."""
    model = os.uname().machine
    try:
        with open("/proc/cpuinfo", "rb") as file:
            lines = file.read(4096).decode(errors="replace").splitlines()  # the first core's
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "CPU part", "uarch"):
            model = value.strip()
            break
    return f"{cpu}, {model}"


def _warn(path: Path, reason: str) -> None:
    warnings.warn(
        f"lamina: calibration {path}: {reason}; usual figures are used, and "
        "`python -m lamina.tools.calibrate` measures them",
        stacklevel=2,
    )
