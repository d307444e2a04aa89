"""Custom ops of users: their own kernels run, as extern calls, and nothing else of torch's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import lamina
from lamina.dialects.errors import ExecutionError, UnsupportedError

pytestmark = [pytest.mark.usefixtures("inference"), pytest.mark.one_in(2)]

NAMESPACE = "lamina_custom_test"
_OPS = torch.ops.lamina_custom_test
DTYPES = [
    *(torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.uint8),
    *(torch.uint16, torch.bool, torch.complex64),
]
LIB = torch.library.Library(NAMESPACE, "DEF")


def _define(schema: str, kernel: Callable[..., Any], fake: Callable[..., Any]) -> None:
    name = schema.partition("(")[0]
    LIB.define(schema)
    LIB.impl(name, kernel, "CPU")
    torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=LIB)


def _like(x: Tensor, *rest: Any, **named: Any) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype)


def _row_major(x: Tensor) -> Tensor:
    """What a kernel gives has no strides of its arguments."""
    return x.clone(memory_format=torch.contiguous_format)


_define("same(Tensor x) -> Tensor", _row_major, _like)
_define("cubed(Tensor x) -> Tensor", lambda x: torch.from_numpy(np.asarray(x.numpy() ** 3)), _like)
_define(
    "mixed(Tensor x, int times=2, float plus=0.5, bool negate=False, str mode='sum', "
    "int[] dims=[0], float[]? factors=None, str[]? words=None, Scalar alpha=1, *, "
    "ScalarType? dtype=None, Device? device=None) -> Tensor",
    lambda x, *rest, **named: _mixed(x, *rest, **named),
    lambda x, *rest, **named: _mixed(x, *rest, **named),
)
_define(
    "several(Tensor x, Tensor?[] others, Tensor? bias=None) -> (Tensor, Tensor[], Tensor)",
    lambda x, others, bias=None: _several(x, others, bias),
    lambda x, others, bias=None: _several(x, others, bias),
)
_define("add_to(Tensor(a!) x, Tensor y) -> ()", lambda x, y: _add_to(x, y), lambda x, y: None)
_define(
    "scale_all(Tensor(a!)[] xs, Tensor(b!)? y, float by) -> Tensor",
    lambda xs, y, by: _scale_all(xs, y, by),
    lambda xs, y, by: torch.empty(()),
)
_define("wrong_shape(Tensor x) -> Tensor", lambda x: torch.zeros(7), _like)
_define("wrong_dtype(Tensor x) -> Tensor", lambda x: torch.zeros(x.shape).double(), _like)
_define("wrong_count(Tensor[] xs) -> Tensor[]", lambda xs: list(xs[1:]), lambda xs: list(xs))
_define("no_tensor(Tensor x) -> Tensor", lambda x: x.sum().item(), _like)
_define("complex_by(Tensor x, Scalar by) -> Tensor", lambda x, by: x * by, lambda x, by: x * by)
LIB.define("drawn(Tensor x) -> Tensor", tags=(torch.Tag.nondeterministic_seeded,))
LIB.impl("drawn", torch.rand_like, "CPU")
torch.library.register_fake(f"{NAMESPACE}::drawn", _like, lib=LIB)
LIB.define("composite(Tensor x, float by) -> Tensor")
LIB.impl("composite", lambda x, by: torch.relu(x) * by, "CompositeImplicitAutograd")
LIB.define("elsewhere(Tensor x) -> Tensor")
LIB.impl("elsewhere", lambda x: x, "CUDA")
torch.library.register_fake(f"{NAMESPACE}::elsewhere", _like, lib=LIB)


def _mixed(
    x: Tensor,
    times: int = 2,
    plus: float = 0.5,
    negate: bool = False,
    mode: str = "sum",
    dims: Sequence[int] = (0,),
    factors: Sequence[float] | None = None,
    words: Sequence[str] | None = None,
    alpha: float = 1,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Tensor:
    y = getattr(x, mode)(dim=tuple(dims)) * times + plus + len("".join(words or ())) + alpha
    if not isinstance(alpha, float):
        y = y + 100
    for factor in (3.0,) if factors is None else factors:
        y = y * factor
    return (-y if negate else y).to(dtype or x.dtype)


def _several(
    x: Tensor, others: Sequence[Tensor | None], bias: Tensor | None
) -> tuple[Tensor, list[Tensor], Tensor]:
    given = [other for other in others if other is not None]
    total = x.sum() if bias is None else x.sum() + bias
    return x + 1, [other * (n + 2) for n, other in enumerate(given)], total


def _add_to(x: Tensor, y: Tensor) -> None:
    x.add_(y)


def _scale_all(xs: Sequence[Tensor], y: Tensor | None, by: float) -> Tensor:
    for x in xs:
        x.mul_(by)
    if y is not None:
        y.sub_(by)
    return torch.tensor(by)


class Calls(torch.nn.Module):
    """A module of one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def _exported(function: Callable[..., Any], args: Sequence[Tensor]) -> Callable[..., Any]:
    examples = tuple(a.clone() for a in args)
    return lamina.compile(torch.export.export(Calls(function), examples, strict=False))


