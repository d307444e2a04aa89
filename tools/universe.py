"""The xDSL universe entry point: Lamina dialects and passes for any xDSL tool."""

from xdsl.universe import Universe

UNIVERSE = Universe()
