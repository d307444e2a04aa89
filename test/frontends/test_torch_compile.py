"""`torch.compile(f, backend="lamina")`: capture, calls, weights that change, and refusals."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed
from torch._dynamo.testing import CompileCounterWithBackend

from lamina.dialects.errors import ExecutionError

WEIGHTS = ("passed", "checked", "frozen")


pytestmark = [pytest.mark.usefixtures("inference"), pytest.mark.one_in(2)]


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return torch.compile(function, backend="lamina", options=options)


def check(function: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Twice, as the first call binds and the second does not."""
    optimized = compiled(function, **options)
    for _ in range(2):
        torch.testing.assert_close(optimized(*args), function(*args), rtol=1e-4, atol=1e-5)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()


def cnn() -> nn.Module:
    norm = nn.BatchNorm2d(6)
    norm.running_mean = torch.randn(6)
    norm.running_var = torch.rand(6) + 0.5
    layers = nn.Conv2d(3, 6, 3, padding=1), norm, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    return nn.Sequential(*layers, nn.Linear(6 * 4 * 4, 5)).eval()


def test_the_backend_is_found_without_an_import() -> None:
    code = (
        "import sys, torch\n"
        "assert 'lamina' in torch._dynamo.list_backends()\n"
        "assert not any(name.partition('.')[0] == 'lamina' for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_mlp(weights: str) -> None:
    check(mlp(), torch.randn(5, 8), weights=weights)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_cnn(weights: str) -> None:
    check(cnn(), torch.randn(2, 3, 8, 8), weights=weights)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_transformer_encoder_layer(norm_first: bool, activation: str) -> None:
    layer = nn.TransformerEncoderLayer(
        16, 2, 32, activation=activation, norm_first=norm_first, batch_first=True
    )
    check(layer.eval(), torch.randn(2, 6, 16))


def test_causal_mask() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    mask = torch.ones(6, 6, dtype=torch.bool).triu(1)
    check(lambda x: layer(x, src_mask=mask), torch.randn(2, 6, 16))


def test_padding_mask() -> None:
    attention = nn.MultiheadAttention(16, 2, batch_first=True).eval()
    padding = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
    check(lambda x: attention(x, x, x, key_padding_mask=padding), torch.randn(2, 6, 16))


@pytest.mark.parametrize("causal", [False, True])
def test_scaled_dot_product_attention(causal: bool) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(x, x + 1, x * 2, is_causal=causal)

    check(function, torch.randn(2, 2, 6, 8))


def test_strides_that_pooling_names() -> None:
    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(6)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x.permute(0, 3, 1, 2) + 1
            return self.norm(nn.functional.adaptive_avg_pool2d(x, 1).permute(0, 2, 3, 1))

    check(Head().eval(), torch.randn(1, 4, 4, 6))


def test_attention_with_grouped_heads() -> None:
    def function(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, k, is_causal=True, enable_gqa=True)

    check(function, torch.randn(2, 4, 6, 8), torch.randn(2, 2, 6, 8))


def test_factorizations_check_by_themselves() -> None:
    def function(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve(torch.linalg.inv(a), b) + torch.linalg.cholesky(a)

    check(function, torch.eye(3) * 2, torch.randn(3, 3))
    with pytest.raises(ExecutionError, match="singular"):
        compiled(torch.linalg.solve)(torch.zeros(3, 3), torch.randn(3, 3))


def test_encoder_layer_with_sequence_first() -> None:
    check(nn.TransformerEncoderLayer(16, 2, 32).eval(), torch.randn(6, 2, 16))


def test_constant_in_the_function() -> None:
    check(lambda x: x + torch.tensor([1.0, 2.0, 3.0]), torch.randn(3))


def test_numbers_that_change() -> None:
    function = compiled(lambda x, n: x * n)
    for number in (2.5, 3.5, 5.5, 2, 3, 5):
        assert function(torch.ones(2), number).tolist() == [number] * 2


def test_graph_break(capsys: pytest.CaptureFixture[str]) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.exp() + 1
        print("between")
        return y.sum(0) * 2

    counter = CompileCounterWithBackend("lamina")
    x = torch.randn(3, 4)
    torch.testing.assert_close(torch.compile(function, backend=counter)(x), function(x))
    assert counter.frame_count == 2
    assert capsys.readouterr().out == "between\n" * 2


def test_input_is_mutated() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + 1

    x = torch.randn(3, 4)
    expected = x * 2
    version = x._version
    torch.testing.assert_close(compiled(function)(x), expected + 1)
    torch.testing.assert_close(x, expected)
    assert x._version > version


def test_strided_input_is_mutated() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x.sum(0)

    whole = torch.randn(4, 6)
    expected = whole.clone()
    expected[:, ::2] += 1
    torch.testing.assert_close(compiled(function)(whole[:, ::2]), expected[:, ::2].sum(0))
    torch.testing.assert_close(whole, expected)


def test_buffer_is_mutated() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total += x
            return self.total * 2

    for weights in WEIGHTS:
        torch._dynamo.reset()
        module = Counter()
        function = compiled(module, weights=weights)
        for count in (1, 2, 3):
            assert function(torch.ones(3)).tolist() == [2.0 * count] * 3, weights


def test_transposed_input() -> None:
    check(lambda x: x.sin() + 1, torch.randn(4, 3).t())


def test_other_shapes_are_another_graph_once() -> None:
    counter = CompileCounterWithBackend("lamina")
    module = mlp()
    function = torch.compile(module, backend=counter)
    for rows in (2, 3, 5, 3, 2):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(function(x), module(x), rtol=1e-4, atol=1e-5)
    assert counter.frame_count == 2  # the second is for all sizes


def _step(module: nn.Module) -> None:
    for parameter in module.parameters():
        parameter.mul_(1.5)


def _load(module: nn.Module) -> None:
    module.load_state_dict({name: value + 1 for name, value in module.state_dict().items()})


def _replace_data(module: nn.Module) -> None:
    for parameter in module.parameters():
        parameter.data = torch.randn_like(parameter)


def _replace_parameter(module: nn.Module) -> None:
    assert isinstance(module, nn.Sequential)
    module[0].weight = nn.Parameter(torch.randn(16, 8))


def _transpose(module: nn.Module) -> None:
    """The same memory with other strides."""
    assert isinstance(module, nn.Sequential)
    module[0].weight.data = module[0].weight.data.t()


@pytest.mark.parametrize("weights", ["passed", "checked"])
def test_transposed_weights_count(weights: str) -> None:
    module, x = nn.Sequential(nn.Linear(6, 6)).eval(), torch.randn(5, 6)
    function = compiled(module, weights=weights)
    function(x)
    _transpose(module)
    torch.testing.assert_close(function(x), module(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("change", [_step, _load, _replace_data, _replace_parameter])
@pytest.mark.parametrize("weights", ["passed", "checked"])
def test_changed_weights_count(weights: str, change: Callable[[nn.Module], None]) -> None:
    module, x = mlp(), torch.randn(5, 8)
    function = compiled(module, weights=weights)
    before = function(x)
    change(module)
    after = function(x)
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, module(x), rtol=1e-4, atol=1e-5)


def test_writes_through_data_count_if_weights_are_passed() -> None:
    """They leave the version counter alone."""
    module, x = mlp(), torch.randn(5, 8)
    function = compiled(module, weights="passed")
    function(x)
    for parameter in module.parameters():
        parameter.data.mul_(3)
    torch.testing.assert_close(function(x), module(x), rtol=1e-4, atol=1e-5)


def test_frozen_weights_stay() -> None:
    module, x = mlp(), torch.randn(5, 8)
    function = compiled(module, weights="frozen")
    before = function(x)
    module[2].weight.mul_(2)
    torch.testing.assert_close(function(x), before)


def test_keywords_and_nested_results() -> None:
    def function(x: torch.Tensor, *, scale: float, other: dict[str, torch.Tensor]) -> Any:
        return {"sum": (x + other["y"]) * scale, "both": (x, [x - 1, None])}, 7

    x, y = torch.randn(3), torch.randn(3)
    result, seven = compiled(function)(x, scale=2.0, other={"y": y})
    expected, _ = function(x, scale=2.0, other={"y": y})
    assert seven == 7
    torch.testing.assert_close(result["sum"], expected["sum"])
    assert result["both"][0] is x and result["both"][1][1] is None
    torch.testing.assert_close(result["both"][1][0], x - 1)


def test_inference_mode() -> None:
    module, x = mlp(), torch.randn(5, 8)
    with torch.inference_mode():
        torch.testing.assert_close(compiled(module)(x), module(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_warm_call_runs_no_aten_op(weights: str) -> None:
    module, x = mlp(), torch.randn(5, 8)
    function = compiled(module, weights=weights)
    function(x)
    function(x)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        function(x)
    events = [event.name for event in profile.events() if event.name.startswith("aten::")]
    # Outputs are tensors over NumPy's memory; nothing computes.
    assert set(events) <= {"aten::lift_fresh", "aten::detach_"}, events
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        module(x)
    assert any(event.name == "aten::addmm" for event in profile.events())  # the probe works


def test_gradients_are_refused() -> None:
    with torch.enable_grad(), pytest.raises(BackendCompilerFailed, match="training is not supp"):
        compiled(mlp())(torch.randn(5, 8))


@torch.library.custom_op("lamina_test::elsewhere", mutates_args=(), device_types="cuda")
def elsewhere(x: torch.Tensor) -> torch.Tensor:
    """An op that has no kernel for this device."""
    return x * 2


@elsewhere.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def test_unsupported_op_is_named() -> None:
    with pytest.raises(BackendCompilerFailed, match=r"lamina_test\.elsewhere"):
        compiled(lambda x: elsewhere(x) + 1)(torch.randn(3, 3))


def test_lazily_conjugated_inputs_are_refused() -> None:
    x = torch.randn(3, 4, dtype=torch.complex64)
    compiled = torch.compile(lambda x: x * 2j, backend="lamina")
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), x * 2j)
        with pytest.raises(Exception, match="lazily conjugated or negated view"):
            compiled(x.conj())
        with pytest.raises(Exception, match="lazily conjugated or negated view"):
            torch.compile(lambda x: x * 2, backend="lamina")(x.conj().imag)


@pytest.mark.parametrize("captured", [False, True])
def test_sizes_that_depend_on_data(captured: bool) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
        kept = x[x > 0]
        return kept * 2, torch.nonzero(x > 1), kept.shape[0]

    with torch._dynamo.config.patch(
        capture_dynamic_output_shape_ops=captured, capture_scalar_outputs=captured
    ):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="lamina", fullgraph=captured)
        for seed in range(3):
            x = torch.randn(5, 6, generator=torch.Generator().manual_seed(seed)) - seed
            with torch.no_grad():
                actual, expected = compiled(x), function(x)
            torch.testing.assert_close(actual[:2], expected[:2])
            assert actual[2] == expected[2]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * int(x[0].item()),
        lambda x: x + round(x[1].item()) - math.floor(x[1].item()) * math.ceil(x[2].item()),
        lambda x: x + int(x[0].item() * 2 + 1) + int(x[0].item() - x[1].item()),
        lambda x: torch.full((2,), 3) * round(x.half()[0].item() / 2),
    ],
)
def test_numbers_that_are_rounded(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        optimized = torch.compile(function, backend="lamina", fullgraph=True)
        for values in ([2.5, -1.5, 3.2], [-2.5, 1.7, 0.0]):
            x = torch.tensor(values)
            torch.testing.assert_close(optimized(x), function(x))


def test_numbers_that_are_no_integers() -> None:
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        optimized = compiled(lambda x: x * int(x[0].item()))
        for value in (math.inf, math.nan, 2.0**63):
            with pytest.raises(ExecutionError, match="not finite, or does not fit 64 bits"):
                optimized(torch.tensor([value]))


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0,)])
def test_masked_scatter_of_nothing(shape: tuple[int, ...]) -> None:
    check(lambda x: x.masked_scatter(x > 0, x * 3), torch.zeros(shape))