def _decomposed(function: Callable[..., Any], args: Sequence[Tensor]) -> Callable[..., Any]:
    examples = tuple(a.clone() for a in args)
    program = torch.export.export(Calls(function), examples, strict=False)
    return lamina.compile(program.run_decompositions({}))


def _optimized(function: Callable[..., Any], args: Sequence[Tensor]) -> Callable[..., Any]:
    return torch.compile(function, backend="lamina", fullgraph=True)


WAYS = pytest.mark.parametrize("compiled_by", [_exported, _decomposed, _optimized])


def _check(
    compiled_by: Callable[..., Any], function: Callable[..., Any], *args: Tensor
) -> Callable[..., Any]:
    """Results and written arguments are eager mode's, twice."""
    compiled = compiled_by(function, args)
    for _ in range(2):
        mine, eager = [a.clone() for a in args], [a.clone() for a in args]
        torch.testing.assert_close(compiled(*mine), function(*eager))
        torch.testing.assert_close(mine, eager)
    return compiled


@WAYS
def test_between_fused_ops(compiled_by: Callable[..., Any]) -> None:
    x, y = torch.randn(5, 7), torch.randn(7)
    _check(compiled_by, lambda x, y: torch.relu(_OPS.cubed(x * 2 + y)) - x.sum(0), x, y)


def test_kernels_name_the_op() -> None:
    compiled = _exported(lambda x: _OPS.cubed(x + 1) * 2, [torch.randn(3)])
    names = [kernel.name for kernel in compiled.kernels]
    assert names.count("torch.lamina_custom_test.cubed.default") == 1


@WAYS
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)], ids=str)
def test_every_dtype_goes_through(compiled_by: Callable[..., Any], shape: tuple[int, ...]) -> None:
    given = [torch.randint(0, 2, shape).to(dtype) for dtype in DTYPES]
    _check(compiled_by, lambda *args: [_OPS.same(x) for x in args], *given)


@WAYS
@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"times": -3, "plus": float("inf"), "negate": True},
        {"plus": 1e-310, "mode": "mean", "dims": [0, 1]},
        {"factors": []},
        {"factors": [0.1, -2.5], "words": ["a", "b\"\\'é"]},
        {"alpha": 2.0},
        {"alpha": 2},
        {"dtype": torch.float64, "device": torch.device("cpu")},
    ],
    ids=lambda keywords: ",".join(keywords) or "defaults",
)
def test_constants(compiled_by: Callable[..., Any], keywords: dict[str, Any]) -> None:
    _check(compiled_by, lambda x: _OPS.mixed(x, **keywords), torch.randn(2, 3))


@WAYS
def test_several_results_lists_and_absent_tensors(compiled_by: Callable[..., Any]) -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        one, listed, total = _OPS.several(x, [y, None, x])
        _, empty, with_bias = _OPS.several(y, [], x.sum())
        assert not empty
        return one * 2, listed[0] + 1, listed[1], total, with_bias

    _check(compiled_by, function, torch.randn(3), torch.randn(2, 2))


@WAYS
def test_a_decorated_function(compiled_by: Callable[..., Any]) -> None:
    @torch.library.custom_op(f"{NAMESPACE}::decorated", mutates_args=())
    def decorated(x: Tensor, k: int = 3) -> Tensor:
        return torch.from_numpy(np.roll(x.numpy(), k))

    decorated.register_fake(_like)
    _check(compiled_by, lambda x: decorated(x) + decorated(x * 2, 1), torch.randn(6))


@WAYS
def test_strided_arguments(compiled_by: Callable[..., Any]) -> None:
    _check(
        compiled_by, lambda x: _OPS.cubed(x.t()) + _OPS.cubed(x[:, ::2]).sum(), torch.randn(3, 4)
    )


@WAYS
def test_writes_to_an_argument(compiled_by: Callable[..., Any]) -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        _OPS.add_to(x, y * 2)
        return x * 3

    _check(compiled_by, function, torch.randn(4), torch.randn(4))


