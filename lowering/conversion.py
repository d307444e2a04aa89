"""One-shot dialect conversion: every op of one dialect is replaced once, in program order.

A `Conversion` is a table from an op's overload name to a plain function

    def lower(op: Operation, b: Builder) -> SSAValue | Sequence[SSAValue | None]

that makes the replacement through `b` and returns one value for each result of `op` (None for a
result that has no uses and is not worth computing). The walk visits each op once, so the time is
linear in the program; nothing is iterated to a fixed point. `Conversion.apply` runs the same
function on one op, for use from Python, and `Conversion.pattern` gives it as a rewrite pattern, to
be mixed with others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Protocol

from xdsl.dialects.builtin import ModuleOp, TensorType, f32, f64, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.errors import InputError, LaminaError, UnsupportedError
from lamina.dialects.extension_tables import extended
from lamina.dialects.ir_links import insert_op, replace_uses, take_name
from lamina.dialects.loop.rounding import IMPLICIT
from lamina.dialects.modifications import is_new, register
from lamina.dialects.op_disposal import erase
from lamina.dialects.records import mutable_record, record
from lamina.dialects.schema.dialect import TableDialect
from lamina.dialects.schema.names import UnknownOpError
from lamina.dialects.sizes import UndecidedSizeError
from lamina.dialects.sizes.size_values import size_values
from lamina.dialects.source import describe_location
from lamina.lowering.accepted_types import refuse_other_types
from lamina.lowering.extended_lowerings import FaultyLoweringError, by_extension
from lamina.lowering.sized_types import becomes_size, sized_types, sizes_within
from lamina.lowering.tensor_types import element_of, is_complex
from lamina.passes.contracts.argument_sizes import NUMBERS, has_open_sizes
from lamina.passes.contracts.contracts import allow_ops
from lamina.passes.fusion.fusion_override import FUSE
from lamina.passes.refusal import unsupported


class OpSource(Protocol):
    """What the table dialects' packages offer: the op class of an overload name."""

    def __call__(self, name: str) -> type[Operation]: ...


class Builder:
    """Makes ops of the target dialect in front of the op being replaced, at its source location.

    Every lowering gets the op and one of these, whose `anchor` is that op, and gives a value for
    each of the op's results.

        @mine.lowers("mine.grow", to="prims")
        def lower(op, b):
            if len(op.operands) > 1:
                raise b.refuse("takes one operand")
            return b("exp", op.operands[0])
    """

    def __init__(self, anchor: Operation, op_source: OpSource) -> None:
        self.anchor = anchor
        self._op_source = op_source

    def insert(self, op: Operation) -> Operation:
        """Put `op` in front of the anchor with the anchor's location, and return it."""
        op.location = self.anchor.location
        block = self.anchor.parent
        assert block is not None, f"{self.anchor.name} is in no block"
        insert_op(op, self.anchor)
        return op

    def op(self, name: str, /, *args: Any, **kwargs: Any) -> Operation:
        """Insert target op `name`, built from `args` by schema position and `kwargs` by name."""
        return self.insert(self._op_source(name)(*args, **kwargs))

    def __call__(self, name: str, /, *args: Any, **kwargs: Any) -> SSAValue:
        """Insert target op `name` and return its first result."""
        return self.op(name, *args, **kwargs).results[0]

    def refuse(self, reason: str, nearest: str | None = None) -> UnsupportedError:
        """The error to raise when the anchor cannot go down: `reason`, and what is `nearest`."""
        return unsupported(self.anchor, reason, nearest)


CONVERSIONS = frozenset(
    {
        "_autocast_to_full_precision",
        "_autocast_to_reduced_precision",
        "_to_copy",
        "alias",
        "clone",
        "convert_element_type",
        "copy",
        "to",
        "type_as",
    }
)
"""Ops, by name without overload, that convert because the program says so."""


def known_ops(names: Iterable[str], dialect: TableDialect) -> list[str]:
    """Full names of the ops in an option `keep`, which may leave the dialect out, and may be one
    name. Raises InputError for a name that the dialect does not have."""
    names = (names,) if isinstance(names, str) else names
    try:
        return [dialect.op(name.removeprefix(f"{dialect.name}.")).name for name in names]
    except UnknownOpError as error:
        raise InputError(f"error: option keep: {error}") from error


def drops_imaginary(op: Operation, x: SSAValue, element: Attribute) -> bool:
    """Whether converting `x` for `op` would lose imaginary parts that nobody gave up."""
    if not is_complex(element_of(x)) or is_complex(element) or element == i1:
        return False
    asked = op.properties.get("dtype") == element
    return not asked and op.name.split(".")[1] not in CONVERSIONS


def same_rounding(op: Operation, made: SSAValue) -> SSAValue:
    """Keep the mark of a conversion to a half float that is not the program's own."""
    if IMPLICIT in op.attributes and isinstance(made.owner, Operation):
        made.owner.attributes[IMPLICIT] = op.attributes[IMPLICIT]
    return made


