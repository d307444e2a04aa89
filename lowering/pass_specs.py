"""Passes by their specs, as `lamina-opt -p` takes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import ArgSpecParseError

from lamina.dialects.errors import InputError
from lamina.dialects.extension_entries import Entry
from lamina.dialects.extension_tables import extended_names
from lamina.dialects.nearest_ops import nearest
from lamina.passes.registry import PASSES, load_pass

Pass = ModulePass | str
"""A pass, or its spec as `lamina-opt -p` takes it."""

_DOTTED = re.compile(r'"[^"]*"|[A-Za-z_]\w*(?:\.\w+)+')
"""A string, or a name with dots such as `aten.gelu.default`."""


def pass_of(spec: Pass) -> ModulePass:
    """The pass that a spec means. Raises InputError for an unknown one, and for its options."""
    if isinstance(spec, ModulePass):
        return spec
    added = extended_names("pass")
    return _read(spec, added) if added else _pass(spec)


def quoted_names(specs: str) -> str:
    """Specs with quotes around names that have dots, such as `aten.gelu.default` in an option."""
    return _DOTTED.sub(lambda m: m[0] if m[0].startswith('"') else f'"{m[0]}"', specs)


def _class_of(name: str) -> type[ModulePass]:
    """The class of a pass of Lamina's or of xDSL's. Raises KeyError for other names."""
    if name in PASSES:
        return load_pass(name)
    from xdsl.transforms import get_all_passes

    return get_all_passes()[name]()


@cache
def _pass(text: str) -> ModulePass:
    """The pass that a spec means. It is an immutable value; a name alone needs no reading."""
    if text not in PASSES:
        return _read(text, {})
    try:
        return load_pass(text)()
    except TypeError:  # it has an option that must be given, as reading it says
        return _read(text, {})


def _read(text: str, added: Mapping[str, Entry]) -> ModulePass:
    """The pass that a spec means, of these that extensions add, Lamina's or xDSL's."""
    try:
        spec = parse_spec(quoted_names(text))
        entry = added.get(spec.name)
        kind = entry.value() if entry is not None else _class_of(spec.name)
    except ArgSpecParseError as error:
        raise InputError(f"'{text}' is no pass with options, as in name{{option=1}}") from error
    except KeyError as error:
        near = nearest(spec.name, [*PASSES, *added])
        hint = f"; nearest: {', '.join(near)}" if near else ""
        raise InputError(f"no pass is called '{spec.name}'{hint}") from error
    try:
        return kind.from_spec(spec)
    except (ValueError, TypeError) as error:
        raise InputError(f"pass '{spec.name}': {error}") from error
