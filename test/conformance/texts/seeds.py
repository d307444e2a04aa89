"""Valid programs of every layer: the small ones of `programs`, lowered, and the tests' own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from io import StringIO
from pathlib import Path

from texts.programs import PROGRAMS
from xdsl.printer import Printer

from lamina.codegen.target import Target
from lamina.dialects.errors import LaminaError
from lamina.lowering.pipeline import LAYERS
from lamina.runtime.layers import lower, parse

TESTS = Path(__file__).parents[2]
LONGEST = 6000
"""Characters of a seed: reading takes time, and mutations of a long text fall far apart."""


@cache
def seeds() -> tuple[str, ...]:
    """Texts in an order that is the same in every process."""
    return (*_lowered(), *_of_tests())


def _lowered() -> Iterator[str]:
    """Each program at each layer, as it is printed and in generic form."""
    for name, text in PROGRAMS.items():
        module = parse(text, name=name)
        for above, layer in zip((LAYERS[0], *LAYERS), LAYERS, strict=False):
            lower(module, above, layer, Target.parse("x86-64-v3"))
            yield str(module)
            generic = StringIO()
            Printer(generic, print_generic_format=True).print_op(module)
            yield generic.getvalue()


def _of_tests() -> Iterator[str]:
    """The pieces of the FileCheck tests that can be read."""
    for path in sorted(TESTS.rglob("*.mlir")):
        if "_invalid" in path.name:
            continue
        for piece in path.read_text().split("// -----"):
            code = "\n".join(line for line in piece.splitlines() if "//" not in line).strip()
            if not 0 < len(code) <= LONGEST:
                continue
            try:
                parse(code)
            except LaminaError:
                continue
            yield code
