"""Result types of recurrent layers and cells."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType

from lamina.dialects.schema.promotion import ui8
from lamina.dialects.schema.result_rules.shapes import DYNAMIC, Args, Types, tensor


def _outputs(args: Args, state: TensorType) -> TensorType:
    """One state for each step and direction, of the last layer."""
    value: TensorType = args["input"] if "input" in args else args["data"]
    width = state.get_shape()[-1]
    if args["bidirectional"] and width != DYNAMIC:
        width *= 2
    return tensor((*value.get_shape()[:-1], width), value.element_type)


def lstm(args: Args) -> Types:
    """Outputs, last hidden states, last cells."""
    hidden, cell = args["hx"]
    return [_outputs(args, hidden), hidden, cell]


def gru(args: Args) -> Types:
    """`gru`, `rnn_tanh`, `rnn_relu`: outputs and last hidden states."""
    return [_outputs(args, args["hx"]), args["hx"]]


def one_layer(args: Args) -> Types:
    """`mkldnn_rnn_layer`: outputs, last hidden states and cells, and an empty workspace."""
    value: TensorType = args["input"]
    outputs = tensor((*value.get_shape()[:2], args["hidden_size"]), value.element_type)
    return [outputs, args["hx_"], args["cx_"], tensor((0,), ui8)]


def lstm_cell(args: Args) -> Types:
    """The new hidden state and cell."""
    return list(args["hx"])


def cell(args: Args) -> Types:
    """`gru_cell`, `rnn_tanh_cell`, `rnn_relu_cell`: the new hidden state."""
    return [args["hx"]]
