"""`loop.generic`, the one structured computation, and the ops of its body."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    MemRefType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.body_ops import element_type, yielded_by
from lamina.dialects.loop.body_verifier import verify_body
from lamina.dialects.loop.effects import WritesOuts
from lamina.dialects.loop.monoid import (
    COMBINE,
    Monoid,
    Reduction,
    identities_attribute,
    left_out,
    parse_monoids,
    print_monoids,
    reductions,
    verify_monoids,
)
from lamina.dialects.loop.nest_text import print_operands
from lamina.dialects.loop.nest_verifier import verify_block, verify_reads, verify_writes
from lamina.dialects.loop.segments import (
    SEGMENTS,
    array64,
    index_maps,
    integers64_property,
    left_out_by,
    maps_of,
    pad_values_of,
    pads_of,
    segment,
    segment_sizes,
    words,
    words_of,
)
from lamina.dialects.loop.slices import Slice, SliceAttr, parse_slices, print_slices, verify_slices
from lamina.dialects.loop.syntax import parse_domain, parse_map, print_domain
from lamina.dialects.loop.valid_nests import nest_parts, valid_nests
from lamina.dialects.loop.well_formed import is_well_formed, verify_declared
from lamina.dialects.op_accessors import op_definition
from lamina.dialects.plain_ops import init_plain, verify_alone

Read = tuple[SSAValue, AffineMap, Attribute | None]
"""A read of a nest: the array, the index map, and the value beyond the edges, if any."""


@op_definition
class GenericOp(IRDLOperation):
    """A loop nest over a domain that evaluates a scalar body at each point.

    Each read has an index map, and may have a pad: the value read where the map leaves the tensor.
    Each result has an index map and a combiner: `store`, or a reduction over the dimensions that
    its map does not use, by a name or by a region for several results (see `monoid`). Tensors that
    the body indexes itself (`loop.read`) are sources. With memrefs there are no results: each write
    names the memref `into` which it goes, and a nest in loops runs a `slice` of its domain (see
    `slices`).

    Extents may be values, and so may numbers in index maps, which have names beside those of the
    dimensions: `(d0, d1)[s0 = %n] in [s0, 64] reads(%x[s0 - d0 - 1, d1] : tensor<?x64xf32>)`. The
    body has them as `loop.size` (see `open_nests`).

    ```mlir
    %r = loop.generic (d0, d1, d2) in [128, 64, 32]
        reads(%a[d0, d2] : tensor<128x32xf32>, %b[d1, d2 - 1] pad 0.0 : f32 : tensor<64x32xf32>)
        writes([d0, d1] add : tensor<128x64xf32>) {
    ^bb0(%p: f32, %q: f32):
      %v = arith.mulf %p, %q : f32
      loop.yield %v : f32
    }
    ```
    """

    name = "loop.generic"

    inputs = var_operand_def(base(TensorType) | base(MemRefType))
    sources = var_operand_def(base(TensorType) | base(MemRefType))
    outs = var_operand_def(base(MemRefType))
    indices = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    domain = prop_def(DenseArrayBase)
    input_maps = prop_def(ArrayAttr[AffineMapAttr])
    pads = prop_def(ArrayAttr)
    output_maps = prop_def(ArrayAttr[AffineMapAttr])
    combiners = prop_def(ArrayAttr[StringAttr])
    slice_attrs = opt_prop_def(ArrayAttr[SliceAttr], prop_name="slices")
    res = var_result_def(TensorType)
    identities = opt_prop_def(ArrayAttr[ArrayAttr])
    body = region_def("single_block")
    combining = var_region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsolatedFromAbove(), WritesOuts())

    def __init__(
        self,
        domain: Sequence[int],
        inputs: Sequence[SSAValue],
        input_maps: Sequence[AffineMap],
        output_maps: Sequence[AffineMap],
        combiners: Sequence[str],
        result_types: Sequence[Attribute],
        body: Region,
        *,
        sources: Sequence[SSAValue] = (),
        outs: Sequence[SSAValue] = (),
        pads: Sequence[Attribute | None] | None = None,
        monoids: Sequence[Monoid] = (),
        sizes: Sequence[SSAValue] = (),
    ) -> None:
        """A nest with a copy of the regions of `monoids`.

        An extent that is value `n` of `sizes` is -1 - n, and symbol `n` of index maps.
        """
        init_plain(
            self,
            [*inputs, *sources, *outs, *sizes],
            result_types,
            {
                "domain": array64(*domain),
                "input_maps": index_maps(*input_maps),
                "pads": pads_of(pads or [None] * len(inputs)),
                "output_maps": index_maps(*output_maps),
                "combiners": words(*combiners),
                SEGMENTS: segment_sizes(len(inputs), len(sources), len(outs), 0, len(sizes)),
            },
            [body, *(monoid.region.clone() for monoid in monoids)],
        )
        if monoids:
            self.properties["identities"] = identities_attribute(monoids)

    # Decoded views of the properties, which passes ask for all the time: xDSL's accessors take
    # several times as long.

    extents: tuple[int, ...] = integers64_property("domain")  # pyright: ignore[reportAssignmentType]

    @property
    def read_maps(self) -> tuple[AffineMap, ...]:
        return maps_of(self.properties["input_maps"])

    @property
    def reads(self) -> list[Read]:
        """What is read, in order."""
        return list(zip(self.inputs, self.read_maps, self.pad_values, strict=True))

    @property
    def write_maps(self) -> tuple[AffineMap, ...]:
        return maps_of(self.properties["output_maps"])

    @property
    def pad_values(self) -> tuple[Attribute | None, ...]:
        return pad_values_of(self.properties["pads"])

    @property
    def combiner_names(self) -> tuple[str, ...]:
        return words_of(self.properties["combiners"])

    @property
    def monoids(self) -> tuple[Monoid, ...]:
        """The combining regions, in the order of the results that they combine."""
        if "identities" not in self.properties:
            return ()
        pairs = zip(self.given_identities, self.regions[1:], strict=True)
        return tuple(Monoid(tuple(given), region) for given, region in pairs)

    @property
    def given_identities(self) -> Sequence[Sequence[Attribute]]:
        held = self.properties.get("identities")
        return [entry.data for entry in held] if isinstance(held, ArrayAttr) else []  # pyright: ignore

    @property
    def reductions(self) -> list[Reduction]:
        """The results that are reduced, those together that one region combines."""
        return reductions(self.combiner_names, self.monoids)

    @property
    def reduction_dims(self) -> tuple[int, ...]:
        """The dimensions that at least one result does not keep."""
        return left_out_by(self.properties["output_maps"])

    @property
    def is_pointwise(self) -> bool:
        """Whether every result is stored at each point of the domain."""
        return all(c == "store" for c in self.combiner_names)

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        return yielded_by(self.block)

    @property
    def written_types(self) -> tuple[Attribute, ...]:
        """Types of what is written: result tensors, or the memrefs written into."""
        return tuple(o.type for o in self.outs) or tuple(r.type for r in self.res)

    @property
    def slices(self) -> tuple[Slice, ...]:
        """The part of the domain that is run, at each of `symbols`; none for all of it."""
        held = self.properties.get("slices")
        if held is None:
            return ()
        return tuple(entry.data for entry in held)  # pyright: ignore

    @property
    def symbols(self) -> tuple[SSAValue, ...]:
        """Where each of `slices` begins."""
        return self.indices[: len(self.slices)] if self.indices else ()

    @property
    def steps(self) -> tuple[SSAValue, ...]:
        """The steps of those of `slices` that have values for them, in order."""
        return self.indices[len(self.slices) :] if self.indices else ()

    def slice_at(
        self,
        slices: Sequence[Slice],
        symbols: Sequence[SSAValue],
        steps: Sequence[SSAValue] = (),
    ) -> None:
        """Run these slices of the domain, each from one of `symbols` on; in place.

        `steps` are of those of them that have no number for it.
        """
        rest, indices = [*self.inputs, *self.sources, *self.outs], [*symbols, *steps]
        sizes = segment_sizes(len(self.inputs), len(self.sources), len(self.outs), len(indices), 0)
        self.operands = [*rest, *indices]
        self.properties[SEGMENTS] = sizes
        self.properties.pop("slices", None)
        if slices:
            self.properties["slices"] = ArrayAttr([SliceAttr(entry) for entry in slices])

    # Verification

    def verify(self, verify_nested_ops: bool = True) -> None:
        """As every op; the ops of the body take a shorter way."""
        if verify_nested_ops:
            for region in self.regions:
                verify_body(region)
        verify_alone(self)

    def verify_nest(self) -> None:
        """Check what the declarations do not say. Raises VerifyException."""
        extents = self.extents
        if self.outs and self.res:
            raise VerifyException("loop.generic writes into memrefs or gives tensors, not both")
        if self.sizes or any(e < 0 for e in extents):
            from lamina.dialects.loop.open_nests import verify_open_nest

            verify_open_nest(self)  # pyright: ignore[reportArgumentType] - Self
            return
        verify_reads(self.inputs, self.read_maps, self.pad_values, extents)
        written, names = self.written_types, self.combiner_names
        verify_writes(written, self.write_maps, names, extents, covered=bool(self.res))
        if self.indices or self.slices:
            kept = [m.used_dims() for m in self.write_maps] if self.outs else None
            verify_slices(self.slices, self.indices, extents, kept)
        given = [element_type(v.type) for v in self.inputs] + [v.type for v in self.sources]
        verify_block(self.block, given, written)
        if COMBINE in names or len(self.regions) > 1:
            elements = [element_type(kind) for kind in written]
            reduced = left_out(self.write_maps, extents)
            verify_monoids(names, self.given_identities, self.regions[1:], elements, reduced)

    def verify_attributes(self) -> None:
        """Check what is noted on the nest. Raises VerifyException."""
        if self.attributes:
            from lamina.dialects.loop.nest_attributes import verify_notes

            verify_notes(self)  # pyright: ignore[reportArgumentType] - Self

    # Text

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_domain(printer, self.extents, self.sizes)
        print_slices(printer, self.slices, self.indices)
        print_operands(printer, self)  # pyright: ignore[reportArgumentType] - Self
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)
        print_monoids(printer, self.monoids)

    @classmethod
    def parse(cls, parser: Parser) -> "GenericOp":
        names, extents, sizes = parse_domain(parser)
        slices, indices = parse_slices(parser, names)
        inputs: list[SSAValue] = []
        maps: list[AffineMap] = []
        pads: list[Attribute | None] = []

        def parse_read() -> None:
            operand = parser.parse_unresolved_operand()
            maps.append(parse_map(parser, names, len(sizes)))
            pads.append(parser.parse_attribute() if parser.parse_optional_keyword("pad") else None)
            parser.parse_punctuation(":")
            inputs.append(parser.resolve_operand(operand, parser.parse_type()))

        def parse_source() -> SSAValue:
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            return parser.resolve_operand(operand, parser.parse_type())

        if parser.parse_optional_keyword("reads"):
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_read)
        sources: list[SSAValue] = []
        if parser.parse_optional_keyword("sources"):
            sources = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_source)

        output_maps: list[AffineMap] = []
        combiners: list[str] = []
        outs: list[SSAValue] = []
        types: list[Attribute] = []

        def parse_write() -> None:
            output_maps.append(parse_map(parser, names, len(sizes)))
            combiners.append(parser.parse_identifier())
            into = None
            if parser.parse_optional_keyword("into"):
                into = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            written = parser.parse_type()
            if into is None:
                types.append(written)
            else:
                outs.append(parser.resolve_operand(into, written))

        parser.parse_keyword("writes")
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_write)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        op = cls(
            extents,
            inputs,
            maps,
            output_maps,
            combiners,
            types,
            body,
            sources=sources,
            outs=outs,
            pads=pads,
            monoids=parse_monoids(parser),
            sizes=sizes,
        )
        if slices:
            op.slice_at(slices, indices)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op


def _verify(self: GenericOp) -> None:
    # xDSL checks one declaration after another; it says what is wrong.
    parts = nest_parts(self)
    if parts is None or parts not in valid_nests:
        if not is_well_formed(self):
            verify_declared(self)
        self.verify_nest()
        if parts is not None:
            valid_nests.add(parts)
    self.verify_attributes()


for _index, _name in enumerate(("inputs", "sources", "outs", "indices", "sizes")):
    setattr(GenericOp, _name, segment(_index))
GenericOp.verify_ = _verify
