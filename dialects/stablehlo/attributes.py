"""Attributes of StableHLO text, which keep the text that they were read from.

`#stablehlo.gather<offset_dims = [1], index_vector_dim = 1>` is a list of fields, read by `fields`;
`#stablehlo<precision DEFAULT>` is one of an enumeration, read by `word`.
"""

from __future__ import annotations

import re
from functools import cache

from xdsl.dialects.builtin import UnregisteredAttr
from xdsl.ir import Attribute

NAMES: dict[str, tuple[str, ...]] = {
    "stablehlo": (
        "bounds",
        "channel_handle",
        "comparison_direction",
        "comparison_type",
        "conv",
        "custom_call_api_version",
        "dot",
        "dot_algorithm",
        "fft_type",
        "gather",
        "output_operand_alias",
        "precision",
        "result_accuracy",
        "result_accuracy_mode",
        "rng_algorithm",
        "rng_distribution",
        "scatter",
        "transpose",
        "type_extensions",
    ),
    "chlo": ("comparison_direction", "comparison_type", "precision", "ragged_dot"),
    "mhlo": ("precision", "result_accuracy", "sharding", "frontend_attributes"),
    "sdy": ("mesh", "op_sharding_rule", "sharding", "sharding_per_value", "manual_axes"),
}
"""The attributes of each dialect that programs have."""

_FIELD = re.compile(r"(\w+)\s*=\s*(\[[^\]]*\]|-?\w+)")
_INTEGER = re.compile(r"-?\d+")


TYPES = ("stablehlo.token",)
"""Types that are no tensors."""


@cache
def type_classes() -> dict[str, type[UnregisteredAttr]]:
    """By full name."""
    made = {name: UnregisteredAttr.with_name_and_type(name, True) for name in TYPES}
    for name, kind in made.items():
        kind.name = name
    return made


def text_attribute(name: str) -> type[UnregisteredAttr]:
    """The class of attributes called `name`, as `stablehlo.gather`."""
    made = UnregisteredAttr.with_name_and_type(name, False)
    made.name = name
    return made


@cache
def attribute_classes(dialect: str) -> dict[str, type[UnregisteredAttr]]:
    """By full name."""
    names = [f"{dialect}.{name}" for name in NAMES[dialect]]
    return {name: text_attribute(name) for name in names}


@cache
def make_attribute(name: str, body: str) -> UnregisteredAttr:
    """`#stablehlo.dot<body>`."""
    return attribute_classes(name.partition(".")[0])[name](name, False, False, body)


@cache
def make_word(name: str, value: str) -> UnregisteredAttr:
    """`#stablehlo<precision DEFAULT>`."""
    return attribute_classes(name.partition(".")[0])[name](name, False, True, f" {value}")


def word(attribute: Attribute | None) -> str:
    """What an enumeration says; empty for no attribute."""
    return attribute.value.data.strip() if isinstance(attribute, UnregisteredAttr) else ""


def body_of(attribute: Attribute | None) -> str:
    """What stands between the brackets of `#stablehlo.conv<...>`; empty for no attribute."""
    return attribute.value.data if isinstance(attribute, UnregisteredAttr) else ""


@cache
def fields(body: str) -> dict[str, list[int]]:
    """The fields of such a text that are numbers; a single one is a list of one."""
    return {m[1]: [int(n) for n in _INTEGER.findall(m[2])] for m in _FIELD.finditer(body)}
