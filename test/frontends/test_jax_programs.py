"""Functions that JAX lowered, compiled and compared with JAX."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lamina

jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
jnp: Any = jax.numpy


def test_a_lowered_function_is_called_as_the_function_is() -> None:
    def step(parameters: dict[str, Any], x: Any, *, scale: Any) -> dict[str, Any]:
        hidden = jnp.tanh(x @ parameters["w"] + parameters["b"])
        return {"hidden": hidden, "loss": (scale * hidden.sum(), hidden.max())}

    rng = np.random.default_rng(0)
    parameters = {
        "w": rng.standard_normal((4, 3)).astype(np.float32),
        "b": np.zeros(3, np.float32),
        "unused": np.zeros(2, np.float32),
    }
    x, scale = rng.standard_normal((2, 4)).astype(np.float32), np.float32(2)
    compiled = lamina.compile(jax.jit(step).lower(parameters, x, scale=scale))
    result = compiled(parameters, x, scale=scale)
    expected = step(parameters, x, scale=scale)
    np.testing.assert_allclose(result["hidden"], expected["hidden"], rtol=1e-5)
    np.testing.assert_allclose(result["loss"][0], expected["loss"][0], rtol=1e-5)
    np.testing.assert_allclose(result["loss"][1], expected["loss"][1], rtol=1e-5)
    with pytest.raises(lamina.ArgumentError, match="do not nest"):
        compiled(x, parameters, scale=scale)


def test_one_result_is_an_array_and_arrays_of_jax_are_taken() -> None:
    compiled = lamina.compile(jax.jit(lambda x: x + 1).lower(jnp.ones(3)))
    np.testing.assert_array_equal(compiled(jnp.arange(3.0)), [1, 2, 3])


def test_an_exported_function() -> None:
    from jax import export

    exported = export.export(jax.jit(lambda x, unused: jnp.sort(x)[::-1]))(jnp.ones(3), jnp.ones(2))
    compiled = lamina.compile(exported)
    result = compiled(np.array([2, 3, 1], np.float32), np.zeros(2, np.float32))
    np.testing.assert_array_equal(result, [3, 2, 1])


def test_gradients_of_a_network() -> None:
    def loss(weights: list[Any], x: Any, labels: Any) -> Any:
        for weight in weights[:-1]:
            x = jax.nn.gelu(x @ weight)
        logits = jax.nn.log_softmax(x @ weights[-1])
        return -logits[jnp.arange(8), labels].mean()

    rng = np.random.default_rng(1)
    sizes = [5, 16, 16, 3]
    weights = [rng.standard_normal((a, b)).astype(np.float32) for a, b in pairwise(sizes)]
    x, labels = rng.standard_normal((8, 5)).astype(np.float32), rng.integers(0, 3, 8)
    labels = labels.astype(np.int32)
    step = jax.jit(jax.value_and_grad(loss))
    compiled = lamina.compile(step.lower(weights, x, labels))
    value, gradients = compiled(weights, x, labels)
    expected_value, expected = step(weights, x, labels)
    np.testing.assert_allclose(value, expected_value, rtol=1e-5)
    for made, wanted in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-5)


def test_a_jitted_function_with_its_arguments() -> None:
    function = jax.jit(lambda x, y: x * y["scale"] + 1)
    x, y = np.arange(3, dtype=np.float32), {"scale": np.float32(2)}
    compiled = lamina.compile(function, (x, y))
    np.testing.assert_array_equal(compiled(x, y), [1, 3, 5])


def test_a_jitted_function_without_arguments_is_refused() -> None:
    with pytest.raises(lamina.InputError, match="pass a tuple of its arguments"):
        lamina.compile(jax.jit(lambda x: x))
    with pytest.raises(lamina.InputError, match="leave example_inputs out"):
        lamina.compile(jax.jit(lambda x: x).lower(jnp.ones(3)), (jnp.ones(3),))


def test_what_is_not_known_is_refused_by_name_and_line() -> None:
    def call(x: Any) -> Any:
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((3,), np.float32), x)

    with pytest.raises(lamina.UnsupportedError, match=r"custom_call: calls @.*callback") as raised:
        lamina.compile(jax.jit(call).lower(jnp.ones(3)))
    assert "<text>:" in str(raised.value)


def test_random_keys_with_and_without_a_type() -> None:
    drawn = jax.jit(lambda key, x: jax.random.permutation(key, x))
    x = np.arange(8, dtype=np.int32)
    for key in (jax.random.PRNGKey(7), jax.random.key(7)):
        compiled = lamina.compile(drawn, (key, x))
        np.testing.assert_array_equal(compiled(key, x), drawn(key, x))


class State(NamedTuple):
    """What a step takes and gives."""

    step: Any
    weights: Any


def test_a_saved_function_is_called_as_the_function_is(tmp_path: Path) -> None:
    def update(state: State, data: list[Any], unused: Any, *, rate: Any) -> Any:
        weights = {name: w - rate * data[0] for name, w in state.weights.items()}
        return State(state.step + 1, weights), (None, data[1].sum())

    state = State(np.int32(3), {"a": np.ones(4, np.float32), "b": np.zeros(4, np.float32)})
    data, rate = [np.arange(4, dtype=np.float32), np.ones((2, 2), np.float32)], np.float32(0.5)
    jitted = jax.jit(update)
    lamina.compile(jitted.lower(state, data, 0.0, rate=rate)).save(tmp_path / "update")
    loaded = lamina.load(tmp_path / "update")
    (made, (nothing, total)), (wanted, _) = (
        f(state, data, 0.0, rate=rate) for f in (loaded, jitted)
    )
    assert made._fields == State._fields and made.step == 4 and nothing is None and total == 4
    for name in wanted.weights:
        np.testing.assert_allclose(made.weights[name], wanted.weights[name], rtol=1e-6)
    with pytest.raises(lamina.ArgumentError, match=r"argument '0': expected State\(step=\*"):
        loaded((state.step, state.weights), data, 0.0, rate=rate)


def test_a_function_whose_arguments_only_jax_can_take_apart_is_not_saved(tmp_path: Path) -> None:
    @jax.tree_util.register_pytree_node_class
    class Box:
        def __init__(self, inside: Any) -> None:
            self.inside = inside

        def tree_flatten(self) -> Any:
            return (self.inside,), None

        @classmethod
        def tree_unflatten(cls, aux: Any, children: Any) -> Any:
            return cls(*children)

    compiled = lamina.compile(jax.jit(lambda box: box.inside + 1), (Box(np.ones(2, np.float32)),))
    with pytest.raises(lamina.InputError, match=r"nest in a .*Box, which JAX alone"):
        compiled.save(tmp_path / "box")
