"""A PyTorch module, linearised: against the same network in JAX, and against its own training."""

import copy
import inspect
import types
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

import lineament as la
from lineament.forecasting import network_train
from lineament.torch import linearise


def task(seed=0, n=24, m=9, d=4, k=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, d))
    Y = np.tanh(X @ rng.normal(size=(d, k)))
    return X[:n], Y[:n], X[n:], Y[n:]


def both(widths=(4, 40, 2)):
    """The same network in both frameworks, in float64."""
    net = la.models.MLP(widths, "relu", "standard", bias=True)
    start = la.starts.he(net, 3)
    module = nn.Sequential(nn.Linear(widths[0], widths[1]), nn.ReLU(), nn.Linear(widths[1], widths[2])).double()
    with torch.no_grad():
        for layer, W, b in zip((module[0], module[2]), start.layers, start.biases, strict=True):
            layer.weight.copy_(torch.from_numpy(np.array(W)))
            layer.bias.copy_(torch.from_numpy(np.array(b)))
    return net, start, module


def test_defaults_are_those_of_the_other_framework():
    """But for memory, of which a kernel in PyTorch needs less."""
    here, there = (inspect.signature(function).parameters for function in (linearise, la.linearise))
    shared = here.keys() & there.keys() - {"memory"}
    assert {"steps", "momentum", "ridge", "weight_decay", "renew", "seed"} <= shared
    assert all(here[name].default == there[name].default for name in shared)


@pytest.mark.parametrize("loss", ["square", "cross-entropy"])
def test_both_frameworks_forecast_alike(loss):
    net, start, module = both()
    X, Y, Z, W = task()
    if loss == "cross-entropy":
        Y, W = Y.argmax(axis=1), W.argmax(axis=1)
    settings = {"loss": loss, "steps": 40, "momentum": 0.5, "batch_size": 8}
    ours = la.linearise(net, start, X, Y, Z, W, **settings)
    theirs = linearise(
        module, torch.from_numpy(X), torch.from_numpy(Y), torch.from_numpy(Z), torch.from_numpy(W), **settings
    )
    np.testing.assert_allclose(theirs.step_size, ours.step_size, rtol=1e-9)
    np.testing.assert_allclose(theirs.curves.test_loss, ours.curves.test_loss, rtol=1e-8)
    np.testing.assert_allclose(theirs.safety.loss, ours.safety.loss, rtol=1e-8)
    np.testing.assert_allclose(theirs.band.high, ours.band.high, rtol=1e-8)
    np.testing.assert_allclose(theirs.outputs(7)[1], ours.outputs(7)[1], atol=1e-10)
    np.testing.assert_allclose(theirs.answers(40), ours.answers(40), atol=1e-10)


def test_both_frameworks_follow_a_network_alike():
    net, start, module = both((4, 8, 2))
    X, Y, Z, W = task()
    settings = {"steps": 60, "momentum": 0.5, "weight_decay": 0.05, "batch_size": 8, "renew": 12}
    ours = la.linearise(net, start, X, Y, Z, W, **settings)
    theirs = linearise(module, *map(torch.from_numpy, (X, Y, Z, W)), **settings)
    assert theirs.path.kernels == ours.path.kernels
    np.testing.assert_allclose(theirs.curves.test_loss, ours.curves.test_loss, rtol=1e-7)
    np.testing.assert_allclose(theirs.band.high, ours.band.high, rtol=1e-7)
    np.testing.assert_allclose(theirs.error[0], ours.error[0], atol=1e-7)
    for mine, other in zip(network_train._trained(replace(ours, batch_size=None)),
                           network_train._stepped(replace(theirs, batch_size=None)), strict=True):  # fmt: skip
        np.testing.assert_allclose(other, mine, atol=1e-9)


def test_a_wide_module_is_trained_as_forecast():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 800), nn.Tanh(), nn.Linear(800, 1)).double()
    X, Y, Z, W = (torch.from_numpy(part[:, :4] if part.shape[1] == 4 else part[:, :1]) for part in task(1))
    made = linearise(module, X, Y, Z, W, steps=40, momentum=0.9)
    optimiser = torch.optim.SGD(module.parameters(), lr=made.step_size, momentum=0.9)
    for _ in range(40):
        optimiser.zero_grad()
        (0.5 * (module(X) - Y).pow(2).sum(1).mean()).backward()
        optimiser.step()
    trained = (0.5 * (module(Z) - W).pow(2).sum(1).mean()).item()
    assert made.curves.test_loss[-1] == pytest.approx(trained, rel=0.03)
    assert made.safe_step == np.inf


