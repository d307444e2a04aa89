"""`loop.extern`: a call of a kernel that somebody else wrote, such as LAPACK's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    opt_operand_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.effects import WritesOuts
from lamina.dialects.op_accessors import op_definition

Option = bool | int | float | str | list["Option"]


@op_definition
class ExternOp(IRDLOperation):
    """Results of the kernel registered under a name, from whole tensors.

    ```mlir
    %q, %r = loop.extern "linalg.qr" {mode = "reduced"} (%a : tensor<4x3xf32>) : tensor<4x3xf32>, tensor<3x3xf32>
    ```

    On memrefs it writes into `outs` and has no results; `callee` is then the address of the
    kernel's code, an argument of the entry function. Options are numbers, booleans and strings, and
    lists of them. The kernel must not write its inputs. Each `?` of the results has a value:
    `(%a : tensor<?x3xf32>) sizes [%n] : tensor<?x3xf32>`.
    """  # noqa: E501 - an op on one line

    name = "loop.extern"
    kernel = prop_def(StringAttr)
    options = prop_def(DictionaryAttr)
    inputs = var_operand_def(base(TensorType) | base(MemRefType))
    outs = var_operand_def(MemRefType)
    callee = opt_operand_def(MemRefType)
    sizes = var_operand_def(IndexType)
    res = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(WritesOuts())
    assembly_format = (
        "$kernel $options `(` ($inputs^ `:` type($inputs))? `)` (`sizes` `[` $sizes^ `]`)?"
        " (`outs` `(` $outs^ `:` type($outs) `)`)? (`through` $callee^ `:` type($callee))?"
        " attr-dict (`:` type($res)^)?"
    )

    def __init__(
        self,
        kernel: str,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        options: Mapping[str, Attribute] | None = None,
        *,
        outs: Sequence[SSAValue] = (),
        callee: SSAValue | None = None,
        sizes: Sequence[SSAValue] = (),
    ) -> None:
        super().__init__(
            operands=[list(inputs), list(outs), callee, list(sizes)],
            result_types=[list(result_types)],
            properties={
                "kernel": StringAttr(kernel),
                "options": DictionaryAttr(dict(options or {})),
            },
        )

    @property
    def signature(self) -> str:
        """Kernel, options and types as JSON: equal for calls that one callee can serve."""
        return json.dumps(
            {
                "kernel": self.kernel.data,
                "options": {name: option(value) for name, value in self.options.data.items()},
                "inputs": [_described(value.type) for value in self.inputs],
                "results": [_described(value.type) for value in (self.res or self.outs)],
            },
            sort_keys=True,
        )

    def verify_(self) -> None:
        if self.outs and self.res:
            raise VerifyException("loop.extern writes into outs or gives results, not both")
        if not self.outs and not self.res:
            raise VerifyException("loop.extern must make something")
        if self.callee is not None and not self.outs:
            raise VerifyException("loop.extern has a callee only where it works on memory")
        if any(out is given for out in self.outs for given in self.inputs):
            raise VerifyException("loop.extern writes to what it reads; its outs lie apart")
        open_dims = sum(e < 0 for value in self.res for e in value.type.get_shape())
        if open_dims != len(self.sizes):
            raise VerifyException(
                f"loop.extern has {len(self.sizes)} sizes for the {open_dims} dimensions that its "
                "results leave open"
            )
        for value in self.options.data.values():
            option(value)


def signature_fault(text: str) -> str | None:
    """What keeps a text from being the signature of a call, or None."""
    try:
        said = json.loads(text)
    except ValueError:
        return "it is no JSON"
    kinds = {"kernel": str, "options": dict, "inputs": list, "results": list}
    if not isinstance(said, dict):
        return f"it is no object of {', '.join(kinds)}"
    for name, kind in kinds.items():
        if not isinstance(said.get(name), kind):
            return f"'{name}' is no {kind.__name__} in it"
    for operand in (*said["inputs"], *said["results"]):
        match operand:
            case [str(), [*shape]] if all(type(n) is int and n >= 0 for n in shape):
                continue
            case _:
                return f"{json.dumps(operand)} is no element type with a shape"
    return None


def option(value: Attribute) -> Option:
    """An option as a Python value. Raises VerifyException for what none can be."""
    match value:
        case IntegerAttr():
            is_bool = value.type == i1
            return bool(value.value.data) if is_bool else value.value.data
        case FloatAttr():
            return value.value.data
        case StringAttr():
            return value.data
        case ArrayAttr():
            return [option(entry) for entry in value.data]
        case _:
            raise VerifyException(
                f"loop.extern: {value} is no option; options are numbers, strings and lists of them"
            )


def option_attribute(value: Option) -> Attribute:
    """The inverse of `option`."""
    match value:
        case bool():
            return IntegerAttr(int(value), i1)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case _:
            return ArrayAttr([option_attribute(entry) for entry in value])


def _described(kind: Attribute) -> list[object]:
    assert isinstance(kind, TensorType | MemRefType)
    return [str(kind.element_type), list(kind.get_shape())]
