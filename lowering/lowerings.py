"""`lamina.lowerings`: the table of lowerings that takes ops of one layer to the next."""

from __future__ import annotations

from importlib import import_module

from lamina.dialects.errors import InputError
from lamina.dialects.nearest_ops import nearest
from lamina.lowering.conversion import Conversion

TABLES: dict[str, str] = {
    "aten": "aten_to_core_aten.table:DECOMPOSITIONS",
    "core_aten": "core_aten_to_prims.table:LOWERINGS",
    "prims": "prims_to_loop.table:LOWERINGS",
    "stablehlo": "stablehlo_to_prims.table:LOWERINGS",
    "linalg": "linalg_to_loop.table:LOWERINGS",
}
"""Where the ops of a layer are lowered: a module below this package, and the name in it."""


def lowerings(layer: str) -> Conversion:
    """The lowerings of `layer`'s ops to the next one down, as a table that is also a pattern.

    `layer` is `aten`, `core_aten`, `prims`, or a source layer (`stablehlo`, `linalg`); InputError
    for others. See `Conversion`.

        decompose = lamina.lowerings("aten").pattern("layer_norm", "silu")
        PatternRewriteWalker(decompose).rewrite_module(module)
    """
    if not isinstance(layer, str) or layer not in TABLES:
        near = ", ".join(nearest(layer, TABLES) or TABLES)
        raise InputError(f"no layer {layer!r} has lowerings to the next one; nearest: {near}")
    module, _, name = TABLES[layer].partition(":")
    found = getattr(import_module(f"lamina.lowering.{module}"), name)
    assert isinstance(found, Conversion)
    return found
