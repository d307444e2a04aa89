"""What versions of one graph have made of the same weights: packed once, and read by all.

A version is bound to the weights of a module when it first meets them. What another version has
made of these by the same recipe is taken, if nothing says that they have changed since: they are
the same tensors, with the version counters, addresses and sampled words that they had.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from lamina.dialects.records import record
from lamina.runtime.dispatch.watched import Watched, WatchTable, telling_place
from lamina.runtime.shared_constants import Memory, Recipe

_Key = tuple[str, *tuple[int, ...]]


@record
class _Made:
    """Memory that lives as long as a version that reads it, and what it was made of.

    `watch` has a word of each of these weights, and of no others, which may have no memory any
    more. Without `stamps`, later changes do not count.
    """

    memory: weakref.ref[Memory]
    weights: tuple[weakref.ref[torch.Tensor], ...]
    stamps: list[int] | None
    watch: WatchTable

    def of(self, weights: list[torch.Tensor]) -> Memory | None:
        """The memory, if it is still what these weights make."""
        if any(ref() is not weight for ref, weight in zip(self.weights, weights, strict=True)):
            return None
        changed = self.stamps is not None and (
            self.stamps != stamps_of(weights) or self.watch.has_other_samples()
        )
        return None if changed else self.memory()


class SharedWeights:
    """What the versions of a graph have made of weights; those of all modules that share it."""

    def __init__(self) -> None:
        self._made: dict[_Key, _Made] = {}

    @property
    def count(self) -> int:
        """How many packed weights somebody reads."""
        return len(self._made)

    def among(self, weights: Mapping[str, torch.Tensor], *, frozen: bool) -> WeightsOfCall:
        """What can be found, or kept, of the weights of a call, by name."""
        return WeightsOfCall(self._made, weights, frozen=frozen)


class WeightsOfCall:
    """What `bind` asks for of `SharedConstants`, by the tensors that are the weights.

    Constants of the graph beside them are not shared.
    """

    def __init__(
        self, made: dict[_Key, _Made], weights: Mapping[str, torch.Tensor], *, frozen: bool
    ) -> None:
        self._made, self._weights, self._frozen = made, weights, frozen

    def find(self, recipe: Recipe | None, constants: Mapping[str, Any]) -> Memory | None:
        """The memory of what a recipe makes of the weights, if another version has it."""
        weights = self._of(recipe)
        if recipe is None or weights is None:
            return None
        made = self._made.get(_key(recipe, weights))
        return None if made is None else made.of(weights)

    def keep(self, recipe: Recipe | None, constants: Mapping[str, Any], memory: Memory) -> None:
        """Notes what a version has made, for others, as long as somebody reads it."""
        weights = self._of(recipe)
        if recipe is None or weights is None:
            return
        key, made = _key(recipe, weights), self._made

        def gone(ref: weakref.ref[Memory]) -> None:
            if (held := made.get(key)) is not None and held.memory is ref:
                del made[key]

        made[key] = _Made(
            weakref.ref(memory, gone),
            tuple(map(weakref.ref, weights)),
            None if self._frozen else stamps_of(weights),
            WatchTable([] if self._frozen else [watched(0, weight) for weight in weights]),
        )

    def _of(self, recipe: Recipe | None) -> list[torch.Tensor] | None:
        """The weights that a recipe begins with; None where it takes anything else."""
        if recipe is None or not all(name in self._weights for name in recipe.constants):
            return None
        return [self._weights[name] for name in recipe.constants]


def _key(recipe: Recipe, weights: list[torch.Tensor]) -> _Key:
    return recipe.digest, *map(id, weights)


def watched(place: int, weight: torch.Tensor) -> Watched:
    """A weight among the arguments as it is now, with a word of it where it is contiguous."""
    sample = None
    if weight.is_contiguous():
        sample = telling_place(weight.data_ptr(), weight.nbytes)
    return Watched(place, id(weight), weight._version, weight.data_ptr(), sample)


def stamps_of(weights: Sequence[torch.Tensor]) -> list[int]:
    """What changes with each write that torch counts, and with each change of memory."""
    return [*(w._version for w in weights), *(w.data_ptr() for w in weights)]
