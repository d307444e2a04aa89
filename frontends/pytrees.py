"""Nested inputs and outputs (torch pytrees) of a module, and the flat lists of compiled code."""

from collections import OrderedDict, namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from lamina.dialects.errors import ArgumentError
from lamina.dialects.records import record
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.nested_structure import (
    LEAF,
    SCALARS,
    FixedValue,
    NestedStructure,
    NoTreeError,
)


@record
class Fixed:
    """A leaf whose value was fixed when the program was exported: None, a number or a string."""

    name: str
    value: object


@record
class TorchStructure:
    """Maps a call's arguments to compiled inputs and compiled outputs to what the module returns.

    `inputs` has one entry for each leaf of the arguments: the name of a compiled input, or a fixed
    value. `outputs` has one for each leaf of the result: the number of a compiled output, or a
    fixed value. `begins` are the storage offsets that the program counts on, by input.
    """

    inputs: tuple[str | Fixed, ...]
    outputs: tuple[int | Fixed, ...]
    input_spec: pytree.TreeSpec
    output_spec: pytree.TreeSpec
    parameter_names: tuple[str, ...]
    is_flat: bool
    single_output: bool
    begins: Mapping[str, int] = field(default_factory=dict)

    native_kind = "torch"

    @classmethod
    def of(
        cls,
        program: ExportedProgram,
        inputs: tuple[str | Fixed, ...],
        outputs: tuple[int | Fixed, ...],
        begins: Mapping[str, int],
    ) -> "TorchStructure":
        """The structure that `program` was exported with."""
        specs = program.call_spec
        assert specs.in_spec is not None and specs.out_spec is not None
        names = program.module_call_graph[0].signature
        forward = tuple(names.forward_arg_names or ()) if names is not None else ()
        positional, keywords = specs.in_spec.children()
        is_flat = (
            not keywords.children()
            and all(child.is_leaf() for child in positional.children())
            and not any(isinstance(entry, Fixed) for entry in inputs)
            and not begins
        )
        single = specs.out_spec.is_leaf() and outputs == (0,)
        return cls(inputs, outputs, specs.in_spec, specs.out_spec, forward, is_flat, single, begins)

    def flatten(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Sequence[object]:
        """The tensors of a call, in the order of the compiled inputs.

        Raises ArgumentError when the nesting is not that of the exported call, or when a fixed
        value differs from what it was fixed to.
        """
        if self.is_flat and not kwargs and len(args) == len(self.inputs):
            return args
        args, kwargs = self._bind_names(args, kwargs)
        call = (tuple(args), dict(kwargs))
        leaves, spec = pytree.tree_flatten(call)
        if spec != self.input_spec:
            if not _is_permuted(spec, self.input_spec):
                raise ArgumentError(self._mismatch(args, kwargs, spec))
            leaves = self.input_spec.flatten_up_to(call)
        for entry, leaf in zip(self.inputs, leaves, strict=True):
            if isinstance(entry, Fixed) and not _same_constant(leaf, entry.value):
                raise ArgumentError(
                    f"argument '{entry.name}': the program was exported with {entry.value!r} and "
                    f"is fixed to it, got {_short(leaf)}; export again for another value"
                )
            if isinstance(entry, str) and entry in self.begins:
                _check_begin(entry, leaf, self.begins[entry])
        return [
            leaf
            for entry, leaf in zip(self.inputs, leaves, strict=True)
            if not isinstance(entry, Fixed)
        ]

    def layout(self, outputs: int) -> Layout:
        """What the module returns: its one result, a plain tuple of tensors, or a nest of them."""
        entries = tuple(None if isinstance(entry, Fixed) else entry for entry in self.outputs)
        if self.single_output:
            return Layout("single", entries, native_kind=self.native_kind)
        plain = self.output_spec.type is tuple and all(
            child.is_leaf() for child in self.output_spec.children()
        )
        fixed = any(isinstance(entry, Fixed) and entry.value is not None for entry in self.outputs)
        finish = None if plain and not fixed else self._nest
        return Layout("tuple", entries, finish, native_kind=self.native_kind)

    def kept_by(self) -> str | None:
        """Storage offsets are looked up in torch's tensors."""
        names = ", ".join(f"'{name}'" for name in self.begins)
        return (
            f"it takes as_strided of {names}, which only tensors of torch allow" if names else None
        )

    def recorded(self) -> NestedStructure | None:
        """The same without torch; None where a node is none that `NestedStructure` has, or a fixed
        value is no number or string."""
        try:
            return NestedStructure(
                _tree(self.input_spec),
                _tree(self.output_spec),
                tuple(isinstance(entry, str) or _recorded(entry) for entry in self.inputs),
                tuple(e if isinstance(e, int) else _recorded(e) for e in self.outputs),
                self.parameter_names,
            )
        except NoTreeError:
            return None

    def _nest(self, results: Sequence[object]) -> object:
        leaves = [
            entry.value if isinstance(entry, Fixed) else result
            for entry, result in zip(self.outputs, results, strict=True)
        ]
        return pytree.tree_unflatten(leaves, self.output_spec)

    def _bind_names(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[Sequence[object], Mapping[str, object]]:
        """Moves keywords to the positions or the order that the exported call had."""
        positional, keywords = self.input_spec.children()
        expected = len(positional.children())
        moved = list(args)
        rest = dict(kwargs)
        while len(moved) < min(expected, len(self.parameter_names)):
            name = self.parameter_names[len(moved)]
            if name not in rest:
                break
            moved.append(rest.pop(name))
        names: list[str] = keywords.context or []
        if rest.keys() == set(names):
            rest = {name: rest[name] for name in names}
        return moved, rest

    def _mismatch(
        self, args: Sequence[object], kwargs: Mapping[str, object], spec: pytree.TreeSpec
    ) -> str:
        positional, keywords = self.input_spec.children()
        expected = len(positional.children())
        if len(args) != expected:
            names = ", ".join(self.parameter_names[:expected])
            return f"expected {expected} positional arguments ({names}), got {len(args)}"
        wanted: set[str] = set(keywords.context or [])
        if wanted != set(kwargs):
            return f"expected keywords {sorted(wanted)}, got {sorted(kwargs)}"
        pairs = zip(positional.children(), spec.children()[0].children(), strict=True)
        for number, (want, got) in enumerate(pairs):
            if want != got and not _is_permuted(got, want):
                name = dict(enumerate(self.parameter_names)).get(number, str(number))
                return (
                    f"argument '{name}': expected the nesting {_spec_text(want)}, "
                    f"got {_spec_text(got)}"
                )
        return f"expected keyword nesting {_spec_text(keywords)}"


def _is_permuted(got: pytree.TreeSpec, want: pytree.TreeSpec) -> bool:
    """Whether the two nest alike but for the order of the keys of dicts."""
    if got.type != want.type or got.num_children != want.num_children:
        return False
    pairs = zip(got.children(), want.children(), strict=True)
    if want.type is dict:
        if set(got.context) != set(want.context):
            return False
        named = dict(zip(got.context, got.children(), strict=True))
        pairs = ((named[key], one) for key, one in zip(want.context, want.children(), strict=True))
    elif got.context != want.context:
        return False
    return all(_is_permuted(one, other) for one, other in pairs)


def _tree(spec: pytree.TreeSpec) -> Any:
    """A spec as `NestedStructure` has trees. Raises NoTreeError for nodes of other types."""
    if spec.is_leaf():
        return LEAF
    children = [_tree(child) for child in spec.children()]
    if spec.type in (tuple, list):
        return [spec.type.__name__, children]
    if spec.type in (dict, OrderedDict):
        keys = list(spec.context)
        if all(type(key) in (str, int) for key in keys):
            return ["dict", keys, children]
    if spec.type is namedtuple:
        return ["named", spec.context.__name__, list(spec.context._fields), children]
    raise NoTreeError(str(spec.type))


def _recorded(entry: Fixed | int) -> FixedValue:
    if not isinstance(entry, Fixed) or type(entry.value) not in SCALARS:
        raise NoTreeError(f"a fixed value, {entry}")
    return FixedValue(entry.name, entry.value)


def _same_constant(left: object, right: object) -> bool:
    return left is right or (type(left) is type(right) and left == right)


def _check_begin(name: str, tensor: object, begin: int) -> None:
    if isinstance(tensor, torch.Tensor) and not tensor.is_contiguous():
        raise ArgumentError(
            f"argument '{name}': strides {tuple(tensor.stride())} are not row-major contiguous, "
            "and the program takes as_strided of it; pass .contiguous()"
        )
    offset = tensor.storage_offset() if isinstance(tensor, torch.Tensor) else begin
    if offset != begin:
        raise ArgumentError(
            f"argument '{name}' begins at element {offset} of its memory, and at {begin} when "
            "as_strided of it was exported; pass a clone(), or export again"
        )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"


def _spec_text(spec: pytree.TreeSpec) -> str:
    return " ".join(str(spec).replace("TreeSpec", "").split())
