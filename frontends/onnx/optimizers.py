"""Steps of optimizers (`ai.onnx.preview.training`): new parameters, then their new states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import Result, imports
from lamina.frontends.onnx.values import Value

_DOMAIN = "ai.onnx.preview.training"

Step = Callable[[Sequence[Value]], Sequence[Value]]
"""Of a parameter, its gradient and its states: the parameter and the states behind the step."""


def _of_each(n: Node, step: Step, states: int) -> Result:
    """Inputs behind rate and count are all parameters, then all gradients, then all states."""
    count, rest = divmod(len(n.held) - 2, 2 + states)
    if rest or count < 1:
        raise n.refuse(f"{len(n.held)} inputs: rate, count, and {2 + states} for each parameter")
    made = [step([n[2 + i + part * count] for part in range(2 + states)]) for i in range(count)]
    return [results[part] for part in range(1 + states) for results in made]


def _scaled(n: Node, value: Value, number: float) -> Value:
    return n.op("mul.Scalar", value, number)


def _gradient(n: Node, parameter: Value, gradient: Value) -> Value:
    """With the gradient of the norm."""
    norm = _scaled(n, parameter, float(n.attr("norm_coefficient", 0.0)))
    return n.op("add.Tensor", norm, gradient)


def _average(n: Node, old: Value, new: Value, share: float) -> Value:
    return n.op("add.Tensor", _scaled(n, old, share), _scaled(n, new, 1 - share))


def _root(n: Node, value: Value, default: float) -> Value:
    return n.op("add.Scalar", n.op("sqrt.default", value), float(n.attr("epsilon", default)))


@imports("Adagrad", domain=_DOMAIN)
def adagrad(n: Node) -> Result:
    """Rates divided by the root of all squares so far."""
    decay = n.op("add.Scalar", _scaled(n, n[1], float(n.attr("decay_factor", 0.0))), 1.0)
    rate = n.op("div.Tensor", n[0], decay)

    def step(given: Sequence[Value]) -> Sequence[Value]:
        parameter, gradient, squares = given
        gradient = _gradient(n, parameter, gradient)
        squares = n.op("add.Tensor", squares, n.op("mul.Tensor", gradient, gradient))
        way = n.op("div.Tensor", n.op("mul.Tensor", rate, gradient), _root(n, squares, 0.0))
        return n.op("sub.Tensor", parameter, way), squares

    return _of_each(n, step, 1)


@imports("Momentum", domain=_DOMAIN)
def momentum(n: Node) -> Result:
    """Gradients that go on, plain or by Nesterov."""
    alpha, beta = float(n.attr("alpha", 0.0)), float(n.attr("beta", 0.0))
    began = n.op("gt.Scalar", n[1], 0)
    share = n.op("where.self", began, n.scalar(beta, n[0]), n.scalar(1.0, n[0]))

    def step(given: Sequence[Value]) -> Sequence[Value]:
        parameter, gradient, before = given
        gradient = _gradient(n, parameter, gradient)
        added = n.op("mul.Tensor", share, gradient)
        after = n.op("add.Tensor", _scaled(n, before, alpha), added)
        way = after
        if n.attr("mode") == "nesterov":
            way = n.op("add.Tensor", gradient, _scaled(n, after, alpha))
        return n.op("sub.Tensor", parameter, n.op("mul.Tensor", n[0], way)), after

    return _of_each(n, step, 1)


@imports("Adam", domain=_DOMAIN)
def adam(n: Node) -> Result:
    """Averages of gradients and squares, with what they lack in the first steps made up."""
    alpha, beta = float(n.attr("alpha", 0.9)), float(n.attr("beta", 0.999))
    shrink = 1 - float(n.attr("norm_coefficient_post", 0.0))
    count = n.cast(n[1], n.element())
    lacking = [n.op("rsub.Scalar", n.op("pow.Scalar", base, count), 1.0) for base in (alpha, beta)]
    made_up = n.op("div.Tensor", n.op("sqrt.default", lacking[1]), lacking[0])
    began = n.op("gt.Scalar", n[1], 0)
    rate = n.op("where.self", began, n.op("mul.Tensor", n[0], made_up), n[0])

    def step(given: Sequence[Value]) -> Sequence[Value]:
        parameter, gradient, mean, squares = given
        gradient = _gradient(n, parameter, gradient)
        mean = _average(n, mean, gradient, alpha)
        squares = _average(n, squares, n.op("mul.Tensor", gradient, gradient), beta)
        way = n.op("div.Tensor", mean, _root(n, squares, 0.0))
        after = n.op("sub.Tensor", parameter, n.op("mul.Tensor", rate, way))
        return _scaled(n, after, shrink), mean, squares

    return _of_each(n, step, 2)
