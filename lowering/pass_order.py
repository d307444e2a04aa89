"""What the order of passes tells: which need not be asked again whether a program is for them, and
which look at one kernel at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile

from xdsl.passes import ModulePass

from lamina.lowering.pass_runner import is_own
from lamina.lowering.pass_specs import Pass, pass_of
from lamina.passes.contracts.pass_states import asks_the_same
from lamina.passes.kernel_passes import EntryPass, KernelPass


class PassOrder:
    """Passes, by name, in an order in which each leaves a program to the next.

    What one of them was run on is for the next as well, if both take programs in the same states.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._pairs = {pair for pair in pairwise(names) if asks_the_same(*pair)}

    def tells(self, last: ModulePass | None, coming: ModulePass) -> bool:
        """Whether a program that the last pass took is for the coming one, when it is through.

        What passes of others leave is not known.
        """
        if last is None or (last.name, coming.name) not in self._pairs:
            return False
        return is_own(last) and is_own(coming)


def kernel_passes(
    specs: Sequence[Pass],
) -> tuple[Sequence[Pass], tuple[KernelPass, ...], tuple[EntryPass, ...]]:
    """The passes of one kernel behind which come those of entries only, what is in front, and
    these."""
    passes = map(pass_of, reversed(specs))
    behind = [*takewhile(lambda coming: isinstance(coming, EntryPass), passes)]
    rest = specs[: len(specs) - len(behind)]
    passes = map(pass_of, reversed(rest))
    nested = [*takewhile(lambda coming: isinstance(coming, KernelPass), passes)]
    return rest[: len(rest) - len(nested)], tuple(nested[::-1]), tuple(behind[::-1])  # pyright: ignore
