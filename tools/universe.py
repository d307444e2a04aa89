"""The xDSL universe entry point: Lamina's dialects and passes for any xDSL tool."""

from functools import partial

from xdsl.universe import Universe

from lamina.dialects.context import DIALECTS, load_dialect
from lamina.passes.registry import pass_factories

UNIVERSE = Universe(
    all_dialects={name: partial(load_dialect, name) for name in DIALECTS},
    all_passes=pass_factories(),
)
"""Found by xDSL through the `xdsl.universe` entry point of this package."""