Replacement = SSAValue | Sequence[SSAValue | None]

Lowering = Callable[[Any, Any], Replacement]
"""A function (op, builder) -> replacement values. Builders are subclasses of `Builder`."""


def _no_lowering(op: Operation) -> Lowering | None:
    return None


@mutable_record
class Conversion:
    """A table of lowerings from dialect `source`, filled by the modules `families` of `package`.

    The modules are imported at first use, each registers its functions with the `lowers`
    decorator of this object. `default_suffix` completes names that have no overload part.

        table = lamina.lowerings("core_aten")
        PatternRewriteWalker(table.pattern("gelu")).rewrite_module(module)
        table.convert(module)  # all ops at once, in time linear in the program
    """

    source: str
    package: str | None
    families: Sequence[str]
    builder: Callable[[Operation], Builder]
    fallback: Callable[[Operation], Lowering | None] = field(default_factory=lambda: _no_lowering)
    limitations: Callable[[], dict[str, str]] = dict
    default_suffix: str = ""
    target: str = ""
    """The layer that is reached, by which extensions name the conversion."""
    _table: dict[str, Lowering] = field(default_factory=dict[str, Lowering])
    _loaded: bool = False

    def lowers(self, *names: str) -> Callable[[Lowering], Lowering]:
        """Register the decorated function for these overload names ("add.Tensor")."""

        def decorate(function: Lowering) -> Lowering:
            for short in names:
                name = short if "." in short else short + self.default_suffix
                assert is_new(self._table, name, function), f"{self.source}.{name} is lowered twice"
                register(self._table, name, function)
            return function

        return decorate

    def table(self) -> dict[str, Lowering]:
        """All registered lowerings by overload name; imports the family modules.

        Threads that ask first at the same time wait for each other in the imports.
        """
        if not self._loaded:
            for family in self.families:
                import_module(f"{self.package}.{family}")
            self._loaded = True
        return self._table

    def find(self, op: Operation) -> Lowering | None:
        """The function that lowers `op`, or None; that of an active extension if there is one."""
        entry = extended("lowering", op.name)
        if entry is not None:
            return by_extension(entry) if entry.to == self.target else None
        found = self.table().get(op.name.partition(".")[2])
        return found if found is not None else self.fallback(op)

    def apply(self, op: Operation) -> Sequence[SSAValue | None]:
        """Replace one op. Returns the replacement values; raises `UnsupportedError`."""
        values = self.lowered(op)
        erase(op)
        return values

    def lowered(self, op: Operation) -> Sequence[SSAValue | None]:
        """Put the replacement of an op in front of it, and its values in the place of the op's.

        Only the op itself is left to be erased. Raises `UnsupportedError`.
        """
        lower = self.find(op)
        if lower is None:
            raise self.missing(op)
        refuse_other_types(op)
        before = op.prev_op
        try:
            values = lower(op, self.builder(op))
        except (UnsupportedError, FaultyLoweringError):
            raise
        except UndecidedSizeError as error:
            raise unsupported(op, f"its lowering depends on sizes: {error}", NUMBERS) from error
        except LaminaError as error:  # an op of the replacement has no result of these types
            nearest = None if _is_plain(op) else "operands of f32"
            reason = f"does not take operands of these types: {error}"
            raise unsupported(op, reason, nearest) from error
        except Exception as error:
            if size_values.get() is not None and isinstance(error, TypeError | VerifyException):
                raise unsupported(op, "its lowering takes numbers only", NUMBERS) from error
            place = describe_location(op.location)
            error.add_note(f"while lowering {op.name}" + (f" at {place}" if place else ""))
            raise
        if isinstance(values, SSAValue):
            values = (values,)
        if op.attributes:
            _keep_attributes(op, before, values)
        _replace(op, values)
        return values

    def pattern(self, *names: str) -> LoweringPattern:
        """The lowerings of these ops as one rewrite pattern, all of them without names.

        An op may be named in full or by its overload (`layer_norm`, `add.Tensor`). Raises
        InputError for one that has no lowering.
        """
        return LoweringPattern(self, frozenset(map(self._known, names)))

    def _known(self, name: str) -> str:
        short = name.removeprefix(f"{self.source}.")
        if (entry := extended("lowering", name)) is not None and entry.to == self.target:
            return name
        short = short if "." in short else short + self.default_suffix
        if short not in self.table():
            near = get_close_matches(short, list(self.table()), n=3, cutoff=0.6)
            hint = f"; nearest: {', '.join(near)}" if near else ""
            raise InputError(f"no lowering from {self.source} is called '{name}'{hint}")
        return f"{self.source}.{short}"

    def convert(self, root: Operation, keep: Iterable[str] = ()) -> None:
        """Replace every op of the source dialect under `root`, in program order.

        Ops whose full or overload name is in `keep` stay. Of other dialects are replaced those that
        an active extension lowers to the layer of this conversion, and none that it lowers to one
        further down.
        """
        prefix = self.source + "."
        kept = {name if name.startswith(prefix) else prefix + name for name in keep}
        if isinstance(root, FuncOp) and root.body.blocks and has_open_sizes(root):
            with sized_types(root):
                self._convert_regions(root, kept)
        else:
            self._convert_regions(root, kept)

    def _convert_regions(self, root: Operation, kept: Collection[str]) -> None:
        for region in root.regions:
            for block in region.blocks:
                with sizes_within(root, block):
                    self._convert_block(block, kept)

    def _convert_block(self, block: Block, kept: Collection[str]) -> None:
        prefix, is_open = self.source + ".", size_values.get() is not None
        op = block.first_op
        while op is not None:
            following = op.next_op
            if op.regions:
                self.convert(op, kept)
            taken = op.name not in kept and self._takes(op.name, prefix)
            if taken and not (is_open and op.results and becomes_size(op)):
                self.apply(op)
            op = following

    def _takes(self, name: str, prefix: str) -> bool:
        entry = extended("lowering", name)
        return name.startswith(prefix) if entry is None else entry.to == self.target

    def lower(self, module: ModuleOp, dialect: TableDialect, keep: Iterable[str] = ()) -> None:
        """`convert` of the program `module`, whose contracts then let pass what `keep` names.

        Raises InputError for names that `dialect` does not have.
        """
        kept = known_ops(keep, dialect)
        self.convert(module, kept)
        allow_ops(module, kept)

    def missing(self, op: Operation) -> UnsupportedError:
        """The error for an op without a lowering: the recorded reason, or the nearest names."""
        name = op.name.partition(".")[2]
        reason = self.limitations().get(name)
        if reason is not None:
            return unsupported(op, reason)
        near = get_close_matches(name, list(self.table()), n=3, cutoff=0.6)
        return unsupported(
            op,
            f"no lowering from {self.source} yet",
            ", ".join(f"{self.source}.{found}" for found in near) or None,
        )


