"""Parameters that a model holds where a call cannot replace them."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call

from lineament.torch import Recorder, linearise
from lineament.torch.reached import refuse_unreached


class Listed(nn.Module):
    """A layer whose weight is taken from a list: a plain one, or one that registers it."""

    def __init__(self, plain, nested=False):
        super().__init__()
        self.weight, self.readout = nn.Parameter(torch.randn(5, 3)), nn.Linear(5, 2)
        held = [[self.weight]] if nested else [self.weight]
        self.held = held if plain else nn.ParameterList(held)

    def forward(self, x):
        weight = torch.block_diag(*self.held[0]) if isinstance(self.held[0], list) else self.held[0]
        assert self.held[-1] is not None
        return self.readout(torch.tanh(x @ weight.T))


class Shaped(nn.Module):
    """A layer that asks what it holds in a list for its shape and type alone."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.held = [self.layer.weight]

    def forward(self, x):
        return self.layer(x.to(self.held[0].dtype)) / self.held[0].shape[1]


def call(model, x):
    replaced = {name: value.detach().clone() for name, value in model.named_parameters()}
    refuse_unreached("net", model, lambda: functional_call(model, replaced, (x,)), replaced)


@pytest.mark.parametrize("nested", [False, True])
def test_a_parameter_in_a_plain_list_is_named(nested):
    with pytest.raises(ValueError, match="net must use its parameters from where they are registered; weight is also"):
        call(Listed(True, nested), torch.randn(4, 3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Listed(False),
        Shaped,
        lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).eval(),
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)),
        lambda: nn.RNNCell(3, 2),
    ],
)
def test_models_whose_parameters_are_registered_pass(make):
    call(make(), torch.randn(4, 3))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_pass(kind):
    """They hold their weights in a list of their own, which PyTorch keeps in step."""
    call(kind(3, 4, num_layers=2, bidirectional=True), torch.randn(4, 5, 3))


def test_only_what_should_have_been_replaced_counts():
    model = Listed(True)
    replaced = {name: value.detach().clone() for name, value in model.readout.named_parameters(prefix="readout")}
    refuse_unreached("net", model, lambda: functional_call(model, replaced, (torch.randn(4, 3),)), replaced)


@pytest.mark.parametrize("renew", [0, 4])
def test_neither_forecasts_nor_recordings_take_such_a_parameter_for_a_constant(renew):
    x, y = torch.randn(12, 3), torch.randn(12, 2)
    with pytest.raises(ValueError, match="weight is also held elsewhere"):
        linearise(Listed(True), x, y, steps=10, renew=renew)
    with pytest.raises(ValueError, match="weight is also held elsewhere"):
        Recorder(x, linearise=True)(Listed(True), 0)


def test_a_registering_list_is_forecast_as_no_list_is():
    torch.manual_seed(0)
    x, y = torch.randn(12, 3).double(), torch.randn(12, 2).double()
    listed = Listed(False).double()
    plain = nn.Sequential(nn.Linear(3, 5, bias=False), nn.Tanh(), nn.Linear(5, 2)).double()
    plain.load_state_dict(
        {"0.weight": listed.weight, "2.weight": listed.readout.weight, "2.bias": listed.readout.bias}
    )
    found = [linearise(model, x, y, steps=20, step_size=0.1, renew=4).outputs([5, 20])[0] for model in (listed, plain)]
    np.testing.assert_allclose(*found, rtol=1e-9)
