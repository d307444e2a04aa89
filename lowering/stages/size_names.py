"""Names of sizes that data decide, where they become sizes of arguments."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from lamina.dialects.records import mutable_record
from lamina.dialects.sizes import (
    Extent,
    Range,
    Size,
    SizeAttr,
    SizeName,
    SizeText,
    size_text,
    telling,
)
from lamina.lowering.stages.size_operands import is_size_query
from lamina.lowering.stages.trial import Count, tried
from lamina.passes.contracts.argument_sizes import (
    DIMS,
    open_dims_of,
    size_names,
    size_of,
    texts_of,
)
from lamina.passes.contracts.declared import Declared, arguments_of
from lamina.passes.contracts.symbolic_shapes import SymbolicShapes, infer_shapes
from lamina.passes.contracts.unequal_sizes import UnequalSizesError
from lamina.passes.refusal import invalid


@mutable_record
class SizeNames:
    """The sizes of a program: those of its arguments, and those that stages give."""

    ranges: dict[str, Range] = field(default_factory=dict[str, Range])
    given: set[str] = field(default_factory=set[str])
    """Names of sizes that data decide."""

    @classmethod
    def of(cls, function: FuncOp) -> SizeNames:
        """Those of a function's arguments, and those that its ops state."""
        names = size_names(arguments_of(function))
        made = cls({text: name.range for text, name in names.items()})
        for op in function.body.block.ops:
            said = stated_size(op)
            if said is not None:
                made.add(said)
        return made

    def add(self, said: SizeText) -> None:
        """A size that data decide."""
        self.ranges[said.name] = said.range or Range()
        self.given.add(said.name)

    def fresh(self, held: Range) -> SizeText:
        """A size with a name of its own."""
        number = len(self.given)
        while f"u{number}" in self.ranges:
            number += 1
        said = SizeText.ranged(f"u{number}", held)
        self.add(said)
        return said

    def said_of(self, declared: Declared) -> ArrayAttr | None:
        """`lamina.dims` of an argument of a function, each name with its range."""
        if not open_dims_of(declared):
            return None
        return ArrayAttr([SizeAttr(self.ranged(said)) for said in texts_of(declared)])

    def ranged(self, said: SizeText) -> SizeText:
        """A text with the range of its name, where that may stand."""
        if said.is_name or said.range is not None:
            (name,) = said.names
            return said.with_range(self.ranges[name])
        return said

    def of_values(
        self, function: FuncOp, first: FuncOp, handed: Sequence[SSAValue]
    ) -> list[ArrayAttr | None]:
        """`lamina.dims` of values that the first part of a function hands on.

        What follows from sizes of arguments is said so; counts that are one value have one name.
        """
        known = infer_shapes(function)
        trial = tried(first)
        counts = trial.counts() or [[None] * _rank(value) for value in handed]
        texts: dict[Hashable, SizeText] = {
            k: SizeText.of(name) for k, name in trial.named().items()
        }
        for value, own in zip(handed, counts, strict=True):
            said = stated_size(value.owner)
            if said is not None and own[0] is not None:
                texts.setdefault(own[0].key, said)
        found: list[ArrayAttr | None] = []
        for value, own in zip(handed, counts, strict=True):
            said = self._sizes(value, own, known, texts)
            found.append(ArrayAttr(map(SizeAttr, map(self.ranged, said))) if said else None)
        return found

    def told(
        self, arguments: Sequence[Declared], handed: Sequence[ArrayAttr | None]
    ) -> list[ArrayAttr | None]:
        """The same `lamina.dims` of values that are handed on beside arguments, where sums and
        products of which neither tells the names are sizes of their own."""
        names = {name: SizeName(name, held) for name, held in self.ranges.items()}
        said = [text for one in arguments for text in texts_of(one)]
        said += [text for sizes in handed for text in _texts(sizes)]
        _, untold = telling([size_of(text, names) for text in said])
        own = {said[place]: self.fresh(Range()) for place in untold}
        return [
            sizes and ArrayAttr([SizeAttr(own.get(text, text)) for text in _texts(sizes)])
            for sizes in handed
        ]

    def _sizes(
        self,
        value: SSAValue,
        counts: Sequence[Count | None],
        known: SymbolicShapes,
        texts: dict[Hashable, SizeText],
    ) -> list[SizeText]:
        stated = stated_size(value.owner)
        if stated is not None:
            return [stated]
        if not isinstance(value.type, TensorType):
            is_size = is_size_query(value.owner) and value.type == i64
            return [self._named(counts[0], texts)] if is_size else []
        dims = [dim for dim, extent in enumerate(value.type.get_shape()) if extent < 0]
        return [
            _as_text(known.shape(value)[dim]) or self._named(counts[dim], texts) for dim in dims
        ]

    def _named(self, count: Count | None, texts: dict[Hashable, SizeText]) -> SizeText:
        if count is None:
            return self.fresh(Range())
        if count.key not in texts:
            texts[count.key] = self.fresh(Range(0, count.most))
        return texts[count.key]


