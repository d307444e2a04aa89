"""How the arguments and results of a native call are packed."""

from collections.abc import Callable
from typing import Any

from lamina.dialects.records import record
from lamina.runtime.dispatch.watched import WatchTable

FORMS = {"single": 0, "tuple": 1, "list": 2}
"""What a call gives: the only result itself, or all of them."""


@record
class Layout:
    """How a call's arguments and results are packed.

    `form` is one of `FORMS`. `entries` has an output's number for each entry of the result, or None
    where it is None. `finish` makes what the call gives of the packed results. `boxed` has each
    input's place in a list of `boxed_count` arguments, which is the only argument then; the caller
    vouches that tensors in it are neither lazily negated nor conjugated, and may need gradients.
    `watched` are entries of that list that must be what they were, or the call is not native.
    """

    form: str
    entries: tuple[int | None, ...]
    finish: Callable[[Any], Any] | None = None
    boxed: tuple[int, ...] | None = None
    boxed_count: int = 0
    native_kind: str = "numpy"
    watched: WatchTable | None = None