@WAYS
def test_writes_to_what_the_program_made(compiled_by: Callable[..., Any]) -> None:
    def function(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        z = x + 1
        _OPS.add_to(z, y)
        _OPS.add_to(z, z * 2)
        return z, x

    _check(compiled_by, function, torch.randn(4), torch.randn(4))


@WAYS
@pytest.mark.parametrize(
    "view",
    [
        lambda z: z[1],
        lambda z: z[:, 1:3],
        lambda z: z.t()[1:],
        lambda z: z.view(-1)[2:7],
        lambda z: z[:, ::2],
        lambda z: z.unsqueeze(0).permute(2, 0, 1),
    ],
)
@pytest.mark.parametrize("base", [lambda x: x, lambda x: (x * 2).t().contiguous()])
def test_writes_through_views(
    compiled_by: Callable[..., Any],
    view: Callable[[Tensor], Tensor],
    base: Callable[[Tensor], Tensor],
) -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        z = base(x)
        _OPS.add_to(view(z), y)
        return z * 2

    _check(compiled_by, function, torch.randn(4, 4), torch.randn(()))


@WAYS
def test_writes_through_a_view_of_a_transposed_tensor(compiled_by: Callable[..., Any]) -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        z = x.t().clone()  # keeps the strides
        _OPS.add_to(z[1:, :2], y)
        return z

    _check(compiled_by, function, torch.randn(3, 4), torch.randn(()))


@WAYS
def test_writes_to_lists_and_optional_arguments(compiled_by: Callable[..., Any]) -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        z = y + 1
        one = _OPS.scale_all([x, z], y, 2.0)
        two = _OPS.scale_all([z], None, -0.5)
        return one + two, z, x + y

    _check(compiled_by, function, torch.randn(2), torch.randn(2, 2))


@WAYS
def test_writes_to_a_buffer(compiled_by: Callable[..., Any]) -> None:
    class Counter(torch.nn.Module):
        seen: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x: Tensor) -> Tensor:
            _OPS.add_to(self.seen, x)
            return self.seen * 2

    x, eager, module = torch.randn(3), Counter(), Counter()
    if compiled_by is _optimized:
        compiled = torch.compile(module, backend="lamina", fullgraph=True)
    else:
        program = torch.export.export(module, (x,), strict=False)
        compiled = lamina.compile(
            program if compiled_by is _exported else program.run_decompositions({})
        )
    for _ in range(3):
        torch.testing.assert_close(compiled(x), eager(x))


@WAYS
def test_made_of_aten_ops(compiled_by: Callable[..., Any]) -> None:
    compiled = _check(compiled_by, lambda x: _OPS.composite(x, 2.5) + 1, torch.randn(5))
    if isinstance(compiled, lamina.Compiled):
        assert not [k.name for k in compiled.kernels if "composite" in k.name]


def test_weights_are_passed_to_the_kernel() -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(3, 3))

        def forward(self, x: Tensor) -> Tensor:
            return x @ _OPS.cubed(self.weight)

    layer, x = Layer().eval(), torch.randn(2, 3)
    expected = layer(x)
    compiled = lamina.compile(torch.export.export(layer, (x,)))
    torch.testing.assert_close(compiled(x), expected)
    torch.testing.assert_close(torch.compile(layer, backend="lamina")(x), expected)


@WAYS
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wrong_shape", r"'torch.*wrong_shape.*' made a result of shape \(7,\)"),
        ("wrong_dtype", r"'torch.*wrong_dtype.*' made a result of dtype float64"),
        ("no_tensor", r"no_tensor"),
    ],
)
def test_results_that_are_not_those_declared(
    compiled_by: Callable[..., Any], name: str, message: str
) -> None:
    x = torch.randn(3)
    with pytest.raises(ExecutionError, match=message):
        compiled_by(lambda x: getattr(_OPS, name)(x), [x])(x)


def test_results_that_are_too_few() -> None:
    x = torch.randn(3)
    compiled = _exported(lambda x: _OPS.wrong_count([x, x + 1]), [x])
    with pytest.raises(ExecutionError, match=r"wrong_count.* made 1 results, not 2"):
        compiled(x)


@WAYS
def test_what_a_kernel_raises(compiled_by: Callable[..., Any]) -> None:
    @torch.library.custom_op(f"{NAMESPACE}::raising", mutates_args=())
    def raising(x: Tensor) -> Tensor:
        raise ValueError("not today")

    raising.register_fake(_like)
    x = torch.randn(3)
    compiled = compiled_by(lambda x: raising(x) + 1, [x])
    with pytest.raises(ExecutionError, match=r"raising.*ValueError: not today"):
        compiled(x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: _OPS.elsewhere(x), r"elsewhere.*: a custom op without a kernel for the CPU"),
        (lambda x: _OPS.drawn(x), r"drawn.*: a custom op that draws random numbers"),
        (lambda x: _OPS.complex_by(x, 2j), r"complex_by.*argument 'by' is a complex"),
    ],
)
def test_refusals(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        _exported(function, [torch.randn(3)])


@WAYS
def test_written_arguments_that_share_memory_are_refused(compiled_by: Callable[..., Any]) -> None:
    def function(x: Tensor) -> Tensor:
        _OPS.add_to(x[1:], x[:-1])
        return x

    with pytest.raises(Exception, match=r"add_to.* writes an argument that shares memory"):
        compiled_by(function, [torch.randn(5)])(torch.randn(5))