def _texts(sizes: ArrayAttr | None) -> list[SizeText]:
    return [size.data for size in sizes or () if isinstance(size, SizeAttr)]


def _rank(value: SSAValue) -> int:
    return value.type.get_num_dims() if isinstance(value.type, TensorType) else 1


def _as_text(extent: Extent) -> SizeText | None:
    return size_text(extent) if isinstance(extent, Size) else None


def stated_size(op: object) -> SizeText | None:
    """The size that an op of a number says its result is, by `lamina.dims`.

    Raises InputError if it is of another form.
    """
    held = op.attributes.get(DIMS) if isinstance(op, Operation) else None
    if held is None or isinstance(op, FuncOp):
        return None
    assert isinstance(op, Operation)
    entries = list(held) if isinstance(held, ArrayAttr) else []
    only = entries[0] if len(entries) == 1 else None
    is_number = len(op.results) == 1 and op.results[0].type == i64
    if not isinstance(only, SizeAttr) or not only.data.is_name or not is_number:
        raise invalid(op, f"{DIMS} = {held}: an op that gives an i64 has one name of a size")
    return only.data


def equal_sizes(function: FuncOp, names: SizeNames) -> None:
    """Gives one name to sizes that data decide and that must be equal, as calls check then.

    Raises InputError where sizes of arguments would have to be equal.
    """
    while True:
        try:
            infer_shapes(function)
        except UnequalSizesError as error:
            pair = _pair(error, names)
            if pair is None:
                raise
            _rename(function, *pair, names)
        else:
            return


def _pair(error: UnequalSizesError, names: SizeNames) -> tuple[str, str] | None:
    """A size that data decide, and the name that it must have."""
    for one, other in reversed(error.pairs):
        texts = [said.name for said in map(_as_text, (one, other)) if said and said.is_name]
        given = [text for text in texts if text in names.given]
        if len(set(texts)) == 2 and given:
            old = given[-1]
            return old, next(text for text in texts if text != old)
    return None


def _rename(function: FuncOp, old: str, new: str, names: SizeNames) -> None:
    one, other = names.ranges[old], names.ranges[new]
    tops = [most for most in (one.most, other.most) if most is not None]
    if new in names.given:
        joined = Range(max(one.least, other.least), min(tops, default=None))
        names.ranges[new] = joined if joined.most is None or joined.most >= joined.least else other
    entries: list[DictionaryAttr] = []
    for declared in arguments_of(function):
        held = dict(declared.entries)
        if open_dims_of(declared):
            said = [text.renamed(old, new) for text in texts_of(declared)]
            held[DIMS] = ArrayAttr([SizeAttr(names.ranged(text)) for text in said])
        entries.append(DictionaryAttr(held))
    function.properties["arg_attrs"] = ArrayAttr(entries)
