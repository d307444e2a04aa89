"""How a program is taken down, whatever layer it comes in at."""

from collections.abc import Mapping
from dataclasses import field

from xdsl.dialects.builtin import ModuleOp

from lamina.codegen.target import Target
from lamina.dialects.extension_tables import key_of
from lamina.dialects.records import record
from lamina.lowering.custom_pipeline import Pipeline
from lamina.lowering.pass_runner import Finished
from lamina.runtime.layers import DEFAULT, lower


@record
class LoweringOptions:
    """How a program is taken down: where half floats are rounded, given schedules, the passes."""

    rounding: str = "kernel"
    schedules: Mapping[str, str] = field(default_factory=dict[str, str])
    passes: Pipeline = DEFAULT

    @property
    def key(self) -> str | None:
        """What tells it from others; None where nothing does, so that nothing is cached."""
        passes = self.passes.key
        return passes and f"{self.rounding} {sorted(self.schedules.items())} {passes}"

    def key_for(self, module: ModuleOp) -> str | None:
        """`key`, with that of the active extensions that may change the code of a module."""
        extensions = key_of(list(module.walk()))
        own = self.key
        return None if own is None or extensions is None else f"{own} {extensions}"

    def lower(
        self,
        module: ModuleOp,
        start: str,
        stop: str,
        target: Target,
        *,
        enters: bool = True,
        finished: Finished | None = None,
    ) -> None:
        """Takes a module from one layer to another, see `layers.lower`."""
        lower(
            module,
            start,
            stop,
            target,
            self.rounding,
            enters=enters,
            schedules=self.schedules,
            passes=self.passes,
            finished=finished,
        )


DEFAULT_LOWERING = LoweringOptions()
"""The compiler as it is."""
