"""Recurrent layers step by step, so that the derivatives at their gates can be taken.

A compiled LSTM gives its outputs and nothing in between. Its weights enter as dense layers do, `W_ih` at the inputs of
all steps and `W_hh` at the hidden states before them, so that their derivatives are sums over steps of outer products.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

State = tuple[Tensor, ...]
Step = Callable[[Tensor, Tensor, State], State]


class Layer(NamedTuple):
    """A dense layer `W a + b`; its inputs (examples, …, in) may be known only later."""

    inputs: Callable[[], Tensor]
    weight: Tensor
    bias: Tensor | None


Noted = Callable[[Tensor, list[Layer]], Tensor]


def lstm_step(from_input: Tensor, from_hidden: Tensor, state: State) -> State:
    """Hidden and cell state after a step."""
    i, f, g, o = (from_input + from_hidden).chunk(4, -1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def gru_step(from_input: Tensor, from_hidden: Tensor, state: State) -> State:
    """The hidden state after a step."""
    (r, z, n), (hidden_r, hidden_z, hidden_n) = from_input.chunk(3, -1), from_hidden.chunk(3, -1)
    new, old = (n + (r + hidden_r).sigmoid() * hidden_n).tanh(), (z + hidden_z).sigmoid()
    return (new + old * (state[0] - new),)


def tanh_step(from_input: Tensor, from_hidden: Tensor, state: State) -> State:
    """The hidden state after a step."""
    return ((from_input + from_hidden).tanh(),)


def relu_step(from_input: Tensor, from_hidden: Tensor, state: State) -> State:
    """The hidden state after a step."""
    return ((from_input + from_hidden).relu(),)


def run(
    step: Step, note: Noted, x: Tensor, state: State, weights: list[Tensor], biased: bool, directions: int
) -> tuple[Tensor, State]:
    """All layers over inputs (examples, time, in), from states (layers · directions, examples, hidden).

    Args:
        step: What happens to the gates.
        note: Takes a place z and the layers that are added up there, and returns what to go on with in place of z.
        x: Inputs.
        state: Hidden states, and cells of an LSTM.
        weights: Of each layer and direction, in PyTorch's order.
        biased: Whether there are biases.
        directions: 2 if half of each layer runs backwards.

    Returns:
        Outputs (examples, time, directions · hidden) and the last states.
    """
    ends: list[State] = []
    parts = _grouped(weights, 4 if biased else 2)
    for layer in _grouped(parts, directions):
        outputs = []
        for backwards, (W_ih, W_hh, *biases) in enumerate(layer):
            b_ih, b_hh = biases or (None, None)
            a = x.flip(1) if backwards else x
            now, hidden = tuple(part[len(ends)] for part in state), []
            outer = Layer(lambda a=a: a, W_ih, b_ih)
            inner = Layer(lambda hidden=hidden: torch.stack(hidden, 1), W_hh, b_hh)
            # Where both are added up and nothing else, the derivatives there are the same.
            alike = step is not gru_step
            gates = note(linear(a, W_ih, b_ih), [outer, inner] if alike else [outer]).unbind(1)
            # Nothing is added here but a place to take the derivative at, one for all steps.
            place = torch.zeros(*x.shape[:2], W_hh.shape[0], dtype=x.dtype, device=x.device, requires_grad=not alike)
            for from_input, nothing in zip(gates, place.unbind(1), strict=True):
                hidden.append(now[0])
                from_hidden = linear(now[0], W_hh, b_hh)
                now = step(from_input, from_hidden if alike else from_hidden + nothing, now)
            if not alike:
                note(place, [inner])
            ends.append(now)
            after = torch.stack([*hidden[1:], now[0]], 1)
            outputs.append(after.flip(1) if backwards else after)
        x = torch.cat(outputs, 2)
    return x, tuple(map(torch.stack, zip(*ends, strict=True)))


def cell(step: Step, note: Noted, x: Tensor, state: State, weights: list[Any]) -> State:
    """One step of a cell: its states after inputs (examples, in)."""
    W_ih, W_hh, b_ih, b_hh = weights
    from_input = note(linear(x, W_ih, b_ih), [Layer(lambda: x, W_ih, b_ih)])
    return step(from_input, note(linear(state[0], W_hh, b_hh), [Layer(lambda: state[0], W_hh, b_hh)]), state)


def _grouped(values: list[Any], size: int) -> list[Any]:
    return [values[k : k + size] for k in range(0, len(values), size)]
