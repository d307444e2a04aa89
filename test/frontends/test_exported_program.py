"""Import of exported programs: ops, arguments, results, structure, locations, refusals."""

from typing import Any

import pytest
import torch
from xdsl.dialects.builtin import FileLineColLoc, StringAttr
from xdsl.ir import Operation

from lamina.dialects.context import Context
from lamina.dialects.errors import ArgumentError, UnsupportedError
from lamina.dialects.source import parse_module
from lamina.frontends.exported_program import import_exported_program
from lamina.frontends.source_program import SourceProgram
from lamina.runtime.entry import Slot, argument_slots, function_named, result_slots


def imported(module: torch.nn.Module, *args: Any, **options: Any) -> SourceProgram:
    program = import_exported_program(torch.export.export(module, args, **options))
    program.module.verify()
    return program


def ops_of(program: SourceProgram) -> list[Operation]:
    main = function_named(program.module, "main")
    assert main is not None
    return list(main.body.block.ops)


def names_of(program: SourceProgram) -> list[str]:
    return [op.name for op in ops_of(program)][:-1]


def arguments_of(program: SourceProgram) -> list[Slot]:
    main = function_named(program.module, "main")
    assert main is not None
    return argument_slots(main)


def results_of(program: SourceProgram) -> list[Slot]:
    main = function_named(program.module, "main")
    assert main is not None
    return result_slots(main)


class Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.table = torch.tensor([1.0, 2.0, 3.0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return torch.relu(self.linear(x)) * self.table


def test_conversions_of_autocast() -> None:
    class Mixed(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = x @ x
                with torch.autocast("cpu", enabled=False):
                    return y, x @ x

    program = imported(Mixed(), torch.zeros(4, 4), strict=False)
    assert names_of(program) == ["aten._to_copy.default"] * 2 + ["aten.matmul.default"] * 2


def test_every_kind_of_argument_with_its_name_and_type() -> None:
    program = imported(Small(), torch.zeros(2, 4))
    assert [(s.name, s.kind, s.type_text) for s in arguments_of(program)] == [
        ("linear.weight", "parameter", "tensor<3x4xf32>"),
        ("linear.bias", "parameter", "tensor<3xf32>"),
        ("count", "buffer", "tensor<i64>"),
        ("table", "constant", "tensor<3xf32>"),
        ("x", "input", "tensor<2x4xf32>"),
    ]
    assert list(program.constants) == ["linear.weight", "linear.bias", "count", "table"]


def test_ops_are_taken_as_exported_mutations_and_all() -> None:
    names = names_of(imported(Small(), torch.zeros(2, 4)))
    assert names == [
        "aten.add_.Scalar",
        "aten.linear.default",
        "aten.relu.default",
        "aten.mul.Tensor",
    ]


def test_constants_share_memory_with_the_module() -> None:
    module = Small()
    program = imported(module, torch.zeros(2, 4))
    assert program.constants["linear.weight"].data_ptr() == module.linear.weight.data_ptr()
    assert not program.constants["linear.weight"].requires_grad


def test_functionalized_programs_keep_their_mutations_as_results() -> None:
    exported = torch.export.export(Small(), (torch.zeros(2, 4),)).run_decompositions()
    program = import_exported_program(exported)
    assert [(s.kind, s.target) for s in results_of(program)] == [
        ("mutation", "count"),
        ("output", None),
    ]


def test_mutated_inputs_of_functionalized_programs_name_the_input() -> None:
    class Mutates(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x.mul_(2)
            return x + 1

    exported = torch.export.export(Mutates(), (torch.zeros(2),)).run_decompositions()
    results = results_of(import_exported_program(exported))
    assert [(s.kind, s.target) for s in results] == [("mutation", "x"), ("output", None)]


def test_tied_weights_are_one_argument() -> None:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(3, 3, bias=False)
            self.second = torch.nn.Linear(3, 3, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.second(self.first(x))

    program = imported(Tied(), torch.zeros(2, 3))
    assert [s.kind for s in arguments_of(program)] == ["parameter", "input"]
    first, second = ops_of(program)[:2]
    assert first.operands[1] is second.operands[1]


def test_a_buffer_named_like_an_input_keeps_a_name_of_its_own() -> None:
    class Clash(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("x", torch.ones(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.x

    names = [s.name for s in arguments_of(imported(Clash(), torch.zeros(2)))]
    assert names == ["b_x", "x"]


def test_results_of_multi_result_ops_and_tensor_lists() -> None:
    class Several(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            values, indices = torch.max(x, 1)
            left, right = torch.split(x, 2, dim=1)
            return values, indices, torch.cat([right, left], 1)

    program = imported(Several(), torch.zeros(3, 4))
    assert [s.type_text for s in results_of(program)] == [
        "tensor<3xf32>",
        "tensor<3xi64>",
        "tensor<3x4xf32>",
    ]
    assert names_of(program) == ["aten.max.dim", "aten.split.Tensor", "aten.cat.default"]


def test_nested_inputs_and_outputs_round_trip() -> None:
    class Nested(torch.nn.Module):
        def forward(self, pair: tuple[Any, Any], options: dict[str, Any], scale: int) -> Any:
            total = pair[0] + pair[1] * scale
            return {"total": total, "rest": [options["a"] * 2, None, 7]}

    x, y, a = torch.zeros(2), torch.ones(2), torch.ones(3)
    structure = imported(Nested(), (x, y), {"a": a}, 3).structure
    leaves = structure.flatten(((x, y), {"a": a}, 3), {})
    assert [id(leaf) for leaf in leaves] == [id(x), id(y), id(a)]
    assert structure.flatten(((x, y),), {"scale": 3, "options": {"a": a}})[2] is a
    layout = structure.layout(2)
    assert layout.entries == (0, 1, None, None) and layout.finish is not None
    assert layout.finish(("T", "R", None, None)) == {"total": "T", "rest": ["R", None, 7]}


def test_keys_of_dicts_come_in_any_order() -> None:
    class Pairs(torch.nn.Module):
        def forward(self, pairs: list[dict[str, Any]]) -> torch.Tensor:
            return pairs[0]["a"][0] - pairs[0]["b"]

    a, b, c = torch.zeros(2), torch.ones(2), torch.ones(3)
    structure = imported(Pairs(), [{"a": (a,), "b": b, "c": c}]).structure
    for given in ({"a": (a,), "b": b, "c": c}, {"c": c, "b": b, "a": (a,)}):
        leaves = structure.flatten(([given],), {})
        assert [id(leaf) for leaf in leaves] == [id(a), id(b), id(c)]
    for wrong in ({"c": c, "a": (a,)}, {"c": c, "b": (b,), "a": a}, {"c": c, "b": b, "a": [a]}):
        with pytest.raises(ArgumentError, match="argument 'pairs': expected the nesting"):
            structure.flatten(([wrong],), {})


class TwoArguments(torch.nn.Module):
    def forward(self, x: dict[str, torch.Tensor], k: int) -> torch.Tensor:
        return x["a"] * k


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((1,), {}, r"expected 2 positional arguments \(x, k\), got 1"),
        (
            ({"a": 1}, 5),
            {},
            r"argument 'k': the program was exported with 3 and is fixed to it, got 5",
        ),
        (({"b": 1}, 3), {}, r"argument 'x': expected the nesting \(dict, \['a'\], \[\*\]\), got"),
        (({"a": 1}, 3), {"z": 1}, r"expected keywords \[\], got \['z'\]"),
    ],
)
def test_wrong_nesting_is_refused(args: Any, kwargs: Any, message: str) -> None:
    structure = imported(TwoArguments(), {"a": torch.zeros(2)}, 3).structure
    with pytest.raises(ArgumentError, match=message):
        structure.flatten(args, kwargs)


def test_locations_name_the_line_of_the_module_not_of_torch() -> None:
    program = imported(Small(), torch.zeros(2, 4))
    for op in ops_of(program)[:-1]:
        assert isinstance(op.location, FileLineColLoc)
        assert op.location.filename.data == __file__
    lines = [op.location.line.data for op in ops_of(program)[:-1]]  # pyright: ignore
    assert lines[0] + 1 == lines[1] == lines[2] == lines[3]


def test_value_names_follow_the_graph() -> None:
    names = [op.results[0].name_hint for op in ops_of(imported(Small(), torch.zeros(2, 4)))[:-1]]
    assert names[1:] == ["linear", "relu", "mul"]


def test_the_text_round_trips() -> None:
    text = str(imported(Small(), torch.zeros(2, 4)).module)
    assert str(parse_module(Context(), text)) == text


def test_no_grad_regions_are_inlined() -> None:
    class NoGrad(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                y = x.sin()
            return y + x

    assert names_of(imported(NoGrad(), torch.zeros(2))) == ["aten.sin.default", "aten.add.Tensor"]


def test_dtypes_devices_and_layouts_in_arguments() -> None:
    class Casts(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.to(torch.float64) + torch.zeros(2, dtype=torch.bool, device="cpu")

    program = imported(Casts(), torch.zeros(2))
    assert names_of(program) == ["aten.to.dtype", "aten.zeros.default", "aten.add.Tensor"]
    assert "device" not in str(program.module)
    assert results_of(program)[0].dtype == "f64"


class Numbers(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x + 1, torch.div(x, 2, rounding_mode="floor"), x // 3, torch.add(4, x, alpha=2)


def test_numbers_in_place_of_tensors_become_scalar_overloads() -> None:
    program = imported(Numbers(), torch.zeros(2, dtype=torch.int32))
    assert names_of(program) == [
        "aten.add.Scalar",
        "aten.div.Scalar_mode",
        "aten.floor_divide.Scalar",
        "aten.scalar_tensor.default",
        "aten.add.Tensor",
    ]
    assert [s.dtype for s in results_of(program)] == ["i32"] * 4
    made = ops_of(program)[3]
    assert made.results[0].type == ops_of(program)[4].operands[0].type
    assert "dtype = i32" in str(made)


def test_dynamic_sizes_become_question_marks() -> None:
    class Doubles(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.view(x.shape[0] * 2, -1)

    program = imported(
        Doubles(), torch.zeros(4, 6), dynamic_shapes=({0: torch.export.Dim("batch")},)
    )
    text = str(program.module)
    assert "tensor<?x6xf32>" in text
    assert names_of(program)[0] == "aten.sym_size.int"
    with pytest.raises(UnsupportedError, match="dynamic dimensions"):
        arguments_of(program)


def test_results_that_are_a_tensor_and_a_list() -> None:
    class Histogram(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
            counts, edges = torch.histogramdd(x, [3, 4])
            return counts, list(edges)

    program = imported(Histogram(), torch.zeros(5, 2))
    assert [s.type_text for s in results_of(program)] == [
        "tensor<3x4xf32>",
        "tensor<4xf32>",
        "tensor<5xf32>",
    ]


def test_functions_of_sizes_are_refused_with_their_line() -> None:
    class Shifts(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.new_full((2,), x.nonzero().shape[0] << 1)

    exported = torch.export.export(Shifts(), (torch.zeros(2),))
    with pytest.raises(UnsupportedError, match="this function of sizes") as caught:
        import_exported_program(exported)
    assert caught.value.op == "_operator.lshift"
    assert (caught.value.location or "").startswith(f"{__file__}:")


def test_unused_and_directly_returned_inputs() -> None:
    class Passes(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x

    program = imported(Passes(), torch.zeros(2), torch.zeros(3))
    assert [s.name for s in arguments_of(program)] == ["x", "y"]
    assert names_of(program) == []


def test_custom_ops_without_a_kernel_are_refused() -> None:
    @torch.library.custom_op("lamina_test::twice", mutates_args=(), device_types="cuda")
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    twice.register_fake(torch.empty_like)

    class Custom(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return twice(x)

    exported = torch.export.export(Custom(), (torch.zeros(2),))
    with pytest.raises(UnsupportedError, match="a custom op"):
        import_exported_program(exported)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.quint8])
def test_unknown_dtypes_are_refused(dtype: torch.dtype) -> None:
    from lamina.frontends.torch_types import element_type

    with pytest.raises(UnsupportedError, match="no element type"):
        element_type(dtype)


def test_other_devices_are_refused() -> None:
    class OnMeta(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    exported = torch.export.export(OnMeta(), (torch.zeros(2, device="meta"),))
    with pytest.raises(UnsupportedError, match="compiles for the CPU"):
        import_exported_program(exported)


def test_string_attributes_hold_kind_and_name() -> None:
    main = function_named(imported(Small(), torch.zeros(2, 4)).module, "main")
    assert main is not None and main.arg_attrs is not None
    assert main.arg_attrs.data[-1].data == {
        "lamina.name": StringAttr("x"),
        "lamina.kind": StringAttr("input"),
    }


def test_questions_about_types_and_shapes_are_answered_by_export() -> None:
    class Asks(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            wide = torch.result_type(x, y) == torch.int16 and torch.result_type(x, 2) == x.dtype
            same = torch.can_cast(x.dtype, y.dtype) or x.is_same_size(y)
            return x + y if wide and same else x

    inputs = torch.ones(3, dtype=torch.int8), torch.ones(3, dtype=torch.uint8)
    program = imported(Asks(), *inputs, strict=False)
    assert names_of(program) == ["aten.add.Tensor"]


def test_transforms_that_torch_cannot_take_apart_are_refused() -> None:
    class Gradient(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.func.grad(lambda y: y.square().sum())(x)

    with torch.no_grad():
        exported = torch.export.export(Gradient(), (torch.ones(3),), strict=False)
    with pytest.raises(UnsupportedError, match=r"^a function transform: torch cannot decompose"):
        import_exported_program(exported)
