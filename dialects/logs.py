"""What the compiler tells while it works: loggers `lamina.TOPIC` of Python's `logging`.

`LAMINA_LOG=passes,cache` in the environment shows topics on standard error; `all` shows every one.
Programs that configure `logging` themselves see them like those of any other library.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import cache

from lamina.dialects.nearest_ops import nearest

SWITCH = "LAMINA_LOG"
"""The variable of the environment that lists topics, with commas."""

TOPICS: dict[str, str] = {
    "passes": "each pass of a pipeline, how long it took, and how many ops it left",
    "cache": "programs that the disk cache had, had not, and took",
    "compile": "each program that was compiled: its target, its kernels, how long it took",
    "torch": "each graph that torch.compile handed over",
    "sizes": "each version that was made of a program whose sizes are open",
}
"""What is told, by topic."""


@cache
def topic(name: str) -> logging.Logger:
    """The logger of a topic; `isEnabledFor(INFO)` says whether anybody looks."""
    assert name in TOPICS
    _configure()
    return logging.getLogger(f"lamina.{name}")


def is_told(logger: logging.Logger) -> bool:
    """Whether what a topic tells is shown anywhere."""
    return logger.isEnabledFor(logging.INFO)


@cache
def _configure() -> None:
    """Shows the topics of the environment, once a process; says which it does not know."""
    given = [name.strip() for name in os.environ.get(SWITCH, "").split(",") if name.strip()]
    if not given:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    for name in TOPICS if "all" in given else given:
        if name not in TOPICS:
            near = nearest(name, TOPICS) or list(TOPICS)
            print(
                f"lamina: {SWITCH}: there is no topic '{name}'; nearest: {', '.join(near)}",
                file=sys.stderr,
            )
            continue
        logger = logging.getLogger(f"lamina.{name}")
        logger.setLevel(logging.INFO)
        logger.addHandler(handler)
        logger.propagate = False
