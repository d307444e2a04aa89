"""The xDSL universe entry point: Lamina's dialects and passes for any xDSL tool."""

from collections.abc import Callable
from importlib import import_module

from xdsl.ir import Dialect
from xdsl.universe import Universe

from lamina.passes.registry import pass_factories

DIALECTS: dict[str, str] = {
    "aten": "lamina.dialects.aten:Aten",
    "core_aten": "lamina.dialects.core_aten:CoreAten",
    "prims": "lamina.dialects.prims:Prims",
    "loop": "lamina.dialects.loop:Loop",
}
"""Dialect name to where its `Dialect` object is; imported only when a program uses it."""


def dialect_factories() -> dict[str, Callable[[], Dialect]]:
    """Lazy constructors of Lamina's own dialects, by name."""

    def factory(place: str) -> Callable[[], Dialect]:
        module, _, attribute = place.partition(":")
        return lambda: getattr(import_module(module), attribute)

    return {name: factory(place) for name, place in DIALECTS.items()}


UNIVERSE = Universe(all_dialects=dialect_factories(), all_passes=pass_factories())
"""Found by xDSL through the `xdsl.universe` entry point of this package."""
