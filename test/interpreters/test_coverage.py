"""Every op of the tables has an interpreter, of its own or by what it is lowered to."""

from lamina.dialects.core_aten import CoreAten
from lamina.dialects.prims import Prims
from lamina.lowering.core_aten_to_prims.table import LOWERINGS, limitations
from lamina.runtime.interpreters.aten import load_functions
from lamina.runtime.interpreters.prims import FUNCTIONS

NONE = {
    "_make_token": "tokens order side effects, and values have none",
    "_sink_tokens": "tokens order side effects, and values have none",
    "copy_to": "writes its operand, which no primitive of a functional program does",
    "resize": "writes its operand, which no primitive of a functional program does",
}
"""Primitive and why it has none."""


def test_every_primitive_is_interpreted() -> None:
    assert set(Prims.rows) - set(FUNCTIONS) == set(NONE)


def test_every_core_op_is_interpreted_or_refused_with_a_reason() -> None:
    known = set(load_functions()) | set(LOWERINGS.table()) | set(limitations())
    assert set(CoreAten.rows) <= known