@record
class LoweringPattern(RewritePattern):
    """Replaces ops by what a conversion makes of them, and tells the rewriter.

    `names` are full names of ops; all that the conversion has a lowering for if there are none. An
    op of these that cannot go down raises `UnsupportedError`: leave it out of the names to keep it.

        pattern = DECOMPOSITIONS.pattern("layer_norm", "gelu")
        both = GreedyRewritePatternApplier([pattern, Mine()])
        PatternRewriteWalker(both).rewrite_module(module)
    """

    conversion: Conversion
    names: frozenset[str] = frozenset()

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Lowers one op."""
        if not self._matches(op):
            return
        before = op.prev_op
        users = {use.operation for result in op.results for use in result.uses}
        values: list[SSAValue | None] = list(self.conversion.lowered(op))
        made = op.prev_op
        new_ops: list[Operation] = []
        while made is not None and made is not before:
            new_ops.append(made)
            made = made.prev_op
        for new in reversed(new_ops):
            rewriter.handle_operation_insertion(new)
        rewriter.handle_operation_replacement(op, values)
        for user in users:
            rewriter.notify_op_modified(user)
        rewriter.erase(op)

    def _matches(self, op: Operation) -> bool:
        if self.names:
            return op.name in self.names
        takes = self.conversion._takes(op.name, self.conversion.source + ".")
        return takes and self.conversion.find(op) is not None


def _is_plain(op: Operation) -> bool:
    """Whether all tensors that the op reads are of f32 or f64."""
    tensors = [operand for operand in op.operands if isinstance(operand.type, TensorType)]
    return all(element_of(tensor) in (f32, f64) for tensor in tensors)


def _keep_attributes(
    op: Operation, before: Operation | None, values: Sequence[SSAValue | None]
) -> None:
    """Attributes that are somebody's own go on to the op that now gives the results of `op`.

    It must be new, made after `before`: what was there already is not about `op`. What `lamina.*`
    attributes say is for the passes that know them to keep.
    """
    own = {name: a for name, a in op.attributes.items() if not name.startswith("lamina.")}
    makers = {value.owner for value in values if value is not None} if own else set()
    made = op.prev_op
    while made is not None and made is not before and makers:
        if made in makers:
            made.attributes.update({n: a for n, a in own.items() if n not in made.attributes})
        made = made.prev_op


def _replace(op: Operation, values: Sequence[SSAValue | None]) -> None:
    assert len(values) == len(op.results), f"{op.name}: {len(values)} replacement values"
    for old, new in zip(op.results, values, strict=True):
        if new is None:
            assert not old.uses, f"{op.name}: a used result has no replacement"
            continue
        if old.type is not new.type and old.type != new.type:
            raise unsupported(op, f"lowering gives {new.type} where the program says {old.type}")
        if FUSE in op.attributes and isinstance(new.owner, Operation):
            new.owner.attributes[FUSE] = op.attributes[FUSE]
        take_name(new, old)
        replace_uses(old, new)
