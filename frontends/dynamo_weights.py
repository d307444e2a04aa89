"""Programs prepared for the weights of a call: packed once for each module, again when they change.

Dynamo shares code between the instances of a class, so a graph is called with the weights of many
modules. A preparation belongs to the tensors that it was made of, and dies with the first of them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import torch

from lamina.dialects.records import mutable_record
from lamina.frontends.dynamo_shared_weights import stamps_of, watched
from lamina.runtime.dispatch.watched import Watched, WatchTable

Call = Callable[[list[Any]], list[Any]]
"""A call of a graph on the list of its arguments, which it empties."""

_WASTED = 2
"""So many preparations in a row that served one call at most; then weights are read in each."""

_REMEMBERED = 64
"""Modules whose last weights are remembered while weights are read in each call."""


@mutable_record
class Preparation:
    """A program prepared for certain weights. It keeps their memory, so that no other tensor can
    come to be at the same address, but not the tensors.

    `call` runs it on plain tensors, `checked` on any, with errors that say what does not fit.
    """

    call: Call
    checked: Call
    watch: WatchTable
    stamps: list[Any]
    memory: list[torch.Tensor]
    observers: list[weakref.ref[torch.Tensor]] = field(default_factory=list)


class WeightPreparations:
    """Calls of a graph with the preparation that its weights ask for.

    `places` are those of the weights among the arguments. `prepare` makes the two calls of a
    `Preparation` from arguments and what is to be watched; `reading` the call that packs weights
    each time. If `frozen`, later changes of the same tensors do not count.
    """

    def __init__(
        self,
        places: Sequence[int],
        prepare: Callable[[list[Any], WatchTable], tuple[Call, Call]],
        reading: Callable[[], Call],
        *,
        frozen: bool,
    ) -> None:
        self._places = tuple(places)
        self._first = self._places[0]
        self._prepare = prepare
        self._make_reading = reading
        self._frozen = frozen
        self._made: dict[tuple[int, ...], Preparation] = {}
        self._latest: dict[int, Preparation] = {}  # by the first weight: what to try at once
        self._wasted = 0
        self._reading: Call | None = None
        self._read: dict[tuple[int, ...], list[Any]] = {}
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """How many preparations there are."""
        return len(self._made)

    def __call__(self, args: list[Any]) -> list[Any]:
        """Runs the program; what native code finds changed or unfit comes back to `miss`."""
        latest = self._latest.get(id(args[self._first]))
        return self.miss(args) if latest is None else latest.call(args)

    def miss(self, args: list[Any]) -> list[Any]:
        """Runs the program on weights that it may have to be prepared for."""
        weights = [args[place] for place in self._places]
        key = tuple(map(id, weights))
        made = self._made.get(key)
        if made is not None and (self._frozen or made.stamps == stamps_of(weights)):
            if self._latest.get(key[0]) is not made:
                self._latest[key[0]] = made
                return made.call(args)
            if self._frozen or not made.watch.has_other_samples():
                return made.checked(args)
        with self._lock:
            call = self._call_for(key, weights, args)
        return call(args)

    def checked(self, args: list[Any]) -> list[Any]:
        """Runs the program; weights are checked here, for calls that are not native."""
        weights = [args[place] for place in self._places]
        key = tuple(map(id, weights))
        made = self._made.get(key)
        if made is not None and (
            self._frozen
            or (made.stamps == stamps_of(weights) and not made.watch.has_other_samples())
        ):
            made.watch.hit()
            return made.checked(args)
        with self._lock:
            call = self._call_for(key, weights, args)
        return call(args)

    def _call_for(self, key: tuple[int, ...], weights: list[torch.Tensor], args: list[Any]) -> Call:
        self._drop(key, self._made.get(key))
        if not self._frozen and not self._may_prepare(key, weights):
            if self._reading is None:
                self._reading = self._make_reading()
            return self._reading
        watch = WatchTable([self._watched(place, args[place]) for place in self._places])
        stamps = [] if self._frozen else stamps_of(weights)
        call, checked = self._prepare(args, watch)
        made = Preparation(call, checked, watch, stamps, [w.detach() for w in weights])
        gone = partial(_drop_of, weakref.ref(self), key, weakref.ref(made))
        made.observers = [weakref.ref(weight, gone) for weight in weights]
        self._made[key] = self._latest[key[0]] = made
        return call

    def _may_prepare(self, key: tuple[int, ...], weights: list[torch.Tensor]) -> bool:
        """Whether changes can be seen, and the weights are not new in every call."""
        if any(weight.is_inference() for weight in weights):
            return False  # they have no version counter
        if self._wasted < _WASTED:
            return True
        stamps = stamps_of(weights)
        if self._read.pop(key, None) == stamps:
            self._wasted = _WASTED - 1
            return True
        if len(self._read) == _REMEMBERED:
            self._read.clear()
        self._read[key] = stamps
        return False

    def _watched(self, place: int, weight: torch.Tensor) -> Watched:
        if self._frozen:
            return Watched(place, id(weight))
        return watched(place, weight)

    def _drop(self, key: tuple[int, ...], made: Preparation | None) -> None:
        if made is None or self._made.get(key) is not made:
            return
        del self._made[key]
        if self._latest.get(key[0]) is made:
            del self._latest[key[0]]
        self._wasted = self._wasted + 1 if made.watch.hits <= 1 else 0


def _drop_of(
    owner: weakref.ref[WeightPreparations],
    key: tuple[int, ...],
    made: weakref.ref[Preparation],
    _: object,
) -> None:
    """What the death of a weight calls; holds neither the calls nor the preparation."""
    preparations = owner()
    if preparations is not None:
        preparations._drop(key, made())