def test_the_module_is_not_changed_and_frozen_parameters_do_not_move():
    _, _, module = both()
    module[0].weight.requires_grad_(False)
    before = [parameter.detach().clone() for parameter in module.parameters()]
    X, Y, _, _ = task()
    made = linearise(module, torch.from_numpy(X), Y, steps=5)
    assert made.network.size == 40 + 80 + 2
    assert np.isfinite(made.safety.loss).all()
    for old, new in zip(before, module.parameters(), strict=True):
        assert torch.equal(old, new)


def test_what_cannot_be_linearised_is_refused():
    X, Y, _, _ = task()
    with pytest.raises(ValueError, match="X must be a tensor"):
        linearise(nn.Linear(4, 2), X, Y)
    with pytest.raises(ValueError, match="evaluation mode"):
        linearise(nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5)).double(), torch.from_numpy(X), Y)
    with pytest.raises(ValueError, match="y must have a column for each"):
        linearise(nn.Linear(4, 3).double(), torch.from_numpy(X), Y)


def test_steps_of_a_module_are_those_of_the_same_model():
    net, start, module = both()
    X, Y, Z, W = task()
    settings = {"steps": 12, "momentum": 0.9}
    ours = la.linearise(net, start, X, Y, Z, W, **settings)
    theirs = linearise(module, *map(torch.from_numpy, (X, Y, Z, W)), **settings)
    for mine, other in zip(network_train._trained(ours), network_train._stepped(theirs), strict=True):
        np.testing.assert_allclose(other, mine, atol=1e-9)


class Normed(nn.Module):
    """A layer whose weight is normalised, by a function without a derivative forwards or by plain ones; with `logits`."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.out = layer, nn.Linear(5, 2).double()

    def forward(self, x):
        return types.SimpleNamespace(logits=self.out(torch.tanh(self.layer(x))))


class Plainly(nn.Module):
    def __init__(self, like):
        super().__init__()
        self.bias = nn.Parameter(like.bias.detach().clone())
        held = like.parametrizations.weight
        self.g, self.v = (nn.Parameter(part.detach().clone()) for part in (held.original0, held.original1))

    def forward(self, x):
        return nn.functional.linear(x, self.g * self.v / self.v.norm(dim=1, keepdim=True), self.bias)


def test_layers_without_a_derivative_forwards_and_models_with_logits_are_linearised():
    torch.manual_seed(0)
    model = Normed(parametrizations.weight_norm(nn.Linear(4, 5).double()))
    plain = copy.deepcopy(model)
    plain.layer = Plainly(model.layer)
    X, Y, Z, W = map(torch.from_numpy, task())
    found, wanted = (linearise(module, X, Y, Z, W, steps=30, step_size=0.1) for module in (model, plain))
    np.testing.assert_allclose(found.outputs(7)[1], wanted.outputs(7)[1], rtol=1e-9)
    np.testing.assert_allclose(found.safety.loss, wanted.safety.loss, rtol=1e-7)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_modules_in_half_precision_are_linearised_in_single(half):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    X, Y, *_ = map(torch.from_numpy, task())
    wanted = linearise(module, X.float(), Y, steps=20, step_size=0.1)
    found = linearise(module.to(half), X.to(half), Y, X[:3].to(half), steps=20, step_size=0.1)
    np.testing.assert_allclose(found.outputs(20)[0], wanted.outputs(20)[0], atol=0.05)
    assert module[0].weight.dtype == half


def test_hooks_on_gradients_have_no_part_in_a_forecast():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).double()
    X, Y, *_ = map(torch.from_numpy, task())
    settings = {"steps": 20, "step_size": 0.1, "batch_size": 8, "renew": 2}
    wanted = linearise(module, X, Y, **settings)
    module[1].register_full_backward_hook(lambda module, inputs, outputs: (0 * inputs[0],))
    module[0].weight.register_hook(lambda gradient: 0 * gradient)
    found = linearise(module, X, Y, **settings)
    np.testing.assert_array_equal(found.outputs(20)[0], wanted.outputs(20)[0])
    assert module[1]._backward_hooks
