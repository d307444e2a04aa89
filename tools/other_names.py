"""Names in exported graphs that are no ops of a dialect: what becomes of them."""

from __future__ import annotations

from fnmatch import fnmatchcase

_IMPLEMENTED = (
    "the importer traces torch's own implementation, and the ATen ops in it take its place; "
    "--check FILE.pt2 says whether they all compile"
)
_REGIONS = (
    "a branch or loop; the importer makes it an op of the dialect 'control' (docs/control_flow.md)"
)
_CALLED = "the importer puts the ops of its graph in its place"

OTHER_NAMES: tuple[tuple[str, str], ...] = (
    ("higher_order.associative_scan", _REGIONS),
    ("higher_order.cond", _REGIONS),
    ("higher_order.map_impl", _REGIONS),
    ("higher_order.scan", _REGIONS),
    ("higher_order.while_loop", _REGIONS),
    ("higher_order.invoke_*", _CALLED),
    ("higher_order.wrap_with_set_grad_enabled", _CALLED),
    (
        "higher_order.wrap_with_autocast",
        "the importer has torch's run_decompositions({}) put conversions in its place",
    ),
    (
        "higher_order.with_effects",
        "an op with side effects in order, such as a print; cannot be imported\n"
        "  use instead: the program without it",
    ),
    ("higher_order.*", "a higher-order op that cannot be imported\n  use instead: ATen ops"),
    ("prims.*", f"a primitive of torch's; {_IMPLEMENTED}"),
    ("quantized_decomposed.*", f"quantization as torch.ao writes it; {_IMPLEMENTED}"),
    ("torch_nn.*", f"a function that torch registers for its own layers; {_IMPLEMENTED}"),
)
"""Names (* stands for anything) and what they are; the first row that fits holds."""


def what_becomes_of(name: str) -> str | None:
    """What a name is that stands in no table of ops, and what to use; None for unknown ones."""
    return next((text for pattern, text in OTHER_NAMES if fnmatchcase(name, pattern)), None)
