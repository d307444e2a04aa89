"""Programs in front of a pass that fails, with the passes to come, as text that runs again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

SWITCH = "LAMINA_CRASH_REPRODUCER"
"""The variable of the environment that names the file for what `lamina.compile` and
`torch.compile` fail at."""


def reproducer(text: str, passes: Sequence[str], error: BaseException) -> str:
    """What `lamina-opt FILE --run-reproducer` takes: passes, what is wrong, the program."""
    said = "\n".join(f"// {line}" for line in str(error).splitlines()[:10])
    return f"// configuration: --passes='{','.join(passes)}'\n{said}\n{text}\n"


def wanted_file() -> Path | None:
    """The file of the environment, if reproducers are wanted."""
    given = os.environ.get(SWITCH)
    return Path(given) if given else None


def written(path: Path, text: str) -> str:
    """Writes a reproducer; says how to run it, or why there is none."""
    try:
        path.write_text(text)
    except OSError as fault:
        return f"the reproducer '{path}' cannot be written: {fault.strerror}"
    return f"to run it again: lamina-opt {path} --run-reproducer"
